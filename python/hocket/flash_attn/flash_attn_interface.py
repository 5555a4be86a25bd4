"""flash-attn 2's functions. Those that return probabilities give the log-sum-exp, too, and probabilities with dropout alone."""
from .. import _calls, attention
from .._errors import InvalidInput, Unsupported

#: There is one implementation here.
USE_TRITON_ROCM = False


def _attend(function, q, k, v, *lists, dropout_p, return_attn_probs, **options):
    """O, or where probabilities are asked for (O, LSE, weights): with dropout those of `_probabilities`, else an empty tensor,
    as flash-attn gives."""
    if not return_attn_probs:
        return function(q, k, v, *lists, dropout_p=dropout_p, **options)
    if not dropout_p:
        out, lse = function(q, k, v, *lists, return_lse=True, **options)
        return out, lse, lse[:0]
    if options.get("block_table") is not None:
        raise Unsupported("argument 'return_attn_probs' is True with dropout_p and block_table; leave one of them out")
    from ._probabilities import weights

    rng_state = options.pop("rng_state", None) or _calls.drawn_state(q)
    out, lse = function(q, k, v, *lists, dropout_p=dropout_p, rng_state=rng_state, return_lse=True, **options)
    longest = lists[2:] or (q.shape[1], k.shape[1])
    return out, lse, weights(lambda *tensors, **more: function(*tensors, *lists, **more), q, k, v, lists[:2], longest, dropout_p,
                             rng_state, options)


def flash_attn_func(q, k, v, dropout_p=0.0, softmax_scale=None, causal=False, window_size=(-1, -1), softcap=0.0,
                    alibi_slopes=None, deterministic=False, return_attn_probs=False):
    """[batch, seq, heads, head_dim]."""
    return _attend(attention.flash_attn_func, q, k, v, dropout_p=dropout_p, return_attn_probs=return_attn_probs,
                   softmax_scale=softmax_scale, causal=causal, window_size=window_size, softcap=softcap,
                   alibi_slopes=alibi_slopes, deterministic=deterministic)


def flash_attn_qkvpacked_func(qkv, dropout_p=0.0, softmax_scale=None, causal=False, window_size=(-1, -1), softcap=0.0,
                              alibi_slopes=None, deterministic=False, return_attn_probs=False):
    """Queries, keys and values in one tensor: [batch, seq, 3, heads, head_dim]."""
    return flash_attn_func(*_parts(qkv, 3, 2, "qkv"), dropout_p, softmax_scale, causal, window_size, softcap, alibi_slopes,
                           deterministic, return_attn_probs)


def flash_attn_kvpacked_func(q, kv, dropout_p=0.0, softmax_scale=None, causal=False, window_size=(-1, -1), softcap=0.0,
                             alibi_slopes=None, deterministic=False, return_attn_probs=False):
    """Keys and values in one tensor: [batch, seq, 2, heads, head_dim]."""
    return flash_attn_func(q, *_parts(kv, 2, 2, "kv"), dropout_p, softmax_scale, causal, window_size, softcap, alibi_slopes,
                           deterministic, return_attn_probs)


def flash_attn_varlen_func(q, k, v, cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k, dropout_p=0.0, softmax_scale=None,
                           causal=False, window_size=(-1, -1), softcap=0.0, alibi_slopes=None, deterministic=False,
                           return_attn_probs=False, block_table=None, **more):
    """Packed sequences, [rows, heads, head_dim]. `more` are arguments of `hocket.flash_attn_varlen_func`."""
    return _attend(attention.flash_attn_varlen_func, q, k, v, cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k,
                   dropout_p=dropout_p, return_attn_probs=return_attn_probs, softmax_scale=softmax_scale, causal=causal,
                   window_size=window_size, softcap=softcap, alibi_slopes=alibi_slopes, deterministic=deterministic,
                   block_table=block_table, **more)


def flash_attn_varlen_qkvpacked_func(qkv, cu_seqlens, max_seqlen, dropout_p=0.0, softmax_scale=None, causal=False,
                                     window_size=(-1, -1), softcap=0.0, alibi_slopes=None, deterministic=False,
                                     return_attn_probs=False):
    """Queries, keys and values in one tensor: [rows, 3, heads, head_dim]."""
    return flash_attn_varlen_func(*_parts(qkv, 3, 1, "qkv"), cu_seqlens, cu_seqlens, max_seqlen, max_seqlen, dropout_p,
                                  softmax_scale, causal, window_size, softcap, alibi_slopes, deterministic, return_attn_probs)


def flash_attn_varlen_kvpacked_func(q, kv, cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k, dropout_p=0.0,
                                    softmax_scale=None, causal=False, window_size=(-1, -1), softcap=0.0, alibi_slopes=None,
                                    deterministic=False, return_attn_probs=False):
    """Keys and values in one tensor: [rows, 2, heads, head_dim]."""
    return flash_attn_varlen_func(q, *_parts(kv, 2, 1, "kv"), cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k, dropout_p,
                                  softmax_scale, causal, window_size, softcap, alibi_slopes, deterministic, return_attn_probs)


def flash_attn_with_kvcache(q, k_cache, v_cache, k=None, v=None, rotary_cos=None, rotary_sin=None, cache_seqlens=None,
                            cache_batch_idx=None, cache_leftpad=None, block_table=None, softmax_scale=None, causal=False,
                            window_size=(-1, -1), softcap=0.0, rotary_interleaved=True, alibi_slopes=None, num_splits=0,
                            return_softmax_lse=False):
    """Caches of keys and values, [batch, rows, heads, head_dim] or pages."""
    return attention.flash_attn_with_kvcache(
        q, k_cache, v_cache, k, v, rotary_cos, rotary_sin, cache_seqlens, cache_batch_idx, cache_leftpad, block_table,
        softmax_scale, causal, window_size, softcap, rotary_interleaved, alibi_slopes, num_splits, return_softmax_lse)


def _parts(tensor, count, dimension, name):
    """Views of the `count` tensors that are one."""
    shape, rank = tuple(getattr(tensor, "shape", ())), dimension + 3
    if len(shape) != rank or shape[dimension] != count:
        wanted = f"[{'rows' if dimension == 1 else 'batch, seq'}, {count}, heads, head_dim]"
        raise InvalidInput(f"argument '{name}' has the shape {shape}, wanted {wanted}")
    before = (slice(None),) * dimension
    return [tensor[(*before, number)] for number in range(count)]
