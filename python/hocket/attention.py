"""Attention by the names and arguments that people have: flash-attn 2's and torch's.

What the library cannot do is refused by an exception that names the argument; nothing is ignored.
"""
import math

from . import _hocket, _tensors
from ._errors import InvalidInput, Unsupported

#: What messages call the dimensions of a tensor, by layout.
_DIMENSIONS = {
    "bshd": "[batch, seq, heads, head_dim]",
    "bhsd": "[batch, heads, seq, head_dim]",
}


class _Names:
    """What the caller's function calls the tensors."""

    def __init__(self, q, k, v):
        self.q, self.k, self.v = q, k, v


def _refuse(given, nothing, name, instead):
    """Refuses argument `name` unless it says that nothing is wanted."""
    if given is not None and given != nothing:
        raise Unsupported(f"argument '{name}' is {given!r}, which no kernel does yet; {instead}")


def _check_tensor(tensor, dtype, device, what):
    if tensor.dtype != dtype:
        raise InvalidInput(
            f"argument '{tensor.argument}' has elements of {tensor.dtype}, {what} of {dtype}"
        )
    if tensor.device != device:
        raise InvalidInput(f"argument '{tensor.argument}' is on {tensor.device}, {what} on {device}")


def _check_rows(tensor, layout):
    name = tensor.argument
    if len(tensor.shape) != 4:
        raise InvalidInput(
            f"argument '{name}' has {len(tensor.shape)} dimensions, wanted 4: {_DIMENSIONS[layout]}"
        )
    for extent in tensor.shape:
        if extent < 1:
            raise InvalidInput(
                f"argument '{name}' has the shape {tensor.shape}, wanted at least 1 of each dimension"
            )
    if tensor.strides[3] != 1 and tensor.shape[3] != 1:
        raise InvalidInput(
            f"argument '{name}' has a stride of {tensor.strides[3]} between elements of its last "
            f"dimension, wanted 1; give a copy that is contiguous there"
        )
    if tensor.address % 16:
        raise InvalidInput(
            f"argument '{name}' begins {tensor.address % 16} bytes behind a multiple of 16, which "
            f"kernels load at a time; give a copy"
        )


def _check_output(tensor, shape):
    if tensor.shape != tuple(shape):
        raise InvalidInput(
            f"argument '{tensor.argument}' has the shape {tensor.shape}, wanted {tuple(shape)}"
        )
    if tensor.read_only:
        raise InvalidInput(f"argument '{tensor.argument}' is read-only, the result is written to it")


def _scale(value, name):
    if value is None:
        return None
    value = float(value)
    if not math.isfinite(value):
        raise InvalidInput(f"argument '{name}' is {value}, wanted a finite number")
    return value


def _problem(q, k, v, layout, mask, scale, fast_scale, num_splits):
    """The shapes as a problem, after checking that they fit."""
    seq, heads = (1, 2) if layout == "bshd" else (2, 1)
    for tensor in (k, v):
        if tensor.shape[0] != q.shape[0]:
            raise InvalidInput(
                f"argument '{tensor.argument}' has a batch of {tensor.shape[0]}, '{q.argument}' of {q.shape[0]}"
            )
    for dimension, what in ((seq, "keys"), (heads, "heads")):
        if k.shape[dimension] != v.shape[dimension]:
            raise InvalidInput(
                f"argument '{v.argument}' has {v.shape[dimension]} {what}, '{k.argument}' has {k.shape[dimension]}"
            )
    if k.shape[3] != q.shape[3]:
        raise InvalidInput(
            f"argument '{k.argument}' has heads of {k.shape[3]} elements, '{q.argument}' of {q.shape[3]}"
        )
    if q.shape[heads] % k.shape[heads]:
        raise InvalidInput(
            f"argument '{k.argument}' has {k.shape[heads]} heads, wanted a divisor of the "
            f"{q.shape[heads]} of '{q.argument}'"
        )
    return {
        "dtype": "fp16" if q.dtype == "f16" else q.dtype,
        "layout": layout,
        "batch": q.shape[0],
        "heads": q.shape[heads],
        "kv_heads": k.shape[heads],
        "seq_q": q.shape[seq],
        "seq_kv": k.shape[seq],
        "head_dim": q.shape[3],
        "head_dim_v": v.shape[3],
        "mask": mask,
        "scale": scale,
        "fast_scale": bool(fast_scale),
        "num_splits": int(num_splits),
    }


def _forward(
    names, q, k, v, *, layout, mask, scale, dtype, out, lse, return_lse, num_splits, fast_scale, arch, stream
):
    """Reads, checks, computes. Returns out, or out and lse."""
    given = {names.q: q, names.k: k, names.v: v}
    for name, tensor in (*given.items(), ("out", out), ("lse", lse)):
        _tensors.refuse_gradient(tensor, name)
    stream = _tensors.stream_of(q, stream)
    views = {key: _tensors.read(given[name], name, dtype, stream)
             for key, name in (("q", names.q), ("k", names.k), ("v", names.v))}
    first = views["q"]
    if first.dtype not in ("bf16", "f16"):
        raise InvalidInput(
            f"argument '{names.q}' has elements of {first.dtype}, wanted bf16 or f16"
            + ("; for the bits of bf16 say dtype='bf16'" if first.dtype in ("u16", "i16") else "")
        )
    for tensor in views.values():
        _check_rows(tensor, layout)
        _check_tensor(tensor, first.dtype, first.device, f"'{names.q}'")
    problem = _problem(views["q"], views["k"], views["v"], layout, mask, scale, fast_scale, num_splits)

    shape = (*first.shape[:3], views["v"].shape[3])
    if out is None:
        out = _tensors.empty_like(q, names.q, shape, first.dtype)
    views["o"] = _tensors.read(out, "out", dtype, stream)
    _check_output(views["o"], shape)
    _check_rows(views["o"], layout)
    _check_tensor(views["o"], first.dtype, first.device, f"'{names.q}'")
    if return_lse or lse is not None:
        rows = (problem["batch"], problem["heads"], problem["seq_q"])
        if lse is None:
            lse = _tensors.empty_like(q, names.q, rows, "f32")
        views["lse"] = _tensors.read(lse, "lse", None, stream)
        _check_output(views["lse"], rows)
        _check_tensor(views["lse"], "f32", first.device, f"wanted one of f32 and '{names.q}'")
        if not views["lse"].is_contiguous:
            raise InvalidInput("argument 'lse' is not contiguous, which it has to be")
    _hocket.forward(problem, views, arch, stream)
    return (out, lse) if return_lse else out


def flash_attn_func(
    q,
    k,
    v,
    dropout_p=0.0,
    softmax_scale=None,
    causal=False,
    window_size=(-1, -1),
    softcap=0.0,
    alibi_slopes=None,
    deterministic=False,
    return_attn_probs=False,
    *,
    return_lse=False,
    out=None,
    lse=None,
    dtype=None,
    num_splits=0,
    fast_scale=False,
    arch="gfx950",
    stream=None,
):
    """Attention with flash-attn 2's arguments; see the stub or docs/Python.md."""
    _refuse(float(dropout_p), 0.0, "dropout_p", "leave it at 0")
    _refuse(tuple(window_size), (-1, -1), "window_size", "leave it at (-1, -1)")
    _refuse(float(softcap), 0.0, "softcap", "leave it at 0")
    if alibi_slopes is not None:
        raise Unsupported("argument 'alibi_slopes' is given, which no kernel does yet; leave it None")
    _refuse(bool(return_attn_probs), False, "return_attn_probs", "return_lse=True gives the log-sum-exp")
    return _forward(
        _Names("q", "k", "v"), q, k, v, layout="bshd", mask="causal" if causal else "none",
        scale=_scale(softmax_scale, "softmax_scale"), dtype=dtype, out=out, lse=lse, return_lse=return_lse,
        num_splits=num_splits, fast_scale=fast_scale, arch=arch, stream=stream,
    )


def _as_batches(tensor, name):
    """A view of torch's [..., heads, seq, head_dim] with one dimension for the batch."""
    shape = getattr(tensor, "shape", None)
    if shape is None or len(shape) == 4:
        return tensor  # `_check_rows` says what it is instead
    if len(shape) == 3:
        return tensor[None]
    if len(shape) == 2:
        return tensor[None, None]
    raise InvalidInput(
        f"argument '{name}' has {len(shape)} dimensions, wanted 2 to 4: [batch, heads, seq, head_dim]"
    )


def scaled_dot_product_attention(
    query,
    key,
    value,
    attn_mask=None,
    dropout_p=0.0,
    is_causal=False,
    scale=None,
    enable_gqa=False,
    *,
    return_lse=False,
    out=None,
    lse=None,
    dtype=None,
    num_splits=0,
    fast_scale=False,
    arch="gfx950",
    stream=None,
):
    """Attention with torch's arguments; see the stub or docs/Python.md."""
    if attn_mask is not None:
        raise Unsupported("argument 'attn_mask' is given, which no kernel does yet; leave it None, or use is_causal")
    _refuse(float(dropout_p), 0.0, "dropout_p", "leave it at 0")
    dimensions = len(getattr(query, "shape", (0,) * 4))
    names = _Names("query", "key", "value")
    batches = [_as_batches(t, n) for t, n in ((query, "query"), (key, "key"), (value, "value"))]
    q, k, _ = batches
    if not enable_gqa and len(getattr(q, "shape", ())) == len(getattr(k, "shape", ())) == 4 and q.shape[1] != k.shape[1]:
        raise InvalidInput(
            f"argument 'key' has {k.shape[1]} heads, 'query' has {q.shape[1]}; say enable_gqa=True to share them"
        )
    if is_causal and len(getattr(k, "shape", ())) == 4 and q.shape[2] != k.shape[2]:
        raise Unsupported(
            f"argument 'is_causal' is True with {q.shape[2]} queries and {k.shape[2]} keys: torch's diagonal then begins "
            f"at the top left, which no kernel does yet; flash_attn_func has the one that ends at the bottom right"
        )
    results = _forward(
        names, *batches, layout="bhsd", mask="causal" if is_causal else "none", scale=_scale(scale, "scale"),
        dtype=dtype, out=None if out is None else _as_batches(out, "out"),
        lse=lse if lse is None else lse[(None,) * (4 - dimensions)] if dimensions < 4 else lse,
        return_lse=return_lse, num_splits=num_splits, fast_scale=fast_scale, arch=arch, stream=stream,
    )
    leading = (0,) * (4 - dimensions)
    made, made_lse = results if return_lse else (results, None)
    made = out if out is not None else made[leading] if leading else made
    if not return_lse:
        return made
    return made, lse if lse is not None else made_lse[leading] if leading else made_lse
