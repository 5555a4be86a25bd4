"""Attention whose gradients torch asks for."""
import torch
from torch.autograd.function import once_differentiable

from ._errors import Unsupported


class _Beside:
    """Tensors that a backward reads beside q, k, v and the results: not saved by torch, so that a call saves the same tensors
    whether it is like an earlier one or not, as checkpointing, which does it again, asks for."""

    def __init__(self, tensors):
        self._versions = [(tensor, _version_of(tensor)) for tensor in tensors if isinstance(tensor, torch.Tensor)]

    def check(self):
        if any(_version_of(tensor) != version for tensor, version in self._versions):
            raise RuntimeError("a tensor that attention read beside q, k and v has been modified by an inplace operation since the "
                               "forward, and the gradient needs what it held; change a clone of it")


def _version_of(tensor):
    return 0 if tensor.is_inference() else tensor._version


class _Attention(torch.autograd.Function):
    @staticmethod
    def forward(ctx, q, k, v, call, *others):
        out, lse = call.forward(q, k, v, want_lse=True)
        ctx.call, ctx.types = call, [other.dtype for other in others]
        # Kernels read what is captured where it is.
        ctx.beside = _Beside(call.captured)
        ctx.save_for_backward(q, k, v, out, lse)
        ctx.set_materialize_grads(False)
        return out, lse

    @staticmethod
    @once_differentiable
    def backward(ctx, dout, dlse):
        saved = ctx.saved_tensors
        ctx.beside.check()
        dq, dk, dv, *others = gradients(ctx.call, dout, dlse, *saved)
        return dq, dk, dv, None, *(other.to(own) for other, own in zip(others, ctx.types))


class _Again(torch.autograd.Function):
    """The same of a call like an earlier one, with all tensors of its key."""

    @staticmethod
    def forward(ctx, ready, addresses, dropping, *tensors):
        made = ready.run(addresses, tensors, dropping)
        if made is None:
            return None
        ctx.ready, ctx.dropping = ready, dropping
        ctx.tensors = [None if number in ready.qkv else tensor for number, tensor in enumerate(tensors)]
        ctx.beside = _Beside(ctx.tensors)
        ctx.save_for_backward(*(tensors[number] for number in ready.qkv), *made)
        ctx.set_materialize_grads(False)
        return made

    @staticmethod
    @once_differentiable
    def backward(ctx, dout, dlse):
        *qkv, out, lse = ctx.saved_tensors
        ctx.beside.check()
        tensors = list(ctx.tensors)
        for number, tensor in zip(ctx.ready.qkv, qkv):
            tensors[number] = tensor
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
    return call.backward(dout, q, k, v, out, lse, dlse=dlse)


def attend_again(ready, key, dropping):
    """out and lse of what is ready, which torch can go back through. `dropping` is a seed and an offset."""
    return _Again.apply(ready, key.addresses, dropping, *key.tensors)


def attend(call, q, k, v, others):
    """out and lse of `call`, which torch can go back through, to `others` as well. Refuses what has no gradient."""
    call.plan_backward(q, k, v)
    return _Attention.apply(q, k, v, call, *others)
