"""Attention as an operator of torch's: `import hocket.torch_ops` makes torch.ops.hocket.attention_forward known.

    attention_forward(Tensor q, Tensor k, Tensor v, float? scale=None, bool causal=False) -> (Tensor out, Tensor lse)

as flash_attn_func with return_lse=True. Shapes are known without computing (device "meta"), for torch.compile and export.
"""
import contextlib

import torch

from . import _tensors
from .attention import flash_attn_func

_library = torch.library.Library("hocket", "DEF")
_library.define(
    "attention_forward(Tensor q, Tensor k, Tensor v, float? scale=None, bool causal=False) -> (Tensor, Tensor)"
)


def _compute(q, k, v, scale=None, causal=False):
    return flash_attn_func(q, k, v, softmax_scale=scale, causal=causal, return_lse=True)


def _shapes(q, k, v, scale=None, causal=False):
    batch, rows, heads, _ = q.shape
    lse = q.new_empty((batch, heads, rows), dtype=torch.float32)
    return q.new_empty((batch, rows, heads, v.shape[3])), lse


def _refuse_gradients(q, k, v, scale=None, causal=False):
    for name, tensor in (("q", q), ("k", k), ("v", v)):
        _tensors.refuse_gradient(tensor, name)
    below = torch._C._AutoDispatchBelowAutograd()
    with below if hasattr(below, "__enter__") else contextlib.nullcontext():  # torch 1 enters as it is made
        return torch.ops.hocket.attention_forward(q, k, v, scale, causal)


_library.impl("attention_forward", _refuse_gradients, "Autograd")
for _key in ("CPU", "CUDA"):  # torch calls ROCm CUDA
    _library.impl("attention_forward", _compute, _key)
_library.impl("attention_forward", _shapes, "Meta")
