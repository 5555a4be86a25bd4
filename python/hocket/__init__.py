"""Hocket: attention kernels for AMD GPUs, compiled, run and checked anywhere.

Tensors of the host are computed on in a simulator of the GPU, tensors of ROCm on the GPU. See docs/Python.md.
"""
import sys as _sys

from ._hocket import version as __version__
from ._call import plan_of
from ._errors import Error, ExecutionError, HostError, InternalError, InvalidInput, NotFound, Unsupported
from .attention import (
    flash_attn_backward,
    flash_attn_func,
    flash_attn_varlen_func,
    flash_attn_with_kvcache,
    flex_attention,
    scaled_dot_product_attention,
)
from .block_mask import BlockMask, create_block_mask
from .flex import and_masks, or_masks
from .kernel import Kernel, Schedule, compile, tune
from .partial import merge
from .quantization import quantize
from .sage import sageattn

__all__ = [
    "BlockMask",
    "Error",
    "ExecutionError",
    "HostError",
    "InternalError",
    "InvalidInput",
    "Kernel",
    "NotFound",
    "Schedule",
    "Unsupported",
    "and_masks",
    "compile",
    "create_block_mask",
    "flash_attn_backward",
    "flash_attn_func",
    "flash_attn_varlen_func",
    "flash_attn_with_kvcache",
    "flex_attention",
    "merge",
    "or_masks",
    "plan_of",
    "quantize",
    "sageattn",
    "scaled_dot_product_attention",
    "tune",
]

if hasattr(getattr(_sys.modules.get("torch"), "library", None), "register_autograd"):
    from . import _operators, _sdpa  # noqa: F401

    if __name__ == "hocket":
        _sdpa.register()
