"""FlashInfer's calls against the definition in float64: sequences, pages, both layouts, LSE to the base of 2, refusals."""
import math
import unittest

import torch

import hocket
import hocket.integrations.flashinfer as flashinfer

H, HK, D, P = 4, 2, 64, 16


def reference(q, k, v, causal=True, window=-1, cap=0.0, scale=None):
    """O and LSE of one sequence, [rows, heads, head_dim]."""
    q, k, v = (t.double() for t in (q, k, v))
    k, v = (t.repeat_interleave(q.shape[1] // t.shape[1], 1) for t in (k, v))
    scores = torch.einsum("qhd,khd->hqk", q, k) * (q.shape[-1] ** -0.5 if scale is None else scale)
    scores = cap * torch.tanh(scores / cap) if cap else scores
    at = torch.arange(q.shape[0])[:, None] + k.shape[0] - q.shape[0]
    key = torch.arange(k.shape[0])
    hidden = (causal & (key > at)) | ((window >= 0) & (key < at - window))
    scores = scores.masked_fill(hidden, -math.inf)
    return torch.einsum("hqk,khd->qhd", torch.softmax(scores, -1), v), torch.logsumexp(scores, -1).t() / math.log(2)


class Names(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(3)

    def check(self, made, wanted):
        for found, right in zip(made, wanted):
            self.assertEqual(tuple(found.shape), tuple(right.shape))
            self.assertLess(float((found.double() - right).abs().max()), 4e-3)

    def random(self, *shape):
        return torch.randn(shape).half()

    def test_single(self):
        q, k, v = self.random(20, H, D), self.random(50, HK, D), self.random(50, HK, D)
        for layout in ("NHD", "HND"):
            kv = [t if layout == "NHD" else t.transpose(0, 1).contiguous() for t in (k, v)]
            for options, wanted in (({}, {"causal": False}), ({"causal": True, "window_left": 9}, {"window": 9}),
                                    ({"causal": True, "logits_soft_cap": 3.0, "sm_scale": 0.3}, {"cap": 3.0, "scale": 0.3})):
                self.check(flashinfer.single_prefill_with_kv_cache(q, *kv, kv_layout=layout, return_lse=True, **options),
                           reference(q, k, v, **wanted))
            out, lse = flashinfer.single_decode_with_kv_cache(q[0], *kv, kv_layout=layout, return_lse=True)
            self.check((out[None], lse[None]), reference(q[:1], k, v))
        self.check((flashinfer.single_prefill_with_kv_cache(q, k, v),), reference(q, k, v, causal=False)[:1])
        mask = torch.arange(50) <= torch.arange(20)[:, None] + 30
        self.check(flashinfer.single_prefill_with_kv_cache(q, k, v, custom_mask=mask, return_lse=True), reference(q, k, v))

    def pages(self, layout, lengths):
        """A pool, its CSR lists, and the keys and values of each request."""
        counts = [-(-length // P) for length in lengths]
        pool = self.random(sum(counts) + 3, 2, P, HK, D)
        indices = torch.randperm(pool.shape[0])[: sum(counts)].int()
        indptr = torch.tensor([0, *counts]).cumsum(0).int()
        last = torch.tensor([length - (count - 1) * P if count else 0 for length, count in zip(lengths, counts)]).int()
        own = []
        for number, length in enumerate(lengths):
            rows = pool[indices[indptr[number]:indptr[number + 1]].long()].transpose(0, 1).reshape(2, -1, HK, D)[:, :length]
            own.append((rows[0], rows[1]))
        return pool if layout == "NHD" else pool.transpose(2, 3).contiguous(), (indptr, indices, last), own

    def test_decode(self):
        for layout in ("NHD", "HND"):
            pool, lists, own = self.pages(layout, [5, 40, 16])
            q = self.random(3, H, D)
            wrapper = flashinfer.BatchDecodeWithPagedKVCacheWrapper(torch.empty(8), layout)
            wrapper.plan(*lists, H, HK, D, P, q_data_type=torch.float16, window_left=20)
            wanted = [reference(q[i:i + 1], *own[i], window=20) for i in range(3)]
            wanted = [torch.cat(parts) for parts in zip(*wanted)]
            self.check(wrapper.run(q, pool, return_lse=True), wanted)
            out, lse = torch.empty_like(q), torch.empty(3, H)
            made = wrapper.run_return_lse(q, tuple(t.contiguous() for t in pool.unbind(1)), out=out, lse=lse)
            self.assertIs(made[0], out)
            self.assertIs(made[1], lse)
            self.check(made, wanted)

    def test_results_of_another_type_are_refused(self):
        pool, lists, _ = self.pages("NHD", [5])
        wrapper = flashinfer.BatchDecodeWithPagedKVCacheWrapper(torch.empty(8))
        for wanted in (torch.float32, "bfloat16"):
            wrapper.plan(*lists, H, HK, D, P, o_data_type=wanted)
            with self.assertRaisesRegex(hocket.Unsupported, "'o_data_type' of plan.. is .*leave it out"):
                wrapper.run(self.random(1, H, D), pool)
        wrapper.plan(*lists, H, HK, D, P, o_data_type="float16")
        wrapper.run(self.random(1, H, D), pool)

    def test_prefill(self):
        lengths, queries = [33, 7, 60], [4, 7, 20]
        starts = torch.tensor([0, *queries]).cumsum(0).int()
        q = self.random(sum(queries), H, D)
        parts = q.split(queries)
        for layout in ("NHD", "HND"):
            pool, lists, own = self.pages(layout, lengths)
            for causal in (True, False):
                wrapper = flashinfer.BatchPrefillWithPagedKVCacheWrapper(None, layout)
                wrapper.plan(starts, *lists, H, HK, D, P, causal=causal)
                wanted = [reference(part, *kv, causal=causal) for part, kv in zip(parts, own)]
                self.check(wrapper.run(q, pool, return_lse=True), [torch.cat(found) for found in zip(*wanted)])
        packed = [torch.cat(tensors) for tensors in zip(*own)]
        ragged = flashinfer.BatchPrefillWithRaggedKVCacheWrapper(None)
        ragged.plan(starts, torch.tensor([0, *lengths]).cumsum(0).int(), H, HK, D, causal=True)
        wanted = [reference(part, *kv) for part, kv in zip(parts, own)]
        self.check(ragged.run(q, *packed, return_lse=True), [torch.cat(found) for found in zip(*wanted)])

    def test_no_requests(self):
        """An empty batch, which engines have, gives empty results."""
        nothing, none = torch.zeros(1).int(), torch.zeros(0).int()
        pool = self.random(3, 2, P, HK, D)
        decode = flashinfer.BatchDecodeWithPagedKVCacheWrapper(None)
        decode.plan(nothing, none, none, H, HK, D, P)
        paged = flashinfer.BatchPrefillWithPagedKVCacheWrapper(None)
        paged.plan(nothing, nothing, none, none, H, HK, D, P, causal=True)
        ragged = flashinfer.BatchPrefillWithRaggedKVCacheWrapper(None)
        ragged.plan(nothing, nothing, H, HK, D, causal=True)
        q, k = self.random(0, H, D), self.random(0, HK, D)
        for out, lse in (decode.run(q, pool, return_lse=True), paged.run(q, pool, return_lse=True),
                         ragged.run(q, k, k, return_lse=True)):
            self.assertEqual((tuple(out.shape), tuple(lse.shape)), ((0, H, D), (0, H)))

    def test_refused(self):
        q, k = self.random(4, H, D), self.random(4, HK, D)
        pool, lists, _ = self.pages("NHD", [5, 40])
        wrapper = flashinfer.BatchDecodeWithPagedKVCacheWrapper(None)
        for function, message in (
                (lambda: flashinfer.single_prefill_with_kv_cache(q, k, k, scale_k=torch.ones(HK)), "'scale_k' is a tensor"),
                (lambda: flashinfer.single_decode_with_kv_cache(q[0], k, k, k_scale=torch.ones(2)), "'k_scale' has 2 numbers"),
                (lambda: flashinfer.single_prefill_with_kv_cache(q, k, k, kv_layout="DHN"), "'kv_layout' is 'DHN'"),
                (lambda: wrapper.run(q[:2], pool), "run\\(\\) comes before plan"),
                (lambda: wrapper.plan(*lists, H, HK, D, P, unknown=3), "'unknown' is 3"),
                (lambda: flashinfer.BatchDecodeWithPagedKVCacheWrapper(None, "NHD", True), "'use_cuda_graph' is True"),
                (lambda: wrapper.plan(lists[0], lists[1], lists[2][:1], H, HK, D, P), "'paged_kv_last_page_len'"),
                (lambda: wrapper.plan(lists[0] + 9, *lists[1:], H, HK, D, P), "ends behind")):
            with self.assertRaisesRegex(hocket.Error, message):
                function()
        wrapper.plan(*lists, H, HK, D, 8)
        with self.assertRaisesRegex(hocket.Error, "pages of 16 rows, plan\\(\\) said 8"):
            wrapper.run(q[:2], pool)


if __name__ == "__main__":
    unittest.main()
