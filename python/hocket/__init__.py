"""Hocket: attention kernels for AMD GPUs, compiled, run and checked anywhere.

Tensors of the host are computed on in a simulator of the GPU, tensors of ROCm on the GPU. See docs/Python.md.
"""
from ._errors import Error, ExecutionError, HostError, InternalError, InvalidInput, NotFound, Unsupported
from .attention import flash_attn_func, scaled_dot_product_attention

__all__ = [
    "Error",
    "ExecutionError",
    "HostError",
    "InternalError",
    "InvalidInput",
    "NotFound",
    "Unsupported",
    "flash_attn_func",
    "scaled_dot_product_attention",
]
