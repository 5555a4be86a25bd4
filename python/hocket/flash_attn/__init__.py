"""flash-attn 2's module: the same names, arguments and results, computed by Hocket's kernels.

`import hocket.flash_attn as flash_attn` serves a program that imports it itself; `install()` serves a library that says
`import flash_attn`. What no kernel computes is refused by name, as in the functions of `hocket`.
"""
import sys

from .flash_attn_interface import (
    flash_attn_func,
    flash_attn_kvpacked_func,
    flash_attn_qkvpacked_func,
    flash_attn_varlen_func,
    flash_attn_varlen_kvpacked_func,
    flash_attn_varlen_qkvpacked_func,
    flash_attn_with_kvcache,
)

#: The version whose interface this is.
__version__ = "2.8.4"

__all__ = [
    "flash_attn_func",
    "flash_attn_kvpacked_func",
    "flash_attn_qkvpacked_func",
    "flash_attn_varlen_func",
    "flash_attn_varlen_kvpacked_func",
    "flash_attn_varlen_qkvpacked_func",
    "flash_attn_with_kvcache",
    "install",
]


def install():
    """Makes `import flash_attn` find this module, for the rest of the process. Needs torch. A flash_attn that is already
    imported stays: that is an error."""
    from . import bert_padding, flash_attn_interface, layers
    from .layers import rotary

    modules = {"": sys.modules[__name__], ".bert_padding": bert_padding, ".flash_attn_interface": flash_attn_interface,
               ".layers": layers, ".layers.rotary": rotary}
    known = sys.modules.get("flash_attn")
    if known is not None and known is not modules[""]:
        raise ImportError("flash_attn is already imported; call hocket.flash_attn.install() before the library that imports it")
    sys.modules.update({f"flash_attn{name}": module for name, module in modules.items()})
