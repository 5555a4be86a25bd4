"""Several traced values beside each other: what torch.stack makes of them, or a captured tensor has in a row, until one is taken or
all are combined. Functions of one value are of each."""
import functools

from ._elementary import FUNCTIONS
from ._errors import InvalidInput, Unsupported
from ._functions import call, compare, divide, logical_and, logical_or, maximum, minimum, where
from ._trace import Several, Value, converted, promoted, trace_of, value_of


class Stacked(Several):
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

    def dot(self, other):
        return each("mul", (self, other)).sum()

    __matmul__ = dot

    def stacked(self):
        return self

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *arguments, **options: each(name, (self, *arguments), options)


def each(name, arguments, options={}):
    """Function `name` of the values of each place; what is one value is so for all."""
    if name in _OF_SHAPES:
        raise Unsupported(f"'{name}' of stacked values cannot be part of a modification; take one by its number, combine them by "
                          f"{', '.join(_METHODS)}, or compute with each")
    arguments = [argument.stacked() if isinstance(argument, Several) else argument for argument in arguments]
    counts = {len(argument) for argument in arguments if isinstance(argument, Stacked)}
    if len(counts - {1}) > 1:
        raise InvalidInput(f"'{name}' is given stacked values of {' and '.join(map(str, sorted(counts)))}, wanted as many of each")
    at = lambda argument, place: argument.values[place % len(argument)] if isinstance(argument, Stacked) else argument  # noqa: E731
    return Stacked([call(name, [at(argument, place) for argument in arguments], options) for place in range(max(counts))])


def of_several(name, arguments, options):
    """Function `name` of arguments among which some stand for several values."""
    if name in _METHODS and isinstance(arguments[0], Several):
        return getattr(arguments[0].stacked(), name)(*arguments[1:], **options)
    return each(name, arguments, options)


for _name in ("neg", "abs", "invert", "eq", "ne", "lt", "le", "gt", "ge"):
    setattr(Several, f"__{_name}__", lambda self, *other, name=_name: each(name, (self, *other)))
for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor"):
    setattr(Several, f"__{_name}__", lambda self, other, name=_name: each(name, (self, other)))
    setattr(Several, f"__r{_name}__", lambda self, other, name=_name: each(name, (other, self)))
Several.__torch_function__ = classmethod(lambda cls, function, kinds, arguments=(), options=None: of_several(
    getattr(function, "__name__", str(function)), arguments, options or {}))
#: Functions that look at the shape, of which one value has none.
_OF_SHAPES = ("view", "reshape", "squeeze", "expand", "expand_as", "size", "dim", "numel", "stack", "full", "new_full")


def _truth(combine):
    return lambda a, b: combine(converted(a, "i1"), converted(b, "i1"))


_COMBINE = {"sum": FUNCTIONS["add"], "prod": FUNCTIONS["mul"], "amax": maximum, "amin": minimum, "all": _truth(logical_and),
            "any": _truth(logical_or)}
for _name, _function in _COMBINE.items():
    setattr(Stacked, _name, lambda self, *arguments, name=_name, function=_function, **options: self._combined(
        name, function, *arguments, **options))
Stacked.mean = lambda self, *arguments, **options: divide(self.sum(*arguments, **options), len(self))
Stacked.unbind = lambda self, dim=0: tuple(self.values)
_METHODS = (*_COMBINE, "mean", "unbind", "dot")


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
