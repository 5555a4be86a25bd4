"""O of 8 bits with a scale, and a number for each key and value, from numpy and torch against float64; and what is refused."""
import os

import numpy
import small_float_numbers as definition

import hocket

SEED = int(os.environ.get("HOCKET_TEST_SEED", "20261128"))
random = numpy.random.default_rng(SEED)
E4M3, ROUND = definition.numbers("e4m3"), definition.rounding("e4m3")


def normal(*shape):
    return random.standard_normal(shape)


def bf16(numbers):
    bits = numpy.asarray(numbers, "float32").view("uint32")
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype("uint16")


def wide(bits):
    return (bits.view("uint16").astype("uint32") << 16).view("float32").astype("float64")


def e4m3(numbers):
    return ROUND(numpy.asarray(numbers, "float64")).astype("uint8")


def reference(q, k, v):
    """Of [seq, heads, head_dim]."""
    k, v = (x.repeat(q.shape[1] // x.shape[1], 1) for x in (k, v))
    scores = numpy.einsum("qhd,khd->hqk", q, k) / numpy.sqrt(q.shape[-1])
    weights = numpy.exp(scores - scores.max(-1, keepdims=True))
    return numpy.einsum("hqk,khd->qhd", weights / weights.sum(-1, keepdims=True), v)


def close(what, out, wanted, tolerance=3.5e-3):
    error = numpy.linalg.norm(out - wanted) / numpy.linalg.norm(wanted)
    assert error <= tolerance, f"HOCKET_TEST_SEED={SEED}: {what}: off by {error:.2e}, at most {tolerance} is allowed"


def close_to_steps(what, out, wanted, unit):
    """Each element of `out` is within half a step of e4m3, and what bf16 may be off, of `wanted`, or the largest number."""
    stored, wanted = E4M3[out], numpy.clip(wanted / unit, -448, 448)
    step = 2.0 ** (numpy.maximum(numpy.floor(numpy.log2(numpy.maximum(abs(wanted), 1e-30))), -6) - 3)
    excess = numpy.maximum(abs(stored - wanted) - step / 2, 0)
    close(what, wanted + excess, wanted)
    assert (abs(stored) <= 448).all(), what


def narrow_outputs():
    q, k, v = bf16(normal(2, 33, 4, 64)), bf16(normal(2, 5, 2, 64)), bf16(normal(2, 5, 2, 64))
    wanted = numpy.stack([reference(wide(q[b]), wide(k[b]), wide(v[b])) for b in range(2)])
    # Some elements are beyond the largest number.
    for unit in (1 / 64, 1 / 512):
        out = hocket.flash_attn_func(q, k, v, dtype="bf16", output_scale=numpy.array([unit], "float32"))
        assert out.dtype == numpy.uint8
        close_to_steps("O of bf16 with a scale", out, wanted, unit)
        assert (abs(wanted) / unit > 448).any() == (abs(E4M3[out]) == 448).any()
    out = hocket.flash_attn_func(q, k, v, dtype="bf16_o_f8e4m3", num_splits=2)
    close_to_steps("O of bf16 in slices, as it is", out, wanted, 1)
    given = numpy.empty_like(out)
    made = hocket.flash_attn_func(q, k, v, dtype="bf16", output_scale=numpy.float32([2]), out=given)
    assert made is given
    close_to_steps("O where it was asked for", given, wanted, 2)
    starts = numpy.array([0, 33, 66], "int32"), numpy.array([0, 5, 10], "int32")
    rows = [x.reshape(-1, *x.shape[2:]) for x in (q, k, v)]
    packed = hocket.flash_attn_varlen_func(*rows, *starts, 33, 5, dtype="bf16", output_scale=numpy.float32([2]))
    assert (packed.reshape(given.shape) == given).all()


def per_token(numbers):
    """e4m3 and its number of each token and head, as quantisers make them."""
    scale = numpy.maximum(abs(numbers).max(-1) / 448, 1e-6).astype("float32")
    return e4m3(numbers / scale[..., None]), scale


def numbers_of_keys():
    # Sizes of tokens differ by far, so that a number at a wrong place shows.
    lengths = numpy.array([70, 300], "int32")
    q = bf16(normal(2, 1, 8, 128))
    (k, k_scale), (v, v_scale) = (per_token(normal(2, 300, 2, 128) * 2.0 ** random.integers(-3, 4, (2, 300, 2, 1))) for _ in range(2))
    wanted = numpy.stack([reference(wide(q[b]), (E4M3[k[b]] * k_scale[b, ..., None])[:n], (E4M3[v[b]] * v_scale[b, ..., None])[:n])
                          for b, n in enumerate(lengths)])
    out = hocket.flash_attn_with_kvcache(q, k, v, cache_seqlens=lengths, dtype="bf16", kv_cache_dtype="fp8", k_descale=k_scale,
                                         v_descale=v_scale)
    close("a cache", wide(out), wanted)

    # Pages of 16 and of 64 rows, whose numbers lie behind the elements of their heads, as in vLLM's caches.
    for rows in (16, 64):
        pages = -(-300 // rows)
        table = random.permutation(2 * pages).astype("int32").reshape(2, pages)
        pools = []
        for elements, scale in ((k, k_scale), (v, v_scale)):
            pool = numpy.full((2 * pages, rows, 2, 128 + 16), 0xFF, "uint8")
            for b, n in enumerate(lengths):
                for row in range(n):
                    place = table[b, row // rows], row % rows
                    pool[place][:, :128] = elements[b, row]
                    pool[place][:, 128:132] = scale[b, row][:, None].view("uint8")
            pools.append(pool)
        of_pages = [pool.view("float32")[..., 32] for pool in pools]
        for unit in (None, 0.01):
            more = {} if unit is None else {"output_scale": numpy.float32([unit])}
            out = hocket.flash_attn_with_kvcache(q, pools[0][..., :128], pools[1][..., :128], cache_seqlens=lengths,
                                                 block_table=table, dtype="bf16", kv_cache_dtype="fp8", k_descale=of_pages[0],
                                                 v_descale=of_pages[1], **more)
            close("pages", wide(out), wanted) if unit is None else close_to_steps("pages to 8 bits", out, wanted, unit)

    # Packed rows, of which numbers have one more dimension.
    starts = numpy.array([0, 1, 2], "int32"), numpy.array([0, 70, 370], "int32")
    rows = [numpy.concatenate([x[b, :n] for b, n in enumerate(lengths)]) for x in (k, v, k_scale, v_scale)]
    out = hocket.flash_attn_varlen_func(q[:, 0], *rows[:2], *starts, 1, 300, dtype="bf16_kv_f8e4m3", k_descale=rows[2][..., None],
                                        v_descale=rows[3][..., None])
    close("packed", wide(out)[:, None], wanted)


def from_torch():
    try:
        import torch
    except ImportError:
        return
    q, k, v = (torch.from_numpy(normal(1, 40, 2, 64)).to(torch.bfloat16) for _ in range(3))
    numbers = [x.double().numpy()[0] for x in (q, k, v)]
    out = hocket.flash_attn_func(q, k, v, output_scale=torch.tensor(0.01))
    assert out.dtype == getattr(torch, "float8_e4m3fn", torch.uint8)
    close_to_steps("torch", out.view(torch.uint8).numpy()[0], reference(*numbers), 0.01)


def refusals():
    q, k = bf16(normal(1, 4, 2, 64)), e4m3(normal(1, 8, 2, 64))
    one = numpy.ones((1, 8, 2), "float32")
    cases = (
        ("argument 'output_scale' is float64 of the shape (1,), wanted a float32 tensor of one number",
         dict(output_scale=numpy.ones(1))),
        ("argument 'output_scale' is float32 of the shape (2,)", dict(output_scale=numpy.ones(2, "float32"))),
        ("argument 'out' has elements of f16, 'dtype' says f8e4m3",
         dict(output_scale=numpy.ones(1, "float32"), out=numpy.empty((1, 4, 2, 64), "float16"))),
        ("argument 'k_descale' has the shape (1, 2, 8), wanted (1, 8, 2): one for each key and head",
         dict(k_descale=one.swapaxes(1, 2))),
        ("argument 'v_descale' has elements of float64", dict(v_descale=one.astype("float64"))),
    )
    for wanted, options in cases:
        try:
            hocket.flash_attn_func(**dict(q=q, k=k, v=k, dtype="bf16_kv_f8e4m3") | options)
        except hocket.Error as error:
            assert wanted in str(error), f"{error}\nwanted: {wanted}"
        else:
            raise SystemExit(f"not refused: {wanted}")


narrow_outputs()
numbers_of_keys()
from_torch()
refusals()
