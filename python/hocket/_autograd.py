"""Attention whose gradients torch asks for."""
import torch
from torch.autograd.function import once_differentiable

from ._errors import Unsupported


class _Attention(torch.autograd.Function):
    @staticmethod
    def forward(ctx, q, k, v, call, *others):
        out, lse = call.forward(q, k, v, want_lse=True)
        ctx.call, ctx.types = call, [other.dtype for other in others]
        # What is captured is kept to be told if it is changed meanwhile: kernels read it where it is.
        captured = [tensor for tensor in call.captured if isinstance(tensor, torch.Tensor)]
        ctx.save_for_backward(q, k, v, out, lse, *captured)
        ctx.set_materialize_grads(False)
        return out, lse

    @staticmethod
    @once_differentiable
    def backward(ctx, dout, dlse):
        q, k, v, out, lse, *_ = ctx.saved_tensors
        dq, dk, dv, *others = gradients(ctx.call, dout, dlse, q, k, v, out, lse)
        return dq, dk, dv, None, *(other.to(own) for other, own in zip(others, ctx.types))


class _Again(torch.autograd.Function):
    """The same of a call like an earlier one, with all tensors of its key."""

    @staticmethod
    def forward(ctx, ready, addresses, dropping, *tensors):
        made = ready.run(addresses, tensors, dropping)
        if made is None:
            return None
        ctx.ready, ctx.dropping = ready, dropping
        ctx.arrays = [None if isinstance(tensor, torch.Tensor) else tensor for tensor in tensors]
        ctx.save_for_backward(*made, *(tensor for tensor in tensors if isinstance(tensor, torch.Tensor)))
        ctx.set_materialize_grads(False)
        return made

    @staticmethod
    @once_differentiable
    def backward(ctx, dout, dlse):
        out, lse, *saved = ctx.saved_tensors
        rest = iter(saved)
        tensors = [next(rest) if array is None else array for array in ctx.arrays]
        return None, None, None, *ctx.ready.gradients(dout, dlse, out, lse, tensors, ctx.dropping)


class _Once(torch.autograd.Function):
    @staticmethod
    def forward(ctx, function, *tensors):
        return function()

    @staticmethod
    def backward(ctx, *_):
        raise Unsupported("the gradient of a gradient is asked for, which there is none of; call flash_attn_backward under "
                          "torch.no_grad(), or detach what it gives")


def only_once(function, tensors):
    """The gradients that `function` gives of `tensors`, whose own gradients are refused when they are asked for."""
    return _Once.apply(function, *tensors)


def gradients(call, dout, dlse, q, k, v, out, lse):
    """Those of `call`, where either of the results' gradients may be None."""
    dout = torch.zeros_like(out) if dout is None else dout.to(out.dtype)
    if dlse is None:
        return call.backward(dout, q, k, v, out, lse)
    return call.backward_through_lse(dout, dlse, q, k, v, out, lse)


def attend_again(ready, key, dropping):
    """out and lse of what is ready, which torch can go back through. `dropping` is a seed and an offset."""
    return _Again.apply(ready, key.addresses, dropping, *key.tensors)


def attend(call, q, k, v, others):
    """out and lse of `call`, which torch can go back through, to `others` as well. Refuses what has no gradient."""
    call.plan_backward(q, k, v)
    return _Attention.apply(q, k, v, call, *others)
