"""Calls that are like earlier ones: what was checked and planned is not done again, and nothing else changes."""
import sys
import unittest

import numpy

from hocket import (InvalidInput, _again, flash_attn_func, flash_attn_varlen_func, flash_attn_with_kvcache, plan_of,
                    scaled_dot_product_attention)

H, HK, D = 4, 2, 64


def random(*shape, seed=0):
    return numpy.random.default_rng(seed).standard_normal(shape).astype(numpy.float16)


def qkv(seed=0, rows=40):
    return random(2, rows, H, D, seed=seed), random(2, rows, HK, D, seed=seed + 1), random(2, rows, HK, D, seed=seed + 2)


class Spied:
    """Counts the calls that are taken for repeated ones."""

    def __enter__(self):
        self.count, self._own = 0, _again._Ready.__call__

        def count(ready, *arguments):
            self.count += 1
            return self._own(ready, *arguments)

        _again._Ready.__call__ = count
        return self

    def __exit__(self, *_):
        _again._Ready.__call__ = self._own


class Repeated(unittest.TestCase):
    def check(self, function, *batches, hits=None, **options):
        """Each of the calls gives what the function without a memory gives."""
        with Spied() as spied:
            for arguments in batches:
                made = function(*arguments, **options)
                wanted = function.__wrapped__(*arguments, **options)
                for own, other in zip(made if isinstance(made, tuple) else (made,), wanted if isinstance(made, tuple) else (wanted,)):
                    numpy.testing.assert_array_equal(own, other)
        self.assertEqual(spied.count, len(batches) - 1 if hits is None else hits)

    def test_dense(self):
        self.check(flash_attn_func, qkv(), qkv(3), qkv(6), causal=True, softcap=5.0, window_size=[20, -1], return_lse=True)
        self.check(flash_attn_func, qkv(), qkv(3), sink=numpy.linspace(-1, 1, H, dtype=numpy.float32))
        heads_first = [[t.swapaxes(1, 2) for t in qkv(seed)] for seed in (0, 3)]
        self.check(scaled_dot_product_attention, *heads_first, enable_gqa=True, attn_mask=random(40, 40) > 0)

    def test_dropout(self):
        self.check(flash_attn_func, qkv(), qkv(3), dropout_p=0.5, rng_state=(3, 4))
        with Spied() as spied:
            q, k, v = qkv()
            made = [flash_attn_func(q, k, v, 0.4) for _ in range(3)]
            self.assertFalse(any((made[number] == made[number - 1]).all() for number in range(3)))
            for state in ((1, 2), (1, 3)):
                numpy.testing.assert_array_equal(flash_attn_func(q, k, v, 0.4, rng_state=state),
                                                 flash_attn_func.__wrapped__(q, k, v, 0.4, rng_state=state))
        self.assertEqual(spied.count, 3)

    def test_copies(self):
        self.check(flash_attn_func, *([numpy.asfortranarray(t) for t in qkv(seed)] for seed in (0, 3)), causal=True)

    def test_lists_and_pages(self):
        starts = numpy.int32([0, 13, 60])
        packed = [(*(t.reshape(80, -1, D) for t in qkv(seed)), begins, begins, 60, 60)
                  for seed, begins in ((0, starts), (3, starts), (6, numpy.int32([0, 40, 70])))]
        self.check(flash_attn_varlen_func, *packed, causal=True, return_lse=True)
        pools = [(random(2, 1, H, D, seed=seed), random(9, 16, HK, D, seed=1), random(9, 16, HK, D, seed=2)) for seed in (0, 5)]
        self.check(flash_attn_with_kvcache, *pools, block_table=numpy.int32([[3, 4], [8, 0]]), cache_seqlens=numpy.int32([20, 31]))

    def test_appended_keys(self):
        made = []
        for remembers in (True, False):
            caches = [random(2, 64, HK, D, seed=seed) for seed in (1, 2)]
            function = flash_attn_with_kvcache if remembers else flash_attn_with_kvcache.__wrapped__
            outs = [function(random(2, 1, H, D, seed=step), *caches, random(2, 1, HK, D, seed=step + 1),
                             random(2, 1, HK, D, seed=step + 2), cache_seqlens=numpy.int32([step, 20 + step])) for step in range(3)]
            made.append([*outs, *caches])
        for own, other in zip(*made):
            numpy.testing.assert_array_equal(own, other)

    def test_results_in_place(self):
        q, k, v = qkv()
        wanted = flash_attn_func(q, k, v)
        outs = [numpy.empty_like(q) for _ in range(2)]
        for out in outs:
            self.assertIs(flash_attn_func(q, k, v, out=out), out)
            numpy.testing.assert_array_equal(out, wanted)
        own = q.copy()
        flash_attn_func(own, k, v, out=own)  # in place of the queries
        numpy.testing.assert_array_equal(own, wanted)
        shared = numpy.concatenate([v.ravel(), q.ravel()])
        with self.assertRaisesRegex(InvalidInput, "argument 'out' shares memory with 'v'"):
            flash_attn_func(q, k, shared[: v.size].reshape(v.shape), out=shared[: q.size].reshape(q.shape))
        out = outs[0].view()
        out.flags.writeable = False
        with self.assertRaisesRegex(InvalidInput, "argument 'out' is read-only"):
            flash_attn_func(q, k, v, out=out)

    def test_what_else_is_checked(self):
        q, k, v = (t.reshape(80, -1, D) for t in qkv())
        for _ in range(2):
            flash_attn_varlen_func(q, k, v, numpy.int32([0, 40, 80]), numpy.int32([0, 40, 80]), 40, 40)
        with self.assertRaisesRegex(InvalidInput, "argument 'cu_seqlens_q'"):
            flash_attn_varlen_func(q, k, v, numpy.int32([0, 70, 80]), numpy.int32([0, 40, 80]), 40, 40)

    def test_what_is_not_kept(self):
        """Numbers in tensors, rows that are none, tensors that are made of others."""
        q, k, v = qkv()
        with Spied() as spied:
            for scale in (0.1, 0.5):
                numpy.testing.assert_array_equal(flash_attn_func(q, k, v, softmax_scale=numpy.float32([scale])[0:1].reshape(())),
                                                 flash_attn_func(q, k, v, softmax_scale=float(numpy.float32(scale))))
            for _ in range(2):
                flash_attn_func(q, k[:, :0], v[:, :0])
                flash_attn_func(q[..., :60], k[..., :60], v[..., :60])  # padded
        self.assertEqual(spied.count, 0)
        flash_attn_func(q, k, v)
        with Spied() as spied:
            self.assertTrue(plan_of(flash_attn_func, q, k, v)["launches"])
        self.assertEqual(spied.count, 0)

    def test_its_work(self):
        """Calls of Python's functions and of C's, which take most of the time beside the module in C++."""
        q, k, v = qkv()
        for _ in range(2):
            flash_attn_func(q, k, v)
        counted = []
        sys.setprofile(lambda frame, event, what: counted.append(event))
        flash_attn_func(q, k, v)
        sys.setprofile(None)
        self.assertLessEqual(counted.count("call"), 40)
        self.assertLessEqual(counted.count("c_call"), 80)


if __name__ == "__main__":
    unittest.main()
