"""mxfp8 from numpy against float64 of the quantised numbers: dense and packed rows, scales of hocket.quantize; and what is refused."""
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


def close(out, wanted):
    out = (out.astype("uint32") << 16).view("float32").astype(float)
    error = numpy.linalg.norm(out - wanted) / numpy.linalg.norm(wanted)
    assert error < 3.5e-2, error


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


def refused(message, **scales):
    try:
        hocket.flash_attn_func(q, k, k, dtype="f8e4m3", **scales)
    except hocket.InvalidInput as error:
        assert message in str(error), error
        return
    raise AssertionError(message)


refused("argument 'k_scale' is missing, which 'q_scale' goes with", q_scale=q_scale)
refused("argument 'q_scale' has the shape (1, 40, 1, 1), wanted (1, 40, 1, 2): one for each 32 elements of 'q'",
        q_scale=q_scale[..., :1], k_scale=k_scale)
refused("argument 'k_scale' has elements of float32, wanted bytes of E8M0: uint8 or float8_e8m0fnu", q_scale=q_scale,
        k_scale=k_scale.astype("float32"))
