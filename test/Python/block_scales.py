"""mxfp8 and mxfp4 from numpy against float64 of the quantised numbers: dense and packed rows, scales of hocket.quantize; and what is refused."""
import os

import numpy

import hocket

SEED = int(os.environ.get("HOCKET_TEST_SEED", "20261127"))
random = numpy.random.default_rng(SEED)


def bf16(numbers):
    bits = numpy.asarray(numbers, "float32").view("uint32")
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype("uint16")


def e4m3(bits):
    bits = bits.view("uint8").astype(int)
    sign, exponent, mantissa = numpy.where(bits >> 7, -1.0, 1.0), bits >> 3 & 15, bits & 7
    return sign * numpy.where(exponent == 0, mantissa / 512.0, (1 + mantissa / 8.0) * 2.0 ** (exponent - 7.0))


def scaled(values, scales):
    return e4m3(values) * numpy.repeat(2.0 ** (scales.astype(float) - 127), 32, axis=-1)


def reference(q, k, v):
    """O of [seq, heads, head_dim]."""
    k, v = (x.repeat(q.shape[1] // x.shape[1], 1) for x in (k, v))
    scores = numpy.einsum("qhd,khd->hqk", q, k) / numpy.sqrt(q.shape[-1])
    weights = numpy.exp(scores - scores.max(-1, keepdims=True))
    return numpy.einsum("hqk,khd->qhd", weights / weights.sum(-1, keepdims=True), v)


def close(out, wanted, most=3.5e-2):
    out = (out.astype("uint32") << 16).view("float32").astype(float)
    error = numpy.linalg.norm(out - wanted) / numpy.linalg.norm(wanted)
    assert error < most, error


def quantised(*shape):
    # Blocks of unlike sizes, so that a scale at a wrong place shows.
    x = random.standard_normal(shape) * 2.0 ** random.integers(-2, 3, (*shape[:-1], shape[-1] // 32)).repeat(32, -1)
    return hocket.quantize(bf16(x), "f8e4m3", per="mx", x_dtype="bf16")


q, q_scale = quantised(2, 40, 4, 128)
k, k_scale = quantised(2, 70, 2, 128)
v = hocket.quantize(bf16(random.standard_normal((2, 70, 2, 128))), "f8e4m3", per="mx", x_dtype="bf16")[0]
out = hocket.flash_attn_func(q, k, v, dtype="f8e4m3", q_scale=q_scale, k_scale=k_scale)
for b in range(2):
    close(out[b], reference(scaled(q[b], q_scale[b]), scaled(k[b], k_scale[b]), e4m3(v[b])))

starts = numpy.array([0, 40, 80], "int32"), numpy.array([0, 70, 140], "int32")
rows = [x.reshape(-1, *x.shape[2:]) for x in (q, k, v, q_scale, k_scale)]
packed = hocket.flash_attn_varlen_func(*rows[:3], *starts, 40, 70, dtype="f8e4m3", q_scale=rows[3], k_scale=rows[4])
assert (packed.reshape(out.shape) == out).all()

# Heads of 64 have half a word of scales.
q, q_scale = quantised(1, 40, 1, 64)
k, k_scale = quantised(1, 70, 1, 64)
out = hocket.flash_attn_func(q, k, k, dtype="f8e4m3", q_scale=q_scale, k_scale=k_scale)
close(out[0], reference(scaled(q[0], q_scale[0]), scaled(k[0], k_scale[0]), e4m3(k[0])))


E2M1 = numpy.array([0, 0.5, 1, 1.5, 2, 3, 4, 6])


def of_fours(values, scales):
    codes = numpy.stack([values & 15, values >> 4], -1).reshape(*values.shape[:-1], -1)
    numbers = numpy.where(codes >> 3, -1.0, 1.0) * E2M1[codes & 7]
    return numbers * numpy.repeat(2.0 ** (scales.astype(float) - 127), 32, axis=-1)


# fp4, of which a byte has two; heads of V have half the elements.
q4, q4_scale = (hocket.quantize(bf16(random.standard_normal((2, 40, 4, 128))), "f4e2m1", per="mx", x_dtype="bf16"))
k4, k4_scale = (hocket.quantize(bf16(random.standard_normal((2, 70, 2, 128))), "f4e2m1", per="mx", x_dtype="bf16"))
assert q4.shape == (2, 40, 4, 64)
v8 = hocket.quantize(bf16(random.standard_normal((2, 70, 2, 64))), "f8e4m3", x_dtype="bf16")[0]
out = hocket.flash_attn_func(q4, k4, v8, dtype="f4e2m1_v_f8e4m3", q_scale=q4_scale, k_scale=k4_scale)
assert out.shape == (2, 40, 4, 64)
for b in range(2):
    close(out[b], reference(of_fours(q4[b], q4_scale[b]), of_fours(k4[b], k4_scale[b]), e4m3(v8[b])))
rows = [x.reshape(-1, *x.shape[2:]) for x in (q4, k4, v8, q4_scale, k4_scale)]
packed = hocket.flash_attn_varlen_func(*rows[:3], *starts, 40, 70, dtype="f4e2m1_v_f8e4m3", q_scale=rows[3], k_scale=rows[4])
assert (packed.reshape(out.shape) == out).all()


# V of 4 bits: a scale for each 32 keys of an element. Weights are of 4 bits, too.
codes, v4_scale = random.integers(0, 16, (2, 70, 2, 128)), random.integers(125, 130, (2, 3, 2, 128)).astype("uint8")
v4 = (codes[..., 0::2] | codes[..., 1::2] << 4).astype("uint8")
of_v = numpy.where(codes >> 3, -1.0, 1.0) * E2M1[codes & 7] * 2.0 ** (v4_scale.repeat(32, 1)[:, :70].astype(float) - 127)
out = hocket.flash_attn_func(q4, k4, v4, dtype="f4e2m1", q_scale=q4_scale, k_scale=k4_scale, v_scale=v4_scale)
assert out.shape == (2, 40, 4, 128)
for b in range(2):
    close(out[b], reference(of_fours(q4[b], q4_scale[b]), of_fours(k4[b], k4_scale[b]), of_v[b]), 0.2)


def refused(message, q=q, k=k, v=k, dtype="f8e4m3", **scales):
    try:
        hocket.flash_attn_func(q, k, v, dtype=dtype, **scales)
    except hocket.Error as error:
        assert message in str(error), error
        return
    raise AssertionError(message)


of_four = dict(q=q4, k=k4, v=v8, dtype="f4e2m1_v_f8e4m3")
refused("argument 'v' has elements of bf16 beside f4e2m1, wanted one of f4e2m1, f8e4m3", **of_four | dict(dtype="f4e2m1_v_bf16", v=bf16(v8)))
refused("argument 'q_scale' has the shape (2, 40, 4, 2), wanted (2, 40, 4, 4): one for each 32 elements of 'q'", **of_four,
        q_scale=q4_scale[..., :2], k_scale=k4_scale)
refused("argument 'q' has elements of f4e2m1, whose blocks have scales; give these to flash_attn_func or", **of_four)
refused("argument 'k' has heads of 64 elements, 'q' of 128", **of_four | dict(k=k4[..., :32].copy()))

refused("argument 'k_scale' is missing, which 'q_scale' goes with", q_scale=q_scale)
refused("argument 'v_scale' is given, and 'v' has elements of more than 4 bits", q_scale=q_scale, k_scale=k_scale, v_scale=v4_scale)
of_fours_alone = dict(q=q4, k=k4, v=v4, dtype="f4e2m1", q_scale=q4_scale, k_scale=k4_scale)
refused("argument 'v_scale' is missing, which 'q_scale' goes with", **of_fours_alone)
refused("argument 'v_scale' has the shape (2, 2, 2, 128), wanted (2, 3, 2, 128): one for each 32 keys", **of_fours_alone, v_scale=v4_scale[:, :2])
refused("argument 'q_scale' has the shape (1, 40, 1, 1), wanted (1, 40, 1, 2): one for each 32 elements of 'q'",
        q_scale=q_scale[..., :1], k_scale=k_scale)
refused("argument 'k_scale' has elements of float32, wanted bytes of E8M0: uint8 or float8_e8m0fnu", q_scale=q_scale,
        k_scale=k_scale.astype("float32"))
try:
    hocket.flash_attn_with_kvcache(q4, k4, v8, dtype="f4e2m1_v_f8e4m3")
except hocket.Error as error:
    assert "give these to flash_attn_func or flash_attn_varlen_func, as q_scale and k_scale" in str(error), error
else:
    raise AssertionError("a cache of 4 bits, which has no scales, is computed")
