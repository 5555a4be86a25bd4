"""FlashInfer's scores against their definition in float64: rotary embedding, ALiBi, custom masks, items behind a prefix, scales."""
import functools
import math
import unittest

import torch

import hocket
import hocket.integrations.flashinfer as flashinfer

H, HK, D, P = 4, 2, 64, 16
KEYS, QUERIES = [33, 7, 60, 16], [4, 7, 20, 1]


def turned(x, positions, scale, theta):
    """Halves of heads, turned as a complex number each."""
    half = x.shape[-1] // 2
    angles = positions.double()[:, None] / scale * theta ** (-torch.arange(half).double() / half)
    made = torch.complex(x[..., :half], x[..., half:]) * torch.polar(torch.ones_like(angles), angles)[:, None]
    return torch.cat([made.real, made.imag], -1)


def slopes_of(heads):
    n = 2 ** int(math.log2(heads))
    first = [2 ** (-8 / n * (head + 1)) for head in range(n)]
    return torch.tensor(first + [2 ** (-4 / n * (2 * head + 1)) for head in range(heads - n)]).double()


def reference(q, k, v, causal=False, window=-1, cap=0.0, scale=None, rope=None, alibi=False, mask=None):
    """O and LSE of one sequence, [rows, heads, head_dim]; `mask` is what is seen, and stands in for the diagonal."""
    q, k, v = (t.double() for t in (q, k, v))
    at, key = torch.arange(q.shape[0]) + k.shape[0] - q.shape[0], torch.arange(k.shape[0])
    if rope is not None:
        q, k = turned(q, at, *rope), turned(k, key, *rope)
    k, v = (t.repeat_interleave(q.shape[1] // t.shape[1], 1) for t in (k, v))
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    scores = torch.einsum("qhd,khd->hqk", q, k) * scale
    if alibi:
        scores = scores + slopes_of(q.shape[1])[:, None, None] * (key - torch.arange(q.shape[0])[:, None])
    scores = cap * torch.tanh(scores * (scale if alibi else 1.0) / cap) if cap else scores
    seen = (key <= at[:, None] if causal else torch.ones(at.shape[0], key.shape[0]).bool()) if mask is None else mask
    seen = seen & (key >= at[:, None] - window) if window >= 0 else seen
    scores = scores.masked_fill(~seen, -math.inf)
    weights = torch.softmax(scores, -1).nan_to_num(0)
    return torch.einsum("hqk,khd->qhd", weights, v), torch.logsumexp(scores, -1).t() / math.log(2)


def together(wanted):
    return [torch.cat(parts) for parts in zip(*wanted)]


class Scores(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(7)
        counts = [-(-length // P) for length in KEYS]
        self.pool = torch.randn(sum(counts) + 3, 2, P, HK, D).half()
        indices = torch.randperm(self.pool.shape[0])[: sum(counts)].int()
        indptr = torch.tensor([0, *counts]).cumsum(0).int()
        last = torch.tensor([length - (count - 1) * P for length, count in zip(KEYS, counts)]).int()
        self.lists, self.own = (indptr, indices, last), []
        for number, length in enumerate(KEYS):
            rows = self.pool[indices[indptr[number]:indptr[number + 1]].long()].transpose(0, 1).reshape(2, -1, HK, D)[:, :length]
            self.own.append((rows[0], rows[1]))
        self.q = torch.randn(sum(QUERIES), H, D).half()
        self.starts, self.key_starts = (torch.tensor([0, *of]).cumsum(0).int() for of in (QUERIES, KEYS))

    def check(self, made, wanted, most=5e-3):
        for found, right in zip(made, wanted):
            self.assertEqual(tuple(found.shape), tuple(right.shape))
            # Rows that see nothing have an LSE of -inf.
            self.assertTrue(torch.equal(found.isinf(), right.isinf()))
            self.assertLess(float((found.double() - right).nan_to_num(0).abs().max()), most)

    def prefill(self, wanted, options, run=None, layout="NHD"):
        """Paged and ragged wrappers with `options` of plan() against the reference of each sequence with its `wanted`."""
        right = together([reference(q, *kv, **of) for q, kv, of in zip(self.q.split(QUERIES), self.own, wanted)])
        before = self.pool.clone()
        pool = self.pool if layout == "NHD" else self.pool.transpose(2, 3).contiguous()
        paged = flashinfer.BatchPrefillWithPagedKVCacheWrapper(None, layout)
        paged.plan(self.starts, *self.lists, H, HK, D, P, **options)
        self.check(paged.run(self.q, pool, return_lse=True, **(run or {})), right)
        ragged = flashinfer.BatchPrefillWithRaggedKVCacheWrapper(None)
        ragged.plan(self.starts, self.key_starts, H, HK, D, **options)
        packed = [torch.cat(tensors) for tensors in zip(*self.own)]
        self.check(ragged.run(self.q, *packed, return_lse=True, **(run or {})), right)
        self.assertTrue(torch.equal(self.pool, before))
        return paged

    def decode(self, wanted, options, count=1, run=None):
        q = torch.randn(len(KEYS) * count, H, D).half()
        wrapper = flashinfer.BatchDecodeWithPagedKVCacheWrapper(None, use_tensor_cores=count > 1)
        wrapper.plan(*self.lists, H, HK, D, P, **options)
        right = together([reference(part, *kv, causal=True, **wanted) for part, kv in zip(q.split(count), self.own)])
        self.check(wrapper.run(q, self.pool, return_lse=True, **(run or {})), right)

    def test_rotary(self):
        rope = {"pos_encoding_mode": "ROPE_LLAMA", "rope_scale": 2.0, "rope_theta": 500.0}
        for layout, options, own in (("NHD", {"causal": True}, {"causal": True}), ("HND", {"logits_soft_cap": 3.0}, {"cap": 3.0}),
                                     ("NHD", {"causal": True, "window_left": 9}, {"causal": True, "window": 9})):
            self.prefill([{"rope": (2.0, 500.0), **own}] * 4, {**rope, **options}, layout=layout)
        self.decode({"rope": (1.0, 1e4)}, {"pos_encoding_mode": "ROPE_LLAMA"})
        ragged = flashinfer.BatchPrefillWithRaggedKVCacheWrapper(None)
        ragged.plan(self.starts[:2], self.key_starts[:2], H, HK, D, causal=True, pos_encoding_mode="ROPE_LLAMA")
        packed = [torch.cat(tensors) for tensors in zip(*self.own)]
        made = ragged.run(self.q, *packed, return_lse=True)  # of which the first sequence's rows alone are used
        self.check([part[:4] for part in made], reference(self.q[:4], *self.own[0], True, rope=(1.0, 1e4)))
        self.assertEqual(float(made[0][4:].abs().max()), 0)
        k, v = self.own[2]
        q = torch.randn(20, H, D).half()
        self.check(flashinfer.single_prefill_with_kv_cache(q, k, v, causal=True, return_lse=True, **rope),
                   reference(q, k, v, True, rope=(2.0, 500.0)))
        self.check(flashinfer.single_prefill_with_kv_cache_return_lse(k, k[:20], v[:20], pos_encoding_mode="ROPE_LLAMA"),
                   reference(k, k[:20], v[:20], rope=(1.0, 1e4)))  # more queries than keys
        out, lse = flashinfer.single_decode_with_kv_cache(q[0], k, v, return_lse=True, **rope)
        self.check((out[None], lse[None]), reference(q[:1], k, v, rope=(2.0, 500.0)))

    def test_alibi(self):
        for options, own in (({"causal": True}, {"causal": True}), ({}, {}), ({"logits_soft_cap": 2.0, "sm_scale": 0.3},
                                                                               {"cap": 2.0, "scale": 0.3})):
            self.prefill([{"alibi": True, **own}] * 4, {"pos_encoding_mode": "ALIBI", **options})
        self.decode({"alibi": True}, {"pos_encoding_mode": "ALIBI"})
        k, v = (torch.randn(30, 6, D).half() for _ in range(2))
        out, lse = flashinfer.single_decode_with_kv_cache(k[0], k, v, pos_encoding_mode="ALIBI", return_lse=True)
        self.check((out[None], lse[None]), reference(k[:1], k, v, alibi=True))

    def masks(self, share=0.5):
        made = [torch.rand(queries, keys) < share for queries, keys in zip(QUERIES, KEYS)]
        made[0][2] = False
        packed = []
        for mask in made:
            bits = torch.cat([mask.flatten(), torch.zeros(-mask.numel() % 8).bool()]).view(-1, 8)
            packed.append((bits * 2 ** torch.arange(8)).sum(-1).byte())
        return made, torch.cat([mask.flatten() for mask in made]), torch.cat(packed)

    def test_masks(self):
        own, flat, packed = self.masks()
        for options, of in (({"custom_mask": flat}, {}), ({"packed_custom_mask": packed, "causal": True}, {}),
                            ({"custom_mask": flat, "window_left": 15, "logits_soft_cap": 4.0}, {"window": 15, "cap": 4.0}),
                            ({"packed_custom_mask": packed, "pos_encoding_mode": "ROPE_LLAMA"}, {"rope": (1.0, 1e4)}),
                            ({"custom_mask": flat, "pos_encoding_mode": "ALIBI"}, {"alibi": True})):
            self.prefill([{"mask": mask, **of} for mask in own], options)
        q, (k, v) = self.q[11:31], self.own[2]
        bits = own[2].view(-1, 8)
        for mask in ({"custom_mask": own[2]}, {"packed_custom_mask": (bits * 2 ** torch.arange(8)).sum(-1).byte()}):
            self.check(flashinfer.single_prefill_with_kv_cache(q, k, v, window_left=30, logits_soft_cap=2.0, return_lse=True, **mask),
                       reference(q, k, v, mask=own[2], window=30, cap=2.0))

    def test_masks_of_calls_like_earlier_ones(self):
        """What is kept of a call reads the masks of the next one."""
        for _ in range(3):
            own, flat, _ = self.masks()
            self.q = torch.randn_like(self.q)
            self.prefill([{"mask": mask} for mask in own], {"custom_mask": flat})

    def test_items(self):
        prefixes, width = [20, 3, 10, 12], 60
        places, masks = torch.zeros(4, width).long(), []
        for number, (prefix, keys, queries) in enumerate(zip(prefixes, KEYS, QUERIES)):
            in_item = torch.arange(keys - prefix) % 5  # of 4 tokens each, and a delimiter before them
            places[number, : keys - prefix] = in_item
            at, key = torch.arange(keys - queries, keys)[:, None], torch.arange(keys)
            item = torch.cat([torch.full((prefix,), -1), torch.arange(keys - prefix) // 5])
            # A delimiter sees the prefix alone, others their item behind its delimiter.
            first = torch.cat([torch.zeros(prefix).bool(), in_item == 0])
            masks.append((key <= at) & ((item == -1) | (item[at] == item) & ~first & ~first[at]))
        options = {"prefix_len_ptr": torch.tensor(prefixes), "token_pos_in_items_ptr": places.flatten(), "token_pos_in_items_len": width}
        self.prefill([{"mask": mask} for mask in masks], {"causal": True, **options})
        self.prefill([{"mask": mask, "window": 12} for mask in masks], {"causal": True, "window_left": 12, **options})
        with self.assertRaisesRegex(hocket.Error, "'prefix_len_ptr' is given without causal=True"):
            self.prefill([{}] * 4, options)

    def test_scales(self):
        right = together([reference(q, k.double(), 3.0 * v.double(), True, scale=0.25 * D ** -0.5)
                          for q, (k, v) in zip(self.q.split(QUERIES), self.own)])
        paged = self.prefill([{"causal": True, "scale": 0.25 * D ** -0.5}] * 4, {"causal": True}, {"k_scale": 0.5, "q_scale": torch.tensor(0.5)})
        self.check(paged.run(self.q, self.pool, k_scale=0.25, v_scale=3.0, return_lse=True), right, 1.2e-2)
        self.decode({"scale": 0.5 * D ** -0.5}, {}, run={"k_scale": 0.5})
        for name in ("k_scale", "v_scale"):
            with self.assertRaisesRegex(hocket.Unsupported, f"'{name}' has 2 numbers; give one"):
                paged.run(self.q, self.pool, **{name: torch.ones(2)})

    def test_several_queries_of_a_request(self):
        for options, wanted in (({}, {}), ({"pos_encoding_mode": "ROPE_LLAMA"}, {"rope": (1.0, 1e4)}),
                                ({"pos_encoding_mode": "ALIBI"}, {"alibi": True})):
            self.decode(wanted, {"q_len_per_req": 3, **options}, 3)
        for make, options, message in (({}, {}, "without use_tensor_cores=True"),
                                       ({"use_tensor_cores": True, "backend": "fa3"}, {}, "wanted 'auto' or 'fa2'"),
                                       ({"use_tensor_cores": True}, {"q_len_per_req": 8}, "a request has 7 keys")):
            with self.assertRaisesRegex(hocket.Error, message):
                flashinfer.BatchDecodeWithPagedKVCacheWrapper(None, **make).plan(*self.lists, H, HK, D, P, **{"q_len_per_req": 3, **options})

    def test_older_names(self):
        paged = flashinfer.BatchPrefillWithPagedKVCacheWrapper(None)
        paged.begin_forward(self.starts, *self.lists, H, HK, D, P, causal=True)
        for scores, own in (({}, {}), ({"causal": True, "pos_encoding_mode": "ROPE_LLAMA"}, {"causal": True, "rope": (1.0, 1e4)})):
            right = together([reference(q, *kv, **own) for q, kv in zip(self.q.split(QUERIES), self.own)])
            self.check(paged.forward_return_lse(self.q, self.pool, **scores), right)
        paged.end_forward()
        decode = flashinfer.BatchDecodeWithPagedKVCacheWrapper(None)
        decode.plan = functools.partial(flashinfer.fast_decode_plan, decode)
        decode.plan(*self.lists, H, HK, D, P, window_left=5)
        right = together([reference(q[None], *kv, True, window=5) for q, kv in zip(self.q, self.own)])
        self.check(decode.run_return_lse(self.q[:4], self.pool), right)

    def test_no_requests(self):
        nothing, none = torch.zeros(1).int(), torch.zeros(0).int()
        q, k = torch.zeros(0, H, D).half(), torch.zeros(0, HK, D).half()
        for options in ({"pos_encoding_mode": "ALIBI"}, {"pos_encoding_mode": "ROPE_LLAMA"}, {"custom_mask": torch.zeros(0).bool()}):
            ragged = flashinfer.BatchPrefillWithRaggedKVCacheWrapper(None)
            ragged.plan(nothing, nothing, H, HK, D, **options)
            self.assertEqual(tuple(ragged.run(q, k, k).shape), (0, H, D))
            paged = flashinfer.BatchPrefillWithPagedKVCacheWrapper(None)
            paged.plan(nothing, nothing, none, none, H, HK, D, P, **options)
            self.assertEqual(tuple(paged.run(q, self.pool).shape), (0, H, D))
        for mode in ("ALIBI", "ROPE_LLAMA"):
            decode = flashinfer.BatchDecodeWithPagedKVCacheWrapper(None)
            decode.plan(nothing, none, none, H, HK, D, P, pos_encoding_mode=mode)
            self.assertEqual(tuple(decode.run(q, self.pool).shape), (0, H, D))

    def test_refused(self):
        flat = torch.ones(5).bool()
        for options, message in (({"custom_mask": flat}, "'custom_mask' has 5 elements, wanted"),
                                 ({"packed_custom_mask": flat}, "'packed_custom_mask' is torch.bool of the shape"),
                                 ({"pos_encoding_mode": "NOPE"}, "'pos_encoding_mode' is 'NOPE', wanted one of NONE, ROPE_LLAMA, ALIBI"),
                                 ({"pos_encoding_mode": "ROPE_LLAMA", "rope_theta": -1.0}, "'rope_theta' is -1.0, wanted a positive"),
                                 ({"prefix_len_ptr": flat[:4].int(), "token_pos_in_items_ptr": flat.int(), "causal": True},
                                  "'token_pos_in_items_ptr' has 5 numbers of sequence 0, wanted 32"),
                                 ({"prefix_len_ptr": flat.int(), "causal": True}, "'prefix_len_ptr' is a tensor")):
            with self.assertRaisesRegex(hocket.Error, message):
                self.prefill([{}] * 4, options)
        with self.assertRaisesRegex(hocket.Error, "'qo_indptr' is of 3 sequences, the keys are of 4"):
            flashinfer.BatchPrefillWithRaggedKVCacheWrapper(None).plan(self.starts[:4], self.key_starts, H, HK, D)
        decode = flashinfer.BatchDecodeWithPagedKVCacheWrapper(None)
        with self.assertRaisesRegex(hocket.Error, "run\\(\\) comes before plan"):
            decode.forward(self.q[:4], self.pool)
        decode.plan(*self.lists, H, HK, D, P)
        with self.assertRaisesRegex(hocket.Error, "ends behind the 0 indices"):
            decode.plan(self.lists[0], self.lists[1][:0], self.lists[2], H, HK, D, P)
        with self.assertRaisesRegex(hocket.Error, "run\\(\\) comes before plan"):
            decode.run(self.q[:4], self.pool)
        decode.plan(*self.lists, H, HK, D, P)
        with self.assertRaisesRegex(hocket.Error, "'q' has 3 rows, plan\\(\\) said 4 requests"):
            decode.run(self.q[:3], self.pool)
        with self.assertRaisesRegex(hocket.Error, "'window_left' is 3, plan\\(\\) said -1"):
            decode.run(self.q[:4], self.pool, window_left=3)


if __name__ == "__main__":
    unittest.main()
