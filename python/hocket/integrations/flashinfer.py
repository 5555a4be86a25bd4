"""FlashInfer's functions and wrappers by Hocket, for programs that call those: `import hocket.integrations.flashinfer as flashinfer`.

LSE is FlashInfer's: to the base of 2, [rows, heads]. What is not computed is refused by name. Workspaces are taken and not needed.
"""
import functools
import math

import torch

from .. import attention
from .._errors import InvalidInput, Unsupported
from . import _masks, _modified
from ._pages import Pages, rows_of
from ._scores import Scores, number_of

#: Arguments that say how FlashInfer computes, on which no result depends here.
_HINTS = {"backend", "use_fp16_qk_reduction", "use_tensor_cores", "non_blocking", "q_data_type", "kv_data_type", "data_type",
          "enable_pdl", "disable_split_kv", "fixed_split_size", "max_token_per_sequence", "max_sequence_kv", "seq_lens", "seq_lens_q",
          "block_tables", "max_item_len_ptr", "global_override_indptr_cpu"}


def _check(options):
    """Refuses what would change results and is not computed."""
    for name, value in options.items():
        is_tensor = hasattr(value, "shape")
        if name in _HINTS or value is None or not is_tensor and "scale" in name and value == 1.0:
            continue
        raise Unsupported(f"argument '{name}' is {'a tensor' if is_tensor else value}, which is not computed by "
                          f"hocket.integrations.flashinfer; leave it out, or call hocket's own functions")


def _rows_first(tensor, kv_layout):
    """[.., rows, heads, head_dim] of FlashInfer's layouts."""
    if kv_layout not in ("NHD", "HND"):
        raise InvalidInput(f"argument 'kv_layout' is {kv_layout!r}, wanted 'NHD' or 'HND'")
    return tensor if kv_layout == "NHD" else tensor.transpose(-3, -2)


def _results(made, return_lse, v_scale=None, out=None, lse=None):
    """O; with `return_lse` FlashInfer's LSE, too: [rows, heads], to the base of 2. `made` has [heads, rows], to that of e."""
    own, factor = made[0], number_of("v_scale", v_scale)
    own = own if factor == 1.0 else own * factor
    own = own if out is None else out.copy_(own)
    if not return_lse:
        return own
    of_two = made[1].t() / math.log(2)
    return own, of_two.contiguous() if lse is None else lse.copy_(of_two)


def _most(counts):
    """The largest of the lengths of sequences, of which there may be none; at least 1."""
    return max(counts, default=1) or 1


def _mask_of(custom_mask, packed_custom_mask, lengths):
    """The modification that either mask asks for, or nothing."""
    if packed_custom_mask is not None:
        return [_masks.modification("packed_custom_mask", _masks.packed(packed_custom_mask, lengths))]
    if custom_mask is not None:
        return [_masks.modification("custom_mask", _masks.custom(custom_mask, lengths))]
    return []


def single_prefill_with_kv_cache(q, k, v, scale_q=None, scale_k=None, scale_v=None, o_dtype=None, custom_mask=None,
                                 packed_custom_mask=None, causal=False, kv_layout="NHD", pos_encoding_mode="NONE",
                                 use_fp16_qk_reduction=False, sm_scale=None, window_left=-1, logits_soft_cap=None, rope_scale=None,
                                 rope_theta=None, backend="auto", return_lse=False, kv_cache_sf=None, k_scale=None, v_scale=None):
    """One sequence: q [rows, heads, head_dim], k and v [keys, kv_heads, head_dim] or HND."""
    _check({"scale_q": scale_q, "scale_k": scale_k, "scale_v": scale_v, "kv_cache_sf": kv_cache_sf,
            "o_dtype": None if o_dtype == q.dtype else o_dtype})
    scores = Scores(causal, sm_scale, window_left, logits_soft_cap, pos_encoding_mode, rope_scale, rope_theta)
    k, v = (_rows_first(tensor, kv_layout) for tensor in (k, v))
    queries, keys = q.shape[0], k.shape[0]
    if scores.rotary is not None:
        k, v = scores.rotary.turn(k, torch.arange(keys, device=k.device), q.dtype), v.to(q.dtype)
        q = scores.rotary.turn(q, torch.arange(keys - queries, keys, device=q.device))
    starts, key_starts = (torch.tensor([0, rows], dtype=torch.int32, device=q.device) for rows in (queries, keys))
    mask = _mask_of(custom_mask, packed_custom_mask, _masks.Lengths([queries], [keys], queries, max(keys, 1)))
    factor = number_of("k_scale", k_scale)
    options, more = scores.options(q, factor, bool(mask)), scores.modifications(q, factor) + mask
    if more and queries and keys:
        made = _modified.varlen(q, k, v, starts, key_starts, queries, keys, more=tuple(more), **options)
    else:
        out, lse = attention.flash_attn_func(q[None], k[None], v[None], return_lse=True, **options)
        made = out[0], lse[0]
    return _results(made, return_lse, v_scale)


def single_prefill_with_kv_cache_return_lse(*arguments, **options):
    """O and LSE."""
    return single_prefill_with_kv_cache(*arguments, return_lse=True, **options)


def single_decode_with_kv_cache(q, k, v, kv_layout="NHD", pos_encoding_mode="NONE", use_tensor_cores=False, q_scale=None, k_scale=None,
                                v_scale=None, window_left=-1, logits_soft_cap=None, sm_scale=None, rope_scale=None,
                                rope_theta=None, return_lse=False):
    """One query, [heads, head_dim], of one sequence."""
    made = single_prefill_with_kv_cache(
        q[None], k, v, causal=True, kv_layout=kv_layout, pos_encoding_mode=pos_encoding_mode, sm_scale=sm_scale, window_left=window_left,
        logits_soft_cap=logits_soft_cap, rope_scale=rope_scale, rope_theta=rope_theta, return_lse=return_lse,
        k_scale=number_of("q_scale", q_scale) * number_of("k_scale", k_scale), v_scale=v_scale)
    return (made[0][0], made[1][0]) if return_lse else made[0]


def fast_decode_plan(wrapper, *arguments, **options):
    """`wrapper`'s plan()."""
    return type(wrapper).plan(wrapper, *arguments, **options)


def _whole(plan):
    """`plan`, which leaves none when it fails."""

    @functools.wraps(plan)
    def attempt(self, *arguments, **options):
        try:
            return plan(self, *arguments, **options)
        except BaseException:
            self._scores = None
            raise

    return attempt


class _Wrapper:
    """What all wrappers have: a plan, which `run` follows."""

    def __init__(self, float_workspace_buffer=None, kv_layout="NHD", use_cuda_graph=False, *_, backend="auto", use_tensor_cores=False,
                 **__):
        if kv_layout not in ("NHD", "HND"):
            raise InvalidInput(f"argument 'kv_layout' is {kv_layout!r}, wanted 'NHD' or 'HND'")
        if use_cuda_graph:
            raise Unsupported("argument 'use_cuda_graph' is True, and plans make lists of other sizes; capture hocket's own functions "
                              "(docs/Integrations.md)")
        self._layout, self._scores, self._backend, self._use_tensor_cores = kv_layout, None, backend, use_tensor_cores

    def reset_workspace_buffer(self, *_):
        """There is none."""

    def begin_forward(self, *arguments, **options):
        """An older name of plan()."""
        return self.plan(*arguments, **options)

    def end_forward(self):
        """Nothing is kept but the plan."""

    def run_return_lse(self, *arguments, **options):
        """O and LSE."""
        return self.run(*arguments, return_lse=True, **options)

    def forward(self, *tensors, use_fp16_qk_reduction=False, q_scale=None, k_scale=None, v_scale=None, return_lse=False, **scores):
        """An older way to run: how scores are made is said here, not by the plan."""
        self._check_plan()
        self._scores = Scores(**{"causal": self._is_decoding, **scores})
        return self.run(*tensors, q_scale=q_scale, k_scale=k_scale, v_scale=v_scale, return_lse=return_lse)

    def forward_return_lse(self, *tensors, **options):
        """O and LSE."""
        return self.forward(*tensors, return_lse=True, **options)

    _is_decoding = False

    def _keep(self, rest, *scores):
        self._o_type = rest.pop("o_data_type", None)
        made = Scores(*scores, rest.pop("rope_scale", None), rest.pop("rope_theta", None))
        _check(rest)
        self._scores = made

    def _check_plan(self):
        if self._scores is None:
            raise InvalidInput("run() comes before plan(), which says the sequences; call that first")

    def _planned(self, q, window_left):
        self._check_plan()
        if window_left not in (None, self._scores.window_left):
            raise InvalidInput(f"argument 'window_left' is {window_left}, plan() said {self._scores.window_left}")
        if self._o_type is not None and str(self._o_type).removeprefix("torch.") != str(q.dtype).removeprefix("torch."):
            raise Unsupported(f"argument 'o_data_type' of plan() is {self._o_type}, and queries are {q.dtype}, whose type results "
                              f"have; leave it out")
        return self._scores

    def _keep_pages(self, indptr, indices, last_page_len, page_size):
        self._page_size, pages = page_size, Pages(indptr, indices, last_page_len, page_size)
        self._table, self._lengths, self._counts, self._longest = pages.table, pages.lengths, pages.counts, pages.longest

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

    def _turned_pools(self, k, v, dtype):
        """Copies of each request's pages as rows [batch, room, kv_heads, head_dim], of which keys are turned."""
        k, v = rows_of(k, self._table), rows_of(v, self._table)
        return self._scores.rotary.turn(k, torch.arange(k.shape[1], device=k.device), dtype), v.to(dtype)


class BatchDecodeWithPagedKVCacheWrapper(_Wrapper):
    """One query of each request over pages, or `q_len_per_req`, causal."""

    _is_decoding = True

    @_whole
    def plan(self, indptr, indices, last_page_len, num_qo_heads, num_kv_heads, head_dim, page_size, pos_encoding_mode="NONE",
             window_left=-1, logits_soft_cap=None, q_data_type="float16", kv_data_type=None, data_type=None, sm_scale=None,
             q_len_per_req=1, window_right=0, **rest):
        _check({"window_right": window_right or None})
        self._check_queries(q_len_per_req)
        self._keep(rest, True, sm_scale, window_left, logits_soft_cap, pos_encoding_mode)
        self._keep_pages(indptr, indices, last_page_len, page_size)
        if q_len_per_req > 1 and min(self._counts, default=q_len_per_req) < q_len_per_req:
            raise InvalidInput(f"argument 'q_len_per_req' is {q_len_per_req}, and a request has {min(self._counts)} keys, which leaves "
                               f"queries an empty KV range")
        self._queries = q_len_per_req

    def _check_queries(self, count):
        """FlashInfer's conditions, so that what plans here plans there."""
        if count > 1 and not self._use_tensor_cores:
            raise InvalidInput(f"argument 'q_len_per_req' is {count} of a wrapper without use_tensor_cores=True; give that")
        if count > 1 and self._backend not in ("auto", "fa2"):
            raise Unsupported(f"argument 'q_len_per_req' is {count} of a wrapper for '{self._backend}', wanted 'auto' or 'fa2'")
        if count < 1:
            raise InvalidInput(f"argument 'q_len_per_req' is {count}, wanted 1 at least")

    def run(self, q, paged_kv_cache, *, q_scale=None, k_scale=None, v_scale=None, out=None, lse=None, return_lse=False, window_left=None,
            **rest):
        """q [batch * q_len_per_req, heads, head_dim]."""
        _check(rest)
        scores = self._planned(q, window_left)
        batch = len(self._counts)
        if q.shape[0] != batch * self._queries:
            raise InvalidInput(f"argument 'q' has {q.shape[0]} rows, plan() said {batch} requests of q_len_per_req {self._queries}")
        factor = number_of("q_scale", q_scale) * number_of("k_scale", k_scale)
        k, v = self._pools(paged_kv_cache)
        made = self._with_slopes(q, k, v, factor) if scores.has_alibi and batch else self._attend(q, k, v, factor)
        return _results(made, return_lse, v_scale, out, lse)

    def _attend(self, q, k, v, factor):
        scores, rows, table = self._scores, q.view(len(self._counts), self._queries, *q.shape[1:]), self._table
        if scores.rotary is not None:
            k, v = self._turned_pools(k, v, q.dtype)
            rows = scores.rotary.turn(rows, self._lengths[:, None] + torch.arange(-self._queries, 0, device=q.device))
            table = None
        made, lse = attention.flash_attn_with_kvcache(rows, k, v, cache_seqlens=self._lengths, block_table=table, return_softmax_lse=True,
                                                      **scores.options(q, factor))
        return made.flatten(0, 1), lse.transpose(0, 1).flatten(1)

    def _with_slopes(self, q, k, v, factor):
        starts = torch.arange(len(self._counts) + 1, dtype=torch.int32, device=q.device) * self._queries
        return _modified.varlen(q, k, v, starts, None, self._queries, self._longest, block_table=self._table, seqused_k=self._lengths,
                                more=tuple(self._scores.modifications(q, factor)), **self._scores.options(q, factor))


class _Prefill(_Wrapper):
    """Packed queries."""

    def _keep_queries(self, qo_indptr, longest, masks, items):
        """Where queries are; and `masks`, custom and packed, or the mask of `items` behind a prefix."""
        counts = qo_indptr.cpu().diff().tolist()
        lengths = _masks.Lengths(counts, self._counts, _most(counts), longest)
        self._starts, self._most, self._query_counts, self._positions = qo_indptr.int(), _most(counts), counts, {}
        self._mask = _mask_of(*masks, lengths) if sum(counts) else []
        self._items = self._items_of(*items, lengths) if sum(counts) else []

    def _items_of(self, prefixes, places, width, lengths):
        if prefixes is None or places is None:
            _check({"prefix_len_ptr": prefixes, "token_pos_in_items_ptr": places})
            return []
        if not self._scores.causal or self._mask:
            raise InvalidInput("argument 'prefix_len_ptr' is given " + ("with a custom mask" if self._mask else "without causal=True")
                               + ", and items are causal; change that")
        return [_masks.modification("prefix_len_ptr", _masks.items(prefixes, places, width, lengths))]

    def _positions_of(self, name, rows):
        """Those of `rows` of "q", which end where their keys do, or of "k". Rows of no sequence have any."""
        if name not in self._positions:
            counts = self._query_counts if name == "q" else self._counts
            parts = [torch.arange(keys - count, keys) for count, keys in zip(counts, self._counts)]
            self._positions[name] = torch.cat([*parts, torch.zeros(0, dtype=torch.int64)]).to(self._starts.device)
        known = self._positions[name]
        return torch.nn.functional.pad(known, (0, rows - known.shape[0]))

    def _attend(self, q, k, v, key_starts, longest, factor, **pages):
        scores = self._scores
        if scores.rotary is not None:
            q = scores.rotary.turn(q, self._positions_of("q", q.shape[0]))
        more = scores.modifications(q, factor) + self._mask + self._items if q.shape[0] else []
        arguments = (q, k, v, self._starts, key_starts, self._most, longest)
        options = {**scores.options(q, factor, bool(self._mask)), **pages}
        if more:
            return _modified.varlen(*arguments, more=tuple(more), **options)
        return attention.flash_attn_varlen_func(*arguments, return_lse=True, **options)


class BatchPrefillWithPagedKVCacheWrapper(_Prefill):
    """Packed queries over pages, bottom-right where causal."""

    @_whole
    def plan(self, qo_indptr, paged_kv_indptr, paged_kv_indices, paged_kv_last_page_len, num_qo_heads, num_kv_heads, head_dim_qk,
             page_size, head_dim_vo=None, custom_mask=None, packed_custom_mask=None, causal=False, pos_encoding_mode="NONE",
             use_fp16_qk_reduction=False, sm_scale=None, window_left=-1, logits_soft_cap=None, prefix_len_ptr=None,
             token_pos_in_items_ptr=None, token_pos_in_items_len=0, **rest):
        self._keep(rest, causal, sm_scale, window_left, logits_soft_cap, pos_encoding_mode)
        self._keep_pages(paged_kv_indptr, paged_kv_indices, paged_kv_last_page_len, page_size)
        self._keep_queries(qo_indptr, self._longest, (custom_mask, packed_custom_mask),
                           (prefix_len_ptr, token_pos_in_items_ptr, token_pos_in_items_len))

    def run(self, q, paged_kv_cache, *, q_scale=None, k_scale=None, v_scale=None, out=None, lse=None, return_lse=False, window_left=None,
            **rest):
        """q [rows, heads, head_dim]."""
        _check(rest)
        scores = self._planned(q, window_left)
        k, v = self._pools(paged_kv_cache)
        starts, pages = None, {"block_table": self._table, "seqused_k": self._lengths}
        if scores.rotary is not None:
            k, v = (tensor.flatten(0, 1) for tensor in self._turned_pools(k, v, q.dtype))
            starts = torch.arange(len(self._counts) + 1, dtype=torch.int32, device=q.device) * self._longest
            pages = {"seqused_k": self._lengths}
        made = self._attend(q, k, v, starts, self._longest, number_of("q_scale", q_scale) * number_of("k_scale", k_scale), **pages)
        return _results(made, return_lse, v_scale, out, lse)


class BatchPrefillWithRaggedKVCacheWrapper(_Prefill):
    """Packed queries over packed keys."""

    @_whole
    def plan(self, qo_indptr, kv_indptr, num_qo_heads, num_kv_heads, head_dim_qk, head_dim_vo=None, custom_mask=None,
             packed_custom_mask=None, causal=False, pos_encoding_mode="NONE", use_fp16_qk_reduction=False, window_left=-1,
             logits_soft_cap=None, sm_scale=None, rope_scale=None, rope_theta=None, q_data_type="float16", kv_data_type=None,
             o_data_type=None, non_blocking=True, prefix_len_ptr=None, token_pos_in_items_ptr=None, token_pos_in_items_len=0, **rest):
        self._keep({"o_data_type": o_data_type, "rope_scale": rope_scale, "rope_theta": rope_theta, **rest}, causal, sm_scale,
                   window_left, logits_soft_cap, pos_encoding_mode)
        self._counts = kv_indptr.cpu().diff().tolist()
        self._key_starts, self._longest = kv_indptr.int(), _most(self._counts)
        self._keep_queries(qo_indptr, self._longest, (custom_mask, packed_custom_mask),
                           (prefix_len_ptr, token_pos_in_items_ptr, token_pos_in_items_len))

    def run(self, q, k, v, *, q_scale=None, k_scale=None, v_scale=None, out=None, lse=None, return_lse=False, window_left=None, **rest):
        """q [rows, heads, head_dim], k and v likewise."""
        _check(rest)
        scores = self._planned(q, window_left)
        k, v = (_rows_first(tensor, self._layout) for tensor in (k, v))
        if scores.rotary is not None:
            k, v = scores.rotary.turn(k, self._positions_of("k", k.shape[0]), q.dtype), v.to(q.dtype)
        made = self._attend(q, k, v, self._key_starts, self._longest, number_of("q_scale", q_scale) * number_of("k_scale", k_scale))
        return _results(made, return_lse, v_scale, out, lse)
