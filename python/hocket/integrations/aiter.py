"""aiter's attention functions by Hocket, for programs that call those: `import hocket.integrations.aiter as aiter`.

Gradients are torch's. What is not computed is refused by name; `how_v3_bf16_cvt` chooses a rounding of aiter's kernels, and is not
looked at. Functions of pages are in _aiter_pages.py, those without gradients in _aiter_raw.py.
"""
import math

import torch

from .. import attention
from .._errors import InvalidInput, Unsupported
from ._aiter_pages import pa_fwd_asm, pa_fwd_naive, paged_attention_ragged, paged_attention_rocm, paged_attention_v1  # noqa: F401
from ._aiter_raw import mha_bwd, mha_fwd, mha_varlen_bwd, mha_varlen_fwd  # noqa: F401


def _check(**given):
    """Refuses what is not computed."""
    for name, value in given.items():
        if value is not None:
            raise Unsupported(f"argument '{name}' is given, which is not computed by hocket.integrations.aiter; "
                              + ("use hocket.scaled_dot_product_attention with attn_mask" if name == "bias" else "leave it out"))


def _check_probabilities(return_attn_probs, dropout_p):
    if return_attn_probs and dropout_p:
        raise Unsupported("argument 'return_attn_probs' is True with dropout_p, for which aiter gives its kernels' random bytes; "
                          "hocket.flash_attn.flash_attn_func gives the weights, negative where they are dropped")


def _results(out, lse, return_lse, return_attn_probs):
    """O, or it with LSE, and with an empty tensor where probabilities are asked for."""
    results = [out] + [lse] * bool(return_lse) + [lse[:0]] * bool(return_attn_probs)
    return tuple(results) if len(results) > 1 else out


def _with_bias(q, k, v, bias, dropout_p, softmax_scale, causal, window):
    """O and LSE with numbers [seq_q, seq_kv], or what broadcasts to [batch, heads, seq_q, seq_kv], added to the scores: a mask of
    torch's function, -inf at keys that are out of sight."""
    distance = torch.arange(q.shape[1], device=q.device)[:, None] + k.shape[1] - q.shape[1] - torch.arange(k.shape[1], device=q.device)
    left, right = (int(side) for side in window)
    right = 0 if causal else right
    hidden = ((left >= 0) & (distance > left)) | ((right >= 0) & (-distance > right))
    out, lse = attention.scaled_dot_product_attention(
        *(tensor.transpose(1, 2) for tensor in (q, k, v)), bias.masked_fill(hidden, -math.inf), dropout_p, scale=softmax_scale,
        enable_gqa=True, return_lse=True)
    return out.transpose(1, 2), lse


def _window(window_size):
    """aiter's (left, right, first keys that are always seen) as two limits."""
    left, right, *first = window_size
    if len(first) > 1:
        raise InvalidInput(f"argument 'window_size' is {window_size!r}, wanted two or three integers")
    if first and first[0] != 0:
        raise Unsupported(f"argument 'window_size' keeps the first {first[0]} keys in sight, which no kernel does; use "
                          f"hocket.flex_attention with a mask_mod, or give 0")
    return left, right


def _used(starts, places):
    """Where sequences begin, and how many rows they use: at `places`, where those are given, of the lengths between `starts`."""
    if places is None:
        return starts, None
    return places, starts[1:] - starts[:-1]


def _of_lengths(q, k, v, starts_q, starts_k, options):
    """O and LSE of dense tensors whose sequences use the first rows of theirs: as many as lie between starts, or all."""
    batch, lists = q.shape[0], []
    for tensor, starts in ((q, starts_q), (k, starts_k)):
        rows = torch.arange(batch + 1, dtype=torch.int32, device=q.device) * tensor.shape[1]
        lists.append(_used(rows if starts is None else starts, rows))
    (places_q, used_q), (places_k, used_k) = lists
    out, lse = attention.flash_attn_varlen_func(
        *(tensor.flatten(0, 1) for tensor in (q, k, v)), places_q, places_k, q.shape[1], k.shape[1], seqused_q=used_q, seqused_k=used_k,
        return_lse=True, **options)
    return out.view(batch, q.shape[1], *out.shape[1:]), lse.view(lse.shape[0], batch, q.shape[1]).transpose(0, 1)


def flash_attn_func(q, k, v, dropout_p=0.0, softmax_scale=None, causal=False, window_size=(-1, -1, 0), bias=None, alibi_slopes=None,
                    deterministic=True, return_lse=False, return_attn_probs=False, how_v3_bf16_cvt=1, cu_seqlens_q=None,
                    cu_seqlens_kv=None, sink_ptr=None, num_splits=0):
    """[batch, seq, heads, head_dim]; with `cu_seqlens_q` or `cu_seqlens_kv` sequences use as many of their first rows as lie between.
    Gives O, or O and LSE."""
    _check_probabilities(return_attn_probs, dropout_p)
    window = _window(window_size)
    has_lengths = cu_seqlens_q is not None or cu_seqlens_kv is not None
    if bias is not None:
        for name, value in (("alibi_slopes", alibi_slopes), ("sink_ptr", sink_ptr), ("cu_seqlens_q", cu_seqlens_q),
                            ("cu_seqlens_kv", cu_seqlens_kv)):
            if value is not None:
                raise Unsupported(f"argument '{name}' is given with bias; leave one of them out")
        made = _with_bias(q, k, v, bias, dropout_p, softmax_scale, causal, window)
    elif has_lengths:
        _check(num_splits=num_splits or None)
        made = _of_lengths(q, k, v, cu_seqlens_q, cu_seqlens_kv, dict(
            dropout_p=dropout_p, softmax_scale=softmax_scale, causal=causal, window_size=window, alibi_slopes=alibi_slopes, sink=sink_ptr))
    else:
        made = attention.flash_attn_func(q, k, v, dropout_p, softmax_scale, causal, window, 0.0, alibi_slopes, sink=sink_ptr,
                                         num_splits=num_splits, return_lse=True)
    return _results(*made, return_lse, return_attn_probs)


def flash_attn_varlen_func(q, k, v, cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k, min_seqlen_q=0, dropout_p=0.0,
                           softmax_scale=None, logits_soft_cap=0.0, causal=False, window_size=(-1, -1, 0), bias=None,
                           alibi_slopes=None, deterministic=False, return_lse=False, return_attn_probs=False, how_v3_bf16_cvt=1,
                           block_table=None, out=None, cu_seqlens_q_padded=None, cu_seqlens_k_padded=None, sink_ptr=None):
    """Packed sequences, [rows, heads, head_dim], or keys in pages; where `.._padded` are given, sequences begin there and have the
    lengths between the others. Gives O, or O and LSE."""
    _check(bias=bias)
    _check_probabilities(return_attn_probs, dropout_p)
    starts_q, used_q = _used(cu_seqlens_q, cu_seqlens_q_padded)
    starts_k, used_k = _used(cu_seqlens_k, cu_seqlens_k_padded)
    made = attention.flash_attn_varlen_func(
        q, k, v, starts_q, starts_k, max_seqlen_q, max_seqlen_k, dropout_p, softmax_scale, causal, _window(window_size),
        logits_soft_cap, alibi_slopes, block_table=block_table, sink=sink_ptr, min_seqlen_q=min_seqlen_q, seqused_q=used_q,
        seqused_k=used_k, out=out, return_lse=True)
    return _results(*made, return_lse, return_attn_probs)
