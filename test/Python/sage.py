"""hocket.sageattn against float64 of what it is given, by the cosine, as upstream judges it, and its LSE; and what it refuses."""
import os
import sys

import numpy

import hocket

SEED = int(os.environ.get("HOCKET_TEST_SEED", "20261127"))
random = numpy.random.default_rng(SEED)


def bf16(numbers):
    bits = numpy.asarray(numbers, "float32").view("uint32")
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype("uint16")


def wide(x):
    return (x.astype("uint32") << 16).view("float32").astype("float64") if x.dtype == "uint16" else x.astype("float64")


def reference(q, k, v, scale, causal):
    """O and LSE of [batch, heads, seq, head_dim]."""
    group = q.shape[1] // k.shape[1]
    k, v = k.repeat(group, 1), v.repeat(group, 1)
    scores = numpy.einsum("bhqd,bhkd->bhqk", q, k) * scale
    if causal:
        rows, keys = numpy.arange(q.shape[2])[:, None], numpy.arange(k.shape[2])
        scores = numpy.where(keys <= rows + k.shape[2] - q.shape[2], scores, -numpy.inf)
    largest = scores.max(-1, keepdims=True)
    weights = numpy.exp(scores - largest)
    sums = weights.sum(-1, keepdims=True)
    return numpy.einsum("bhqk,bhkd->bhqd", weights / sums, v), (largest + numpy.log(sums))[..., 0]


def cosine(a, b):
    return (a * b).sum() / numpy.sqrt((a * a).sum() * (b * b).sum())


def attend(shape, seq_kv, kv_heads, layout, dtype, causal=False, key_mean=0.0, query_mean=0.0, **options):
    """The cosine of O with what is right, and how far LSE is off at most."""
    batch, heads, seq, dim = shape
    tensors = [random.standard_normal(shape), random.standard_normal((batch, kv_heads, seq_kv, dim)),
               random.standard_normal((batch, kv_heads, seq_kv, dim)) * numpy.exp2(random.integers(-4, 4, dim))]
    tensors[1] += key_mean * random.standard_normal(dim)
    tensors[0] += query_mean * random.standard_normal((1, heads, seq // 128 + 1, dim)).repeat(128, 2)[:, :, :seq]
    stored = [bf16(x) if dtype == "bf16" else x.astype("float16") for x in tensors]
    given = stored if layout == "HND" else [numpy.ascontiguousarray(x.swapaxes(1, 2)) for x in stored]
    out, lse = hocket.sageattn(*given, layout, causal, return_lse=True, dtype="bf16" if dtype == "bf16" else None, **options)
    assert out.dtype == given[0].dtype and out.shape == given[0].shape
    found = wide(out) if layout == "HND" else wide(out).swapaxes(1, 2)
    wanted, sums = reference(*map(wide, stored), options.get("sm_scale") or dim**-0.5, causal)
    return cosine(found, wanted), numpy.abs(lse - sums).max()


def check(what, least, most, found):
    assert found[0] >= least and found[1] <= most, f"HOCKET_TEST_SEED={SEED}: {what}: cosine {found[0]:.5f}, LSE off by {found[1]:.4f}"


check("HND, f16", 0.9985, 0.03, attend((1, 4, 200, 64), 200, 2, "HND", "f16"))
check("NHD, bf16, causal", 0.9985, 0.03, attend((2, 2, 90, 128), 150, 2, "NHD", "bf16", causal=True))
check("per block, a scale", 0.9985, 0.03, attend((1, 2, 300, 128), 280, 1, "HND", "bf16", qk_quant_gran="per_block", sm_scale=0.05))
# Keys that all have a large part in common, which leaves nothing of 8 bits for the rest.
check("keys with a mean", 0.9985, 0.03, attend((1, 2, 130, 64), 260, 1, "NHD", "f16", key_mean=10))
rough = attend((1, 2, 130, 64), 260, 1, "NHD", "f16", key_mean=10, smooth_k=False)
assert rough[0] < 0.998, f"HOCKET_TEST_SEED={SEED}: without smoothing the cosine is {rough[0]:.5f}"
check("queries rotated", 0.9985, 0.03, attend((1, 2, 130, 64), 260, 1, "HND", "f16", hadamard=32))
# Blocks of queries that have much in common, and a last one that is not whole.
for layout, causal, dtype in (("NHD", False, "f16"), ("HND", True, "bf16")):
    found = attend((1, 4, 300, 64), 330, 2, layout, dtype, causal, query_mean=6, smooth_q=True, hadamard=64)
    check("queries with means", 0.9985, 0.05, found)
    alone = attend((1, 4, 300, 64), 330, 2, layout, dtype, causal, query_mean=6)
    assert alone[0] < found[0], f"HOCKET_TEST_SEED={SEED}: queries with means: {alone[0]:.5f} as they are, {found[0]:.5f} without"

x, y = (random.standard_normal((1, 2, 8, 64)).astype(dtype) for dtype in ("float16", "float32"))
for wanted, arguments, options in (
    ("argument 'tensor_layout' is 'BHSD', wanted HND or NHD", (x, x, x, "BHSD"), {}),
    ("argument 'qk_quant_gran' is 'per_thread', whose scales no kernel takes; use per_warp", (x, x, x), dict(qk_quant_gran="per_thread")),
    ("argument 'q' has elements of f32, wanted bf16 or f16", (y, y, y), {}),
    ("argument 'q' has elements of u16, wanted bf16 or f16; for the bits of bf16 say dtype='bf16'", (bf16(x),) * 3, {}),
    ("argument 'k' has elements of f32, 'q' of f16", (x, y, x), {}),
    ("argument 'hadamard' is 48, wanted a power of two that divides the 64 elements of a head", (x, x, x), dict(hadamard=48)),
    ("argument 'v' has 3 dimensions, wanted 4: HND", (x, x, x[0]), {}),
):
    try:
        hocket.sageattn(*arguments, **options)
    except hocket.Error as error:
        assert wanted in str(error), f"{error}\nwanted: {wanted}"
    else:
        sys.exit(f"not refused: {wanted}")
