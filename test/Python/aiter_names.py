"""aiter's calls against the definition in float64, with gradients; what is refused."""
import math
import unittest

import torch

import hocket
import hocket.integrations.aiter as aiter


def reference(q, k, v, causal=False, window=(-1, -1), cap=0.0, slopes=None, sink=None):
    """O [rows, heads, head_dim] and LSE [heads, rows] of one sequence, bottom-right."""
    k, v = (t.repeat_interleave(q.shape[1] // t.shape[1], 1) for t in (k, v))
    scores = torch.einsum("qhd,khd->hqk", q, k) / math.sqrt(q.shape[-1])
    scores = cap * torch.tanh(scores / cap) if cap else scores
    distance = torch.arange(q.shape[0])[:, None] + k.shape[0] - q.shape[0] - torch.arange(k.shape[0])
    if slopes is not None:
        scores = scores - slopes.double()[:, None, None] * distance.abs()
    hidden = (causal & (distance < 0)) | ((window[0] >= 0) & (distance > window[0])) | ((window[1] >= 0) & (-distance > window[1]))
    scores = scores.masked_fill(hidden, -math.inf)
    wide = scores if sink is None else torch.cat([scores, sink.double()[:, None, None].expand(-1, q.shape[0], 1)], -1)
    weights = torch.softmax(wide, -1)[..., : k.shape[0]]
    return torch.einsum("hqk,khd->qhd", weights, v), torch.logsumexp(wide, -1)


class Names(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(4)

    def assert_near(self, found, wanted, most=5e-3):
        self.assertEqual(found.shape, wanted.shape)
        self.assertLess(float((found.double() - wanted).abs().max()), most)

    def test_dense(self):
        q, k, v = (torch.randn(2, rows, heads, 64).half() for rows, heads in ((20, 4), (30, 2), (30, 2)))
        slopes, sink = torch.rand(4), torch.randn(4)
        for options, wanted in (({}, {}), ({"causal": True}, {"causal": True}),
                                ({"window_size": (6, 3, 0)}, {"window": (6, 3)}),
                                ({"alibi_slopes": slopes, "causal": True}, {"slopes": slopes, "causal": True}),
                                ({"sink_ptr": sink, "window_size": (9, 0)}, {"sink": sink, "window": (9, 0)})):
            out, lse = aiter.flash_attn_func(q, k, v, return_lse=True, **options)
            for b in range(2):
                right, right_lse = reference(*(t[b].double() for t in (q, k, v)), **wanted)
                self.assert_near(out[b], right)
                self.assert_near(lse[b], right_lse)
        self.assertTrue(torch.equal(aiter.flash_attn_func(q, k, v, causal=True), hocket.flash_attn_func(q, k, v, causal=True)))

    def test_packed(self):
        lengths, keys = [5, 20, 12], [9, 20, 40]
        q = torch.randn(sum(lengths), 4, 64).half().requires_grad_()
        k, v = (torch.randn(sum(keys), 2, 64).half().requires_grad_() for _ in range(2))
        starts = [torch.tensor([0, *of]).cumsum(0).int() for of in (lengths, keys)]
        out, lse = aiter.flash_attn_varlen_func(q, k, v, *starts, max(lengths), max(keys), logits_soft_cap=4.0, causal=True, return_lse=True)
        weights = torch.randn(out.shape)
        found = torch.autograd.grad((out.float() * weights).sum(), (q, k, v))
        wide = [t.detach().double().requires_grad_() for t in (q, k, v)]
        parts = [reference(*own, causal=True, cap=4.0) for own in zip(wide[0].split(lengths), wide[1].split(keys), wide[2].split(keys))]
        right = torch.cat([part[0] for part in parts])
        self.assert_near(out, right)
        self.assert_near(lse, torch.cat([part[1] for part in parts], 1))
        for own, wanted in zip(found, torch.autograd.grad((right * weights).sum(), wide)):
            self.assert_near(own, wanted, 3e-2)

    def test_lengths_in_room(self):
        """Sequences that use some of their rows, dense and packed, with gradients; of the others O and gradients are 0."""
        rooms, lengths, key_rooms, keys = [20, 20], [20, 11], [30, 30], [25, 30]
        leaves = [torch.randn(2, rows, heads, 64).half().requires_grad_() for rows, heads in ((20, 4), (30, 2), (30, 2))]
        starts, key_starts, places, key_places = (torch.tensor([0, *of]).cumsum(0).int() for of in (lengths, keys, rooms, key_rooms))
        flat = [t.flatten(0, 1) for t in leaves]
        dense = aiter.flash_attn_func(*leaves, causal=True, return_lse=True, cu_seqlens_q=starts, cu_seqlens_kv=key_starts)
        packed = aiter.flash_attn_varlen_func(*flat, starts, key_starts, 20, 30, causal=True, return_lse=True,
                                              cu_seqlens_q_padded=places, cu_seqlens_k_padded=key_places)
        wide = [t.detach().double().requires_grad_() for t in leaves]
        parts = [reference(*(t[b, :count] for t, count in zip(wide, (lengths[b], keys[b], keys[b]))), causal=True) for b in range(2)]
        for b, (out, lse) in enumerate(parts):
            self.assert_near(dense[0][b, :lengths[b]], out)
            self.assert_near(dense[1][b, :, :lengths[b]], lse)
            self.assert_near(packed[0].view(2, 20, 4, 64)[b, :lengths[b]], out)
        self.assertEqual(float(dense[0][1, 11:].abs().max()), 0)
        wanted = torch.autograd.grad(sum(out.sum() for out, _ in parts), wide)
        for made in (dense[0], packed[0]):
            for found, right in zip(torch.autograd.grad(made.float().sum(), leaves), wanted):
                self.assert_near(found, right, 3e-2)
        keys_alone = aiter.flash_attn_func(*leaves, return_lse=True, cu_seqlens_kv=key_starts)
        for b in range(2):
            self.assert_near(keys_alone[0][b], reference(wide[0][b], *(t[b, :keys[b]] for t in wide[1:]))[0])

    def test_bias(self):
        """Numbers added to scores, beside a diagonal or a window, with their gradient; rows without keys give 0."""
        leaves = [torch.randn(shape).half().requires_grad_() for shape in ((2, 20, 4, 64), (2, 12, 2, 64), (2, 12, 2, 64), (20, 12))]
        for options, left, right in (({"causal": True}, 20, 0), ({"window_size": (5, 2, 0)}, 5, 2), ({}, 99, 99)):
            q, k, v, bias = leaves
            out, lse, nothing = aiter.flash_attn_func(q, k, v, bias=bias, return_lse=True, return_attn_probs=True, **options)
            self.assertEqual(nothing.numel(), 0)
            wide = [t.detach().double().requires_grad_() for t in leaves]
            keys, values = (t.repeat_interleave(2, 2) for t in wide[1:3])
            distance = torch.arange(20)[:, None] - 8 - torch.arange(12)
            hidden = (distance > left) | (-distance > right)
            scores = (torch.einsum("bqhd,bkhd->bhqk", wide[0], keys) / 8 + wide[3]).masked_fill(hidden, -1e4)
            weights = torch.softmax(scores, -1) * ~hidden
            wanted = torch.einsum("bhqk,bkhd->bqhd", weights, values)
            self.assert_near(out, wanted)
            g = torch.randn(out.shape).half()
            for found, correct in zip(torch.autograd.grad(out, leaves, g), torch.autograd.grad(wanted, wide, g.double())):
                self.assert_near(found, correct, 3e-2)

    def test_refused(self):
        q = torch.randn(1, 4, 2, 64).half()
        starts = torch.tensor([0, 4]).int()
        for options, message in (({"bias": torch.zeros(4, 4), "sink_ptr": torch.zeros(2)}, "'sink_ptr' is given with bias"),
                                 ({"return_attn_probs": True, "dropout_p": 0.1}, "'return_attn_probs'"),
                                 ({"window_size": (3, 0, 2)}, "keeps the first 2 keys"),
                                 ({"cu_seqlens_q": starts, "bias": torch.zeros(4, 4)}, "'cu_seqlens_q' is given with bias"),
                                 ({"cu_seqlens_q": starts, "num_splits": 2}, "'num_splits' is given"),
                                 ({"window_size": (1, 2, 0, 0)}, "wanted two or three")):
            with self.assertRaisesRegex(hocket.Error, message):
                aiter.flash_attn_func(q, q, q, **options)
        with self.assertRaisesRegex(hocket.Error, "'bias' is given"):
            aiter.flash_attn_varlen_func(q[0], q[0], q[0], starts, starts, 4, 4, bias=starts)


if __name__ == "__main__":
    unittest.main()
