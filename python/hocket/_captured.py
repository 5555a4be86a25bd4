"""Tensors that modifications capture: read at traced places, however the function comes by them.

While a function of torch's users is traced, a mode of torch's catches reads of its tensors at traced places, so that closures,
attributes, dictionaries and views all work. numpy has no such mode: its arrays are looked for in what a function captures.
"""
import functools
import types
from collections.abc import Mapping

from . import _ready, _tensors
from ._errors import InvalidInput, Unsupported
from ._trace import Several, Value

#: The tensors' element types in the text, and what reading one gives.
ELEMENTS = {"f32": ("f32", "f32"), "f16": ("f16", "f32"), "bf16": ("bf16", "f32"), "i32": ("i32", "i32"),
            "u8": ("i1", "i1"), "i8": ("i8", "i32")}
_NAMES = {"float32": "f32", "float64": "f32", "float": "f32", "double": "f32", "float16": "f16", "half": "f16",
          "bfloat16": "bf16", "int32": "i32", "int64": "i32", "int16": "i32", "uint8": "i32", "int8": "i8", "bool": "u8"}
#: What narrow integers can be.
_LIMITS = {"int16": (-(2**15), 2**15 - 1), "uint8": (0, 255), "int8": (-128, 127)}
#: Elements of a row that is computed with as a whole.
_MOST = 64
_OWN = ("%batch", "%head", "%query", "%key")


def _name_of_type(tensor):
    return str(tensor.dtype).rpartition(".")[2]


def element_type(tensor):
    found = _NAMES.get(_name_of_type(tensor))
    if found is None:
        raise InvalidInput(f"a captured tensor has elements of {_name_of_type(tensor)}, wanted float32, float16, bfloat16, int32, "
                           f"int8 or bool")
    return found


def is_tensor(thing):
    known = _tensors.is_torch(thing) or _tensors.module_of(thing) == "numpy"
    return known and hasattr(thing, "dtype") and hasattr(thing, "shape")


def number_of(trace, tensor):
    """A tensor without dimensions as a value: read where the kernel runs if it may have a gradient, or is on a GPU."""
    if not is_tensor(tensor):
        raise Unsupported(f"a '{type(tensor).__name__}' cannot be part of a modification; use numbers and traced values")
    is_eager = trace.is_eager
    if _tensors.wants_gradient(tensor) or _tensors.is_torch(tensor) and tensor.device.type != "cpu":
        made = Captured(trace, tensor.reshape(1), (trace.constant(0, "i32"),))._value()
    else:
        is_eager = is_eager or not _ready.has_value_of(tensor)
        made = trace.constant(tensor.item(), {"b": "i1", "f": "f32"}.get(_kind_letter(tensor), "i32"))
    trace.is_eager = is_eager  # not for what is done here
    return made


def _kind_letter(tensor):
    name = _name_of_type(tensor)
    return "b" if name == "bool" else "f" if "float" in name or name in ("half", "double") else "i"


def holds_value(index):
    if isinstance(index, (tuple, list)):
        return any(holds_value(part) for part in index)
    return isinstance(index, Value)


class Captured(Several):
    """A tensor that is read at traced places; of its first dimensions some may be `given`."""

    def __init__(self, trace, tensor, given=()):
        self.trace, self.tensor, self.given = trace, tensor, given
        element_type(tensor)

    shape = property(lambda self: tuple(self.tensor.shape[len(self.given):]))
    ndim = property(lambda self: len(self.shape))
    dtype = property(lambda self: self.tensor.dtype)

    def __len__(self):
        return self.shape[0]

    def __getitem__(self, index):
        index = index if isinstance(index, tuple) else (index,)
        rank = len(self.shape)
        taken = sum(1 for part in index if part is not None and part is not Ellipsis)
        if taken > rank:
            raise InvalidInput(f"a captured tensor of shape {self.shape} is read at {taken} indices")
        parts = []
        for part in index:
            parts += [slice(None)] * (rank - taken) if part is Ellipsis else [_index(part)]
        return self._read(parts)

    def stacked(self):
        """The values along the one dimension that is left, each read by itself."""
        if not self.given or len(self.shape) != 1 or self.shape[0] > _MOST:
            left = self.shape if self.given else tuple(self.tensor.shape)
            raise Unsupported(f"a captured tensor is computed with as a whole, of shape {left}; read an element, as in "
                              f"tensor[head], or a row of at most {_MOST} elements")
        from ._stacked import Stacked

        return Stacked([Captured(self.trace, self.tensor, (*self.given, self.trace.constant(number, "i32")))._value()
                        for number in range(self.shape[0])])

    def _read(self, parts):
        """At traced places and by what indexes eagerly, one for each dimension, which may be fewer."""
        tensor, places, at = self.tensor, [], len(self.given)
        eager = [slice(None) if isinstance(part, Value) else part for part in parts]
        if any(not isinstance(part, slice) or part != slice(None) for part in eager):
            tensor = tensor[(*(slice(None),) * at, *eager)]
        positions = []
        for part in parts:
            if isinstance(part, Value):
                places.append(part)
                positions.append(at)
            at += isinstance(part, (Value, slice)) or part is None
        given = len(self.given)
        if positions != list(range(given, given + len(places))):
            rest = [d for d in range(len(tensor.shape)) if d not in positions and d >= given]
            order = (*range(given), *positions, *rest)
            tensor = tensor.permute(order) if _tensors.is_torch(tensor) else tensor.transpose(order)
        read = Captured(self.trace, tensor, (*self.given, *places))
        if read.shape:
            return read
        if read.given:
            return read._value()
        self.trace.is_eager = True
        return number_of(self.trace, tensor)

    def _value(self):
        tensor, places = self.tensor, list(self.given)
        extents = tuple(tensor.shape)
        places = [_from_the_end(place, extent) for place, extent in zip(places, extents)]
        asked = places
        if _tensors.wants_gradient(tensor):
            tensor, places = _differentiable(tensor, places)
        element, kind = ELEMENTS[element_type(tensor)]
        limits = (0, 1) if kind == "i1" else _LIMITS.get(_name_of_type(tensor))
        number = _number_among(self.trace, self.tensor, tensor, asked)
        return self.trace.read(f"captured_{number}", places, element, kind, limits if kind == "i32" else None)

    def __getattr__(self, name):
        """What else the array has; arrays that come of it can be read as this one."""
        if name.startswith("__"):
            raise AttributeError(name)
        if self.given:
            return getattr(self.stacked(), name)
        found = getattr(self.tensor, name)
        self.trace.is_eager = True
        if is_tensor(found):
            return Captured(self.trace, found)
        if not callable(found):
            return found

        def method(*arguments, **options):
            result = found(*arguments, **options)
            return Captured(self.trace, result) if is_tensor(result) and result.shape else result

        return method


def _index(part):
    """A traced place, or what indexes eagerly: an integer, a slice or None."""
    if isinstance(part, Value):
        if part.kind != "i32":
            raise Unsupported(f"a captured tensor is read at a value of {part.kind}; indices are integers: convert it by .int()")
        return int(part.number) if part.number is not None else part
    if part is None or isinstance(part, slice):
        return part
    if hasattr(part, "__index__"):
        return part.__index__()
    raise Unsupported(f"captured tensors are read at integers, traced or not, and slices; a '{type(part).__name__}' cannot be "
                      f"traced")


def _from_the_end(place, extent):
    """Places below 0 count from the end."""
    if place.counts:
        return place
    trace = place.trace
    wrapped = trace.emit("arith.addi", [place, trace.extent(extent)], "i32")
    if place.limits is not None and place.limits[1] < 0:
        return wrapped
    below = trace.emit("arith.cmpi slt", [place, trace.constant(0, "i32")], "i1")
    return trace.emit("arith.select", [below, wrapped, place], "i32", types="i32")


def _number_among(trace, given, tensor, asked):
    """The number of `tensor`, which is `given` as it is read at the places `asked` for, among what is captured. A gradient is of
    one place, and so every place has a number of its own there; so has [key, query] beside [query, key]."""
    where = tuple(place.name for place in asked) if _tensors.wants_gradient(given) else ()
    for number, known in enumerate(trace.read_as):
        if known[0] is given and known[1] == where:
            return number
    trace.read_as.append((given, where))
    trace.captured.append(tensor)
    return len(trace.captured) - 1


def _differentiable(tensor, places):
    """The tensor and its places in an order that gradients have kernels for: the batch, the head, and then the query and the
    key, or one computed place."""
    names = [place.name for place in places]
    order = sorted(range(len(names)), key=lambda i: (_OWN.index(names[i]) if names[i] in _OWN else 4, i))
    if order != list(range(len(names))):
        tensor, places = tensor.permute(order), [places[i] for i in order]
        names = [place.name for place in places]
    if len(set(names)) == len(names) and set(names) <= set(_OWN) and "%key" in names:
        return tensor, places
    leading = 0
    while leading < len(names) - 1 and names[leading] in ("%batch", "%head") and names[leading] not in names[:leading]:
        leading += 1
    if leading == len(names) - 1:
        return tensor, places
    place = places[leading]
    for other, extent in zip(places[leading + 1:], tensor.shape[leading + 1:]):
        trace = place.trace
        scaled = trace.emit("arith.muli", [place, trace.extent(extent)], "i32")
        place = trace.emit("arith.addi", [scaled, other], "i32")
    return tensor.reshape(*tensor.shape[:leading], -1), [*places[:leading], place]


def reading(trace):
    """A context in which torch's tensors are read at traced places."""
    torch = _tensors.torch_if_loaded()
    mode = getattr(getattr(torch, "overrides", None), "TorchFunctionMode", None)
    return None if mode is None else _mode(mode)(trace)


#: Functions of tensors that do not look at elements; those that make tensors of numbers.
_OF_SHAPES, _MAKING = {"__get__", "__len__", "size", "dim", "numel", "stride"}, {"tensor", "scalar_tensor", "full", "zeros", "ones"}


@functools.lru_cache(None)
def _mode(base):
    class Reading(base):
        def __init__(self, trace):
            super().__init__()
            self.trace = trace

        def __torch_function__(self, function, kinds, arguments=(), options=None):
            name = getattr(function, "__name__", "")
            if name == "__getitem__" and holds_value(arguments[1]):
                return Captured(self.trace, arguments[0])[arguments[1]]
            makes = name in _MAKING and not any(is_tensor(argument) for argument in arguments)
            if name not in _OF_SHAPES and not makes and not holds_value(arguments):
                self.trace.is_eager = True
            return function(*arguments, **(options or {}))

    return Reading


class _Object:
    """Somebody's object, whose attributes are replaced as they are looked up."""

    def __init__(self, thing, trace, known):
        self._of = thing, trace, known

    def __getattr__(self, name):
        thing, trace, known = self._of
        found = getattr(thing, name)
        if isinstance(found, types.MethodType) and found.__self__ is thing:
            return functools.partial(replaced(found.__func__, trace, known), self)
        return replaced(found, trace, known)

    def __getitem__(self, index):
        thing, trace, known = self._of
        return replaced(thing[index], trace, known)

    def __call__(self, *arguments, **options):
        thing, trace, known = self._of
        return replaced(type(thing).__call__, trace, known)(self, *arguments, **options)


def replaced(thing, trace, known):
    """What a function has captured: numpy's arrays become readable at traced places, functions are replaced in turn."""
    replace = lambda part: replaced(part, trace, known)  # noqa: E731
    if _tensors.module_of(thing) == "numpy" and is_tensor(thing):
        return Captured(trace, thing) if thing.shape else thing
    if isinstance(thing, tuple):
        parts = [replace(part) for part in thing]
        return thing._make(parts) if hasattr(thing, "_make") else tuple(parts)
    if type(thing) is list:
        return [replace(part) for part in thing]
    if type(thing) is dict:
        return {key: replace(part) for key, part in thing.items()}
    if isinstance(thing, functools.partial):
        return functools.partial(replace(thing.func), *map(replace, thing.args),
                                 **{key: replace(part) for key, part in thing.keywords.items()})
    if isinstance(thing, types.FunctionType):
        return thing if _is_of_hocket(thing) else _bound(thing, trace, known)
    if isinstance(thing, types.MethodType) and not _is_of_library(thing):
        return functools.partial(replace(thing.__func__), replace(thing.__self__))
    return _Object(thing, trace, known) if _has_arrays(thing) else thing


def _is_of_hocket(function):
    return str(function.__module__).startswith(f"{__package__}.") and not function.__closure__


def _is_of_library(thing):
    module = str(getattr(thing, "__module__", ""))
    return module.partition(".")[0] in ("torch", "numpy") or f"{module}.".startswith(f"{__package__}.")


def _has_arrays(thing):
    """Whether it is an object of the user's with numpy's arrays as attributes, or in them."""
    def any_of(value, depth):
        if isinstance(value, Mapping):
            return any(any_of(part, depth) for part in value.values())
        if isinstance(value, (tuple, list)):
            return any(any_of(part, depth) for part in value)
        if _tensors.module_of(value) == "numpy":
            return is_tensor(value)
        own = getattr(value, "__dict__", None)
        if isinstance(value, (type, types.ModuleType, types.FunctionType)) or own is None or not depth:
            return False
        return any(any_of(part, depth - 1) for part in list(own.values()))

    return not isinstance(thing, (Value, Captured)) and not _is_of_library(type(thing)) and any_of(thing, 2)


def _bound(function, trace, known):
    """`function` with what it captures replaced."""
    if function in known:
        return known[function]
    known[function] = function  # while it is being replaced: functions that call themselves
    replace = lambda part: replaced(part, trace, known)  # noqa: E731
    globals_ = function.__globals__
    cells = []
    for cell in function.__closure__ or ():
        try:
            content = cell.cell_contents
        except ValueError:  # not filled yet
            cells.append(cell)
            continue
        cells.append(types.CellType(replace(content)))
    if not _is_of_library(function):
        globals_ = dict(globals_)
        for name in function.__code__.co_names:
            if name in globals_:
                globals_[name] = replace(globals_[name])
    defaults = tuple(map(replace, function.__defaults__ or ()))
    made = types.FunctionType(function.__code__, globals_, function.__name__, defaults or None, tuple(cells))
    if function.__kwdefaults__:
        made.__kwdefaults__ = {key: replace(value) for key, value in function.__kwdefaults__.items()}
    made.__qualname__, made.__module__ = function.__qualname__, function.__module__
    known[function] = made
    return made
