"""hocket.flash_attn: flash-attn 2's names, beside the functions of hocket; keys in pages with gradients, caches whose sequences
begin at rows of their own; the package as a kernel of a hub."""
import importlib.util
import math
import pathlib
import sys
import tempfile
import unittest

import torch

import hocket
import hocket.flash_attn as flash_attn
from hocket.flash_attn.bert_padding import pad_input, unpad_input, unpad_input_for_concatenated_sequences
from hocket.flash_attn.layers.rotary import apply_rotary_emb

B, S, H, HK, D = 2, 20, 4, 2, 64
STARTS = torch.tensor([0, 13, 20]).int()


def random(*shape, seed=0, grad=False):
    generator = torch.Generator().manual_seed(seed + sum(shape))
    return torch.randn(shape, generator=generator).to(torch.bfloat16).requires_grad_(grad)


def attention(q, k, v, causal):
    """One sequence in float32: [rows, heads, head_dim]."""
    k, v = (tensor.float().repeat_interleave(q.shape[1] // tensor.shape[1], 1) for tensor in (k, v))
    scores = torch.einsum("qhd,khd->hqk", q.float(), k) / math.sqrt(q.shape[-1])
    rows = torch.arange(q.shape[0])[:, None] + k.shape[0] - q.shape[0]
    if causal:
        scores = scores.masked_fill(torch.arange(k.shape[0]) > rows, -math.inf)
    return torch.einsum("hqk,khd->qhd", scores.softmax(-1).nan_to_num(0), v)


def close(a, b):
    return float((a.detach().float() - b.detach().float()).norm() / b.detach().float().norm()) < 8e-3


class Names(unittest.TestCase):
    def test_packed_parts_are_views(self):
        qkv = random(B, S, 3, H, D, grad=True)
        q, k, v = (qkv[:, :, i].detach().requires_grad_() for i in range(3))
        out = flash_attn.flash_attn_qkvpacked_func(qkv, causal=True)
        wanted = hocket.flash_attn_func(q, k, v, causal=True)
        self.assertTrue(torch.equal(out, wanted))
        out.float().square().sum().backward()
        wanted.float().square().sum().backward()
        self.assertTrue(torch.equal(qkv.grad, torch.stack([q.grad, k.grad, v.grad], 2)))
        again = flash_attn.flash_attn_kvpacked_func(q, qkv[:, :, 1:], causal=True)
        self.assertTrue(torch.equal(again, wanted))

    def test_packed_parts_of_sequences(self):
        qkv = random(S, 3, H, D)
        wanted = hocket.flash_attn_varlen_func(*qkv.unbind(1), STARTS, STARTS, 13, 13, causal=True)
        out = flash_attn.flash_attn_varlen_qkvpacked_func(qkv, STARTS, 13, causal=True)
        self.assertTrue(torch.equal(out, wanted))
        out = flash_attn.flash_attn_varlen_kvpacked_func(qkv[:, 0], qkv[:, 1:], STARTS, STARTS, 13, 13, causal=True)
        self.assertTrue(torch.equal(out, wanted))

    def test_probabilities_are_log_sum_exps(self):
        qkv = random(B, S, 3, H, D)
        out, lse, weights = flash_attn.flash_attn_qkvpacked_func(qkv, causal=True, return_attn_probs=True)
        wanted = hocket.flash_attn_func(*qkv.unbind(2), causal=True, return_lse=True)
        self.assertTrue(torch.equal(out, wanted[0]) and torch.equal(lse, wanted[1]) and weights.numel() == 0)

    def test_probabilities_with_dropout(self):
        """Their signs say which weights are dropped: O is the sum of the others, and they are the softmax."""
        q, k, v = random(B, S, H, D), random(B, S, HK, D, seed=1), random(B, S, HK, D, seed=2)
        out, lse, weights = flash_attn.flash_attn_func(q, k, v, 0.3, causal=True, return_attn_probs=True)
        self.assertEqual(weights.shape, (B, H, S, S))
        repeated = [t.float().repeat_interleave(H // HK, 2) for t in (k, v)]
        scores = torch.einsum("bqhd,bkhd->bhqk", q.float(), repeated[0]) / math.sqrt(D)
        scores = scores.masked_fill(torch.ones(S, S, dtype=torch.bool).triu(1), -math.inf)
        self.assertTrue(close(weights.abs(), scores.softmax(-1)))
        kept = weights.float().clamp(min=0) / 0.7
        self.assertTrue(close(out, torch.einsum("bhqk,bkhd->bqhd", kept, repeated[1])))
        dropped = (weights < 0).sum() / (weights != 0).sum()
        self.assertTrue(0.25 < float(dropped) < 0.35, float(dropped))

    def test_probabilities_of_sequences_with_dropout(self):
        """A sequence's weights are at its own place; places without queries or keys have 0."""
        q, k, v = random(S, H, D), random(S, HK, D, seed=1), random(S, HK, D, seed=2)
        out, _, weights = flash_attn.flash_attn_varlen_func(q, k, v, STARTS, STARTS, 13, 13, 0.3, return_attn_probs=True)
        self.assertEqual(weights.shape, (2, H, 13, 13))
        self.assertFalse(weights[1, :, 7:].any() or weights[1, :, :, 7:].any())
        for number, (begin, end) in enumerate(((0, 13), (13, 20))):
            rows = end - begin
            kept = weights[number, :, :rows, :rows].float().clamp(min=0) / 0.7
            values = v[begin:end].float().repeat_interleave(H // HK, 1)
            self.assertTrue(close(out[begin:end], torch.einsum("hqk,khd->qhd", kept, values)))
        with self.assertRaisesRegex(hocket.Unsupported, "'return_attn_probs' is True with dropout_p and block_table"):
            flash_attn.flash_attn_varlen_func(q, k[None], v[None], STARTS, STARTS, 13, 13, 0.3, return_attn_probs=True,
                                              block_table=torch.zeros(2, 1).int())

    def test_shapes_are_checked(self):
        with self.assertRaisesRegex(hocket.InvalidInput, r"argument 'qkv' has the shape .*, wanted \[batch, seq, 3, heads"):
            flash_attn.flash_attn_qkvpacked_func(random(B, S, 2, H, D))
        with self.assertRaisesRegex(hocket.InvalidInput, r"argument 'kv' has the shape .*, wanted \[rows, 2, heads"):
            flash_attn.flash_attn_varlen_kvpacked_func(random(S, H, D), random(S, 3, H, D), STARTS, STARTS, 13, 13)

    def test_padding_is_taken_out_and_put_back(self):
        kept = torch.tensor([[0, 1, 1, 0, 1], [1, 1, 0, 0, 0]])
        rows = random(2, 5, 3)
        packed, places, starts, longest, used = unpad_input(rows, kept)
        self.assertEqual((starts.tolist(), longest, used.tolist()), ([0, 3, 5], 3, [3, 2]))
        self.assertTrue(torch.equal(pad_input(packed, places, 2, 5), rows * kept[..., None]))
        _, _, starts, longest, used = unpad_input(rows, kept, torch.tensor([[1, 0, 0, 0, 0], [0, 0, 1, 0, 0]]))
        self.assertEqual((starts.tolist(), longest, used.tolist()), ([0, 4, 7], 4, [3, 2]))
        packed, _, starts, longest = unpad_input_for_concatenated_sequences(rows, torch.tensor([[2, 1, 0, 0, 0], [5, 0, 0, 0, 0]]))
        self.assertEqual((starts.tolist(), longest), ([0, 2, 3, 8], 5))
        self.assertTrue(torch.equal(packed, torch.cat([rows[0, :3], rows[1]])))

    def test_rotary_is_that_of_appended_keys(self):
        angles = torch.rand(40, 16, generator=torch.Generator().manual_seed(1)) * 6
        cos, sin, lengths = angles.cos().bfloat16(), angles.sin().bfloat16(), torch.tensor([7, 31]).int()
        k, cache = random(B, 3, HK, D), random(B, 40, HK, D)
        for interleaved in (False, True):
            k_cache, v_cache = cache.clone(), cache.clone()
            flash_attn.flash_attn_with_kvcache(random(B, 3, H, D), k_cache, v_cache, k, k, cos, sin, lengths,
                                               rotary_interleaved=interleaved, causal=True)
            turned = apply_rotary_emb(k, cos, sin, interleaved, seqlen_offsets=lengths)
            packed = apply_rotary_emb(k.flatten(0, 1), cos, sin, interleaved, False, lengths, torch.tensor([0, 3, 6]).int(), 3)
            self.assertTrue(torch.equal(packed.reshape(turned.shape), turned))
            for b, length in enumerate(lengths.tolist()):
                self.assertTrue(torch.equal(k_cache[b, length: length + 3], turned[b]))

    def test_install(self):
        flash_attn.install()
        flash_attn.install()
        from flash_attn.bert_padding import pad_input as same
        from flash_attn.flash_attn_interface import flash_attn_func

        self.assertTrue(same is pad_input and flash_attn_func is flash_attn.flash_attn_func)


class Caches(unittest.TestCase):
    def test_sequences_begin_at_rows_of_their_own(self):
        q, k_cache, v_cache = random(B, 3, H, D), random(3, 50, HK, D), random(3, 50, HK, D, seed=1)
        lengths, begins, index = torch.tensor([20, 43]).int(), torch.tensor([4, 40]).int(), torch.tensor([2, 0]).int()
        out, lse = flash_attn.flash_attn_with_kvcache(q, k_cache, v_cache, cache_seqlens=lengths, cache_batch_idx=index.long(),
                                                      cache_leftpad=begins, causal=True, return_softmax_lse=True)
        self.assertEqual(tuple(lse.shape), (B, H, 3))
        for b in range(B):
            keys = slice(int(begins[b]), int(lengths[b]))
            self.assertTrue(close(out[b], attention(q[b], k_cache[index[b], keys], v_cache[index[b], keys], True)))
        arrays = [tensor.float().numpy().astype("float16") for tensor in (q, k_cache[:2], v_cache[:2])]
        out = hocket.flash_attn_with_kvcache(*arrays, cache_seqlens=lengths.numpy(), cache_leftpad=begins.numpy(), causal=True)
        for b in range(B):
            keys = slice(int(begins[b]), int(lengths[b]))
            self.assertTrue(close(torch.tensor(out[b]), attention(q[b], k_cache[b, keys], v_cache[b, keys], True)))

    def test_new_keys_go_behind_them(self):
        angles = torch.rand(50, 16, generator=torch.Generator().manual_seed(1)) * 6
        cos, sin = angles.cos().bfloat16(), angles.sin().bfloat16()
        q, k, v = random(B, 3, H, D), random(B, 3, HK, D), random(B, 3, HK, D, seed=1)
        lengths, begins = torch.tensor([20, 43]).int(), torch.tensor([4, 40]).int()
        k_cache, v_cache = random(B, 50, HK, D), random(B, 50, HK, D, seed=1)
        kept = [k_cache.clone(), v_cache.clone()]
        out = flash_attn.flash_attn_with_kvcache(q, k_cache, v_cache, k, v, cos, sin, lengths, cache_leftpad=begins, causal=True)
        turned_q, turned_k = (apply_rotary_emb(t, cos, sin, True, seqlen_offsets=lengths) for t in (q, k))
        for b, length in enumerate(lengths.tolist()):
            kept[0][b, length: length + 3], kept[1][b, length: length + 3] = turned_k[b], v[b]
            keys = slice(int(begins[b]), length + 3)
            self.assertTrue(close(out[b], attention(turned_q[b], kept[0][b, keys], kept[1][b, keys], True)))
        self.assertTrue(torch.equal(k_cache, kept[0]) and torch.equal(v_cache, kept[1]))

    def test_new_keys_with_heads_of_any_size(self):
        q, k, v = random(B, 3, H, 59), random(B, 3, HK, 59), random(B, 3, HK, 59, seed=1)
        lengths, table = torch.tensor([20, 43]).int(), torch.tensor([[2, 0, 5], [1, 4, 3]]).int()
        for paged in (False, True):
            caches = [random(6, 16, HK, 59, seed=i) if paged else random(B, 48, HK, 59, seed=i) for i in range(2)]
            rows = lambda cache: cache[table.long()].flatten(1, 2) if paged else cache.clone()  # noqa: E731,B023
            kept = [rows(cache) for cache in caches]
            out = flash_attn.flash_attn_with_kvcache(q, *caches, k, v, cache_seqlens=lengths, causal=True,
                                                     block_table=table if paged else None)
            for b, length in enumerate(lengths.tolist()):
                kept[0][b, length: length + 3], kept[1][b, length: length + 3] = k[b], v[b]
                self.assertTrue(close(out[b], attention(q[b], kept[0][b, : length + 3], kept[1][b, : length + 3], True)))
            self.assertTrue(all(torch.equal(rows(cache), wanted) for cache, wanted in zip(caches, kept)))
        arrays = [tensor.half().numpy() for tensor in (q, *caches, k, v)]
        arrays[1].flags.writeable = False
        with self.assertRaisesRegex(hocket.InvalidInput, "argument 'k_cache' is read-only, 'k' is written to it"):
            hocket.flash_attn_with_kvcache(*arrays, cache_seqlens=lengths.numpy(), block_table=table.numpy())

    def test_more_queries_than_new_keys_have_angles(self):
        angles = torch.rand(24, 16, generator=torch.Generator().manual_seed(1)) * 6
        cos, sin = angles.cos().bfloat16(), angles.sin().bfloat16()
        q, k, v, lengths = random(B, 4, H, D), random(B, 1, HK, D), random(B, 1, HK, D, seed=1), torch.tensor([20, 7]).int()
        caches = [random(B, 24, HK, D, seed=i) for i in range(2)]
        kept = [cache.clone() for cache in caches]
        out = flash_attn.flash_attn_with_kvcache(q, *caches, k, v, cos, sin, lengths, causal=True)
        turned_q, turned_k = (apply_rotary_emb(t, cos, sin, True, seqlen_offsets=lengths) for t in (q, k))
        for b, length in enumerate(lengths.tolist()):
            kept[0][b, length], kept[1][b, length] = turned_k[b, 0], v[b, 0]
            keys = slice(0, length + 1)
            self.assertTrue(close(out[b], attention(turned_q[b], kept[0][b, keys], kept[1][b, keys], True)))
        # A query beyond the angles that there are is not a number; the others are as they were.
        again = flash_attn.flash_attn_with_kvcache(q, *caches, k, v, cos, sin, lengths + 1, causal=True)
        self.assertTrue(again[0, 3].isnan().all() and not again[0, :3].isnan().any() and not again[1].isnan().any())

    def test_pages_have_rows_from_the_first_on(self):
        pages, table = random(4, 16, HK, D), torch.tensor([[0, 1], [2, 3]]).int()
        with self.assertRaisesRegex(hocket.Unsupported, "argument 'block_table' is given with 'cache_leftpad'"):
            flash_attn.flash_attn_with_kvcache(random(B, 3, H, D), pages, pages, cache_leftpad=STARTS[:2], block_table=table)

    def test_gradients_through_pages(self):
        q, pools = random(12, H, D, grad=True), [random(7, 16, HK, D, seed=i, grad=True) for i in range(2)]
        table, used = torch.tensor([[3, 1, 99], [0, 5, 1]]).int(), torch.tensor([30, 45]).int()
        starts = torch.tensor([0, 5, 12]).int()
        out = flash_attn.flash_attn_varlen_func(q, *pools, starts, None, 7, 48, causal=True, block_table=table, seqused_k=used)
        with torch.no_grad():
            plain = flash_attn.flash_attn_varlen_func(q, *pools, starts, None, 7, 48, causal=True, block_table=table,
                                                      seqused_k=used)
        self.assertTrue(torch.equal(out, plain))
        out.float().square().sum().backward()
        made = [tensor.grad.clone() for tensor in (q, *pools)]
        rows = []
        for b in range(B):
            k, v = (pool[table[b].long().clamp(0, 6)].flatten(0, 1)[: used[b]] for pool in pools)
            rows.append(attention(q[starts[b]: starts[b + 1]], k, v, True))
        q.grad = pools[0].grad = pools[1].grad = None
        torch.cat(rows).square().sum().backward()
        for gradient, tensor in zip(made, (q, *pools)):
            self.assertTrue(close(gradient, tensor.grad))


class Hub(unittest.TestCase):
    def test_a_copy_under_another_name_computes(self):
        from hocket.integrations import kernels_hub

        with tempfile.TemporaryDirectory() as folder:
            kernels_hub.main([folder, "--variant", "torch-rocm"])
            build = pathlib.Path(folder) / "build" / "torch-rocm"
            self.assertIn('"type": "rocm"', (build / "metadata.json").read_text())
            spec = importlib.util.spec_from_file_location("a_kernel_9", build / "__init__.py", submodule_search_locations=[str(build)])
            kernel = sys.modules["a_kernel_9"] = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(kernel)
            tensors = random(B, S, 3, H, D).unbind(2)
            self.assertTrue(torch.equal(kernel.flash_attn_func(*tensors, causal=True),
                                        hocket.flash_attn_func(*tensors, causal=True)))
            with self.assertRaisesRegex(hocket.InvalidInput, "exists; remove it"):
                kernels_hub.write(folder, build="torch-rocm")


if __name__ == "__main__":
    unittest.main()
