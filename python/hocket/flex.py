"""Modifications of scores and masks, written in Python: traced to the text that the compiler takes (docs/Modifications.md).

A `score_mod(score, batch, head, query, key)` gives a score, a `mask_mod(batch, head, query, key)` whether the key is seen. They are
called once with values that record what is done with them: operators, comparisons, `where`, `minimum`, `maximum`, elementary
functions (of this module, of torch or of numpy), and reads of captured tensors at traced places.
"""
import functools
import numbers
import struct
import types

from . import _tensors
from ._errors import InvalidInput, Unsupported

#: The tensors' element types in the text, and what reading one gives.
_ELEMENTS = {"f32": ("f32", "f32"), "f16": ("f16", "f32"), "bf16": ("bf16", "f32"), "i32": ("i32", "i32"),
             "u8": ("i1", "i1"), "i8": ("i8", "i32")}
_UNARY = {"exp": "exp", "exp2": "exp2", "log": "log", "log2": "log2", "sqrt": "sqrt", "rsqrt": "rsqrt", "tanh": "tanh",
          "erf": "erf", "sin": "sin", "cos": "cos", "floor": "floor", "ceil": "ceil", "trunc": "trunc"}


class _Trace:
    """The text as it grows."""

    def __init__(self):
        self.lines, self.captured, self.constants = [], [], {}

    def emit(self, op):
        name = f"%v{len(self.lines)}"
        self.lines.append(f"  {name} = {op}")
        return name

    def constant(self, number, kind):
        key = (kind, number if kind != "f32" else struct.pack("<f", number))
        if key not in self.constants:
            if kind == "i1":
                text = "true" if number else "false"
            elif kind == "i32":
                if not -(1 << 31) <= number < 1 << 31:
                    raise InvalidInput(f"the number {number} has no 32 bits, which integers here have")
                text = f"{number} : i32"
            else:
                text = f"0x{struct.unpack('<I', struct.pack('<f', number))[0]:08X} : f32"
            self.constants[key] = Value(self, self.emit(f"arith.constant {text}"), kind,
                                        counts=kind == "i32" and number >= 0, number=number)
        return self.constants[key]

    def capture(self, tensor):
        for known in self.captured:
            if known.tensor is tensor:
                return known
        captured = Captured(self, tensor, f"captured_{len(self.captured)}")
        self.captured.append(captured)
        return captured


def _value(trace, operand):
    if isinstance(operand, Value):
        return operand
    if isinstance(operand, (bool,)) or type(operand).__name__ == "bool_":
        return trace.constant(bool(operand), "i1")
    if isinstance(operand, numbers.Integral):
        return trace.constant(int(operand), "i32")
    if isinstance(operand, numbers.Real):
        try:
            return trace.constant(float(operand), "f32")
        except OverflowError:
            raise InvalidInput(f"the number {operand} is beyond f32") from None
    raise Unsupported(f"a '{type(operand).__name__}' cannot be part of a modification; use numbers and traced values")


def _to(value, kind):
    if value.kind == kind:
        return value
    trace = value.trace
    if value.number is not None:
        return trace.constant({"f32": float, "i32": int, "i1": bool}[kind](value.number), kind)
    if kind == "f32":
        op = "sitofp" if value.kind == "i32" else "uitofp"
        return Value(trace, trace.emit(f"arith.{op} {value.name} : {value.kind} to f32"), "f32")
    if kind == "i32" and value.kind == "i1":
        return Value(trace, trace.emit(f"arith.extui {value.name} : i1 to i32"), "i32", counts=True)
    raise Unsupported(f"a value of {value.kind} cannot be taken for one of {kind}; compare it, or use where()")


def _common(trace, *operands):
    values = [_value(trace, operand) for operand in operands]
    kinds = {value.kind for value in values}
    kind = "f32" if "f32" in kinds else "i32" if "i32" in kinds else "i1"
    return [_to(value, kind) for value in values], kind


def _trace_of(*operands):
    for operand in operands:
        if isinstance(operand, Value):
            return operand.trace
    raise InvalidInput("no operand is a traced value: these functions are for modifications")


def _arithmetic(integer, real):
    def combine(left, right):
        trace = _trace_of(left, right)
        (a, b), kind = _common(trace, left, right)
        if kind == "i1":
            a, b, kind = _to(a, "i32"), _to(b, "i32"), "i32"
        op = real if kind == "f32" else integer
        counts = kind == "i32" and a.counts and b.counts and integer != "subi"
        if integer == "maxsi":
            counts = kind == "i32" and (a.counts or b.counts)
        return Value(trace, trace.emit(f"arith.{op} {a.name}, {b.name} : {kind}"), kind, counts=counts)

    return combine


_add, _subtract, _multiply = _arithmetic("addi", "addf"), _arithmetic("subi", "subf"), _arithmetic("muli", "mulf")
minimum, maximum = _arithmetic("minsi", "minimumf"), _arithmetic("maxsi", "maximumf")


def _divide(left, right):
    trace = _trace_of(left, right)
    a, b = (_to(_value(trace, operand), "f32") for operand in (left, right))
    return Value(trace, trace.emit(f"arith.divf {a.name}, {b.name} : f32"), "f32")


def _floor_divide(left, right, remainder=False):
    trace = _trace_of(left, right)
    a, b = _value(trace, left), _value(trace, right)
    if "f32" in (a.kind, b.kind):
        quotient = floor(_divide(a, b))
        return _subtract(a, _multiply(quotient, b)) if remainder else quotient
    if b.kind != "i32" or b.number is None or b.number < 1:
        raise Unsupported("'//' and '%' of integers want a number from 1 on to the right; divide by '/' and use floor()")
    a = _to(a, "i32")
    if not a.counts:  # divsi rounds towards zero, Python down
        below = where(_compare("lt", a, 0), 1 - b.number, 0)
        quotient = Value(trace, trace.emit(f"arith.divsi {_add(a, below).name}, {b.name} : i32"), "i32")
    else:
        quotient = Value(trace, trace.emit(f"arith.divsi {a.name}, {b.name} : i32"), "i32", counts=True)
    if not remainder:
        return quotient
    if a.counts:
        return Value(trace, trace.emit(f"arith.remsi {a.name}, {b.name} : i32"), "i32", counts=True)
    return _subtract(a, _multiply(quotient, b))


def _compare(relation, left, right):
    trace = _trace_of(left, right)
    (a, b), kind = _common(trace, left, right)
    if kind == "f32":
        op = f"cmpf {'une' if relation == 'ne' else 'o' + relation},"
    else:
        if kind == "i1":
            a, b, kind = _to(a, "i32"), _to(b, "i32"), "i32"
        op = f"cmpi {relation if relation in ('eq', 'ne') else 's' + relation},"
    return Value(trace, trace.emit(f"arith.{op} {a.name}, {b.name} : {kind}"), "i1")


def _bits(op):
    def combine(left, right):
        trace = _trace_of(left, right)
        (a, b), kind = _common(trace, left, right)
        if kind == "f32":
            raise Unsupported("'&', '|' and '^' are for comparisons and integers, found a score; compare it first")
        return Value(trace, trace.emit(f"arith.{op} {a.name}, {b.name} : {kind}"), kind)

    return combine


_and, _or, _xor = _bits("andi"), _bits("ori"), _bits("xori")


def where(condition, yes, no):
    """`yes` where `condition` holds, else `no`."""
    trace = _trace_of(condition, yes, no)
    condition = _value(trace, condition)
    if condition.kind != "i1":
        condition = _compare("ne", condition, 0)
    (a, b), kind = _common(trace, yes, no)
    name = trace.emit(f"arith.select {condition.name}, {a.name}, {b.name} : {kind}")
    return Value(trace, name, kind, counts=a.counts and b.counts)


def _elementary(name):
    def function(operand):
        trace = _trace_of(operand)
        value = _to(_value(trace, operand), "f32")
        return Value(trace, trace.emit(f"math.{name} {value.name} : f32"), "f32")

    function.__name__ = name
    return function


exp, exp2, log, log2, sqrt, rsqrt, tanh, erf, sin, cos, floor, ceil, trunc = map(_elementary, _UNARY.values())


def absolute(operand):
    trace = _trace_of(operand)
    value = _value(trace, operand)
    if value.kind == "f32":
        return Value(trace, trace.emit(f"math.absf {value.name} : f32"), "f32")
    value = _to(value, "i32")
    return maximum(value, _subtract(0, value))


def _negate(operand):
    if operand.kind == "f32":
        return Value(operand.trace, operand.trace.emit(f"arith.negf {operand.name} : f32"), "f32")
    return _subtract(0, operand)


def _invert(operand):
    return _xor(operand, True) if operand.kind == "i1" else _xor(operand, -1)


def _power(base, exponent):
    if isinstance(exponent, numbers.Integral) and 1 <= exponent <= 16:
        result = base
        for _ in range(exponent - 1):
            result = _multiply(result, base)
        return result
    return exp2(_multiply(log2(_value(_trace_of(base, exponent), base)), exponent))


#: What torch and numpy call these functions.
_FUNCTIONS = {
    "where": where, "minimum": minimum, "maximum": maximum, "abs": absolute, "absolute": absolute, "add": _add,
    "sub": _subtract, "subtract": _subtract, "mul": _multiply, "multiply": _multiply, "div": _divide,
    "divide": _divide, "true_divide": _divide, "floor_divide": _floor_divide, "neg": _negate, "negative": _negate,
    "remainder": lambda a, b: _floor_divide(a, b, True), "logical_and": _and, "logical_or": _or, "logical_not": _invert,
    "logical_xor": _xor, "bitwise_and": _and, "bitwise_or": _or, "invert": _invert, "bitwise_not": _invert,
    "pow": _power, "power": _power, **{name: globals()[name] for name in _UNARY},
}
for _name, _relation in (("eq", "eq"), ("ne", "ne"), ("lt", "lt"), ("le", "le"), ("gt", "gt"), ("ge", "ge"),
                         ("equal", "eq"), ("not_equal", "ne"), ("less", "lt"), ("less_equal", "le"),
                         ("greater", "gt"), ("greater_equal", "ge")):
    _FUNCTIONS[_name] = lambda a, b, relation=_relation: _compare(relation, a, b)


def _foreign(name, arguments, options):
    function = _FUNCTIONS.get(name.strip("_"))
    if function is None or options:
        known = ", ".join(sorted(key for key in _FUNCTIONS if not key.startswith("_")))
        raise Unsupported(f"'{name}' cannot be part of a modification; known are {known}")
    return function(*arguments)


class Value:
    """What a modification computes with: a number that is known when the kernel runs."""

    __array_priority__ = 1000

    def __init__(self, trace, name, kind, counts=False, number=None):
        self.trace, self.name, self.kind = trace, name, kind
        self.counts = counts  # an integer that is never negative
        self.number = number  # of a constant

    def __bool__(self):
        raise Unsupported(
            "whether a traced value holds is not known while the function is traced ('if', 'and', 'or', 'not', min(), max(), "
            "chained comparisons); use where(), '&', '|', '~', minimum() and maximum()"
        )

    def _as_number(self, *_):
        raise Unsupported("a traced value is not a number of Python's yet; indices of tensors must be of captured ones")

    __index__ = __int__ = __float__ = __round__ = __len__ = __iter__ = _as_number

    def __getitem__(self, index):
        raise Unsupported("a traced value is one number and has no elements")

    __hash__ = object.__hash__

    @classmethod
    def __torch_function__(cls, function, kinds, arguments=(), options=None):
        return _foreign(getattr(function, "__name__", str(function)), arguments, options)

    def __array_ufunc__(self, function, method, *arguments, **options):
        return _foreign(function.__name__, arguments, options if method == "__call__" else {"method": method})

    def __array_function__(self, function, kinds, arguments, options):
        return _foreign(function.__name__, arguments, options)

    def to(self, kind):
        """torch's and numpy's conversions, as far as there are such types here."""
        text = str(getattr(kind, "__name__", kind)).rpartition(".")[2]
        for wanted, names in (("f32", ("float32", "float", "f32")), ("i32", ("int32", "int", "int64", "long", "i32")),
                              ("i1", ("bool",))):
            if text in names:
                return _compare("ne", self, 0) if wanted == "i1" and self.kind != "i1" else _to(self, wanted)
        raise Unsupported(f"values cannot be converted to '{kind}'; known are float32, int32 and bool")

    astype = type = to

    def float(self):
        return _to(self, "f32")


def _operator(name, function):
    setattr(Value, f"__{name}__", lambda self, other: function(self, other))
    setattr(Value, f"__r{name}__", lambda self, other: function(other, self))


for _name, _function in (("add", _add), ("sub", _subtract), ("mul", _multiply), ("truediv", _divide),
                         ("floordiv", _floor_divide), ("mod", lambda a, b: _floor_divide(a, b, True)), ("and", _and),
                         ("or", _or), ("xor", _xor), ("pow", _power)):
    _operator(_name, _function)
for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    setattr(Value, f"__{_name}__", lambda self, other, relation=_name: _compare(relation, self, other))
Value.__neg__, Value.__invert__, Value.__abs__ = _negate, _invert, absolute
for _name in (*_UNARY, "abs", "minimum", "maximum"):
    setattr(Value, _name, _FUNCTIONS[_name])


class Captured:
    """A tensor that a modification reads, at places that it computes."""

    def __init__(self, trace, tensor, name, given=()):
        self.trace, self.tensor, self.name, self.given = trace, tensor, name, given
        self.shape = tuple(tensor.shape)

    def __getitem__(self, index):
        given = (*self.given, *(index if isinstance(index, tuple) else (index,)))
        if len(given) > len(self.shape):
            raise InvalidInput(f"a captured tensor of shape {self.shape} is read at {len(given)} indices")
        if len(given) < len(self.shape):
            return Captured(self.trace, self.tensor, self.name, given)
        places = [_value(self.trace, place) for place in given]
        for place in places:
            if place.kind != "i32" or (place.number or 0) < 0:
                raise Unsupported("captured tensors are read at integers from 0 on; slices, masks and counting from the end "
                                  "cannot be traced")
        element, kind = _ELEMENTS[_element_type(self.tensor)]
        kind_of_tensor = f"tensor<{'?x' * len(places)}{element}>"
        names = ", ".join(place.name for place in places)
        return Value(self.trace, self.trace.emit(f"attn.read %{self.name}[{names}] : {kind_of_tensor} -> {kind}"), kind)


def _element_type(tensor):
    text = str(tensor.dtype).rpartition(".")[2]
    found = {"float32": "f32", "float64": "f32", "float": "f32", "double": "f32", "float16": "f16", "half": "f16",
             "bfloat16": "bf16", "int32": "i32", "int64": "i32", "int16": "i32", "uint8": "i32", "int8": "i8",
             "bool": "u8"}.get(text)
    if found is None:
        raise InvalidInput(f"a captured tensor has elements of {text}, wanted float32, float16, bfloat16, int32, int8 or bool")
    return found


def _is_tensor(thing):
    return (_tensors.is_torch(thing) or _tensors.module_of(thing) == "numpy") and hasattr(thing, "dtype") and hasattr(
        thing, "shape")


def _replace(thing, trace, known):
    """What a function has captured: tensors become readable by traced values, functions are replaced in turn."""
    if _is_tensor(thing):
        return thing.item() if len(thing.shape) == 0 else trace.capture(thing)
    if isinstance(thing, (tuple, list)):
        return type(thing)(_replace(part, trace, known) for part in thing)
    if isinstance(thing, functools.partial):
        parts = (_replace(thing.args, trace, known), {k: _replace(v, trace, known) for k, v in thing.keywords.items()})
        return functools.partial(_replace(thing.func, trace, known), *parts[0], **parts[1])
    if isinstance(thing, types.FunctionType) and thing.__module__ != __name__ and thing.__module__ not in (
            "torch", "numpy") and not str(thing.__module__).startswith(("torch.", "numpy.")):
        return _bound(thing, trace, known)
    return thing


def _bound(function, trace, known):
    """`function` with what it captures replaced."""
    if function in known:
        return known[function]
    known[function] = function  # while it is being replaced: functions that call themselves
    names = function.__code__.co_names
    globals_ = dict(function.__globals__)
    cells = []
    for cell in function.__closure__ or ():
        cells.append(types.CellType(_replace(cell.cell_contents, trace, known)))
    for name in names:
        if name in globals_ and name not in function.__code__.co_freevars:
            globals_[name] = _replace(globals_[name], trace, known)
    defaults = tuple(_replace(value, trace, known) for value in function.__defaults__ or ())
    known[function] = types.FunctionType(function.__code__, globals_, function.__name__, defaults or None, tuple(cells))
    known[function].__kwdefaults__ = function.__kwdefaults__
    return known[function]


class Modification:
    """A traced function: its text, and the tensors that it reads, by name."""

    def __init__(self, text, tensors):
        self.text, self.tensors = text, tensors


def _sizes(shape, sizes):
    """Extents as variables of the problem where they are the same, so that other lengths need no other kernel."""
    names = {extent: name for name, extent in sizes.items()}
    return [f'"{names.get(extent, extent) if extent != 1 else 1}"' for extent in shape]


def trace(function, name, is_mask, sizes, prefix=""):
    """`function`, the argument `name`, for a problem whose variables are `sizes`."""
    if not callable(function):
        raise InvalidInput(f"argument '{name}' is a '{type(function).__name__}', wanted a function")
    record = _Trace()
    own = ["batch", "head", "query", "key"]
    arguments = [Value(record, f"%{word}", "i32", counts=True) for word in own]
    if not is_mask:
        arguments.insert(0, Value(record, "%score", "f32"))
    bound = _replace(function, record, {})
    result = bound(*arguments)
    if result is None:
        raise InvalidInput(f"argument '{name}' is a function that returns nothing")
    result = _value(record, result)
    if result.kind == "i1" and not is_mask:
        raise InvalidInput(f"argument '{name}' gives whether something holds, wanted a score; use where(), or a mask_mod")
    if result.kind == "f32" and is_mask:
        raise InvalidInput(f"argument '{name}' gives a number, wanted whether a key is seen; compare it")
    result = _to(_compare("ne", result, 0), "i1") if is_mask and result.kind == "i32" else _to(result, "i1" if is_mask else "f32")
    header = [f"%{word}: i32" for word in own]
    tensors = {}
    for captured in record.captured:
        element, _ = _ELEMENTS[_element_type(captured.tensor)]
        extents = ", ".join(_sizes(captured.shape, sizes))
        header.append(f"%{captured.name}: tensor<{'?x' * len(captured.shape)}{element}> "
                      f'{{attn.bind = "{prefix}{captured.name}", attn.sizes = [{extents}]}}')
        tensors[prefix + captured.name] = captured.tensor
    if not is_mask:
        header.insert(0, "%score: f32")
    kind = "mask" if is_mask else "score"
    lines = [f"attn.{kind}_mod @{name}({', '.join(header)}) {{", *record.lines,
             f"  attn.yield {result.name} : {result.kind}", "}"]
    return Modification("\n".join(lines) + "\n", tensors)


def and_masks(*mask_mods):
    """The predicate that a key is seen if all of `mask_mods` say so."""

    def all_of(batch, head, query, key):
        result = True
        for mask_mod in mask_mods:
            result = mask_mod(batch, head, query, key) & result
        return result

    return all_of


def or_masks(*mask_mods):
    """The predicate that a key is seen if any of `mask_mods` says so."""

    def any_of(batch, head, query, key):
        result = False
        for mask_mod in mask_mods:
            result = mask_mod(batch, head, query, key) | result
        return result

    return any_of
