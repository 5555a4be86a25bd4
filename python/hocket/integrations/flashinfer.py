"""FlashInfer's functions and wrappers by Hocket, for programs that call those: `import hocket.integrations.flashinfer as flashinfer`.

LSE is FlashInfer's: to the base of 2, [rows, heads]. Masks of batches, positions that are turned in the kernel, and scales of 8
bits are refused by name. Workspaces and buffers for graphs are taken and not needed.
"""
import math

import torch

from .. import attention
from .._errors import InvalidInput, Unsupported

#: Arguments that say how FlashInfer computes, on which no result depends here.
_HINTS = {"backend", "use_fp16_qk_reduction", "use_tensor_cores", "non_blocking", "q_data_type", "kv_data_type", "data_type",
          "rope_scale", "rope_theta", "enable_pdl", "disable_split_kv", "fixed_split_size", "max_token_per_sequence",
          "max_sequence_kv", "seq_lens", "seq_lens_q", "block_tables", "prefix_len_ptr"}


def _check(options):
    """Refuses what would change results and is not computed."""
    for name, value in options.items():
        is_tensor = hasattr(value, "shape")
        if name in _HINTS or value is None or not is_tensor and ((name, value) == ("pos_encoding_mode", "NONE")
                                                                 or "scale" in name and value == 1.0):
            continue
        raise Unsupported(f"argument '{name}' is {'a tensor' if is_tensor else value}, which is not computed by "
                          f"hocket.integrations.flashinfer; leave it out, or call hocket's own functions")


def _rows_first(tensor, kv_layout):
    """[.., rows, heads, head_dim] of FlashInfer's layouts."""
    if kv_layout not in ("NHD", "HND"):
        raise InvalidInput(f"argument 'kv_layout' is {kv_layout!r}, wanted 'NHD' or 'HND'")
    return tensor if kv_layout == "NHD" else tensor.transpose(-3, -2)


def _attention_options(causal, sm_scale, window_left, logits_soft_cap):
    return {"causal": causal, "softmax_scale": sm_scale, "window_size": (window_left, -1), "softcap": logits_soft_cap or 0.0}


def _results(made, return_lse, out=None, lse=None):
    """O; with `return_lse` FlashInfer's LSE, too: [rows, heads], to the base of 2. `made` has [heads, rows], to that of e."""
    if out is not None:
        made = out.copy_(made[0]), made[1]
    if not return_lse:
        return made[0]
    of_two = made[1].t() / math.log(2)
    return made[0], of_two.contiguous() if lse is None else lse.copy_(of_two)


def _most(counts):
    """The largest of the lengths of sequences, of which there may be none; at least 1."""
    return max(counts.tolist(), default=1) or 1


def single_prefill_with_kv_cache(q, k, v, scale_q=None, scale_k=None, scale_v=None, o_dtype=None, custom_mask=None,
                                 packed_custom_mask=None, causal=False, kv_layout="NHD", pos_encoding_mode="NONE",
                                 use_fp16_qk_reduction=False, sm_scale=None, window_left=-1, logits_soft_cap=None, rope_scale=None,
                                 rope_theta=None, backend="auto", return_lse=False):
    """One sequence: q [rows, heads, head_dim], k and v [keys, kv_heads, head_dim] or HND."""
    _check({"scale_q": scale_q, "scale_k": scale_k, "scale_v": scale_v, "packed_custom_mask": packed_custom_mask,
            "pos_encoding_mode": pos_encoding_mode,
            "o_dtype": None if o_dtype == q.dtype else o_dtype})
    k, v = (_rows_first(tensor, kv_layout)[None] for tensor in (k, v))
    if custom_mask is not None:
        return _masked(q, k, v, custom_mask, sm_scale, window_left, logits_soft_cap, return_lse)
    out, lse = attention.flash_attn_func(q[None], k, v, return_lse=True,
                                         **_attention_options(causal, sm_scale, window_left, logits_soft_cap))
    return _results((out[0], lse[0]), return_lse)


def _masked(q, k, v, custom_mask, sm_scale, window_left, logits_soft_cap, return_lse):
    """One sequence with a mask [rows, keys] of what is seen, which, as in FlashInfer, stands in for `causal`."""
    if window_left >= 0 or logits_soft_cap:
        raise Unsupported("argument 'custom_mask' is given with window_left or logits_soft_cap; make the window part of the mask, or use "
                          "hocket.flex_attention")
    out, lse = attention.scaled_dot_product_attention(q[None].transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), custom_mask.bool(),
                                                      scale=sm_scale, enable_gqa=True, return_lse=True)
    return _results((out[0].transpose(0, 1), lse[0]), return_lse)


def single_decode_with_kv_cache(q, k, v, kv_layout="NHD", pos_encoding_mode="NONE", use_tensor_cores=False, q_scale=None, k_scale=None,
                                v_scale=None, window_left=-1, logits_soft_cap=None, sm_scale=None, rope_scale=None,
                                rope_theta=None, return_lse=False):
    """One query, [heads, head_dim], of one sequence."""
    _check({"q_scale": q_scale, "k_scale": k_scale, "v_scale": v_scale, "pos_encoding_mode": pos_encoding_mode})
    made = single_prefill_with_kv_cache(q[None], k, v, causal=True, kv_layout=kv_layout, sm_scale=sm_scale, window_left=window_left,
                                        logits_soft_cap=logits_soft_cap, return_lse=return_lse)
    return (made[0][0], made[1][0]) if return_lse else made[0]


class _Wrapper:
    """What all wrappers have: a plan, which `run` follows."""

    def __init__(self, float_workspace_buffer=None, kv_layout="NHD", use_cuda_graph=False, *_, **__):
        if kv_layout not in ("NHD", "HND"):
            raise InvalidInput(f"argument 'kv_layout' is {kv_layout!r}, wanted 'NHD' or 'HND'")
        if use_cuda_graph:
            raise Unsupported("argument 'use_cuda_graph' is True, and plans make lists of other sizes; capture hocket's own functions "
                              "(docs/Integrations.md)")
        self._layout, self._options = kv_layout, None

    def reset_workspace_buffer(self, *_):
        """There is none."""

    def run_return_lse(self, *arguments, **options):
        """O and LSE."""
        return self.run(*arguments, return_lse=True, **options)

    def _keep(self, rest, causal, sm_scale, window_left, logits_soft_cap):
        self._o_type = rest.pop("o_data_type", None)
        _check(rest)
        self._options = _attention_options(causal, sm_scale, window_left, logits_soft_cap)

    def _planned(self, q):
        if self._options is None:
            raise InvalidInput("run() comes before plan(), which says the sequences; call that first")
        if self._o_type is not None and str(self._o_type).removeprefix("torch.") != str(q.dtype).removeprefix("torch."):
            raise Unsupported(f"argument 'o_data_type' of plan() is {self._o_type}, and queries are {q.dtype}, whose type results "
                              f"have; leave it out")
        return self._options

    def _keep_pages(self, indptr, indices, last_page_len, page_size):
        """CSR lists as a table of pages, and lengths."""
        if indptr.dim() != 1 or last_page_len.shape[0] != indptr.shape[0] - 1:
            raise InvalidInput(f"argument 'paged_kv_indptr' has the shape {tuple(indptr.shape)} and 'paged_kv_last_page_len' "
                               f"{tuple(last_page_len.shape)}, wanted [batch + 1] and [batch]")
        begins, counts = indptr[:-1].cpu().long(), indptr.cpu().long().diff()
        if bool((counts < 0).any()) or int(indptr[-1]) > indices.shape[0]:
            raise InvalidInput(f"argument 'paged_kv_indptr' is not ascending, or ends behind the {indices.shape[0]} indices")
        entries = torch.arange(_most(counts))
        places = (begins[:, None] + entries).clamp(max=max(indices.shape[0] - 1, 0))
        table = torch.where(entries < counts[:, None], indices.cpu().int()[places], torch.zeros((), dtype=torch.int32))
        lengths = torch.where(counts > 0, (counts - 1) * page_size + last_page_len.cpu().long(), counts)
        self._page_size, self._longest = page_size, entries.shape[0] * page_size
        self._table, self._lengths = table.to(indices.device), lengths.int().to(indices.device)

    def _pools(self, paged_kv_cache):
        """Keys and values as pages of rows of heads."""
        if isinstance(paged_kv_cache, (tuple, list)):
            pools = paged_kv_cache
        elif paged_kv_cache.dim() == 5 and paged_kv_cache.shape[1] == 2:
            pools = paged_kv_cache.unbind(1)
        else:
            raise InvalidInput(f"argument 'paged_kv_cache' has the shape {tuple(paged_kv_cache.shape)}, wanted a pair of pools, or "
                               f"[pages, 2, page_size, kv_heads, head_dim]")
        k, v = (_rows_first(pool, self._layout) for pool in pools)
        if k.shape[1] != self._page_size:
            raise InvalidInput(f"argument 'paged_kv_cache' has pages of {k.shape[1]} rows, plan() said {self._page_size}")
        return k, v


class BatchDecodeWithPagedKVCacheWrapper(_Wrapper):
    """One query of each request over pages."""

    def plan(self, indptr, indices, last_page_len, num_qo_heads, num_kv_heads, head_dim, page_size, pos_encoding_mode="NONE",
             window_left=-1, logits_soft_cap=None, q_data_type="float16", kv_data_type=None, data_type=None, sm_scale=None, **rest):
        self._keep({"pos_encoding_mode": pos_encoding_mode, **rest}, True, sm_scale, window_left, logits_soft_cap)
        self._keep_pages(indptr, indices, last_page_len, page_size)

    def run(self, q, paged_kv_cache, *, out=None, lse=None, return_lse=False, **rest):
        """q [batch, heads, head_dim]."""
        _check(rest)
        options = self._planned(q)
        k, v = self._pools(paged_kv_cache)
        made, made_lse = attention.flash_attn_with_kvcache(
            q[:, None], k, v, cache_seqlens=self._lengths, block_table=self._table, return_softmax_lse=True, **options)
        return _results((made[:, 0], made_lse[..., 0].t()), return_lse, out, lse)


class _Prefill(_Wrapper):
    def _keep_queries(self, qo_indptr):
        counts = qo_indptr.cpu().diff()
        self._starts, self._most = qo_indptr.int(), _most(counts)


class BatchPrefillWithPagedKVCacheWrapper(_Prefill):
    """Packed queries over pages, bottom-right where causal."""

    def plan(self, qo_indptr, paged_kv_indptr, paged_kv_indices, paged_kv_last_page_len, num_qo_heads, num_kv_heads, head_dim_qk,
             page_size, head_dim_vo=None, custom_mask=None, packed_custom_mask=None, causal=False, pos_encoding_mode="NONE",
             use_fp16_qk_reduction=False, sm_scale=None, window_left=-1, logits_soft_cap=None, **rest):
        self._keep({"custom_mask": custom_mask, "packed_custom_mask": packed_custom_mask, "pos_encoding_mode": pos_encoding_mode, **rest},
                   causal, sm_scale, window_left, logits_soft_cap)
        self._keep_queries(qo_indptr)
        self._keep_pages(paged_kv_indptr, paged_kv_indices, paged_kv_last_page_len, page_size)

    def run(self, q, paged_kv_cache, *, out=None, lse=None, return_lse=False, **rest):
        """q [rows, heads, head_dim]."""
        _check(rest)
        options = self._planned(q)
        k, v = self._pools(paged_kv_cache)
        made = attention.flash_attn_varlen_func(
            q, k, v, self._starts, None, self._most, self._longest, block_table=self._table, seqused_k=self._lengths,
            return_lse=True, **options)
        return _results(made, return_lse, out, lse)


class BatchPrefillWithRaggedKVCacheWrapper(_Prefill):
    """Packed queries over packed keys."""

    def plan(self, qo_indptr, kv_indptr, num_qo_heads, num_kv_heads, head_dim_qk, head_dim_vo=None, custom_mask=None,
             packed_custom_mask=None, causal=False, pos_encoding_mode="NONE", use_fp16_qk_reduction=False, window_left=-1,
             logits_soft_cap=None, sm_scale=None, **rest):
        self._keep({"custom_mask": custom_mask, "packed_custom_mask": packed_custom_mask, "pos_encoding_mode": pos_encoding_mode, **rest},
                   causal, sm_scale, window_left, logits_soft_cap)
        self._keep_queries(qo_indptr)
        self._key_starts, self._most_keys = kv_indptr.int(), _most(kv_indptr.cpu().diff())

    def run(self, q, k, v, *, out=None, lse=None, return_lse=False, **rest):
        _check(rest)
        options = self._planned(q)
        k, v = (_rows_first(tensor, self._layout) for tensor in (k, v))
        made = attention.flash_attn_varlen_func(q, k, v, self._starts, self._key_starts, self._most, self._most_keys, return_lse=True,
                                                **options)
        return _results(made, return_lse, out, lse)
