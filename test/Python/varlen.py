"""flash_attn_varlen_func: each sequence gets what it gets alone, and nothing else is written."""
import unittest

import numpy
from reference import TOLERANCE, attention, check_lse, largest_error, random_tensor, swap

from hocket import InvalidInput, Unsupported, flash_attn_func, flash_attn_varlen_func


def starts(lengths):
    return numpy.cumsum([0, *lengths]).astype(numpy.int32)


def tensors(queries, keys, heads=4, kv_heads=2, dim=64, dtype="f16", seed=0):
    generator = numpy.random.default_rng(seed)
    shapes = ((sum(queries), heads, dim), (sum(keys), kv_heads, dim), (sum(keys), kv_heads, dim))
    return [random_tensor(generator, shape, dtype) for shape in shapes]


QUERIES, KEYS = (70, 0, 5, 1, 33), (70, 20, 100, 0, 40)


class Packed(unittest.TestCase):
    def assert_right(self, q, k, v, out, lse, queries=QUERIES, keys=KEYS, dtype="f16", **options):
        """Row by row what the definition says of each sequence alone."""
        cu_q, cu_k = starts(queries), starts(keys)
        for i, (rows, count) in enumerate(zip(queries, keys)):
            at, of = slice(cu_q[i], cu_q[i] + rows), slice(cu_k[i], cu_k[i] + count)
            if rows == 0:
                continue
            if count == 0:
                self.assertTrue((out[at] == 0).all() and (lse[:, at] == -numpy.inf).all())
                continue
            wanted, wanted_lse = attention(swap(q[None, at]), swap(k[None, of]), swap(v[None, of]), **options)
            self.assertLess(largest_error(out[None, at], swap(wanted)), TOLERANCE[dtype])
            check_lse(lse[None, :, at], wanted_lse)

    def run_packed(self, q, k, v, **options):
        return flash_attn_varlen_func(q, k, v, starts(QUERIES), starts(KEYS), max(QUERIES), max(KEYS), **options)

    def test_each_sequence_for_itself(self):
        for dtype in ("f16", "bf16"):
            q, k, v = tensors(QUERIES, KEYS, dtype=dtype)
            for causal in (False, True):
                for arch in ("gfx950", "gfx942"):
                    out, lse = self.run_packed(q, k, v, causal=causal, return_lse=True, arch=arch,
                                               dtype="bf16" if dtype == "bf16" else None)
                    self.assertEqual((out.shape, lse.shape), (q.shape, (4, sum(QUERIES))))
                    self.assert_right(q, k, v, out, lse, dtype=dtype, causal=causal)

    def test_modifications_count_from_each_sequence(self):
        q, k, v = tensors((60, 40), (90, 40))
        options = {"window_size": (20, 3), "softcap": 5.0,
                   "alibi_slopes": numpy.float32([0.5, 0.25, 0.125, 0.0625])}
        out = flash_attn_varlen_func(q, k, v, starts((60, 40)), starts((90, 40)), 60, 90, **options)
        for at, of in ((slice(0, 60), slice(0, 90)), (slice(60, 100), slice(90, 130))):
            alone = flash_attn_func(q[None, at], k[None, of], v[None, of], **options)
            self.assertLess(largest_error(out[None, at], alone.astype(numpy.float64)), TOLERANCE["f16"])

    def test_rows_that_are_not_used(self):
        q, k, v = tensors((64, 64), (100, 100))
        k[30:100], v[30:100] = numpy.nan, numpy.nan
        out = numpy.full_like(q, 7)
        lse = numpy.full((4, 128), 7, numpy.float32)
        given = flash_attn_varlen_func(
            q, k, v, starts((64, 64)), starts((100, 100)), 64, 100, causal=True, out=out, lse=lse,
            seqused_q=numpy.int32([17, 64]), seqused_k=numpy.int32([30, 100]))
        self.assertIs(given, out)
        self.assertTrue((out[17:64] == 7).all() and (lse[:, 17:64] == 7).all(), "written behind what is used")
        for at, of in ((slice(0, 17), slice(0, 30)), (slice(64, 128), slice(100, 200))):
            wanted, wanted_lse = attention(swap(q[None, at]), swap(k[None, of]), swap(v[None, of]), causal=True)
            self.assertLess(largest_error(out[None, at], swap(wanted)), TOLERANCE["f16"])
            check_lse(lse[None, :, at], wanted_lse)

    def test_short_sequences_are_skipped(self):
        q, k, v = tensors(QUERIES, KEYS)
        whole, whole_lse = self.run_packed(q, k, v, return_lse=True)
        for least in (1, 5, 69, 70):
            out, lse = numpy.full_like(whole, 7), numpy.full_like(whole_lse, 7)
            self.run_packed(q, k, v, out=out, lse=lse, min_seqlen_q=least)
            for first, rows in zip(starts(QUERIES), QUERIES):
                at = slice(first, first + rows)
                self.assertTrue((out[at] == (whole[at] if rows > least else 7)).all())
                self.assertTrue((lse[:, at] == (whole_lse[:, at] if rows > least else 7)).all())


    def test_work_lists_give_the_same(self):
        lengths, keys = (300, 1, 0, 130, 2), (300, 700, 40, 130, 900)
        q, k, v = tensors(lengths, keys)
        arguments = (q, k, v, starts(lengths), starts(keys), 300, 900)
        plain, plain_lse = flash_attn_varlen_func(*arguments, causal=True, return_lse=True)
        listed, listed_lse = flash_attn_varlen_func(*arguments, causal=True, return_lse=True, work_list=True)
        self.assertLess(largest_error(listed, plain), TOLERANCE["f16"])
        seen = numpy.isfinite(plain_lse)
        self.assertTrue((seen == numpy.isfinite(listed_lse)).all())
        self.assertLess(numpy.abs(listed_lse[seen] - plain_lse[seen]).max(), 1e-4)


class Refused(unittest.TestCase):
    def check(self, kind, text, **changes):
        q, k, v = tensors((4, 5), (4, 5))
        arguments = {"q": q, "k": k, "v": v, "cu_seqlens_q": starts((4, 5)), "cu_seqlens_k": starts((4, 5)),
                     "max_seqlen_q": 5, "max_seqlen_k": 5, **changes}
        with self.assertRaises(kind) as caught:
            flash_attn_varlen_func(**arguments)
        self.assertIn(text, str(caught.exception))

    def test_lists(self):
        self.check(InvalidInput, "argument 'cu_seqlens_k' has elements of i64, wanted i32", cu_seqlens_k=numpy.int64([0, 4, 9]))
        self.check(InvalidInput, "argument 'cu_seqlens_k' has 4 numbers, which are those of 3 sequences, 'cu_seqlens_q' "
                   "those of 2", cu_seqlens_k=starts((4, 5, 6)))
        self.check(InvalidInput, "argument 'cu_seqlens_k' has 3 numbers, which are those of 2 sequences, 'cu_seqlens_q' those "
                   "of 0", cu_seqlens_q=numpy.int32([0]))
        self.check(InvalidInput, "argument 'seqused_k' has the shape (1, 2), wanted one contiguous dimension",
                   seqused_k=numpy.int32([[1, 2]]))
        self.check(InvalidInput, "argument 'max_seqlen_q' is -1, wanted an integer from 0 on", max_seqlen_q=-1)
        self.check(InvalidInput, "argument 'max_seqlen_k' is 'a', wanted an integer", max_seqlen_k="a")
        self.check(InvalidInput, "argument 'cu_seqlens_q' is missing, which says where sequences begin", cu_seqlens_q=None)
        self.check(InvalidInput, "argument 'cu_seqlens_k' is missing, which says how many keys", cu_seqlens_k=None)
        self.check(InvalidInput, "argument 'cu_seqlens_k' is missing, which says how many keys sequences have; with "
                   "'block_table' give it, or 'seqused_k'", cu_seqlens_k=None, block_table=numpy.int32([[0], [0]]))
        self.check(InvalidInput, "argument 'cu_seqlens_k' is [0, 4, 9], wanted a tensor", cu_seqlens_k=[0, 4, 9],
                   block_table=numpy.int32([[0], [0]]))
        self.check(InvalidInput, "argument 'min_seqlen_q' is -1, wanted an integer from 0 on", min_seqlen_q=-1)

    def test_what_lists_on_the_host_say(self):
        for side, total in (("q", "total-q"), ("k", "total-kv")):
            name = f"cu_seqlens_{side}"
            for numbers, message in (([0, 4, 10], f"has 10 at 2, the tensor has 9 rows ({total})"),
                                     ([0, 5, 4], "has 4 at 2, behind 5: the first rows of sequences cannot descend"),
                                     ([-1, 4, 9], "has -1 at 0, a number from 0 on is needed")):
                self.check(InvalidInput, f"argument '{name}' {message}", **{name: numpy.int32(numbers)})
        self.check(InvalidInput, "argument 'cu_seqlens_q' gives sequence 1 5 rows, sequences have at most 4", max_seqlen_q=4)
        self.check(InvalidInput, "argument 'seqused_q' has 6 at 1, sequences have at most 5 rows",
                   seqused_q=numpy.int32([3, 6]))

    def test_tensors(self):
        self.check(InvalidInput, "argument 'q' has 4 dimensions, wanted 3: [rows, heads, head_dim]",
                   q=numpy.zeros((1, 9, 4, 64), numpy.float16))
        self.check(InvalidInput, "argument 'lse' has the shape (4, 8), wanted (4, 9)", lse=numpy.zeros((4, 8), numpy.float32))

    def test_what_no_kernel_does(self):
        self.check(InvalidInput, "argument 'dropout_p'", dropout_p=1.5)
        self.check(InvalidInput, "argument 'sink' has the shape", sink=numpy.zeros(77, numpy.float32))
        self.check(InvalidInput, "argument 'k' has 3 dimensions, wanted 4: [pages, rows of a page, heads, head_dim]",
                   block_table=numpy.int32([[0], [1]]))
        self.check(Unsupported, "argument 'return_attn_probs'", return_attn_probs=True)


unittest.main()
