"""Several traced values beside each other: what torch.stack makes of them, until one is taken or all are combined."""
import functools

from ._elementary import FUNCTIONS
from ._errors import InvalidInput, Unsupported
from ._functions import compare, divide, logical_and, logical_or, maximum, minimum, where
from ._trace import Value, converted, promoted, trace_of, value_of


class Stacked:
    """As a tensor of one dimension."""

    def __init__(self, values):
        self.values, self.shape = values, (len(values),)

    def __len__(self):
        return len(self.values)

    def __iter__(self):
        return iter(self.values)

    def __getitem__(self, place):
        if not isinstance(place, Value):
            found = self.values[place]
            return Stacked(found) if isinstance(found, list) else found
        if place.kind != "i32":
            raise Unsupported("stacked values are taken by integers; convert the index by .int()")
        place = where(compare("lt", place, 0), place + len(self), place)
        result = self.values[0]
        for number, value in enumerate(self.values[1:], 1):
            result = where(compare("eq", place, number), value, result)
        return result

    def _combined(self, name, combine, dim=None, keepdim=False, **_):
        if dim not in (None, 0, -1) or keepdim:
            raise Unsupported(f"'{name}' of stacked values is given dim={dim!r}, keepdim={keepdim}; they have one dimension, which "
                              f"is combined to one value")
        return functools.reduce(combine, self.values)

    @classmethod
    def __torch_function__(cls, function, kinds, arguments=(), options=None):
        name = getattr(function, "__name__", str(function))
        if name not in _METHODS or not isinstance(arguments[0], cls):
            raise Unsupported(f"'{name}' of stacked values cannot be part of a modification; take one by its number, or combine "
                              f"them by {', '.join(_METHODS)}")
        return getattr(arguments[0], name)(*arguments[1:], **(options or {}))


def _truth(combine):
    return lambda a, b: combine(converted(a, "i1"), converted(b, "i1"))


_COMBINE = {"sum": FUNCTIONS["add"], "prod": FUNCTIONS["mul"], "amax": maximum, "amin": minimum, "all": _truth(logical_and),
            "any": _truth(logical_or)}
for _name, _function in _COMBINE.items():
    setattr(Stacked, _name, lambda self, *arguments, name=_name, function=_function, **options: self._combined(
        name, function, *arguments, **options))
Stacked.mean = lambda self, *arguments, **options: divide(self.sum(*arguments, **options), len(self))
Stacked.unbind = lambda self, dim=0: tuple(self.values)
_METHODS = (*_COMBINE, "mean", "unbind")


def stack(values, dim=0, **_):
    if dim not in (0, -1):
        raise Unsupported(f"'stack' is given dim={dim}; values have no dimension, and stacked ones have one, 0")
    if not len(values):
        raise InvalidInput("'stack' is given no value")
    trace = trace_of(*values)
    values = [value_of(trace, value) for value in values]
    kind = values[0].kind
    for value in values[1:]:
        kind = promoted(trace, values[0].trace.constant(0, kind), value)[1]
    return Stacked([converted(value, kind) for value in values])


FUNCTIONS["stack"] = stack
