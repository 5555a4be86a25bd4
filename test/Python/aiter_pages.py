"""aiter's functions of pages against the definition in float64; its forwards and backwards without torch's gradients."""
import math
import unittest

import torch

import hocket
import hocket.integrations.aiter as aiter

B, H, HK, D, P, X = 3, 4, 2, 64, 16, 8
SCALE = D ** -0.5


class Pages(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(5)
        self.k, self.v = (torch.randn(12, P, HK, D).half() for _ in range(2))
        self.table, self.lengths = torch.randperm(12)[:9].view(3, 3).int(), torch.tensor([5, 33, 48]).int()
        self.one, self.slopes = torch.ones(1), torch.randn(H)

    def reference(self, q, slopes=None, cap=0.0, window=0):
        """O of as many last queries of each sequence as `q` has; the bias is added before the cap."""
        count, made = q.shape[0] // B, []
        for number, length in enumerate(self.lengths.tolist()):
            k, v = (pool[self.table[number].long()].flatten(0, 1)[:length].double().repeat_interleave(H // HK, 1)
                    for pool in (self.k, self.v))
            distance = torch.arange(length) - torch.arange(length - count, length)[:, None]
            scores = torch.einsum("qhd,khd->hqk", q.split(count)[number].double(), k) * SCALE
            scores = scores if slopes is None else scores + slopes.double()[:, None, None] * distance
            scores = cap * torch.tanh(scores / cap) if cap else scores
            hidden = (distance > 0) | ((distance <= -window) if window else distance > length)
            made.append(torch.einsum("hqk,khd->qhd", torch.softmax(scores.masked_fill(hidden, -math.inf), -1), v))
        return torch.cat(made)

    def check(self, made, wanted, most=2e-3):
        self.assertEqual(made.shape, wanted.shape)
        self.assertLess(float((made.double() - wanted).abs().max()), most)

    def test_rows(self):
        for mtp in (1, 3):
            q = torch.randn(B * mtp, H, D).half()
            for layout in ("NHD", "HND"):
                pools = [t if layout == "NHD" else t.transpose(1, 2).contiguous() for t in (self.k, self.v)]
                for slopes, cap, window in ((None, 0.0, 0), (self.slopes, 0.0, 0), (None, 3.0, 0), (self.slopes, 3.0, 0), (None, 0.0, 10)):
                    out = torch.empty_like(q)
                    made = aiter.paged_attention_v1(out, None, q, *pools, SCALE, self.table, None, self.lengths, 48, slopes, "auto", layout,
                                                    cap, self.one, self.one, mtp=mtp, sliding_window=window)
                    self.assertIs(made, out)
                    self.check(made, self.reference(q, slopes, cap, window))
        counts = (self.lengths + P - 1) // P
        indices = torch.cat([row[:count] for row, count in zip(self.table, counts)])
        out = torch.empty_like(q[:B])
        aiter.paged_attention_ragged(out, None, q[:B], self.k, self.v, SCALE, torch.tensor([0, *counts]).cumsum(0).int(), indices,
                                     self.lengths - (counts - 1) * P, P, 1, self.slopes, "auto", "NHD", 3.0, self.one, 2 * self.one)
        self.check(out, 2 * self.reference(q[:B], self.slopes, 3.0), 4e-3)

    def test_sequences_of_one_query_alone(self):
        """aiter leaves the others to its prefill."""
        q = torch.randn(5, H, D).half()
        for starts, alone in (([0, 1, 2, 3], [0, 1, 2]), ([0, 1, 4, 5], [0, 2]), ([0, 2, 4, 4], [])):
            out = torch.full_like(q, 7)
            rows = [starts[number] for number in alone]
            made = aiter.paged_attention_v1(out, None, q, self.k, self.v, SCALE, self.table, torch.tensor(starts).int(), self.lengths, 48,
                                            None, "auto", "NHD", 0.0, self.one, self.one)
            one_each = torch.stack([q[starts[number]] for number in range(B)])
            if alone:
                self.check(made[rows], self.reference(one_each)[alone])
            self.assertTrue(bool((made[[row for row in range(5) if row not in rows]] == 7).all()))
        with self.assertRaisesRegex(hocket.Error, "'cu_query_lens' has the shape \\(4,\\) with mtp 2"):
            aiter.paged_attention_v1(out, None, q, self.k, self.v, SCALE, self.table, torch.tensor(starts).int(), self.lengths, 48, None,
                                     "auto", "NHD", 0.0, self.one, self.one, mtp=2)

    def test_vectors(self):
        keys = self.k.view(12, P, HK, D // X, X).permute(0, 2, 3, 1, 4).contiguous()
        values = self.v.permute(0, 2, 3, 1).contiguous()
        shuffled = values.view(12, HK, D, P // X, X).permute(0, 1, 3, 2, 4).contiguous()
        for mtp in (1, 3):
            q = torch.randn(B * mtp, H, D).half()
            for slopes in (None, self.slopes):
                out = aiter.paged_attention_rocm(torch.empty_like(q), None, None, None, q, keys, values, HK, SCALE, self.table, self.lengths,
                                                 P, 48, slopes, "auto", self.one, self.one, mtp=mtp)
                self.check(out, self.reference(q, slopes))
            self.check(aiter.pa_fwd_asm(q, keys, shuffled, self.table, self.lengths, 3, mtp), self.reference(q))
        q, nothing = q[:B], torch.empty(0)
        made = aiter.pa_fwd_naive(q, keys, values, self.table, self.lengths, nothing, nothing, 48, HK, SCALE, 1.0, 1.0, P, 0)
        self.check(made, self.reference(q))
        for call, message in (
                (lambda: aiter.pa_fwd_naive(q, keys, values, self.table, self.lengths, nothing, nothing, 48, HK, SCALE, 1.0, 1.0, P, 2),
                 "'quant_algo' is given"),
                (lambda: aiter.pa_fwd_asm(q, keys, shuffled, self.table, self.lengths, 3, 2), "'query' has 3 rows, wanted 6"),
                (lambda: aiter.pa_fwd_asm(q, keys, shuffled, self.table, self.lengths, 3, K_QScale=self.one), "'K_QScale' is given")):
            with self.assertRaisesRegex(hocket.Error, message):
                call()

    def test_without_gradients(self):
        """The same bits as torch's gradients, which aiter's own tests of names like these compare; a sink's is that of its formula."""
        q, k, v, g = (torch.randn(2, 24, heads, D).half() for heads in (H, HK, HK, H))
        leaves = [t.clone().requires_grad_() for t in (q, k, v)]
        wanted = torch.autograd.grad(hocket.flash_attn_func(*leaves, causal=True), leaves, g)
        out, lse, nothing, state = aiter.mha_fwd(q, k, v, 0.0, SCALE, True, -1, 0, 0, True, False)
        self.assertEqual((nothing.numel(), state.tolist()), (0, [0, 0]))
        sink, d_sink = torch.randn(2, H), torch.ones(H)
        *made, delta = aiter.mha_bwd(g, q, k, v, out, lse, 0.0, SCALE, True, -1, 0, False, sink=sink, d_sink=d_sink)
        for found, right in zip(made, wanted):
            self.assertTrue(torch.equal(found, right))
        exact = (g.double() * out.double()).sum(-1).transpose(1, 2)
        self.check(delta, exact, 1e-4)
        self.check(d_sink, 1 - (torch.exp(sink.double()[..., None] - lse.double()) * exact).sum((0, 2)), 1e-3)
        starts = torch.tensor([0, 24, 48]).int()
        flat = [t.flatten(0, 1) for t in (q, k, v)]
        packed, packed_lse, *_ = aiter.mha_varlen_fwd(*flat, starts, starts, 24, 24, 0, 0.0, SCALE, 0.0, False, True, -1, 0, 0, True, False)
        self.check(packed, out.flatten(0, 1).double())
        again = torch.ones(H)
        *parts, rows = aiter.mha_varlen_bwd(g.flatten(0, 1), *flat, packed, packed_lse, starts, starts, 24, 24, 0.0, SCALE, False, True, -1, 0,
                                            False, sink=sink, d_sink=again)
        for found, right in zip(parts, wanted):
            self.check(found, right.flatten(0, 1).double(), 6e-3)
        self.check(again, d_sink.double(), 2e-2)
        self.assertEqual(tuple(rows.shape), (H, 48))
        dropped, lse, _, state = aiter.mha_fwd(q, k, v, 0.25, SCALE, True, -1, 0, 0, True, False)
        again = aiter.mha_bwd(g, q, k, v, dropped, lse, 0.25, SCALE, True, -1, 0, False, rng_state=state)
        wanted = torch.autograd.grad(hocket.flash_attn_func(*leaves, 0.25, causal=True, rng_state=state.tolist()), leaves, g)
        for found, right in zip(again, wanted):
            self.assertTrue(torch.equal(found, right))
        with self.assertRaisesRegex(hocket.Error, "'rng_state' is missing"):
            aiter.mha_bwd(g, q, k, v, dropped, lse, 0.25, SCALE, True, -1, 0, False)
        with self.assertRaisesRegex(hocket.Error, "'bias' is given"):
            aiter.mha_fwd(q, k, v, 0.0, SCALE, True, -1, 0, 0, True, False, bias=q)


if __name__ == "__main__":
    unittest.main()
