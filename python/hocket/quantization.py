"""Tensors as numbers of few bits and scales, by kernels: what caches and attention of 8 bits take."""
from . import _hocket, _smoothing, _tensors
from ._arguments import architecture, integer, text
from ._errors import InvalidInput

#: Elements that share a scale of the mx formats.
_MX_BLOCK = 32
_TYPES = {"f8e4m3": "f8e4m3", "f8e5m2": "f8e5m2", "i8": "i8", "f4e2m1": "u8"}
_PER = ("tensor", "head", "token", "block", "mx")


def _chosen(value, name, known):
    if text(value, name, f"one of {', '.join(known)}") not in known:
        raise InvalidInput(f"argument '{name}' is '{value}', wanted one of {', '.join(known)}")
    return value


def _scale_shape(x, sizes, per, block, kv_heads):
    batch, seq, heads, dim = sizes
    return {"tensor": (1,), "head": (batch, kv_heads), "block": (batch, heads, -(-seq // block)), "token": tuple(x.shape[:-1]),
            "mx": (*x.shape[:-1], dim // _MX_BLOCK)}[per]


def _sizes(view, layout):
    """(batch, seq, heads, head_dim), and the strides of the first three."""
    shape, strides = view.shape, view.strides
    if len(shape) == 3:
        return (1, *shape), (0, *strides[:2])
    if layout == "bhsd":
        return (shape[0], shape[2], shape[1], shape[3]), (strides[0], strides[2], strides[1])
    return tuple(shape), tuple(strides[:3])


def quantize(x, dtype="f8e4m3", per="tensor", block=128, *, layout="bshd", kv_heads=None, hadamard=None, x_dtype=None, arch="gfx950",
             stream=None):
    """`x` as (values, scale) with x ~ values * scale: [batch, seq, heads, head_dim], with layout="bhsd" [batch, heads, seq,
    head_dim], or packed [rows, heads, head_dim], of bf16, f16 or f32 (`x_dtype` says what integers are the bits of).

    `dtype` is f8e4m3, f8e5m2, i8 or, per "mx", f4e2m1, of which a byte has two, the first in its lower half. `per` says what
    shares a scale, a float32: "tensor" [1]; "head" [batch, heads], which q_descale, k_descale and v_descale take (of queries
    [batch, kv_heads]: say `kv_heads`); "token" one of a token and head, x.shape[:-1]; "block" one of `block` rows of a head,
    [batch, heads, ceil(seq / block)]; "mx" a power of two, its E8M0 byte, of 32 elements: [*x.shape[:-1], head_dim / 32].
    With `hadamard`, a power of two, each so many elements of a head are rotated first. docs/Quantising.md says how, and how
    numbers are rounded.
    """
    _tensors.refuse_gradient(x, "x")
    _chosen(dtype, "dtype", tuple(_TYPES)), _chosen(per, "per", _PER), _chosen(layout, "layout", ("bshd", "bhsd"))
    block = integer(block, "block", 1)
    stream = _tensors.stream_of(x, stream)
    given = _tensors.loadable(x)
    view = _tensors.read(given, "x", x_dtype, stream)
    if len(view.shape) not in ((3, 4) if layout == "bshd" else (4,)):
        raise InvalidInput(f"argument 'x' has {len(view.shape)} dimensions, wanted 4: [batch, seq, heads, head_dim], or in the layout "
                           f"bshd 3: [rows, heads, head_dim]")
    if view.dtype not in ("bf16", "f16", "f32"):
        raise InvalidInput(f"argument 'x' has elements of {view.dtype}, wanted bf16, f16 or f32"
                           + ("; for the bits of bf16 say x_dtype='bf16'" if view.dtype in ("u16", "i16") else ""))
    if hadamard is not None:
        turned = _smoothing.rotated(_smoothing.numbers(x), _smoothing.check_size(hadamard, "hadamard", view.shape[-1]))
        return quantize(turned, dtype, per, block, layout=layout, kv_heads=kv_heads, arch=arch, stream=stream)
    sizes, strides = _sizes(view, layout)
    batch, seq, heads, dim = sizes
    kv_heads = heads if kv_heads is None else integer(kv_heads, "kv_heads", 1)
    if kv_heads != heads and (per != "head" or heads % kv_heads):
        raise InvalidInput(f"argument 'kv_heads' is {kv_heads} with per='{per}', and 'x' has {heads} heads; wanted a divisor of that, "
                           f"with per='head'")
    if (dtype == "f4e2m1" or per == "mx") and dim % _MX_BLOCK:
        raise InvalidInput(f"argument 'x' has heads of {dim} elements, wanted a multiple of {_MX_BLOCK} for scales per mx; pad it with "
                           f"zeros")
    of_values = (*view.shape[:-1], dim // 2) if dtype == "f4e2m1" else view.shape
    values = _tensors.empty_like(given, "x", of_values, _TYPES[dtype])
    scale = _tensors.empty_like(given, "x", _scale_shape(view, sizes, per, block, kv_heads), "u8" if per == "mx" else "f32")
    if not all(sizes):
        _tensors.fill(scale, 1)
        return values, scale
    problem = {"dtype": dtype, "per": per, "layout": layout, "batch": batch, "seq": seq, "heads": heads, "head_dim": dim,
               "block": block, "heads_of_scale": heads // kv_heads, "strides": strides}
    _hocket.quantize(problem, {"x": view, "values": _tensors.read(values, "values", _TYPES[dtype], stream),
                               "scale": _tensors.read(scale, "scale", None, stream)}, architecture(arch), stream)
    return values, scale
