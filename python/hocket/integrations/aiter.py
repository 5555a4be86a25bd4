"""aiter's attention functions by Hocket, for programs that call those: `import hocket.integrations.aiter as aiter`.

Gradients are torch's. What is not computed is refused by name; `how_v3_bf16_cvt` chooses a rounding of aiter's kernels, and is not
looked at.
"""
from .. import attention
from .._errors import InvalidInput, Unsupported


def _check(bias, return_attn_probs, **further):
    """Refuses what is not computed."""
    given = {"bias": bias, "return_attn_probs": return_attn_probs or None, **further}
    for name, value in given.items():
        if value is not None:
            raise Unsupported(f"argument '{name}' is given, which is not computed by hocket.integrations.aiter; "
                              + ("use hocket.scaled_dot_product_attention with attn_mask" if name == "bias" else "leave it out"))


def _window(window_size):
    """aiter's (left, right, first keys that are always seen) as two limits."""
    left, right, *first = window_size
    if len(first) > 1:
        raise InvalidInput(f"argument 'window_size' is {window_size!r}, wanted two or three integers")
    if first and first[0] != 0:
        raise Unsupported(f"argument 'window_size' keeps the first {first[0]} keys in sight, which no kernel does; use "
                          f"hocket.flex_attention with a mask_mod, or give 0")
    return left, right


def flash_attn_func(q, k, v, dropout_p=0.0, softmax_scale=None, causal=False, window_size=(-1, -1, 0), bias=None, alibi_slopes=None,
                    deterministic=True, return_lse=False, return_attn_probs=False, how_v3_bf16_cvt=1, cu_seqlens_q=None,
                    cu_seqlens_kv=None, sink_ptr=None):
    """[batch, seq, heads, head_dim]. Gives O, or O and LSE."""
    _check(bias, return_attn_probs, cu_seqlens_q=cu_seqlens_q, cu_seqlens_kv=cu_seqlens_kv)
    return attention.flash_attn_func(q, k, v, dropout_p, softmax_scale, causal, _window(window_size), 0.0, alibi_slopes, sink=sink_ptr,
                                     return_lse=return_lse)


def flash_attn_varlen_func(q, k, v, cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k, min_seqlen_q=0, dropout_p=0.0,
                           softmax_scale=None, logits_soft_cap=0.0, causal=False, window_size=(-1, -1, 0), bias=None,
                           alibi_slopes=None, deterministic=False, return_lse=False, return_attn_probs=False, how_v3_bf16_cvt=1,
                           block_table=None, out=None, cu_seqlens_q_padded=None, cu_seqlens_k_padded=None, sink_ptr=None):
    """Packed sequences, [rows, heads, head_dim], or keys in pages. Gives O, or O and LSE."""
    _check(bias, return_attn_probs, cu_seqlens_q_padded=cu_seqlens_q_padded, cu_seqlens_k_padded=cu_seqlens_k_padded)
    return attention.flash_attn_varlen_func(
        q, k, v, cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k, dropout_p, softmax_scale, causal, _window(window_size),
        logits_soft_cap, alibi_slopes, block_table=block_table, sink=sink_ptr, min_seqlen_q=min_seqlen_q, out=out, return_lse=return_lse)
