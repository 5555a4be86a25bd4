"""hocket.quantize against its definition in numpy, to the bit: shapes, types, strides, what shares a scale, special numbers.

HOCKET_RANDOM_QUANTIZE=N draws more tensors, HOCKET_TEST_SEED=N others.
"""
import importlib.util
import os
import sys
import warnings

import numpy
import small_float_numbers as definition

import hocket

SEED, COUNT = int(os.environ.get("HOCKET_TEST_SEED", "20261127")), int(os.environ.get("HOCKET_RANDOM_QUANTIZE", "14"))
SMALL = {"f8e4m3": "e4m3", "f8e5m2": "e5m2", "f4e2m1": "e2m1"}
warnings.simplefilter("ignore", RuntimeWarning)  # NaN and infinities are meant


def bf16(numbers):
    bits = numpy.asarray(numbers, "float32").view("uint32")
    rounded = ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype("uint16")
    return numpy.where(numpy.isnan(numbers), 0x7FC0, rounded).astype("uint16")


def widened(x):
    return (x.astype("uint32") << 16).view("float32") if x.dtype == "uint16" else x.astype("float32")


def largest(dtype):
    return numpy.float32(127 if dtype == "i8" else definition.largest(SMALL[dtype]))


def shared(sizes, per, block, kv_heads):
    """The largest of each group of [batch, seq, heads, head_dim], in the shape of scales, and the same at every element."""
    batch, seq, heads, dim = sizes.shape
    if per == "tensor":
        return sizes.max(keepdims=True).reshape(1), lambda scale: scale.reshape(1, 1, 1, 1)
    if per == "head":
        grouped = sizes.reshape(batch, seq, kv_heads, -1)
        return grouped.max((1, 3)), lambda scale: scale.repeat(heads // kv_heads, 1)[:, None, :, None]
    if per == "token":
        return sizes.max(3), lambda scale: scale[..., None]
    if per == "mx":
        return sizes.reshape(batch, seq, heads, dim // 32, 32).max(4), lambda scale: scale.repeat(32, 3)
    block = min(block, max(seq, 1))
    parts = [sizes[:, first: first + block].max((1, 3)) for first in range(0, seq, block)]
    return numpy.stack(parts, 2), lambda scale: scale.transpose(0, 2, 1).repeat(block, 1)[:, :seq, :, None]


def quantized(x, dtype, per, block, kv_heads):
    """Patterns or integers, and scales, of float32 [batch, seq, heads, head_dim]."""
    sizes = numpy.where(numpy.isfinite(x), numpy.abs(x), numpy.float32(0))
    amax, spread = shared(sizes, per, block, kv_heads)
    quotient = amax / largest(dtype)
    if per == "mx":
        bytes_ = ((quotient.view("uint32") + 0x7FFFFF) >> 23).astype("int32")
        bytes_ = numpy.where(quotient == 0, 127, bytes_)
        scaled = x * numpy.exp2(127 - spread(bytes_)).astype("float32")
        if dtype == "f4e2m1":
            has_nan = numpy.isnan(x).reshape(*amax.shape, 32).any(-1)
            bytes_ = numpy.where(has_nan, 255, bytes_)
        scale = bytes_.astype("uint8")
    else:
        scale = numpy.where(quotient == 0, numpy.float32(1), quotient)
        scaled = x / spread(scale)
    if dtype == "i8":
        moved = numpy.trunc(scaled + numpy.copysign(numpy.float32(0.5), scaled))
        return numpy.where(numpy.isnan(moved), 0, numpy.clip(moved, -127, 127)).astype("int8"), scale
    return definition.rounding(SMALL[dtype])(scaled), scale


def unpacked(values):
    return numpy.stack([values & 15, values >> 4], -1).reshape(*values.shape[:-1], -1)


def check(what, x, dtype, per, block=128, kv_heads=None, layout="bshd", **options):
    values, scale = hocket.quantize(x, dtype, per, block, layout=layout, kv_heads=kv_heads,
                                    x_dtype="bf16" if x.dtype == "uint16" else None, **options)
    whole = widened(x)
    whole = whole[None] if whole.ndim == 3 else whole.transpose(0, 2, 1, 3) if layout == "bhsd" else whole
    wanted, wanted_scale = quantized(whole, dtype, per, block, kv_heads or whole.shape[2])
    if layout == "bhsd":
        wanted = wanted.transpose(0, 2, 1, 3)
        wanted_scale = wanted_scale if per in ("tensor", "head", "block") else numpy.swapaxes(wanted_scale, 1, 2)
    what = f"HOCKET_TEST_SEED={SEED}: {what}: {x.dtype}{x.shape} to {dtype} per {per}"
    if x.ndim == 3:
        wanted, wanted_scale = wanted[0], wanted_scale if per in ("tensor", "head", "block") else wanted_scale[0]
    assert scale.shape == wanted_scale.shape, f"{what}: scales {scale.shape}, wanted {wanted_scale.shape}"
    assert (scale == wanted_scale).all(), f"{what}: other scales at {numpy.argwhere(scale != wanted_scale)[:5].tolist()}"
    found = unpacked(values) if dtype == "f4e2m1" else values
    assert found.shape == wanted.shape, f"{what}: values {found.shape}, wanted {wanted.shape}"
    same = found == wanted
    if dtype in ("f8e4m3", "f8e5m2"):  # which NaN it is, is not promised
        numbers = definition.numbers(SMALL[dtype])
        same |= numpy.isnan(numbers[found]) & numpy.isnan(numbers[wanted])
    if dtype == "f4e2m1":  # a block of NaN may have any numbers
        same |= (wanted_scale == 255).repeat(32, -1)
    assert same.all(), f"{what}: other values at {numpy.argwhere(~same)[:5].tolist()}"
    return values, scale


def drawn(random):
    """A tensor of any strides, its rows of different sizes, some of them 0."""
    batch, seq, heads = (int(random.integers(1, most)) for most in (3, 150, 5))
    dim = int(random.choice([8, 24, 33, 64, 72, 128, 160, 256]))
    x = random.standard_normal((batch, seq, heads, dim)) * numpy.exp2(random.integers(-12, 12, (batch, seq, heads, 1)))
    x[random.random((batch, seq, heads)) < 0.1] = 0
    return x


def typed(x, kind):
    return bf16(x) if kind == "bf16" else x.astype("float32" if kind == "f32" else "float16")


def random_tensors():
    random = numpy.random.default_rng(SEED)
    for number in range(COUNT):
        per = str(random.choice(["tensor", "head", "token", "block", "mx"]))
        dtype = str(random.choice(["f8e4m3", "f8e5m2", "f4e2m1" if per == "mx" else "i8"]))
        kind = str(random.choice(["bf16", "f16"] if dtype == "f4e2m1" else ["bf16", "f16", "f32"]))
        x = drawn(random)
        if per == "mx":
            x = numpy.concatenate([x] * 32, -1)[..., : max(x.shape[-1] // 32, 1) * 32] if x.shape[-1] % 32 else x
        x = typed(x, kind)
        options = {"block": int(random.choice([1, 16, 48, 100, 128]))}
        if per == "head" and random.random() < 0.5:
            options["kv_heads"] = 1
        shape = random.integers(4)
        if shape == 1:
            x = x[0]
        if shape == 2:
            x, options["layout"] = x.transpose(0, 2, 1, 3), "bhsd"
        if shape == 3:  # parts of a wider tensor
            x = numpy.concatenate([x, x], 2)[:, ::2, : x.shape[2]]
        check(f"tensor {number}", x, dtype, per, **options)


def special_numbers():
    x = numpy.random.default_rng(1).standard_normal((1, 5, 2, 64)).astype("float32")
    x[0, 0, 0, 3], x[0, 1, 0, 40], x[0, 2, 1, :2], x[0, 3] = numpy.nan, -numpy.inf, (numpy.inf, numpy.nan), 0
    x[0, 4, 0, :] = 1e-45
    for dtype, per in (("f8e4m3", "token"), ("f8e5m2", "mx"), ("i8", "head"), ("f8e5m2", "tensor"), ("f8e4m3", "block")):
        check("special numbers", x, dtype, per, block=2)
    check("special numbers", bf16(x), "f4e2m1", "mx")
    # Middles between numbers, and the largest of a block.
    middles = numpy.float32([0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5, 6] * 8).reshape(1, 1, 1, 64)
    check("middles", numpy.concatenate([middles, -middles], 2).astype("float16"), "f4e2m1", "mx")
    halves = numpy.float32([127, 0.5, 1.5, -0.5, -1.5, 2.5, 126.5, -126.5]).reshape(1, 1, 1, 8)
    values, _ = check("halves", halves, "i8", "tensor")
    assert values.ravel().tolist() == [127, 1, 2, -1, -2, 3, 127, -127]
    assert hocket.quantize(numpy.zeros((0, 3, 2, 64), "float32"))[1].tolist() == [1]


def scales_are_descales():
    """Attention of what is quantised, with the scales as they come."""
    random = numpy.random.default_rng(2)
    q, k, v = (bf16(random.standard_normal((2, 40, heads, 64))) for heads in (4, 2, 2))
    (q8, qs), (k8, ks), (v8, vs) = (hocket.quantize(x, per="head", kv_heads=2, x_dtype="bf16") for x in (q, k, v))
    made = hocket.flash_attn_func(q8, k8, v8, dtype="f8e4m3", q_descale=qs, k_descale=ks, v_descale=vs)
    right = widened(hocket.flash_attn_func(q, k, v, dtype="bf16").view("uint16"))
    error = numpy.linalg.norm(widened(made.view("uint16")) - right) / numpy.linalg.norm(right)
    assert error < 8e-2, error


def torch_tensors():
    """The same of torch's tensors, whatever their strides; 8 bits are torch's floats where it has them, else bytes."""
    import torch

    x = torch.tensor(numpy.random.default_rng(4).standard_normal((2, 3, 40, 64)), dtype=torch.bfloat16).transpose(1, 2)
    bits = x.contiguous().view(torch.int16).numpy().view("uint16")
    for dtype, per in (("f8e4m3", "head"), ("i8", "token"), ("f4e2m1", "mx")):
        values, scale = hocket.quantize(x, dtype, per)
        wanted, wanted_scale = hocket.quantize(bits, dtype, per, x_dtype="bf16")
        whole = values if values.dtype in (torch.uint8, torch.int8) else values.view(torch.uint8)
        assert (whole.numpy() == wanted).all() and (scale.numpy() == wanted_scale).all(), (dtype, per)
        assert values.shape == wanted.shape and scale.dtype == (torch.uint8 if per == "mx" else torch.float32)


def refusals():
    x = numpy.zeros((1, 8, 3, 48), "float32")
    for wanted, options in (
        ("argument 'dtype' is 'fp8', wanted one of f8e4m3, f8e5m2, i8, f4e2m1", {"dtype": "fp8"}),
        ("argument 'per' is 'row', wanted one of tensor, head, token, block, mx", {"per": "row"}),
        ("argument 'block' is 0", {"per": "block", "block": 0}),
        ("argument 'layout' is 'shd', wanted one of bshd, bhsd", {"layout": "shd"}),
        ("argument 'kv_heads' is 2 with per='head', and 'x' has 3 heads; wanted a divisor", {"per": "head", "kv_heads": 2}),
        ("argument 'x' has heads of 48 elements, wanted a multiple of 32", {"per": "mx"}),
        ("argument 'x' has elements of f64, wanted bf16, f16 or f32", {"x": x.astype("float64")}),
        ("argument 'x' has elements of u16, wanted bf16, f16 or f32; for the bits of bf16 say x_dtype='bf16'", {"x": bf16(x)}),
        ("argument 'x' has 2 dimensions, wanted 4", {"x": x[0, 0]}),
        ("dtype is i8 per mx, use f8e4m3, f8e5m2 or f4e2m1", {"x": x[..., :32], "dtype": "i8", "per": "mx"}),
        ("dtype is f4e2m1 per head, use f8e4m3, f8e5m2 or i8; f4e2m1 has scales per mx",
         {"x": x[..., :32], "dtype": "f4e2m1", "per": "head"}),
        ("x has elements of f32 and dtype is f4e2m1, which is made of 16 bits",
         {"x": x[..., :32], "dtype": "f4e2m1", "per": "mx"}),
        ("head-dim is 1032, it must be from 1 to 1024", {"x": numpy.zeros((1, 1, 1, 1032), "float32")}),
        ("has numbers of 'f8E4M3FN', which gfx942 does not have", {"arch": "gfx942"}),
    ):
        try:
            hocket.quantize(**{"x": x, **options})
        except hocket.Error as error:
            assert wanted in str(error), f"{error}\nwanted: {wanted}"
        else:
            sys.exit(f"not refused: {wanted}")


random_tensors()
special_numbers()
scales_are_descales()
if importlib.util.find_spec("torch"):
    torch_tensors()
check("another chip", numpy.random.default_rng(3).standard_normal((1, 9, 2, 64)).astype("float32"), "i8", "head", arch="gfx942")
check("a block of more rows than there are", numpy.random.default_rng(4).standard_normal((2, 70, 2, 64)).astype("float32"), "i8", "block",
      block=10**9)
refusals()
