"""Attention as operators of torch's: `import hocket.torch_ops` makes them known.

    hocket::attention_forward(Tensor q, Tensor k, Tensor v, float? scale=None, bool causal=False)
        -> (Tensor out, Tensor lse)
    hocket::attention_backward(Tensor dout, Tensor q, Tensor k, Tensor v, Tensor out, Tensor lse, float? scale=None,
        bool causal=False, Tensor? dlse=None) -> (Tensor dq, Tensor dk, Tensor dv)

as flash_attn_func with return_lse=True and flash_attn_backward. The first has the second as its gradient.
Shapes are known without computing (device "meta"), for torch.compile and export.
"""
import contextlib

import torch
from torch.autograd.function import once_differentiable

from . import _autograd, _calls, _heads, _tensors
from .attention import flash_attn_func

_library = torch.library.Library("hocket", "DEF")
_library.define(
    "attention_forward(Tensor q, Tensor k, Tensor v, float? scale=None, bool causal=False) -> (Tensor, Tensor)"
)
_library.define(
    "attention_backward(Tensor dout, Tensor q, Tensor k, Tensor v, Tensor out, Tensor lse, float? scale=None, "
    "bool causal=False, Tensor? dlse=None) -> (Tensor, Tensor, Tensor)"
)


def _forward(q, k, v, scale=None, causal=False):
    return flash_attn_func(q, k, v, softmax_scale=scale, causal=causal, return_lse=True)


def _forward_shapes(q, k, v, scale=None, causal=False):
    batch, rows, heads, _ = q.shape
    lse = q.new_empty((batch, heads, rows), dtype=torch.float32)
    return q.new_empty((batch, rows, heads, v.shape[3])), lse


def _backward(dout, q, k, v, out, lse, scale=None, causal=False, dlse=None):
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    dout, *tensors, out = _heads.padded(dout, q, k, v, out)
    call, _ = _calls.dense(*tensors, 0.0, scale, causal, (-1, -1), 0.0, None, None, None, 0, "gfx950")
    made = _autograd.gradients(call, dout, dlse, *tensors, out, lse)
    return tuple(_heads.cut(whole, like.shape[-1]) for whole, like in zip(made, (q, k, v)))


def _backward_shapes(dout, q, k, v, out, lse, scale=None, causal=False, dlse=None):
    return tuple(tensor.new_empty(tensor.shape) for tensor in (q, k, v))


def _below_autograd():
    below = torch._C._AutoDispatchBelowAutograd()
    return below if hasattr(below, "__enter__") else contextlib.nullcontext(below)  # torch 1 enters as it is made


class _Differentiable(torch.autograd.Function):
    @staticmethod
    def forward(ctx, q, k, v, scale, causal):
        with _below_autograd():
            out, lse = torch.ops.hocket.attention_forward(q, k, v, scale, causal)
        ctx.save_for_backward(q, k, v, out, lse)
        ctx.options = scale, causal
        ctx.set_materialize_grads(False)
        return out, lse

    @staticmethod
    @once_differentiable
    def backward(ctx, dout, dlse):
        dout = torch.zeros_like(ctx.saved_tensors[3]) if dout is None else dout
        return (*torch.ops.hocket.attention_backward(dout, *ctx.saved_tensors, *ctx.options, dlse), None, None)


def _differentiable(q, k, v, scale=None, causal=False):
    return _Differentiable.apply(q, k, v, scale, causal)


def _differentiable_once(dout, q, k, v, out, lse, scale=None, causal=False, dlse=None):
    for name, tensor in (("dout", dout), ("q", q), ("k", k), ("v", v)):
        _tensors.refuse_gradient(tensor, name)
    with _below_autograd():
        return torch.ops.hocket.attention_backward(dout, q, k, v, out, lse, scale, causal, dlse)


_library.impl("attention_forward", _differentiable, "Autograd")
_library.impl("attention_backward", _differentiable_once, "Autograd")
for _key in ("CPU", "CUDA"):  # torch calls ROCm CUDA
    _library.impl("attention_forward", _forward, _key)
    _library.impl("attention_backward", _backward, _key)
_library.impl("attention_forward", _forward_shapes, "Meta")
_library.impl("attention_backward", _backward_shapes, "Meta")
