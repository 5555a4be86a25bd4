"""flash_attn_with_kvcache, and block_table of flash_attn_varlen_func: what the same keys give without a cache."""
import unittest

import numpy
from reference import TOLERANCE, attention, check_lse, largest_error, random_tensor, swap

from hocket import InvalidInput, Unsupported, flash_attn_func, flash_attn_varlen_func, flash_attn_with_kvcache

LENGTHS = numpy.int32([70, 0, 33, 128])
HEADS, KV_HEADS, DIM = 4, 2, 64


def cache(batch=4, rows=128, seed=0):
    """A cache whose rows behind LENGTHS are no numbers."""
    generator = numpy.random.default_rng(seed)
    tensors = [random_tensor(generator, (batch, rows, KV_HEADS, DIM), "f16") for _ in range(2)]
    for tensor in tensors:
        for sequence, length in enumerate(LENGTHS):
            tensor[sequence, length:] = numpy.nan
    return tensors


def paged(tensors, page, seed=0):
    """The same in pages at random, among some that hold no numbers, and the table."""
    generator = numpy.random.default_rng(seed)
    entries = -(-tensors[0].shape[1] // page)
    places = generator.permutation(4 * entries + 3).astype(numpy.int32)
    pools = [numpy.full((len(places), page, KV_HEADS, DIM), numpy.nan, numpy.float16) for _ in tensors]
    table = numpy.full((4, entries), 2**31 - 1, numpy.int32)
    for sequence, length in enumerate(LENGTHS):
        for index in range(-(-length // page)):
            table[sequence, index] = places[sequence * entries + index]
            for pool, tensor in zip(pools, tensors):
                rows = tensor[sequence, index * page:(index + 1) * page]
                pool[table[sequence, index], : len(rows)] = rows
    return (*pools, table)


def in_vectors(pools):
    """Pages as vectors of 16 bytes: [pages, heads, dim / x, rows, x] of K, [pages, heads, rows / x, dim, x] of V."""
    k, v = (pool.transpose(0, 2, 1, 3) for pool in pools)
    pages, heads, rows, dim = k.shape
    k = k.reshape(pages, heads, rows, dim // 8, 8).transpose(0, 1, 3, 2, 4)
    v = v.reshape(pages, heads, rows // 8, 8, dim).transpose(0, 1, 2, 4, 3)
    return numpy.ascontiguousarray(k), numpy.ascontiguousarray(v)


def queries(rows=3, seed=7):
    return random_tensor(numpy.random.default_rng(seed), (4, rows, HEADS, DIM), "f16")


class Caches(unittest.TestCase):
    def assert_right(self, q, tensors, out, lse, causal):
        for i, length in enumerate(LENGTHS):
            if length == 0:
                self.assertTrue((out[i] == 0).all() and (lse[i] == -numpy.inf).all())
                continue
            wanted, wanted_lse = attention(swap(q[i:i + 1]), *(swap(t[i:i + 1, :length]) for t in tensors), causal=causal)
            self.assertLess(largest_error(out[i:i + 1], swap(wanted)), TOLERANCE["f16"])
            check_lse(lse[i:i + 1], wanted_lse)

    def test_a_cache_of_rows(self):
        q, tensors = queries(), cache()
        for causal in (False, True):
            out, lse = flash_attn_with_kvcache(q, *tensors, cache_seqlens=LENGTHS, causal=causal, return_softmax_lse=True)
            self.assert_right(q, tensors, out, lse, causal)

    def test_pages(self):
        q, tensors = queries(), cache()
        for page, arch in ((1, "gfx950"), (16, "gfx942"), (48, "gfx950")):
            k, v, table = paged(tensors, page)
            out, lse = flash_attn_with_kvcache(q, k, v, cache_seqlens=LENGTHS, block_table=table, causal=True, arch=arch,
                                               return_softmax_lse=True)
            self.assert_right(q, tensors, out, lse, True)

    def test_pages_of_vectors(self):
        q, tensors = queries(), cache()
        for page, arch in ((8, "gfx950"), (16, "gfx942"), (48, "gfx950")):
            *pools, table = paged(tensors, page)
            out, lse = flash_attn_with_kvcache(q, *in_vectors(pools), cache_seqlens=LENGTHS, block_table=table, causal=True,
                                               arch=arch, return_softmax_lse=True)
            self.assert_right(q, tensors, out, lse, True)

    def test_other_rows_of_the_cache(self):
        q, tensors = queries(), cache()
        order = numpy.int32([3, 0, 3, 2])
        out = flash_attn_with_kvcache(q, *tensors, cache_seqlens=LENGTHS[order], cache_batch_idx=order)
        for i, row in enumerate(order):
            alone = flash_attn_func(q[i:i + 1], *(t[row:row + 1, : LENGTHS[row]] for t in tensors))
            self.assertLess(largest_error(out[i:i + 1], alone.astype(numpy.float64)), TOLERANCE["f16"])

    def test_one_length_and_modifications(self):
        q, tensors = queries(rows=1), cache()
        options = {"window_size": (20, 0), "softcap": 8.0, "alibi_slopes": numpy.float32([0.5, 0.25, 0.125, 0.0625]),
                   "sink": numpy.float32([0, 1, 2, 3])}
        tensors = [numpy.nan_to_num(t) for t in tensors]
        for given, length in ((33, 33), (None, 128)):
            out = flash_attn_with_kvcache(q, *tensors, cache_seqlens=given, **options)
            alone = flash_attn_func(q, *(t[:, :length] for t in tensors), **options)
            self.assertLess(largest_error(out, alone.astype(numpy.float64)), TOLERANCE["f16"])

    def test_packed_queries_over_pages(self):
        tensors = cache()
        k, v, table = paged(tensors, 16)
        rows = (5, 2, 0, 40)
        starts = numpy.cumsum([0, *rows]).astype(numpy.int32)
        keys = numpy.cumsum([0, *LENGTHS]).astype(numpy.int32)
        q = random_tensor(numpy.random.default_rng(3), (sum(rows), HEADS, DIM), "f16")
        out, lse = flash_attn_varlen_func(q, k, v, starts, keys, 40, 128, causal=True, block_table=table, return_lse=True)
        for i, length in enumerate(LENGTHS):
            at = slice(starts[i], starts[i + 1])
            if rows[i] == 0 or length == 0:
                self.assertTrue((out[at] == 0).all())
                continue
            wanted, wanted_lse = attention(swap(q[None, at]), *(swap(t[i:i + 1, :length]) for t in tensors), causal=True)
            self.assertLess(largest_error(out[None, at], swap(wanted)), TOLERANCE["f16"])
            check_lse(lse[None, :, at], wanted_lse)


def rotated(values, positions, cos, sin, interleaved):
    """[batch, rows, heads, head_dim] at `positions` [batch, rows], in float64."""
    x, half = values.astype(numpy.float64), cos.shape[1]
    firsts, seconds = (slice(0, 2 * half, 2), slice(1, 2 * half, 2)) if interleaved else (slice(0, half), slice(half, 2 * half))
    c, s = (table.astype(numpy.float64)[positions][:, :, None] for table in (cos, sin))
    result = x.copy()
    result[..., firsts] = x[..., firsts] * c - x[..., seconds] * s
    result[..., seconds] = x[..., seconds] * c + x[..., firsts] * s
    return result


class Appended(unittest.TestCase):
    LENGTHS = numpy.int32([10, 0, 95])

    def setUp(self):
        generator = numpy.random.default_rng(1)
        self.caches = [random_tensor(generator, (3, 100, KV_HEADS, DIM), "f16") for _ in range(2)]
        self.q = random_tensor(generator, (3, 5, HEADS, DIM), "f16")
        self.fresh = [random_tensor(generator, (3, 5, KV_HEADS, DIM), "f16") for _ in range(2)]
        angles = generator.uniform(-3, 3, (112, DIM // 2))
        self.cos, self.sin = numpy.cos(angles).astype(numpy.float16), numpy.sin(angles).astype(numpy.float16)

    def wanted(self, rotary_dim, interleaved, causal):
        """The caches behind the call, and what queries are."""
        positions = self.LENGTHS[:, None] + numpy.arange(5)
        half = slice(0, rotary_dim // 2)
        cos, sin = numpy.ascontiguousarray(self.cos[:, half]), numpy.ascontiguousarray(self.sin[:, half])
        k = rotated(self.fresh[0], positions, cos, sin, interleaved).astype(numpy.float16)
        rows = positions if causal else numpy.repeat(self.LENGTHS[:, None], 5, 1)
        q = rotated(self.q, rows, cos, sin, interleaved).astype(numpy.float16)
        caches = [tensor.copy() for tensor in self.caches]
        for sequence, at in enumerate(positions):
            caches[0][sequence, at], caches[1][sequence, at] = k[sequence], self.fresh[1][sequence]
        return caches, q, cos, sin

    def assert_attends(self, out, q, caches, causal):
        for i, length in enumerate(self.LENGTHS + 5):
            wanted, _ = attention(swap(q[i:i + 1]), *(swap(t[i:i + 1, :length]) for t in caches), causal=causal)
            self.assertLess(largest_error(out[i:i + 1], swap(wanted)), TOLERANCE["f16"])

    def test_rows_behind_those_of_a_cache(self):
        for rotary_dim, interleaved, causal, arch in ((DIM, False, True, "gfx950"), (32, True, True, "gfx942"),
                                                      (16, True, False, "gfx950")):
            wanted, q, cos, sin = self.wanted(rotary_dim, interleaved, causal)
            caches = [tensor.copy() for tensor in self.caches]
            out = flash_attn_with_kvcache(
                self.q, *caches, *self.fresh, cos, sin, self.LENGTHS, causal=causal, rotary_interleaved=interleaved, arch=arch)
            # Half a bit of rounding; what is not new stays as it is.
            self.assertLess(numpy.abs(caches[0].astype(float) - wanted[0]).max(), 4e-3)
            self.assertTrue((caches[1] == wanted[1]).all())
            self.assert_attends(out, q, wanted, causal)

    def test_pages_and_one_call_or_two(self):
        generator = numpy.random.default_rng(5)
        wanted, q, cos, sin = self.wanted(DIM, False, True)
        table = generator.permutation(3 * 7 + 2)[: 3 * 7].reshape(3, 7).astype(numpy.int32)
        pools = [numpy.full((23, 16, KV_HEADS, DIM), numpy.nan, numpy.float16) for _ in range(2)]
        for pool, cache in zip(pools, self.caches):
            for sequence, length in enumerate(self.LENGTHS):
                for row in range(length):
                    pool[table[sequence, row // 16], row % 16] = cache[sequence, row]
        before = [pool.copy() for pool in pools]
        out = flash_attn_with_kvcache(self.q, *pools, *self.fresh, cos, sin, self.LENGTHS, causal=True, block_table=table,
                                      rotary_interleaved=False)
        self.assert_attends(out, q, wanted, True)
        changed = [(a.view(numpy.uint16) != b.view(numpy.uint16)).any((2, 3)) for a, b in zip(pools, before)]
        places = {(table[b, (n + t) // 16], (n + t) % 16) for b, n in enumerate(self.LENGTHS) for t in range(5)}
        for rows in changed:
            self.assertLessEqual(set(zip(*numpy.nonzero(rows))), places, "written beside what is new")
        # What was appended is there: attending alone then gives the same bits.
        again = flash_attn_with_kvcache(q, *pools, cache_seqlens=self.LENGTHS + 5, causal=True, block_table=table)
        self.assertLess(numpy.abs(again.astype(float) - out).max(), 2e-3)

    def test_pages_of_vectors(self):
        """What is written to rows is written to vectors, and attended to alike."""
        _, _, cos, sin = self.wanted(DIM, False, True)
        table = numpy.random.default_rng(5).permutation(3 * 14 + 2)[: 3 * 14].reshape(3, 14).astype(numpy.int32)
        pools = [numpy.full((44, 8, KV_HEADS, DIM), numpy.nan, numpy.float16) for _ in range(2)]
        for pool, cached in zip(pools, self.caches):
            for sequence, length in enumerate(self.LENGTHS):
                for row in range(length):
                    pool[table[sequence, row // 8], row % 8] = cached[sequence, row]
        vectors = in_vectors(pools)
        outs = [flash_attn_with_kvcache(self.q, *caches, *self.fresh, cos, sin, self.LENGTHS, causal=True, block_table=table,
                                        rotary_interleaved=False) for caches in (pools, vectors)]
        self.assertLess(numpy.abs(outs[0].astype(float) - outs[1]).max(), 2e-3)
        for found, wanted in zip(vectors, in_vectors(pools)):
            self.assertTrue((found.view(numpy.uint16) == wanted.view(numpy.uint16)).all())

    def test_without_rotation_two_calls_give_the_same_bits(self):
        caches = [tensor.copy() for tensor in self.caches]
        out = flash_attn_with_kvcache(self.q, *caches, *self.fresh, cache_seqlens=self.LENGTHS, causal=True)
        alone = flash_attn_with_kvcache(self.q, *caches, cache_seqlens=self.LENGTHS + 5, causal=True)
        self.assertTrue((out.view(numpy.uint16) == alone.view(numpy.uint16)).all())

    def test_packed_queries_bring_a_key_each(self):
        """Sequences of 5, 0 and 2 new tokens: what two calls give, in caches and in pages."""
        starts, total, counts = numpy.int32([0, 5, 5, 7]), 7, numpy.int32([5, 0, 2])
        rows = [(b, i) for b in range(3) for i in range(counts[b])]
        q, k, v = (numpy.stack([t[b, i] for b, i in rows]) for t in (self.q, *self.fresh))
        caches = [tensor.copy() for tensor in self.caches]
        out, lse = flash_attn_with_kvcache(q, *caches, k, v, self.cos, self.sin, self.LENGTHS, causal=True,
                                           cu_seqlens_q=starts, max_seqlen_q=5, return_softmax_lse=True)
        self.assertEqual((out.shape, lse.shape), ((total, HEADS, DIM), (HEADS, total)))
        wanted, turned, _, _ = self.wanted(DIM, True, True)
        for at, (b, i) in enumerate(rows):
            length = self.LENGTHS[b] + i + 1
            self.assertLess(numpy.abs(caches[0][b, length - 1].astype(float) - wanted[0][b, length - 1]).max(), 4e-3)
            self.assertTrue((caches[1][b, length - 1] == v[at]).all())
            one = attention(swap(turned[b:b + 1, i:i + 1]), *(swap(t[b:b + 1, :length]) for t in wanted), causal=False)[0]
            self.assertLess(largest_error(out[None, at:at + 1], swap(one)), TOLERANCE["f16"])
        table = numpy.arange(3 * 10, dtype=numpy.int32)[::-1].copy().reshape(3, 10)
        pools = [numpy.zeros((30, 10, KV_HEADS, DIM), numpy.float16) for _ in range(2)]
        for pool, tensor in zip(pools, self.caches):
            pool[table.reshape(-1)] = tensor.reshape(30, 10, KV_HEADS, DIM)
        paged = flash_attn_with_kvcache(q, *pools, k, v, self.cos, self.sin, self.LENGTHS, causal=True, block_table=table,
                                        cu_seqlens_q=starts, max_seqlen_q=5)
        self.assertLess(numpy.abs(paged.astype(float) - out).max(), 2e-3)

    def test_packed_queries_that_do_not_fit_are_refused(self):
        starts, q = numpy.int32([0, 5, 5, 7]), self.q.reshape(15, HEADS, DIM)[:7]
        fresh = [tensor.reshape(15, KV_HEADS, DIM)[:7] for tensor in self.fresh]
        options = {"cache_seqlens": self.LENGTHS, "cu_seqlens_q": starts, "max_seqlen_q": 5}
        for text, arguments in (
            ("argument 'max_seqlen_q' is missing, which 'cu_seqlens_q' goes with", {"max_seqlen_q": None}),
            ("argument 'cu_seqlens_q' has the shape", {"cu_seqlens_q": starts[:0]}),
            ("argument 'k_cache' has a batch of 3, 'cu_seqlens_q' is of 2 sequences",
             {"cu_seqlens_q": starts[1:], "cache_seqlens": self.LENGTHS[1:]}),
            ("argument 'q' has 4 dimensions, wanted 3", {"q": self.q}),
            ("has the shape \\(6, 2, 64\\), wanted \\(7, 2, 64\\)", {"k": fresh[0][:6], "v": fresh[1]}),
            ("argument 'cache_seqlens' has 99 at 2 and gets 2 new rows", {"cache_seqlens": numpy.int32([0, 0, 99])}),
        ):
            caches = dict(zip(("k_cache", "v_cache"), (tensor.copy() for tensor in self.caches)))
            with self.assertRaisesRegex(InvalidInput, text):
                flash_attn_with_kvcache(**{"q": q, "k": fresh[0], "v": fresh[1], **caches, **options, **arguments})

    def test_rows_behind_the_end_are_refused(self):
        caches = [tensor.copy() for tensor in self.caches]
        with self.assertRaisesRegex(InvalidInput, "argument 'cache_seqlens' has 98 at 0 and gets 5 new rows"):
            flash_attn_with_kvcache(self.q, *caches, *self.fresh, cache_seqlens=numpy.int32([98, 90, 0]))
        for cache, before in zip(caches, self.caches):
            self.assertTrue((cache == before).all())


class Refused(unittest.TestCase):
    def check(self, kind, text, **changes):
        k, v = cache()
        arguments = {"q": queries(), "k_cache": k, "v_cache": v, "cache_seqlens": LENGTHS, **changes}
        with self.assertRaises(kind) as caught:
            flash_attn_with_kvcache(**arguments)
        self.assertIn(text, str(caught.exception))

    def test_first_rows(self):
        self.check(InvalidInput, "argument 'cache_leftpad' has the shape (2,), wanted (4,)", cache_leftpad=LENGTHS[:2])
        self.check(InvalidInput, "argument 'cache_leftpad' has -1 at 1, wanted 0 to", cache_leftpad=-numpy.arange(4, dtype="int32"))
        self.check(Unsupported, "argument 'block_table' is given with 'cache_leftpad'", cache_leftpad=LENGTHS,
                   block_table=numpy.int32([[0]] * 4))

    def test_what_is_appended(self):
        k = random_tensor(numpy.random.default_rng(0), (4, 3, KV_HEADS, DIM), "f16")
        cos = numpy.ones((128, 32), numpy.float16)
        self.check(InvalidInput, "argument 'v' is missing, which 'k' goes with", k=k)
        self.check(InvalidInput, "argument 'k' is missing, which 'rotary_cos' goes with", rotary_cos=cos, rotary_sin=cos)
        self.check(InvalidInput, "argument 'rotary_sin' is missing, which 'rotary_cos' goes with", k=k, v=k, rotary_cos=cos)
        self.check(InvalidInput, "argument 'v' has the shape (4, 2, 2, 64), wanted (4, 3, 2, 64)", k=k, v=k[:, :2])
        self.check(InvalidInput, "argument 'rotary_cos' is for 40 elements of a head, wanted a multiple of 16 up to the 64",
                   k=k, v=k, rotary_cos=cos[:, :20].copy(), rotary_sin=cos[:, :20].copy())
        self.check(InvalidInput, "argument 'rotary_cos' has 100 positions, the cache has 128 rows", k=k, v=k,
                   rotary_cos=cos[:100], rotary_sin=cos[:100])

    def test_lists(self):
        self.check(InvalidInput, "argument 'cache_seqlens' has 3 numbers, which are those of 3 sequences, 'q' has 4",
                   cache_seqlens=LENGTHS[:3])
        self.check(InvalidInput, "argument 'cache_seqlens' has elements of i64, wanted i32", cache_seqlens=LENGTHS.astype("i8"))
        self.check(InvalidInput, "argument 'cache_seqlens' is 129, wanted a number from 0 to 128", cache_seqlens=129)
        self.check(InvalidInput, "argument 'cache_batch_idx' has the shape (2,), wanted a row of entries for each of the 4",
                   cache_batch_idx=LENGTHS[:2])
        self.check(InvalidInput, "argument 'block_table' has the shape (4,), wanted [batch, entries]", block_table=LENGTHS)
        self.check(InvalidInput, "argument 'cache_seqlens' has 129 at 0, sequences have at most 128 rows",
                   cache_seqlens=numpy.int32([129, 0, 0, 0]))
        pages = {"block_table": numpy.int32([[0], [1], [2], [3]])}
        self.check(InvalidInput, "argument 'cache_seqlens' has 129 at 0, sequences have at most 128 rows (entries of argument 'block_table', 1, "
                   "times rows of a page", cache_seqlens=numpy.int32([129, 0, 0, 0]), **pages)
        self.check(InvalidInput, "'cache_seqlens' has 128 at 0 and gets 2 new rows (append), there is room for 128 (entries of argument 'block_table'",
                   cache_seqlens=numpy.int32([128, 0, 0, 0]), k=numpy.zeros((4, 2, 2, 64), "f2"), v=numpy.zeros((4, 2, 2, 64), "f2"), **pages)
        self.check(InvalidInput, "argument 'cache_batch_idx' has page 4 for sequence 2", cache_batch_idx=numpy.int32([0, 1, 4, 2]))
        self.check(InvalidInput, "argument 'block_table' has page -1 for sequence 3",
                   block_table=numpy.int32([[0], [1], [2], [-1]]), cache_seqlens=numpy.int32([1, 0, 5, 7]))
        self.check(InvalidInput, "argument 'cache_batch_idx' is given with 'block_table'", block_table=LENGTHS[:, None],
                   cache_batch_idx=LENGTHS)

    def test_pages_of_vectors(self):
        *pools, table = paged(cache(), 16)
        k, v = in_vectors(pools)
        self.check(InvalidInput, "argument 'v_cache' has 4 dimensions, wanted [pages, heads, rows of a page / x, head_dim, x]",
                   k_cache=k, v_cache=pools[1], block_table=table)
        self.check(InvalidInput, "argument 'k_cache' has a stride of 256 elements in dimension 2, wanted 128",
                   k_cache=numpy.repeat(k, 2, 4)[..., ::2], v_cache=v, block_table=table)
        self.check(InvalidInput, "argument 'k_cache' has 5 dimensions, wanted 4", k_cache=k, v_cache=v)
        *pools, table = paged(cache(), 12)
        k = numpy.zeros((*pools[0].shape[:1], KV_HEADS, DIM // 8, 12, 8), numpy.float16)
        v = numpy.zeros((*pools[0].shape[:1], KV_HEADS, 1, DIM, 8), numpy.float16)
        self.check(InvalidInput, "argument 'v_cache' has 8 rows of a page, 'k_cache' has 12", k_cache=k, v_cache=v,
                   block_table=table)

    def test_tensors(self):
        self.check(InvalidInput, "argument 'q' has 3 dimensions, wanted 4: [batch, seq, heads, head_dim]", q=queries()[0])
        self.check(InvalidInput, "argument 'v_cache' has 64 rows of a page, 'k_cache' has 128", v_cache=cache()[1][:, :64],
                   block_table=LENGTHS[:, None])
        self.check(InvalidInput, "argument 'k_cache' has a batch of 3, 'q' of 4", k_cache=cache()[0][:3])


unittest.main()
