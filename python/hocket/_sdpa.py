"""torch's own scaled_dot_product_attention by Hocket: `torch.nn.attention.activate_flash_attention_impl("hocket")`.

Kernels of aten are replaced: on ROCm those of its flash attention, dense and packed, on the CPU, where the simulator computes,
that of its own. What Hocket does not compute, float32 above all, goes to the kernels that were there.
"""
import torch

from . import _autograd, _broadcast, _calls, _heads

_TYPES = (torch.float16, torch.bfloat16)


class _Replaced:
    """Kernels of aten for one kind of device, until they are given back."""

    def __init__(self, key, kernels):
        self.library = torch.library.Library("aten", "IMPL")
        for name, (kernel, fits) in kernels.items():
            before = torch.library.get_kernel(f"aten::{name}", key)
            self.library.impl(name, _with_way_back(kernel, fits, before), key, with_keyset=True, allow_override=True)

    def remove(self):
        self.library._destroy()


def _with_way_back(kernel, fits, before):
    def dispatch(keyset, *arguments, **options):
        if fits(*arguments, **options):
            return kernel(*arguments, **options)
        return before.call_boxed(keyset, *arguments, **options)

    return dispatch


def _fits(query, key, *_, **__):
    """Whether it is of 16-bit floating point; of a backward the first two are dO and the queries."""
    return query.dtype in _TYPES and key.dtype in _TYPES


def _call(query, key, value, mask, dropout_p, is_causal, scale, state):
    mask = _broadcast.Batches(query, key, value).mask(mask, query, key)
    call, _ = _calls.torch_like(query, key, value, mask, dropout_p, is_causal, scale, state, 0, "gfx950")
    return call


def _computed(query, key, value, mask, dropout_p, is_causal, scale, state):
    """O and LSE of torch's dense tensors."""
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    tensors = _heads.padded(query, key, value)
    out, lse = _call(*tensors, mask, dropout_p, is_causal, scale, state).forward(*tensors, want_lse=True)
    return _heads.cut(out, value.shape[-1]), lse


def _gradients(dout, query, key, value, out, lse, mask, dropout_p, is_causal, scale, state):
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    dout, *tensors, out = _heads.padded(dout, query, key, value, out)
    call = _call(*tensors, mask, dropout_p, is_causal, scale, state)
    made = _autograd.gradients(call, dout, None, *tensors, out, lse)
    return tuple(_heads.cut(whole, like.shape[-1]) for whole, like in zip(made, (query, key, value)))


def _cpu_forward(query, key, value, dropout_p=0.0, is_causal=False, *, attn_mask=None, scale=None):
    return _computed(query, key, value, attn_mask, dropout_p, is_causal, scale, None)


def _cpu_backward(dout, query, key, value, out, lse, dropout_p, is_causal, *, attn_mask=None, scale=None):
    return _gradients(dout, query, key, value, out, lse, attn_mask, dropout_p, is_causal, scale, None)


def _drawn(query, dropout_p):
    """(what torch keeps of it, what a call takes): a seed and an offset."""
    state = torch.zeros(2, dtype=torch.int64)
    if dropout_p:
        state[0] = torch.randint(2**62, ())
    return state.view(torch.uint64).to(query.device), state if dropout_p else None


def _state_of(kept, dropout_p):
    return kept.cpu().view(torch.int64) if dropout_p else None


def _gpu_forward(query, key, value, dropout_p=0.0, is_causal=False, return_debug_mask=False, *, scale=None):
    kept, state = _drawn(query, dropout_p)
    out, lse = _computed(query, key, value, None, dropout_p, is_causal, scale, state)
    return (out, lse, None, None, query.shape[2], key.shape[2], kept, torch.zeros((), dtype=torch.uint64, device=query.device),
            query.new_empty(0))


def _gpu_backward(dout, query, key, value, out, lse, starts_q, starts_k, most_q, most_k, dropout_p, is_causal, seed, offset, *,
                  scale=None):
    return _gradients(dout, query, key, value, out, lse, None, dropout_p, is_causal, scale, _state_of(seed, dropout_p))


def _flash_call(query, starts_q, starts_k, most_q, most_k, dropout_p, is_causal, scale, left, right, used, slopes, state):
    """A call of flash-attn's, dense or packed."""
    window = (-1 if left is None else left, -1 if right is None else right)
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    if starts_q is None:
        return lambda q, k, v: _calls.dense(q, k, v, dropout_p, scale, is_causal, window, 0.0, slopes, state, None, 0, "gfx950")[0]
    return lambda q, k, v: _calls.packed(q, k, v, starts_q, starts_k, most_q, most_k, dropout_p, scale, is_causal, window, 0.0,
                                         slopes, None, state, None, 0, None, used, False, "gfx950")[0]


def _flash_forward(query, key, value, starts_q, starts_k, most_q, most_k, dropout_p, is_causal, return_debug_mask, *, scale=None,
                   window_size_left=None, window_size_right=None, seqused_k=None, alibi_slopes=None, **_):
    kept, state = _drawn(query, dropout_p)
    make = _flash_call(query, starts_q, starts_k, most_q, most_k, dropout_p, is_causal, scale, window_size_left,
                       window_size_right, seqused_k, alibi_slopes, state)
    tensors = _heads.padded(query, key, value)
    out, lse = make(*tensors).forward(*tensors, want_lse=True)
    return (_heads.cut(out, value.shape[-1]), lse, kept, torch.zeros((), dtype=torch.uint64, device=query.device),
            query.new_empty(0))


def _flash_backward(dout, query, key, value, out, lse, starts_q, starts_k, most_q, most_k, dropout_p, is_causal, rng_state, unused,
                    *, scale=None, window_size_left=None, window_size_right=None, **_):
    make = _flash_call(query, starts_q, starts_k, most_q, most_k, dropout_p, is_causal, scale, window_size_left,
                       window_size_right, None, None, _state_of(rng_state, dropout_p))
    dout, *tensors, out = _heads.padded(dout, query, key, value, out)
    made = _autograd.gradients(make(*tensors), dout, None, *tensors, out, lse)
    return tuple(_heads.cut(whole, like.shape[-1]) for whole, like in zip(made, (query, key, value)))


_CPU = {"_scaled_dot_product_flash_attention_for_cpu": (_cpu_forward, _fits),
        "_scaled_dot_product_flash_attention_for_cpu_backward": (_cpu_backward, _fits)}
_GPU = {"_scaled_dot_product_flash_attention": (_gpu_forward, _fits),
        "_scaled_dot_product_flash_attention_backward": (_gpu_backward, _fits),
        "_flash_attention_forward": (_flash_forward, _fits), "_flash_attention_backward": (_flash_backward, _fits)}


class _Handle:
    """What torch keeps while the kernels are in place."""

    def __init__(self):
        self.replaced = [_Replaced("CPU", _CPU)]
        if torch.version.hip is not None:
            self.replaced.append(_Replaced("CUDA", _GPU))

    def remove(self):
        for replaced in self.replaced:
            replaced.remove()


def register():
    """Makes the name known to torch, where it has such names."""
    attention = getattr(torch.nn, "attention", None)
    known = getattr(attention, "register_flash_attention_impl", None)
    if known is not None and hasattr(torch.library, "get_kernel"):
        known("hocket", register_fn=_Handle)
