"""Queries, keys and values as kernels have them: in autocast's type, and with zeros at the end of heads of other sizes, which
change neither scores nor what is kept."""
import functools
import inspect

from . import _tensors

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


def whole_heads(scale, written=()):
    """Of functions whose first three arguments are queries, keys and values: they get such with whole heads, and `scale` is the
    argument that follows from the size that heads have. Arguments `written` are written into the keys."""

    def decorate(function):
        names = list(inspect.signature(function).parameters)

        @functools.wraps(function)
        def attend(*arguments, **options):
            given = {**dict(zip(names, arguments)), **options}
            tensors = [_tensors.in_autocast(given.get(name)) for name in names[:3]]
            given.update({name: tensor for name, tensor in zip(names, tensors) if name in given})
            if are_whole(*tensors) or any(given.get(name) is not None for name in written):
                return function(**given)
            if given.get(scale) is None:
                given[scale] = tensors[0].shape[-1] ** -0.5
            out = given.pop("out", None)
            given.update(zip(names, padded(*tensors)))
            made = function(**given)
            made, lse = made if isinstance(made, tuple) else (made, None)
            made = cut(made, tensors[2].shape[-1], out)
            return made if lse is None else (made, lse)

        return attend

    return decorate
