"""Partial results of attention, over parts of the keys, folded into the whole."""
from . import _hocket, _tensors
from ._errors import InvalidInput


def _read(tensors, name, dtype):
    tensors = list(tensors)
    if not tensors:
        raise InvalidInput(f"argument '{name}' is empty, wanted at least one partial result")
    for number, tensor in enumerate(tensors):
        _tensors.refuse_gradient(tensor, f"{name}[{number}]")
    return tensors, [_tensors.read(tensor, f"{name}[{i}]", dtype) for i, tensor in enumerate(tensors)]


def _check(view, shape, wanted, device):
    if view.shape != tuple(shape):
        raise InvalidInput(f"argument '{view.argument}' has the shape {view.shape}, wanted {tuple(shape)}")
    if view.dtype not in wanted:
        raise InvalidInput(f"argument '{view.argument}' has elements of {view.dtype}, wanted {' or '.join(wanted)}")
    if view.device != device:
        raise InvalidInput(f"argument '{view.argument}' is on {view.device}, wanted {device}")


def _merge_on_gpu(outs, lses, out, lse):
    """By torch's operations, where the tensors are: there is no kernel for it yet."""
    torch = _tensors.torch_of(outs[0])
    if torch is None:
        raise InvalidInput("argument 'outs[0]' is on a GPU and not torch's, whose operations fold results there")
    stacked = torch.stack(list(lses))
    whole = torch.logsumexp(stacked, 0)
    # A row without keys has -inf everywhere: its weights are 0, not NaN.
    weights = torch.exp(stacked - torch.where(whole == float("-inf"), torch.zeros_like(whole), whole))
    total = sum(part.float() * weight.transpose(1, 2)[..., None] for part, weight in zip(outs, weights))
    out = torch.empty_like(outs[0]) if out is None else out
    lse = torch.empty_like(lses[0]) if lse is None else lse
    out.copy_(total)
    lse.copy_(whole)
    return out, lse


def merge(outs, lses, *, dtype=None, out=None, lse=None):
    """Attention over all keys, of results over parts of them.

    `outs` are [batch, seq, heads, head_dim] in bf16, f16 or f32, `lses` [batch, heads, seq] in f32, as
    flash_attn_func(..., return_lse=True) gives them for the same queries. Returns both of the whole: `out` of the
    partial results' type unless it is given (f32 keeps what rounding would lose), and `lse`. Either may be one of
    the partial results. `dtype` says what integers are the bits of.
    """
    outs, out_views = _read(outs, "outs", dtype)
    lses, lse_views = _read(lses, "lses", None)
    if len(outs) != len(lses):
        raise InvalidInput(f"argument 'lses' has {len(lses)} results, 'outs' has {len(outs)}")
    first = out_views[0]
    if len(first.shape) != 4:
        raise InvalidInput(
            f"argument 'outs[0]' has {len(first.shape)} dimensions, wanted 4: [batch, seq, heads, head_dim]"
        )
    batch, seq, heads, _ = first.shape
    types = ("bf16", "f16", "f32")
    for view in out_views:
        _check(view, first.shape, types, first.device)
    for view in lse_views:
        _check(view, (batch, heads, seq), ("f32",), first.device)
    if first.device != "cpu":
        return _merge_on_gpu(outs, lses, out, lse)
    if out is None:
        out = _tensors.empty_like(outs[0], "outs[0]", first.shape, first.dtype)
    if lse is None:
        lse = _tensors.empty_like(lses[0], "lses[0]", (batch, heads, seq), "f32")
    is_bits = _tensors.read(out, "out").dtype in ("u16", "i16")
    views = _tensors.read(out, "out", dtype if is_bits else None), _tensors.read(lse, "lse")
    _check(views[0], first.shape, types, first.device)
    _check(views[1], (batch, heads, seq), ("f32",), first.device)
    for view in views:
        if view.read_only:
            raise InvalidInput(f"argument '{view.argument}' is read-only, the result is written to it")
    _hocket.merge(out_views, lse_views, *views)
    return out, lse
