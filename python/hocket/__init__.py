"""Hocket: attention kernels for AMD GPUs, compiled, run and checked anywhere.

Tensors of the host are computed on in a simulator of the GPU, tensors of ROCm on the GPU. See docs/Python.md.
"""
from ._errors import Error, ExecutionError, HostError, InternalError, InvalidInput, NotFound, Unsupported
from .attention import flash_attn_func, scaled_dot_product_attention
from .kernel import Kernel, Schedule, compile
from .partial import merge

__all__ = [
    "Error",
    "ExecutionError",
    "HostError",
    "InternalError",
    "InvalidInput",
    "Kernel",
    "NotFound",
    "Schedule",
    "Unsupported",
    "compile",
    "flash_attn_func",
    "merge",
    "scaled_dot_product_attention",
]
