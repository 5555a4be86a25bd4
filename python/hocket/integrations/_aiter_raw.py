"""aiter's forwards and backwards without torch's gradients: what is computed is written, or made, and given with LSE."""
import torch

from .. import _calls, attention
from .._errors import Unsupported
from .._heads import are_whole, cut, padded


def _check(**given):
    for name, value in given.items():
        if value is not None and value is not False and not (isinstance(value, int) and value == 0):
            raise Unsupported(f"argument '{name}' is given, which is not computed by hocket.integrations.aiter; leave it out")


def _state_of(q, dropout_p):
    """The seed and the offset that a forward drops by, as aiter's tensor of two numbers."""
    return torch.tensor(_calls.drawn_state(q) if dropout_p else (0, 0), dtype=torch.int64, device=q.device)


def _forward(function, q, dropout_p, out, options):
    state = _state_of(q, dropout_p)
    with torch.no_grad():
        made, lse = function(dropout_p=dropout_p, rng_state=state.tolist() if dropout_p else None, return_lse=True, **options)
    return made if out is None else out.copy_(made), lse, q.new_empty(0), state


def mha_fwd(q, k, v, dropout_p, softmax_scale, is_causal, window_size_left, window_size_right, sink_size, return_softmax_lse,
            return_dropout_randval, cu_seqlens_q=None, cu_seqlens_kv=None, out=None, bias=None, alibi_slopes=None, q_descale=None,
            k_descale=None, v_descale=None, sink_ptr=None, gen=None):
    """O, LSE, an empty tensor, and the seed and offset of what is dropped."""
    _check(sink_size=sink_size, return_dropout_randval=return_dropout_randval, cu_seqlens_q=cu_seqlens_q, cu_seqlens_kv=cu_seqlens_kv,
           bias=bias, gen=gen)
    return _forward(attention.flash_attn_func, q, dropout_p, out, dict(
        q=q, k=k, v=v, softmax_scale=softmax_scale, causal=is_causal, window_size=(window_size_left, window_size_right),
        alibi_slopes=alibi_slopes, sink=sink_ptr, q_descale=q_descale, k_descale=k_descale, v_descale=v_descale))


def mha_varlen_fwd(q, k, v, cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k, min_seqlen_q, dropout_p, softmax_scale,
                   logits_soft_cap, zero_tensors, is_causal, window_size_left, window_size_right, sink_size, return_softmax_lse,
                   return_dropout_randval, out=None, block_table=None, bias=None, alibi_slopes=None, q_descale=None, k_descale=None,
                   v_descale=None, gen=None, cu_seqlens_q_padded=None, cu_seqlens_k_padded=None, sink_ptr=None):
    """The same of packed sequences; LSE is [heads, rows]."""
    _check(sink_size=sink_size, return_dropout_randval=return_dropout_randval, bias=bias, gen=gen, cu_seqlens_q_padded=cu_seqlens_q_padded,
           cu_seqlens_k_padded=cu_seqlens_k_padded)
    return _forward(attention.flash_attn_varlen_func, q, dropout_p, out, dict(
        q=q, k=k, v=v, cu_seqlens_q=cu_seqlens_q, cu_seqlens_k=cu_seqlens_k, max_seqlen_q=max_seqlen_q, max_seqlen_k=max_seqlen_k,
        min_seqlen_q=min_seqlen_q, softmax_scale=softmax_scale, softcap=logits_soft_cap, causal=is_causal,
        window_size=(window_size_left, window_size_right), alibi_slopes=alibi_slopes, block_table=block_table, sink=sink_ptr,
        q_descale=q_descale, k_descale=k_descale, v_descale=v_descale))


def _dropped(dropout_p, rng_state):
    if not dropout_p:
        return None
    if rng_state is None:
        raise Unsupported("argument 'rng_state' is missing: with dropout_p it is what the forward gave; give that")
    return rng_state.tolist()


def _add_sink(delta, lse, sink, d_sink):
    """A sink's gradient, added to `d_sink` [heads]: `sink` is [batch, heads] of `delta` and `lse` [batch, heads, rows]."""
    if sink is not None and d_sink is not None:
        d_sink -= (torch.exp(sink.float()[..., None] - lse) * delta).sum((0, 2))


def mha_bwd(dout, q, k, v, out, softmax_lse, dropout_p, softmax_scale, is_causal, window_size_left, window_size_right, deterministic,
            dq=None, dk=None, dv=None, dbias=None, bias=None, alibi_slopes=None, rng_state=None, gen=None, sink=None, d_sink=None):
    """The gradients of q, k and v, and rowsum(dO O); a sink's [batch, heads] is added to `d_sink` [heads]."""
    _check(dbias=dbias, bias=bias, gen=gen)
    made = attention.flash_attn_backward(
        dout, q, k, v, out, softmax_lse, dq, dk, dv, dropout_p, softmax_scale, is_causal, (window_size_left, window_size_right), 0.0,
        alibi_slopes, rng_state=_dropped(dropout_p, rng_state))
    delta = (dout.float() * out.float()).sum(-1).transpose(1, 2).contiguous()
    _add_sink(delta, softmax_lse, sink, d_sink)
    return *made, delta


def mha_varlen_bwd(dout, q, k, v, out, softmax_lse, cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k, dropout_p, softmax_scale,
                   zero_tensors, is_causal, window_size_left, window_size_right, deterministic, dq=None, dk=None, dv=None,
                   alibi_slopes=None, rng_state=None, gen=None, cu_seqlens_q_padded=None, cu_seqlens_k_padded=None, sink=None,
                   d_sink=None):
    """The same of packed sequences, with LSE and rowsum(dO O) [heads, rows]."""
    _check(gen=gen, cu_seqlens_q_padded=cu_seqlens_q_padded, cu_seqlens_k_padded=cu_seqlens_k_padded)
    own, results = (dout, q, k, v, out), (dq, dk, dv)
    is_whole = are_whole(q, k, v)
    tensors = own if is_whole else padded(*own)
    scale = q.shape[-1] ** -0.5 if softmax_scale is None else softmax_scale
    call, _ = _calls.packed(*tensors[1:4], cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k, dropout_p, scale, is_causal,
                            (window_size_left, window_size_right), 0.0, alibi_slopes, None, _dropped(dropout_p, rng_state), None, 0, None,
                            None, False, "gfx950")
    made = call.backward(*tensors, softmax_lse, results if is_whole else (None,) * 3, lse_name="softmax_lse")[:3]
    if not is_whole:
        made = tuple(cut(whole, like.shape[-1], given) for whole, like, given in zip(made, own[1:4], results))
    delta = (dout.float() * out.float()).sum(-1).t().contiguous()
    if sink is not None:
        for number, (begin, end) in enumerate(zip(cu_seqlens_q.tolist(), cu_seqlens_q.tolist()[1:])):
            _add_sink(delta[None, :, begin:end], softmax_lse[None, :, begin:end], sink[number:number + 1], d_sink)
    return *made, delta
