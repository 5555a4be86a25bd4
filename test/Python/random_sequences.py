"""Random calls of packed sequences and caches against the definition, sequence by sequence.

random_sequences.py [COUNT [SEED]]; HOCKET_RANDOM_CALLS and HOCKET_TEST_SEED come first.
"""
import numpy
from flex import attention
from random_calls import modified, run_all
from reference import TOLERANCE, check_lse, from_bf16, largest_error, random_tensor, swap, to_bf16

import hocket


def draw(generator):
    """Options, lengths and heads of one call."""
    pick = lambda *values: values[generator.integers(len(values))]  # noqa: E731
    groups, kv_heads = pick((1, 1), (2, 2), (4, 1), (8, 2))
    batch = int(generator.integers(1, 5))
    length = lambda most: int(pick(0, 1, generator.integers(1, most + 1), most))  # noqa: E731
    call = {
        "kind": pick("varlen", "paged varlen", "cache", "pages", "rows of a cache"),
        "dtype": pick("f16", "bf16"),
        "heads": groups * kv_heads, "kv_heads": kv_heads, "dim": pick(64, 64, 128),
        "causal": bool(generator.integers(2)),
        "window": (int(generator.integers(-1, 90)), int(generator.integers(-1, 40))) if pick(0, 0, 1) else (-1, -1),
        "softcap": pick(0.0, 0.0, 0.0, 2.0),
        "alibi": bool(pick(0, 0, 0, 1)),
        "scale": pick(None, 0.25),
        "page": int(pick(1, 16, 48, 64)),
        "keys": [length(300) for _ in range(batch)],
        "torch_like": False, "mask": None,
    }
    is_cache = not call["kind"].endswith("varlen")
    rows = int(pick(1, 2, generator.integers(1, 40)))
    call["queries"] = [rows if is_cache else length(150) for _ in range(batch)]
    call["new"] = int(pick(0, 1, 5)) if is_cache else 0
    call["rotary"] = int(pick(0, 16, 64)) if call["new"] else 0
    call["interleaved"] = bool(generator.integers(2))
    return call


def wide(values, dtype):
    return from_bf16(values) if dtype == "bf16" else values.astype(numpy.float32)


def narrow(values, dtype):
    return to_bf16(values) if dtype == "bf16" else values.astype(numpy.float16)


def rotated(call, rows, positions, cos, sin):
    """[rows, heads, dim] at `positions`, rounded as the cache is."""
    x, half = wide(rows, call["dtype"]), call["rotary"] // 2
    first, second = ((slice(0, 2 * half, 2), slice(1, 2 * half, 2)) if call["interleaved"]
                     else (slice(0, half), slice(half, 2 * half)))
    c, s = (wide(table, call["dtype"])[positions][:, None] for table in (cos, sin))
    result = x.copy()
    result[..., first], result[..., second] = (x[..., first] * c - x[..., second] * s,
                                               x[..., second] * c + x[..., first] * s)
    return narrow(result, call["dtype"])


class Places:
    """Where keys lie: dense rows of a cache, of some of its rows, or pages; what is nobody's holds no numbers."""

    def __init__(self, call, generator, room):
        self.rows = -(-room // call["page"]) if "page" in call["kind"] or call["kind"] == "pages" else 1
        self.page = call["page"] if self.rows > 1 or "page" in call["kind"] else room
        batch = len(call["keys"])
        count = batch * self.rows + (0 if call["kind"] == "cache" else 2)
        order = numpy.arange(count) if call["kind"] == "cache" else generator.permutation(count)
        self.table = order[: batch * self.rows].reshape(batch, self.rows).astype(numpy.int32)
        nothing = numpy.full((count, self.page, call["kv_heads"], call["dim"]), numpy.nan, numpy.float32)
        self.pools = [narrow(nothing, call["dtype"]) if call["dtype"] == "f16" else
                      numpy.full(nothing.shape, 0x7FC0, numpy.uint16) for _ in "kv"]

    def rows_of(self, pool, sequence, length):
        return pool[self.table[sequence]].reshape(-1, *pool.shape[2:])[:length]

    def put(self, sequence, k, v):
        for pool, rows in zip(self.pools, (k, v)):
            for row, value in enumerate(rows):
                pool[self.table[sequence, row // self.page], row % self.page] = value


def check(call, sequence, found, lse, q, k, v, slopes, number):
    local = {**call, "seq_q": len(q), "seq_kv": len(k)}
    if len(q) == 0:
        return
    wanted, wanted_lse = (numpy.zeros((1, len(q), *found.shape[1:])), numpy.full((1, q.shape[1], len(q)), -numpy.inf))
    if len(k):
        wanted, wanted_lse = attention(*(swap(t[None]) for t in (q, k, v)), *modified(local, slopes, None), call["scale"])
        wanted = swap(wanted)
    error = largest_error(found[None], wanted)
    assert error < TOLERANCE[call["dtype"]], f"call {number}, sequence {sequence} is off by {error}: {call}"
    check_lse(lse[None], wanted_lse)


def run_packed(call, generator, options, slopes, number):
    draw_rows = lambda count, heads: random_tensor(generator, (count, heads, call["dim"]), call["dtype"])  # noqa: E731
    starts = [numpy.cumsum([0, *lengths]).astype(numpy.int32) for lengths in (call["queries"], call["keys"])]
    q, k, v = (draw_rows(max(1, starts[index][-1]), heads) for index, heads in
               ((0, call["heads"]), (1, call["kv_heads"]), (1, call["kv_heads"])))
    longest = max(1, *call["queries"]), max(1, *call["keys"])
    given = (k, v)
    if call["kind"] == "paged varlen":
        places = Places(call, generator, longest[1])
        for sequence in range(len(call["keys"])):
            part = slice(*starts[1][sequence:sequence + 2])
            places.put(sequence, k[part], v[part])
        given, options["block_table"] = places.pools, places.table
    out, lse = hocket.flash_attn_varlen_func(q, *given, *starts, *longest, return_lse=True, **options)
    for sequence in range(len(call["keys"])):
        rows, keys = (slice(*s[sequence:sequence + 2]) for s in starts)
        check(call, sequence, out[rows], lse[:, rows], q[rows], k[keys], v[keys], slopes, number)


def run_cache(call, generator, options, slopes, number):
    draw_rows = lambda count, heads: random_tensor(generator, (count, heads, call["dim"]), call["dtype"])  # noqa: E731
    batch, new, room = len(call["keys"]), call["new"], max(1, *call["keys"]) + call["new"]
    places = Places(call, generator, room)
    if call["kind"] == "pages":
        options["block_table"] = places.table
    elif call["kind"] == "rows of a cache":
        options["cache_batch_idx"] = places.table[:, 0].copy()
    for sequence, length in enumerate(call["keys"]):
        places.put(sequence, draw_rows(length, call["kv_heads"]), draw_rows(length, call["kv_heads"]))
    q = numpy.stack([draw_rows(count, call["heads"]) for count in call["queries"]])
    fresh = [numpy.stack([draw_rows(new, call["kv_heads"]) for _ in range(batch)]) for _ in "kv"]
    if new:
        options.update(k=fresh[0], v=fresh[1])
    if call["rotary"]:
        angles = generator.uniform(-3, 3, (places.rows * places.page + q.shape[1], call["rotary"] // 2))
        cos, sin = (narrow(function(angles).astype(numpy.float32), call["dtype"]) for function in (numpy.cos, numpy.sin))
        options.update(rotary_cos=cos, rotary_sin=sin, rotary_interleaved=call["interleaved"])
    out, lse = hocket.flash_attn_with_kvcache(
        q, *places.pools, cache_seqlens=numpy.int32(call["keys"]), return_softmax_lse=True, **options)
    for sequence, length in enumerate(call["keys"]):
        k, v = (places.rows_of(pool, sequence, length + new) for pool in places.pools)
        queries = q[sequence]
        assert (v[length:] == fresh[1][sequence]).all(), f"call {number}: new values are not in the cache"
        if call["rotary"]:
            is_local = call["causal"] or call["window"] != (-1, -1)
            queries = rotated(call, queries, length + numpy.arange(len(queries)) * is_local, cos, sin)
            wanted = rotated(call, fresh[0][sequence], length + numpy.arange(new), cos, sin)
            assert (k[length:] == wanted).all(), f"call {number}: new keys are not rotated as they should be"
        check(call, sequence, out[sequence], lse[sequence], queries, k, v, slopes, number)


def run(number, seed):
    generator = numpy.random.default_rng([seed, number])
    call = draw(generator)
    slopes = generator.random(call["heads"]).astype(numpy.float32)
    options = {"causal": call["causal"], "softmax_scale": call["scale"], "window_size": call["window"],
               "softcap": call["softcap"], "alibi_slopes": slopes if call["alibi"] else None}
    if call["dtype"] == "bf16":
        options["dtype"] = "bf16"
    (run_packed if call["kind"].endswith("varlen") else run_cache)(call, generator, options, slopes, number)


if __name__ == "__main__":
    run_all(run, draw)
