"""Partial results folded: the same as attention over all keys, whatever the parts."""
import unittest

import numpy
from reference import TOLERANCE, attention, check_lse, largest_error, random_tensor, swap, to_bf16

import hocket
from hocket import InvalidInput, flash_attn_func, merge


class Merge(unittest.TestCase):
    def setUp(self):
        generator = numpy.random.default_rng(5)
        self.q = random_tensor(generator, (2, 40, 4, 64), "f16")
        self.k, self.v = (random_tensor(generator, (2, 90, 2, 64), "f16") for _ in range(2))
        o, self.lse = attention(swap(self.q), swap(self.k), swap(self.v))
        self.o = swap(o)

    def parts(self, *ends):
        begins = (0, *ends[:-1])
        results = [flash_attn_func(self.q, self.k[:, a:b], self.v[:, a:b], return_lse=True)
                   for a, b in zip(begins, ends)]
        return [list(part) for part in zip(*results)]

    def test_any_parts(self):
        for ends in ((90,), (30, 90), (1, 2, 60, 90)):
            outs, lses = self.parts(*ends)
            out, lse = merge(outs, lses)
            self.assertEqual((out.dtype, out.shape), (numpy.float16, self.q.shape))
            self.assertLess(largest_error(out, self.o), TOLERANCE["f16"])
            check_lse(lse, self.lse)

    def test_one_after_the_other_in_place_and_in_f32(self):
        outs, lses = self.parts(20, 50, 90)
        out, lse = numpy.zeros(self.q.shape, numpy.float32), numpy.full((2, 4, 40), -numpy.inf, numpy.float32)
        for part, part_lse in zip(outs, lses):
            given = merge([out, part], [lse, part_lse], out=out, lse=lse)
            self.assertTrue(given[0] is out and given[1] is lse)
        self.assertLess(largest_error(out, self.o), TOLERANCE["f16"])
        check_lse(lse, self.lse)

    def test_rows_without_keys(self):
        outs, lses = self.parts(30, 90)
        lses[0][:, :, 3] = -numpy.inf
        outs[0][:, 3] = numpy.nan  # counts for nothing
        out, lse = merge(outs, lses)
        self.assertTrue((out[:, 3] == outs[1][:, 3]).all() and (lse[:, :, 3] == lses[1][:, :, 3]).all())
        lses[1][:, :, 3] = -numpy.inf
        out, lse = merge(outs, lses)
        self.assertTrue((out[:, 3] == 0).all() and (lse[:, :, 3] == -numpy.inf).all())

    def test_bf16_as_bits(self):
        outs, lses = self.parts(30, 90)
        bits = [to_bf16(part) for part in outs]
        out, _ = merge(bits, lses, dtype="bf16")
        self.assertEqual(out.dtype, numpy.uint16)
        self.assertLess(largest_error(out, self.o), TOLERANCE["bf16"])
        wide = numpy.empty(out.shape, numpy.float32)
        merge(bits, lses, dtype="bf16", out=wide)
        self.assertLess(largest_error(wide, self.o), TOLERANCE["bf16"])

    def test_refusals(self):
        outs, lses = self.parts(30, 90)
        fixed = numpy.empty_like(lses[0])
        fixed.flags.writeable = False
        for message, arguments in (
            ("argument 'outs' is empty", ([], [])),
            ("argument 'lses' has 1 results, 'outs' has 2", (outs, lses[:1])),
            ("argument 'outs\\[1\\]' has the shape", ([outs[0], outs[1][:1]], lses)),
            ("argument 'lses\\[1\\]' has the shape", (outs, [lses[0], lses[1].swapaxes(1, 2)])),
            ("argument 'outs\\[0\\]' has elements of u16, wanted bf16 or f16 or f32",
             ([t.view(numpy.uint16) for t in outs], lses)),
            ("argument 'lses\\[0\\]' has elements of f64", (outs, [lses[0].astype(float), lses[1]])),
            ("argument 'outs\\[0\\]' has 3 dimensions", ([t[0] for t in outs], lses)),
        ):
            with self.assertRaisesRegex(InvalidInput, message):
                merge(*arguments)
        with self.assertRaisesRegex(InvalidInput, "argument 'lse' is read-only"):
            merge(outs, lses, lse=fixed)
        with self.assertRaisesRegex(InvalidInput, "argument 'out' has the shape"):
            merge(outs, lses, out=outs[0][:1])


if __name__ == "__main__":
    unittest.main()
