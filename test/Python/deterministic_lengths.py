"""deterministic_lengths=True: the bits of a sequence do not depend on what else is in the batch, and how long that is."""
import itertools
import unittest

import numpy

import hocket
from hocket import InvalidInput, Unsupported, flash_attn_func, flash_attn_varlen_func, flash_attn_with_kvcache

H, HK, D = 4, 2, 64


def random(rows, heads, seed):
    return numpy.random.default_rng(seed).standard_normal((rows, heads, D)).astype(numpy.float16)


def packed(others, queries=5, keys=200, **options):
    """A sequence in front of others: its rows, and the kernel."""
    lengths = [(queries, keys), *others]
    q, k, v = (numpy.concatenate([random(length[of], heads, 3 * place + seed) for place, length in enumerate(lengths)])
               for of, heads, seed in ((0, H, 0), (1, HK, 1), (1, HK, 2)))
    starts = [numpy.int32([0, *itertools.accumulate(length[of] for length in lengths)]) for of in range(2)]
    arguments = (q, k, v, *starts, *(max(length[of] for length in lengths) for of in range(2)))
    plan = hocket.plan_of(flash_attn_varlen_func, *arguments, causal=True, **options)
    out = flash_attn_varlen_func(*arguments, causal=True, **options)
    return out[:queries], plan["launches"][0]["kernel"]


class Lengths(unittest.TestCase):
    def test_packed_sequences(self):
        batches = ([], [(1, 30)], [(200, 300), (2, 3)])
        usual = [packed(others) for others in batches]
        self.assertGreater(len({kernel for _, kernel in usual}), 1)  # else there is nothing to see
        fixed = [packed(others, deterministic_lengths=True) for others in batches]
        self.assertEqual(len({kernel for _, kernel in fixed}), 1)
        for out, _ in fixed:
            self.assertTrue((out == fixed[0][0]).all())
        self.assertLess(numpy.abs(fixed[0][0].astype(float) - usual[0][0]).max(), 4e-3)

    def test_caches(self):
        caches = [numpy.stack([random(300, HK, seed + 2 * b) for b in range(3)]) for seed in (1, 2)]
        q = numpy.stack([random(1, H, b) for b in range(3)])
        all_three = flash_attn_with_kvcache(q, *caches, cache_seqlens=numpy.int32([120, 300, 7]), deterministic_lengths=True)
        alone = flash_attn_with_kvcache(q[:1], *(c[:1, :128].copy() for c in caches), cache_seqlens=numpy.int32([120]),
                                        deterministic_lengths=True)
        self.assertTrue((all_three[:1] == alone).all())

    def test_what_is_refused(self):
        q = random(5, H, 0)[None]
        with self.assertRaisesRegex(InvalidInput, "argument 'num_splits' is 2 with deterministic_lengths"):
            flash_attn_func(q, q, q, num_splits=2, deterministic_lengths=True)
        try:
            import torch
        except ImportError:
            return
        q = torch.tensor(q).requires_grad_()
        with self.assertRaisesRegex(Unsupported, "argument 'deterministic_lengths' is True, and argument 'q' requires a gradient"):
            flash_attn_func(q, q, q, deterministic_lengths=True)


if __name__ == "__main__":
    unittest.main()
