"""Attention whose gradients torch asks for."""
import torch
from torch.autograd.function import once_differentiable


class _Attention(torch.autograd.Function):
    @staticmethod
    def forward(ctx, q, k, v, call, *others):
        out, lse = call.forward(q, k, v, want_lse=True)
        ctx.call, ctx.types = call, [other.dtype for other in others]
        # What is captured is kept to be told if it is changed meanwhile: kernels read it where it is.
        captured = [tensor for tensor in call.captured if isinstance(tensor, torch.Tensor)]
        ctx.save_for_backward(q, k, v, out, lse, *captured)
        ctx.mark_non_differentiable(lse)
        return out, lse

    @staticmethod
    @once_differentiable
    def backward(ctx, dout, _):
        q, k, v, out, lse, *_ = ctx.saved_tensors
        dq, dk, dv, *others = ctx.call.backward(readable(dout), q, k, v, out, lse)
        return dq, dk, dv, None, *(other.to(own) for other, own in zip(others, ctx.types))


def readable(gradient):
    """`gradient` as kernels load it, 16 bytes at a time; a copy where it lies otherwise: expanded, or a part."""
    strides = gradient.stride()
    fits = strides[-1] == 1 and all(s > 0 and s % 8 == 0 for s in strides[:-1]) and gradient.data_ptr() % 16 == 0
    return gradient if fits else gradient.contiguous()


def attend(call, q, k, v, others):
    """out and lse of `call`, which torch can go back through, to `others` as well; lse has no gradient. Refuses what has
    none."""
    call.plan_backward(q, k, v)
    return _Attention.apply(q, k, v, call, *others)
