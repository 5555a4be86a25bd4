"""Floats of 8 bits as their bits: what the functions give, against numpy in float64, and what they refuse."""
import os
import sys

import numpy
import small_float_numbers as definition

import hocket

SEED = int(os.environ.get("HOCKET_TEST_SEED", "20261127"))
random = numpy.random.default_rng(SEED)


def e4m3_table():
    """The number of each of the 256 patterns."""
    numbers = numpy.zeros(256)
    for bits in range(256):
        exponent, mantissa = bits >> 3 & 15, bits & 7
        number = mantissa * 2.0**-9 if exponent == 0 else (8 + mantissa) * 2.0 ** (exponent - 10)
        numbers[bits] = (-1) ** (bits >> 7) * number
    numbers[[0x7F, 0xFF]] = numpy.nan
    return numbers


TABLE = e4m3_table()


def rounded(numbers):
    """The patterns of the nearest ones."""
    order = numpy.argsort(TABLE[:127])
    at = numpy.abs(numbers)[..., None]
    nearest = numpy.abs(TABLE[:127][order] - at).argmin(-1)
    return (order[nearest] | numpy.where(numbers < 0, 0x80, 0)).astype("uint8")


def bf16(numbers):
    bits = numpy.asarray(numbers, "float32").view("uint32")
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype("uint16")


def wide(bits):
    return (bits.astype("uint32") << 16).view("float32").astype("float64")


def reference(q, k, v, scale, causal):
    """Of [batch, seq, heads, head_dim] in float64."""
    group = q.shape[2] // k.shape[2]
    k, v = k.repeat(group, 2), v.repeat(group, 2)
    scores = numpy.einsum("bqhd,bkhd->bhqk", q, k) * scale
    if causal:
        rows, keys = numpy.arange(q.shape[1])[:, None], numpy.arange(k.shape[1])
        scores = numpy.where(keys <= rows + k.shape[1] - q.shape[1], scores, -numpy.inf)
    weights = numpy.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    return numpy.einsum("bhqk,bkhd->bqhd", weights, v)


def check(what, out, wanted, tolerance):
    error = numpy.linalg.norm(wide(out.view("uint16")) - wanted) / numpy.linalg.norm(wanted)
    assert error <= tolerance, f"HOCKET_TEST_SEED={SEED}: {what}: off by {error:.2e}, at most {tolerance} is allowed"


def normal(*shape):
    return random.standard_normal(shape)


def of_eight_bits():
    q, k, v = rounded(normal(2, 70, 4, 64)), rounded(normal(2, 90, 2, 64)), rounded(normal(2, 90, 2, 64))
    descales = [numpy.exp2(normal(2, 2)).astype("float32") for _ in range(3)]
    out = hocket.flash_attn_func(q, k, v, causal=True, dtype="f8e4m3", q_descale=descales[0], k_descale=descales[1],
                                 v_descale=descales[2])
    per_head = [descale[:, None, :, None] for descale in descales]
    wanted = reference(TABLE[q] * per_head[0].repeat(2, 2), TABLE[k] * per_head[1], TABLE[v] * per_head[2], 64**-0.5, True)
    check("Q, K and V of 8 bits with descales", out, wanted, 3.5e-2)
    # One of them alone, of one number.
    out = hocket.flash_attn_func(q, k, v, dtype="f8e4m3", v_descale=numpy.array([0.5], "float32"))
    check("a descale of V alone", out, reference(TABLE[q], TABLE[k], TABLE[v] * 0.5, 64**-0.5, False), 3.5e-2)


def of_integers():
    """Q and K of every integer of 8 bits, -128 among them, beside V of 8 and 16 bits."""
    q, k, v = random.integers(-128, 128, (1, 70, 4, 64)), random.integers(-128, 128, (1, 90, 2, 64)), normal(1, 90, 2, 64)
    q, k = q.astype("int8"), k.astype("int8")
    for types, values, seen, tolerance in (("i8_v_f8e4m3", rounded(v), TABLE[rounded(v)], 3.5e-2), ("i8_v_bf16", bf16(v), wide(bf16(v)), 3.5e-3)):
        for scale in (1e-4, -1e-4):
            out = hocket.flash_attn_func(q, k, values, softmax_scale=scale, dtype=types)
            check(f"{types}, scale {scale}", out, reference(q.astype("float64"), k.astype("float64"), seen, scale, False), tolerance)
    descale = numpy.array([[0.01, 0.02]], "float32")
    out = hocket.flash_attn_func(q, k, rounded(v), softmax_scale=1, dtype="i8_v_f8e4m3", causal=True, q_descale=descale, k_descale=descale)
    per_head = descale[:, None, :, None]
    wanted = reference(q * per_head.repeat(2, 2), k * per_head, TABLE[rounded(v)], 1, True)
    check("i8 with descales", out, wanted, 3.5e-2)


def largest_integers():
    """Sums of products as large as there are: a row sees one key, or all of them alike."""
    for sign in (1, -1):
        q = numpy.full((1, 33, 1, 256), -128, "int8")
        k = numpy.full((1, 40, 1, 256), -128, "int8")
        k[:, 7] = 127
        v = rounded(normal(1, 40, 1, 256))
        out = hocket.flash_attn_func(q, k, v, softmax_scale=sign * 1e-3, dtype="i8_v_f8e4m3")
        check("the largest sums", out, reference(q.astype("float64"), k.astype("float64"), TABLE[v], sign * 1e-3, False), 3.5e-2)


def heads_that_are_padded():
    q, k, v = (rounded(normal(1, 33, 2, 40)) for _ in range(3))
    out = hocket.flash_attn_func(q, k, v, dtype="f8e4m3")
    assert out.shape == q.shape
    check("heads of 40", out, reference(TABLE[q], TABLE[k], TABLE[v], 40**-0.5, False), 3.5e-2)


def a_cache():
    q, k, v = bf16(normal(2, 1, 8, 128)), rounded(normal(2, 300, 2, 128)), rounded(normal(2, 300, 2, 128))
    lengths = numpy.array([300, 123], "int32")
    k_descale = numpy.array([[0.5, 2.0], [1.5, 0.25]], "float32")
    out = hocket.flash_attn_with_kvcache(q, k, v, cache_seqlens=lengths, dtype="bf16_kv_f8e4m3", k_descale=k_descale)
    for sequence, length in enumerate(lengths):
        one = slice(sequence, sequence + 1)
        wanted = reference(wide(q[one]), TABLE[k[one, :length]] * k_descale[one, None, :, None], TABLE[v[one, :length]], 128**-0.5,
                           False)
        check("a cache of 8 bits", numpy.ascontiguousarray(out[one]), wanted, 3.5e-3)


def appended_keys(kind, paged, interleaved, stored):
    """Two new keys of each sequence, to the bit: turned, divided by the descales and rounded, or copied as they are."""
    lengths, dim, name = numpy.array([5, 0, 30], "int32"), 64, f"f8{kind}"
    nearest, numbers = definition.rounding(kind), definition.numbers(kind)
    caches = [nearest(normal(3, 40, 2, dim)) for _ in range(2)]
    descales = [numpy.exp2(normal(3, 2) - 1).astype("float32") for _ in range(2)]
    if kind == "e4m3":
        descales[1] = numpy.array([[0.002, 0.5]], "float32")  # of which some numbers are too large for the type
    fresh = [bf16(normal(3, 2, 2, dim)) for _ in range(2)] if not stored else [nearest(normal(3, 2, 2, dim)) for _ in range(2)]
    angles = numpy.arange(40)[:, None] * numpy.exp2(-numpy.arange(dim // 2) / 4)
    tables = [bf16(numpy.cos(angles)), bf16(numpy.sin(angles))] if interleaved is not None else [None, None]
    wanted = [cache.copy() for cache in caches]
    for which, (cache, new, descale) in enumerate(zip(wanted, fresh, descales)):
        value = (numbers[new] if stored else wide(new)).astype("float32")
        if which == 0 and interleaved is not None:
            cos, sin = (wide(table).astype("float32")[lengths[:, None] + numpy.arange(2)][:, :, None] for table in tables)
            first, second = ((numpy.s_[..., ::2], numpy.s_[..., 1::2]) if interleaved else
                             (numpy.s_[..., : dim // 2], numpy.s_[..., dim // 2:]))
            x, y = value[first].copy(), value[second].copy()
            value[first], value[second] = x * cos - y * sin, y * cos + x * sin
        if not stored:
            value = value / numpy.broadcast_to(descale, (3, 2))[:, None, :, None]
        for sequence, length in enumerate(lengths):
            cache[sequence, length: length + 2] = nearest(value[sequence])
    given, table = [cache.copy() for cache in caches], None
    if paged:
        table = random.permutation(15).reshape(3, 5).astype("int32")
        pools = [numpy.zeros((15, 8, 2, dim), "uint8") for _ in range(2)]
        for pool, cache in zip(pools, given):
            pool[table.reshape(-1)] = cache.reshape(15, 8, 2, dim)
        given = pools
    q = bf16(normal(3, 2, 4, dim))
    out = hocket.flash_attn_with_kvcache(q, *given, *fresh, *tables, cache_seqlens=lengths, block_table=table, causal=True,
                                         rotary_interleaved=bool(interleaved), dtype="bf16", kv_cache_dtype=f"fp8_{kind}",
                                         k_descale=descales[0], v_descale=descales[1])
    for found, right in zip(given, wanted):
        found = found[table.reshape(-1)].reshape(3, 40, 2, dim) if paged else found
        assert (found == right).all(), f"HOCKET_TEST_SEED={SEED}: {name}, paged {paged}, rotary {interleaved}: other bits are stored"
    # The same as a call that finds the keys in the cache.
    if interleaved is None:
        alone = hocket.flash_attn_with_kvcache(q, *given, cache_seqlens=lengths + 2, block_table=table, causal=True,
                                               dtype=f"bf16_kv_{name}", k_descale=descales[0], v_descale=descales[1])
        check("appending in the same call", out, wide(alone.view("uint16")), 1e-6)


def refusals():
    of_bytes = numpy.zeros((1, 8, 2, 64), "int8")
    q, k = bf16(normal(1, 4, 2, 64)), rounded(normal(1, 8, 2, 64))
    cases = (
        ("argument 'v' has elements of bf16, 'k' of f8e4m3", dict(v=bf16(normal(1, 8, 2, 64)), dtype="bf16_k_f8e4m3")),
        ("argument 'k_descale' has the shape (3,), wanted [batch, kv_heads]",
         dict(v=k, dtype="bf16_kv_f8e4m3", k_descale=numpy.ones(3, "float32"))),
        ("argument 'v_descale' has elements of float64", dict(v=k, dtype="bf16_kv_f8e4m3", v_descale=numpy.ones(2))),
        ("argument 'k' has elements of i8, 'q' of bf16; give both i8", dict(k=of_bytes, v=k, dtype="bf16_k_i8_v_f8e4m3")),
        ("argument 'v' has elements of i8 beside 'k' of i8, wanted bf16, f16 or a float of 8 bits",
         dict(q=of_bytes, k=of_bytes, v=of_bytes)),
        ("argument 'dtype' is 'bf16_x_f8e4m3'", dict(v=k, dtype="bf16_x_f8e4m3")),
    )
    wide_keys = bf16(normal(1, 8, 2, 64))
    of_caches = (
        ("argument 'kv_cache_dtype' is 'fp4', wanted one of auto, fp8, fp8_e4m3, fp8_e5m2", dict(kv_cache_dtype="fp4")),
        ("argument 'kv_cache_dtype' is a 'int', wanted a name", dict(kv_cache_dtype=8)),
        ("argument 'kv_cache_dtype' is 'fp8', and argument 'k_cache' has elements of uint16; wanted uint8 or float8_e4m3fn",
         dict(k_cache=wide_keys, v_cache=wide_keys, kv_cache_dtype="fp8")),
        ("argument 'dtype' is 'bf16_kv_f8e4m3' with kv_cache_dtype='fp8', which says what the caches hold",
         dict(kv_cache_dtype="fp8", dtype="bf16_kv_f8e4m3")),
        ("argument 'v' has elements of f8e4m3, 'k' of bf16; give both as the caches have them, or none",
         dict(kv_cache_dtype="fp8", k=wide_keys[:, :4], v=k[:, :4].copy())),
        ("argument 'k' has elements of f16, 'dtype' says bf16", dict(kv_cache_dtype="fp8", k=wide_keys.view("float16"), v=wide_keys)),
    )
    of_caches = [(wanted, dict(q=q, k_cache=k, v_cache=k.copy(), cache_seqlens=0, dtype="bf16") | options)
                 for wanted, options in of_caches]
    for function, wanted, options in (*((hocket.flash_attn_func, wanted, dict(q=q, k=k) | options) for wanted, options in cases),
                                      *((hocket.flash_attn_with_kvcache, *case) for case in of_caches)):
        try:
            function(**options)
        except hocket.Error as error:
            assert wanted in str(error), f"{error}\nwanted: {wanted}"
        else:
            sys.exit(f"not refused: {wanted}")


of_eight_bits()
of_integers()
largest_integers()
heads_that_are_padded()
a_cache()
for case in (("e4m3", False, None, False), ("e5m2", True, False, False), ("e4m3", True, True, False), ("e5m2", False, None, True),
             ("e4m3", True, None, True)):
    appended_keys(*case)
refusals()
