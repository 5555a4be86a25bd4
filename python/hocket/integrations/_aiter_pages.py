"""aiter's decoding over pages: one query of each sequence, or `mtp`, causal. Workspaces are taken and not needed."""
import functools

import torch

from .. import attention
from .._errors import InvalidInput, Unsupported
from . import _modified
from ._pages import Pages, rows_of, turned_around
from ._scores import number_of

#: aiter adds the bias before it caps.
_ALIBI_THEN_CAP = """attn.score_mod @alibi_then_cap(%score: f32, %batch: i32, %head: i32, %query: i32, %key: i32,
    %slopes_of_heads: tensor<?xf32> {attn.sizes = ["heads"]}, %caps: tensor<?xf32> {attn.sizes = ["1"]},
    %shift: i32 {attn.value = "seq_kv - seq_q"}) {
  %zero = arith.constant 0 : i32
  %cap = attn.read %caps[%zero] : tensor<?xf32> -> f32
  %slope = attn.read %slopes_of_heads[%head] : tensor<?xf32> -> f32
  %position = arith.addi %query, %shift : i32
  %distance = arith.subi %key, %position : i32
  %keys = arith.sitofp %distance : i32 to f32
  %biased = math.fma %slope, %keys, %score : f32
  %scaled = arith.divf %biased, %cap : f32
  %bounded = math.tanh %scaled : f32
  %result = arith.mulf %bounded, %cap : f32
  attn.yield %result : f32
}
"""


def _check(**given):
    for name, value in given.items():
        if value is not None:
            raise Unsupported(f"argument '{name}' is given, which is not computed by hocket.integrations.aiter; leave it out, or call "
                              f"hocket.flash_attn_with_kvcache with its descales")


def _decode(out, query, pools, lengths, table, scale, scales, alibi_slopes=None, soft_cap=0.0, sliding_window=0, mtp=1,
            kv_cache_dtype="auto"):
    """O, into `out` if that is given. `pools` are rows of heads in pages of `table`, or, where that is None, in rows of each sequence;
    `scales` those of k and v."""
    batch = lengths.shape[0]
    if query.shape[0] != batch * mtp:
        raise InvalidInput(f"argument 'query' has {query.shape[0]} rows, wanted {batch * mtp}: mtp, {mtp}, of each sequence")
    scale = (query.shape[-1] ** -0.5 if scale is None else scale) * number_of("k_scale", scales[0])
    options = {"softmax_scale": scale, "causal": True, "window_size": (sliding_window - 1 if sliding_window > 0 else -1, -1),
               "block_table": table}
    if alibi_slopes is not None and soft_cap > 0:
        made = _capped_after_bias(query, pools, lengths, alibi_slopes, soft_cap, mtp, options)
    else:
        made = attention.flash_attn_with_kvcache(
            query.view(batch, mtp, *query.shape[1:]), *pools, cache_seqlens=lengths, alibi_slopes=alibi_slopes, softcap=soft_cap,
            kv_cache_dtype=kv_cache_dtype, **options).flatten(0, 1)
    factor = number_of("v_scale", scales[1])
    made = made if factor == 1.0 else made * factor
    return made if out is None else out.copy_(made)


def _capped_after_bias(query, pools, lengths, slopes, soft_cap, mtp, options):
    starts = torch.arange(lengths.shape[0] + 1, dtype=torch.int32, device=query.device) * mtp
    longest = pools[0].shape[1] * options["block_table"].shape[1]
    more = "logits_soft_cap", _ALIBI_THEN_CAP, ("slopes_of_heads", slopes.float()), (
        "caps", torch.full((1,), float(soft_cap), dtype=torch.float32, device=query.device))
    return _modified.varlen(query, *pools, starts, None, mtp, longest, seqused_k=lengths, more=(more,), **options)[0]


def _rows_first(key_cache, value_cache, kv_cache_layout):
    if kv_cache_layout not in ("NHD", "HND"):
        raise InvalidInput(f"argument 'kv_cache_layout' is {kv_cache_layout!r}, wanted 'NHD' or 'HND'")
    pools = key_cache, value_cache
    return pools if kv_cache_layout == "NHD" else tuple(pool.transpose(1, 2) for pool in pools)


def paged_attention_v1(out, workspace_buffer, query, key_cache, value_cache, scale, block_tables, cu_query_lens, context_lens,
                       max_context_len, alibi_slopes, kv_cache_dtype, kv_cache_layout, logits_soft_cap, k_scale, v_scale,
                       fp8_out_scale=None, partition_size=256, mtp=1, sliding_window=0):
    """query [sequences * mtp, heads, head_dim], caches [pages, page_size, kv_heads, head_dim] or HND. Writes `out`, and gives it. With
    `cu_query_lens`, which is read on the host, sequences of one query alone are computed, as by aiter."""
    _check(fp8_out_scale=fp8_out_scale)
    decode = functools.partial(_decode, pools=_rows_first(key_cache, value_cache, kv_cache_layout), scale=scale, scales=(k_scale, v_scale),
                               alibi_slopes=alibi_slopes, soft_cap=logits_soft_cap, sliding_window=sliding_window, mtp=mtp,
                               kv_cache_dtype=kv_cache_dtype)
    if cu_query_lens is None:
        return decode(out, query, lengths=context_lens, table=block_tables)
    if mtp != 1 or tuple(cu_query_lens.shape) != (context_lens.shape[0] + 1,):
        raise InvalidInput(f"argument 'cu_query_lens' has the shape {tuple(cu_query_lens.shape)} with mtp {mtp}, wanted "
                           f"({context_lens.shape[0] + 1},) with mtp 1")
    alone = (cu_query_lens.diff() == 1).nonzero().flatten()
    rows = cu_query_lens.long()[alone]
    out[rows] = decode(None, query[rows], lengths=context_lens[alone], table=block_tables[alone])
    return out


def paged_attention_ragged(out, workspace_buffer, query, key_cache, value_cache, scale, kv_indptr, kv_page_indices, kv_last_page_lens,
                           block_size, max_num_partitions, alibi_slopes, kv_cache_dtype, kv_cache_layout, logits_soft_cap, k_scale,
                           v_scale, fp8_out_scale=None, partition_size=256, mtp=1):
    """The same of CSR lists of pages, which are read on the host."""
    _check(fp8_out_scale=fp8_out_scale)
    pages = Pages(kv_indptr, kv_page_indices, kv_last_page_lens, block_size, ("kv_indptr", "kv_last_page_lens"))
    return _decode(out, query, _rows_first(key_cache, value_cache, kv_cache_layout), pages.lengths, pages.table, scale,
                   (k_scale, v_scale), alibi_slopes, logits_soft_cap, 0, mtp, kv_cache_dtype)


def _of_vectors(key_cache, value_cache, block_tables):
    """vLLM's pools as rows of each sequence, a copy: kernels read values by rows, or by vectors of rows."""
    k, v = turned_around(key_cache, value_cache)
    return rows_of(k, block_tables).flatten(-2), rows_of(v, block_tables)


def paged_attention_rocm(out, exp_sums, max_logits, tmp_out, query, key_cache, value_cache, num_kv_heads, scale, block_tables,
                         context_lens, block_size, max_context_len, alibi_slopes, kv_cache_dtype, k_scale, v_scale, fp8_out_scale=None,
                         partition_size=256, mtp=1, q_scale=None):
    """key_cache [pages, kv_heads, head_dim / x, page_size, x], value_cache [pages, kv_heads, head_dim, page_size]: the pages that
    are used are copied. Writes `out`, and gives it."""
    _check(fp8_out_scale=fp8_out_scale, q_scale=q_scale)
    return _decode(out, query, _of_vectors(key_cache, value_cache, block_tables), context_lens, None, scale, (k_scale, v_scale),
                   alibi_slopes, mtp=mtp, kv_cache_dtype=kv_cache_dtype)


def pa_fwd_naive(query, key_cache, value_cache, block_tables, context_lens, k_dequant_scales, v_dequant_scales, max_seq_len, num_kv_heads,
                 scale_s, scale_k, scale_v, block_size, quant_algo, out=None):
    """The caches of paged_attention_rocm, not quantised: `quant_algo` is 0."""
    _check(quant_algo=quant_algo or None)
    return _decode(out, query, _of_vectors(key_cache, value_cache, block_tables), context_lens, None, scale_s, (scale_k, scale_v))


def pa_fwd_asm(Q, K, V, block_tables, context_lens, block_tables_stride0, max_qlen=1, K_QScale=None, V_QScale=None, out_=None,
               qo_indptr=None, high_precision=1, kernelName=None):
    """K [pages, kv_heads, head_dim / x, page_size, x], V [pages, kv_heads, page_size / x, head_dim, x]; the scale is that of the
    head's size."""
    _check(K_QScale=K_QScale, V_QScale=V_QScale, qo_indptr=qo_indptr)
    return _decode(out_, Q, (K, V), context_lens, block_tables, None, (None, None), mtp=max_qlen)
