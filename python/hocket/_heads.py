"""Queries, keys and values as kernels have them: in autocast's type, and with zeros at the end of heads of other sizes, which
change neither scores nor what is kept."""
import functools

from . import _tensors
from ._arguments import names_of
from ._errors import InvalidInput

#: Bytes of a load.
_LOAD = 16


def _lacking(tensors):
    unit = _LOAD // min(_tensors.element_bytes(tensor) for tensor in tensors)
    return [-tensor.shape[-1] % unit for tensor in tensors]


def are_whole(*tensors):
    """Whether heads are whole loads of 16 bytes, or nothing can be done about it."""
    known = all(_tensors.can_pad(tensor) and len(tensor.shape) > 1 for tensor in tensors)
    return not known or not any(_lacking(tensors))


def padded(*tensors):
    return [_tensors.padded(tensor, count) for tensor, count in zip(tensors, _lacking(tensors))]


def cut(tensor, width, out=None):
    """The first `width` elements of heads, in `out` if that is given."""
    if out is None:
        return _tensors.contiguous_view(tensor[..., :width])
    _tensors.refuse_gradient(tensor, "out")
    out[...] = tensor[..., :width]
    return out


def _padded_in_place(function, given, names, written):
    """`function` of copies with whole heads; what it writes is copied back to the caller's keys and values."""
    own = [given[name] for name in names[1:3]]
    for name, new, tensor in zip(names[1:3], written, own):
        _tensors.refuse_gradient(tensor, name)
        if _tensors.module_of(tensor) == "numpy" and not tensor.flags.writeable:
            raise InvalidInput(f"argument '{name}' is read-only, '{new}' is written to it")
    given.update(zip((*names[:3], *written), padded(*(given[name] for name in (*names[:3], *written)))))
    made = function(**given)
    for name, tensor in zip(names[1:3], own):
        cut(given[name], tensor.shape[-1], tensor)
    return made


def whole_heads(scale, written=()):
    """Of functions whose first three arguments are queries, keys and values: they get such with whole heads, and `scale` is the
    argument that follows from the size that heads have. Arguments `written` are written into the keys and values, in their
    order."""

    def decorate(function):
        names = names_of(function)

        @functools.wraps(function)
        def attend(*arguments, **options):
            given = {**dict(zip(names, arguments)), **options}
            tensors = [_tensors.in_autocast(given.get(name)) for name in names[:3]]
            given.update({name: tensor for name, tensor in zip(names, tensors) if name in given})
            fresh = [given.get(name) for name in written]
            appends = any(tensor is not None for tensor in fresh)
            if are_whole(*tensors) or (appends and not all(_tensors.can_pad(tensor) for tensor in fresh)):
                return function(**given)
            if given.get(scale) is None and _lacking(tensors)[0]:
                given[scale] = tensors[0].shape[-1] ** -0.5
            out, width = given.pop("out", None), tensors[2].shape[-1]
            if appends:
                made = _padded_in_place(function, given, names, written)
            else:
                made = function(**{**given, **dict(zip(names, padded(*tensors)))})
            made, lse = made if isinstance(made, tuple) else (made, None)
            made = cut(made, width, out)
            return made if lse is None else (made, lse)

        return attend

    return decorate
