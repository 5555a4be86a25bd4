"""Gradients that are sums over whole heads, of a sink and of a number that a function captures: exact for O as it is stored.

A backward takes delta = rowsum(dO O) from O in 16 bits. What rounding O loses adds up in these sums, where terms cancel, so a
comparison with the exact gradient says little. With the stored O they are right to float32's rounding."""
import itertools
import unittest

import torch

from hocket import create_block_mask, flash_attn_varlen_func, flex_attention

#: Half of the last place of a number, by its type.
HALF = {torch.float32: 2.0**-24, torch.float16: 2.0**-11, torch.bfloat16: 2.0**-8}


def random(*shape, dtype=torch.bfloat16):
    return torch.randn(shape).to(dtype).requires_grad_()


def starts(lengths):
    return torch.tensor([0, *itertools.accumulate(lengths)], dtype=torch.int32)


def scores_of(q, k, causal=True):
    """[heads, rows, keys] in float64, of [rows, heads, head_dim]; hidden ones are -inf."""
    scores = torch.einsum("ihd,jhd->hij", q.double(), k.double()) * q.shape[-1] ** -0.5
    rows, keys = scores.shape[1:]
    seen = torch.ones(rows, keys, dtype=torch.bool).tril(keys - rows)
    return scores.masked_fill(~seen, -torch.inf) if causal else scores


class StoredOutput(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(3)

    def assert_sum(self, found, terms, what):
        """`found` is the sum of float64 `terms` over their last dimension, rounded to its type."""
        wanted = terms.sum(-1)
        bound = 1e-6 * terms.abs().sum(-1) + HALF[found.dtype] * wanted.abs()
        error = (found.double() - wanted).abs()
        self.assertTrue(bool((error <= bound).all()), f"{what}: errors {error.tolist()}, at most {bound.tolist()}")

    def check_sink(self, dtype, sink_type, of_queries, of_keys):
        heads, most = 2, (max(of_queries), max(of_keys))
        q, k, v = (random(sum(lengths), heads, 64, dtype=dtype) for lengths in (of_queries, of_keys, of_keys))
        sink, (at, of) = random(heads, dtype=sink_type), (starts(of_queries), starts(of_keys))
        out, lse = flash_attn_varlen_func(q, k, v, at, of, *most, causal=True, sink=sink, return_lse=True)
        number = sink.detach().double()[:, None]
        weights = []
        for queries, keys in zip(torch.split(q.detach(), of_queries), torch.split(k.detach(), of_keys)):
            scores = scores_of(queries, keys)
            whole = torch.cat([scores, number[:, :, None].expand(heads, len(queries), 1)], -1)
            weights.append(torch.exp(number - torch.logsumexp(whole, -1)))
        weights = torch.cat(weights, 1)
        dout, dlse = torch.randn_like(out), torch.randn_like(lse)
        delta = (dout.double() * out.detach().double()).sum(-1).t()
        for name, of_out, of_lse in (("O", 1, 0), ("LSE", 0, 1), ("both", 1, 1)):
            results = [out] * of_out + [lse] * of_lse
            found, = torch.autograd.grad(results, sink, [dout] * of_out + [dlse] * of_lse, retain_graph=True)
            self.assertEqual(found.dtype, sink_type)
            self.assert_sum(found, weights * (of_lse * dlse.double() - of_out * delta), f"{dtype}, {sink_type}, {name}")

    def test_sink(self):
        """Of each type, beside LSE's gradient and without it; rows without keys have their own term."""
        for dtype, sink_type in itertools.product((torch.bfloat16, torch.float16), HALF):
            self.check_sink(dtype, sink_type, (5, 3, 0), (2, 0, 1))
        self.check_sink(torch.bfloat16, torch.float32, (80, 3, 70), (20, 0, 100))

    def test_captured_number(self):
        for dtype in (torch.bfloat16, torch.float16):
            q, k, v = (random(1, 2, 96, 64, dtype=dtype) for _ in range(3))
            number = torch.tensor(1.3, requires_grad=True)
            mask = create_block_mask(lambda b, h, i, j: i >= j, None, None, 96, 96)
            out = flex_attention(q, k, v, lambda s, b, h, i, j: s * number, mask)  # noqa: B023
            dout = torch.randn_like(out)
            found, = torch.autograd.grad(out, number, dout)
            queries, keys, values, stored, by = (t.detach()[0].double() for t in (q, k, v, out, dout))
            scores = scores_of(*(t.transpose(0, 1) for t in (queries, keys)))
            weights = torch.softmax(scores * float(number.detach()), -1)
            delta = (by * stored).sum(-1, keepdim=True)
            terms = weights * (by @ values.transpose(-1, -2) - delta) * torch.where(weights > 0, scores, torch.zeros_like(scores))
            self.assert_sum(found, terms.reshape(-1), str(dtype))

    def test_single_keys(self):
        """With one visible key P is 1 and dQ is 0, in exact numbers. dP and delta are sums in different orders."""
        q, k, v = (random(rows, 2, 64) for rows in (6, 6, 6))
        each = torch.arange(7, dtype=torch.int32)
        out = flash_attn_varlen_func(q, k, v, each, each, 1, 1)
        self.assertTrue(torch.equal(out, v))
        dout = torch.randn_like(out)
        dq, dk, dv = torch.autograd.grad(out, (q, k, v), dout)
        added = (dout.double().abs() * v.double().abs()).sum(-1, keepdim=True)
        for found, other in ((dq, k), (dk, q)):
            self.assertTrue(bool((found.double().abs() <= 2.0**-20 * added * other.double().abs() / 8).all()))
        self.assertTrue(torch.equal(dv, dout))


if __name__ == "__main__":
    unittest.main()
