"""Operators and functions of traced values: what torch and numpy call them, and what they do there."""
import math

from ._errors import InvalidInput, Unsupported
from ._trace import Several, Value, compare, converted, fitting, promoted, trace_of, value_of


def _limits_of(opcode, a, b):
    """Of an integer result."""
    if opcode in ("maxsi", "minsi"):
        choose = max if opcode == "maxsi" else min
        if a and b:
            return choose(a[0], b[0]), choose(a[1], b[1])
        known = a or b
        if not known:
            return None
        return (known[0], 2**31 - 1) if opcode == "maxsi" else (-(2**31), known[1])
    if a is None or b is None:
        return None
    if opcode == "addi":
        return a[0] + b[0], a[1] + b[1]
    if opcode == "subi":
        return a[0] - b[1], a[1] - b[0]
    products = [x * y for x in a for y in b]
    return min(products), max(products)


def _combine(opcode, a, b):
    """Of two integers."""
    limits = fitting(_limits_of(opcode, a.limits, b.limits), "an integer")
    return a.trace.emit(f"arith.{opcode}", [a, b], "i32", limits)


def _arithmetic(integer, real, truth):
    def combine(left, right):
        trace = trace_of(left, right)
        (a, b), kind = promoted(trace, left, right)
        if kind == "f32":
            return trace.emit(f"arith.{real}", [a, b], "f32")
        if kind == "i32":
            return _combine(integer, a, b)
        if truth is None:
            raise Unsupported("'-' of truth values is not defined, as in torch; use '^', or convert them by .int()")
        return trace.emit(f"arith.{truth}", [a, b], "i1")

    return combine


_add, _subtract, _multiply = (_arithmetic("addi", "addf", "ori"), _arithmetic("subi", "subf", None),
                              _arithmetic("muli", "mulf", "andi"))
minimum, maximum = _arithmetic("minsi", "minimumf", "andi"), _arithmetic("maxsi", "maximumf", "ori")
_fmin, _fmax = _arithmetic("minsi", "minnumf", "andi"), _arithmetic("maxsi", "maxnumf", "ori")


def add(left, right, alpha=1):
    return _add(left, right if alpha == 1 else _multiply(_lifted(left, right), alpha))


def subtract(left, right, alpha=1):
    return _subtract(left, right if alpha == 1 else _multiply(_lifted(left, right), alpha))


def _lifted(beside, operand):
    return value_of(trace_of(beside, operand), operand)


def _real(trace, *operands):
    return [converted(value_of(trace, operand), "f32") for operand in operands]


def _true_divide(left, right):
    trace = trace_of(left, right)
    a, b = _real(trace, left, right)
    return trace.emit("arith.divf", [a, b], "f32")


def where(condition, yes, no):
    """`yes` where `condition` holds, else `no`."""
    trace = trace_of(condition, yes, no)
    condition = converted(value_of(trace, condition), "i1")
    (a, b), kind = promoted(trace, yes, no)
    both = a.limits and b.limits
    limits = (min(a.limits[0], b.limits[0]), max(a.limits[1], b.limits[1])) if both else None
    return trace.emit("arith.select", [condition, a, b], kind, limits, types=kind)


def _math(name):
    def function(operand):
        trace = trace_of(operand)
        return trace.emit(f"math.{name}", _real(trace, operand), "f32")

    return function


(exp, exp2, expm1, log, log2, log10, log1p, sqrt, rsqrt, tanh, erf, sin, cos) = map(_math, (
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "rsqrt", "tanh", "erf", "sin", "cos"))


def _whole(name):
    """To a whole number, which integers are."""
    of_reals = _math(name)

    def function(operand):
        return operand if isinstance(operand, Value) and operand.kind != "f32" else of_reals(operand)

    return function


floor, ceil, trunc, _to_even = map(_whole, ("floor", "ceil", "trunc", "roundeven"))


def round_(operand, decimals=0):
    if decimals:
        raise Unsupported(f"'decimals' is {decimals}, scores are rounded to whole numbers; scale them before and after")
    return _to_even(operand)


def _fused(a, b, c):
    """a * b + c, rounded once."""
    return a.trace.emit("math.fma", [a, b, c], "f32")


def _floor_of_reals(a, b):
    """The quotient rounded down and what remains, of the divisor's sign."""
    quotient = trunc(_true_divide(a, b))
    rest = where(quotient == 0, a, _fused(-quotient, b, a))
    # A quotient that was rounded up leaves something of the other sign.
    over = where(a < 0, rest > 0, rest < 0)
    step = copysign(1.0, quotient)
    quotient, rest = where(over, quotient - step, quotient), where(over, _fused(step, b, rest), rest)
    below = where(b < 0, rest > 0, rest < 0)
    # Infinity has no quotient that is whole: NaN.
    return where(below, quotient - 1.0, quotient) + (a - a), where(below, rest + b, rest)


def _by_constant(a, divisor):
    """Of an integer by a number: the quotient rounded down, and what remains."""
    if divisor < 0:
        quotient, rest = _by_constant(-a, -divisor)
        return quotient, -rest
    trace, number = a.trace, a.trace.constant(divisor, "i32")
    limits = a.limits and (a.limits[0] // divisor, a.limits[1] // divisor)
    if divisor == 1:
        return a, trace.constant(0, "i32")
    if a.counts:
        return (trace.emit("arith.divsi", [a, number], "i32", limits),
                trace.emit("arith.remsi", [a, number], "i32", (0, min(divisor - 1, a.limits[1]))))
    # divsi rounds towards zero.
    lowered = trace.emit("arith.addi", [a, where(a < 0, 1 - divisor, 0)], "i32")
    quotient = trace.emit("arith.divsi", [lowered, number], "i32", limits)
    rest = _combine("subi", a, trace.emit("arith.muli", [quotient, number], "i32"))
    rest.limits = 0, divisor - 1
    return quotient, rest


def _by_value(a, b):
    """Of two integers, by two quotients in floating point, which are at most two off."""
    trace = a.trace
    wrap = lambda op, x, y: trace.emit(f"arith.{op}", [x, y], "i32")  # noqa: E731
    quotient, rest = trace.constant(0, "i32"), a
    for _ in range(2):
        step = converted(_true_divide(rest, b), "i32")
        quotient, rest = wrap("addi", quotient, step), wrap("subi", rest, wrap("muli", step, b))
    for _ in range(2):
        under, over = where(b > 0, rest < 0, rest > 0), where(b > 0, rest >= b, rest <= b)
        step = where(under, -1, where(over, 1, 0))
        quotient, rest = wrap("addi", quotient, step), wrap("subi", rest, wrap("muli", step, b))
    if b.counts:
        rest.limits = 0, max(b.limits[1] - 1, 0)
        quotient.limits = a.limits and (min(a.limits[0], 0), max(a.limits[1], 0))
    return quotient, rest


def _floor_division(left, right):
    trace = trace_of(left, right)
    (a, b), kind = promoted(trace, left, right)
    if kind == "f32":
        return _floor_of_reals(a, b)
    if kind == "i1":
        raise Unsupported("'//' and '%' of truth values are not defined, as in torch; convert them by .int()")
    if b.number is None:
        return _by_value(a, b)
    if b.number == 0:
        raise InvalidInput("an integer of a modification is divided by 0")
    return _by_constant(a, b.number)


def floor_divide(left, right):
    return _floor_division(left, right)[0]


def remainder(left, right):
    return _floor_division(left, right)[1]


def fmod(left, right):
    """What remains of a quotient rounded towards zero: of the dividend's sign."""
    trace = trace_of(left, right)
    (a, b), kind = promoted(trace, left, right)
    rest = remainder(absolute(a), absolute(b))
    return copysign(rest, a) if kind == "f32" else where(a < 0, -rest, rest)


def divide(left, right, rounding_mode=None):
    if rounding_mode == "floor":
        return floor_divide(left, right)
    if rounding_mode == "trunc":
        trace = trace_of(left, right)
        (a, b), kind = promoted(trace, left, right)
        if kind == "f32":
            return trunc(_true_divide(a, b))
        quotient = floor_divide(absolute(a), absolute(b))
        return where((a < 0) ^ (b < 0), -quotient, quotient)
    return _true_divide(left, right)


def _bits(op):
    def combine(left, right):
        trace = trace_of(left, right)
        (a, b), kind = promoted(trace, left, right)
        if kind == "f32":
            raise Unsupported("'&', '|' and '^' are for comparisons and integers, found a score; compare it first")
        limits = None
        if kind == "i32" and op == "andi" and (a.counts or b.counts):
            limits = 0, min(v.limits[1] for v in (a, b) if v.counts)
        elif kind == "i32" and a.counts and b.counts:
            limits = 0, (1 << max(a.limits[1], b.limits[1]).bit_length()) - 1
        return trace.emit(f"arith.{op}", [a, b], kind, limits)

    return combine


bitwise_and, bitwise_or, bitwise_xor = _bits("andi"), _bits("ori"), _bits("xori")


def _logical(op):
    def combine(left, right):
        trace = trace_of(left, right)
        a, b = (converted(value_of(trace, operand), "i1") for operand in (left, right))
        return trace.emit(f"arith.{op}", [a, b], "i1")

    return combine


logical_and, logical_or, logical_xor = _logical("andi"), _logical("ori"), _logical("xori")


def invert(operand):
    if operand.kind == "f32":
        raise Unsupported("'~' is for comparisons and integers, found a score; compare it first")
    return bitwise_xor(operand, True if operand.kind == "i1" else -1)


def logical_not(operand):
    return invert(converted(operand, "i1"))


def _shift(op, integers):
    def shift(left, right):
        trace = trace_of(left, right)
        (a, b), kind = promoted(trace, left, right)
        if kind != "i32":
            raise Unsupported("'<<' and '>>' are for integers; convert the operand by .int()")
        if b.limits is None or not 0 <= b.limits[0] <= b.limits[1] < 32:
            raise Unsupported("an integer is shifted by a number that may not be from 0 to 31; bound it by minimum() and "
                              "maximum()")
        limits = a.limits and sorted(integers(x, y) for x in a.limits for y in b.limits)
        limits = fitting(limits and (limits[0], limits[-1]), "an integer")
        if b.number is not None:
            return trace.emit(f"arith.{op}", [a, b], "i32", limits)
        result = a
        for bit in range(b.limits[1].bit_length()):
            moved = trace.emit(f"arith.{op}", [result, trace.constant(1 << bit, "i32")], "i32")
            result = where(bitwise_and(b, 1 << bit) != 0, moved, result)
        result.limits = limits
        return result

    return shift


shift_left, shift_right = _shift("shli", lambda x, y: x << y), _shift("shrsi", lambda x, y: x >> y)


def absolute(operand):
    trace = trace_of(operand)
    value = value_of(trace, operand)
    if value.kind == "f32":
        return trace.emit("math.absf", [value], "f32")
    value = converted(value, "i32")
    if value.counts:
        return value
    result = maximum(value, _subtract(0, value))
    result.limits = 0, max(abs(limit) for limit in value.limits or (0, 2**31 - 1))
    return result


def negate(operand):
    if operand.kind == "f32":
        return operand.trace.emit("arith.negf", [operand], "f32")
    if operand.kind == "i1":
        raise Unsupported("'-' of a truth value is not defined, as in torch; use '~', or convert it by .int()")
    return _subtract(0, operand)


def copysign(magnitude, sign):
    trace = trace_of(magnitude, sign)
    return trace.emit("math.copysign", _real(trace, magnitude, sign), "f32")


def _repeated(base, exponent):
    """base to the power of a number from 1 on."""
    result, square = None, base
    while exponent:
        if exponent & 1:
            result = square if result is None else _multiply(result, square)
        exponent >>= 1
        if exponent:
            square = _multiply(square, square)
    return result


def _power_of_integers(base, exponent):
    if exponent.number is not None:
        if exponent.number < 0:
            raise Unsupported("an integer to a negative power is not defined, as in torch; convert it by .float()")
        return _repeated(base, exponent.number) if exponent.number else base.trace.constant(1, "i32")
    if exponent.limits is None or not 0 <= exponent.limits[0] <= exponent.limits[1] < 32:
        raise Unsupported("an integer is raised to a power that may not be from 0 to 31; use a floating-point base, as in "
                          "2.0 ** x")
    if base.number == 2:
        return shift_left(1, exponent)
    if base.limits is not None:
        largest = max(map(abs, base.limits)) ** exponent.limits[1]
        fitting((-largest, largest), "an integer power")
    trace, result, square = base.trace, base.trace.constant(1, "i32"), base
    for bit in range(exponent.limits[1].bit_length()):
        product = trace.emit("arith.muli", [result, square], "i32")
        result = where(bitwise_and(exponent, 1 << bit) != 0, product, result)
        square = trace.emit("arith.muli", [square, square], "i32")
    result.limits = None
    return result


def power(base, exponent):
    trace = trace_of(base, exponent)
    (a, b), kind = promoted(trace, base, exponent)
    if kind == "i1":
        a, b, kind = converted(a, "i32"), converted(b, "i32"), "i32"
    if kind == "i32":
        return _power_of_integers(a, b)
    number = b.number
    if number == 0:
        return trace.constant(1.0, "f32")
    if number is not None and number == int(number if math.isfinite(number) else 0) and abs(number) <= 16:
        result = _repeated(a, int(abs(number)))
        return result if number > 0 else _true_divide(1.0, result)
    if number in (0.5, -0.5):
        return sqrt(a) if number > 0 else rsqrt(a)
    if a.number == 2:
        return exp2(b)
    return trace.emit("math.powf", [a, b], "f32")


def clamp(operand, min=None, max=None):  # noqa: A002
    if min is None and max is None:
        raise InvalidInput("clamp() was given neither 'min' nor 'max'")
    result = operand if min is None else maximum(operand, min)
    return result if max is None else minimum(result, max)


def cast(operand, kind=None, *_, dtype=None, **__):
    """torch's and numpy's conversions, as far as there are such types here."""
    kind = dtype if dtype is not None else kind
    if isinstance(kind, Value):
        return converted(operand, kind.kind)
    if hasattr(kind, "dtype"):
        kind = kind.dtype
    text = str(getattr(kind, "__name__", kind)).rpartition(".")[2]
    if text.startswith(("cpu", "cuda", "device")):
        return operand
    for wanted, names in (("f32", ("float32", "float", "f32", "float64", "double")),
                          ("i32", ("int32", "int", "int64", "long", "i32")), ("i1", ("bool", "bool_"))):
        if text in names:
            return converted(operand, wanted)
    if text in ("float16", "half", "bfloat16"):
        narrow = "bf16" if text == "bfloat16" else "f16"
        value = converted(operand, "f32")
        small = value.trace.emit("arith.truncf", [value], narrow, types=f"f32 to {narrow}")
        return value.trace.emit("arith.extf", [small], "f32", types=f"{narrow} to f32")
    raise Unsupported(f"values cannot be converted to '{kind}'; known are float32, float16, bfloat16, int32 and bool")


#: What torch and numpy call these functions; more come from _elementary.
FUNCTIONS = {
    "where": where, "minimum": minimum, "maximum": maximum, "fmin": _fmin, "fmax": _fmax, "abs": absolute,
    "absolute": absolute, "fabs": absolute, "add": add, "sub": subtract, "subtract": subtract,
    "rsub": lambda a, b: _subtract(b, a), "mul": _multiply, "multiply": _multiply, "div": divide, "divide": divide,
    "true_divide": _true_divide, "floor_divide": floor_divide, "neg": negate, "negative": negate, "remainder": remainder,
    "mod": remainder, "fmod": fmod, "logical_and": logical_and, "logical_or": logical_or, "logical_not": logical_not,
    "logical_xor": logical_xor, "bitwise_and": bitwise_and, "bitwise_or": bitwise_or, "bitwise_xor": bitwise_xor,
    "and": bitwise_and, "or": bitwise_or, "xor": bitwise_xor, "invert": invert, "bitwise_not": invert,
    "floordiv": floor_divide, "truediv": _true_divide, "bitwise_left_shift": shift_left,
    "left_shift": shift_left, "lshift": shift_left, "bitwise_right_shift": shift_right,
    "right_shift": shift_right, "rshift": shift_right, "pow": power, "power": power, "float_power": lambda a, b: power(
        converted(_lifted(b, a), "f32"), converted(_lifted(a, b), "f32")), "copysign": copysign, "clamp": clamp, "clip": clamp,
    "to": cast, "astype": cast, "type": cast, "type_as": cast, "exp": exp, "exp2": exp2, "expm1": expm1, "log": log,
    "log2": log2, "log10": log10, "log1p": log1p, "sqrt": sqrt, "rsqrt": rsqrt, "tanh": tanh, "erf": erf, "sin": sin,
    "cos": cos, "floor": floor, "ceil": ceil, "trunc": trunc, "fix": trunc, "round": round_, "rint": round_,
}
for _name, _relation in (("eq", "eq"), ("ne", "ne"), ("lt", "lt"), ("le", "le"), ("gt", "gt"), ("ge", "ge"),
                         ("equal", "eq"), ("not_equal", "ne"), ("less", "lt"), ("less_equal", "le"),
                         ("greater", "gt"), ("greater_equal", "ge")):
    FUNCTIONS[_name] = lambda a, b, relation=_relation: compare(relation, a, b)
for _name in ("float", "double", "half", "bfloat16", "int", "long", "bool"):
    FUNCTIONS[_name] = lambda a, name=_name: cast(a, name)


def method(name):
    """torch's function `name`, which may be that of an operator: __radd__."""
    from . import _elementary, _special, _stacked  # noqa: F401

    own = name.strip("_") if name.startswith("_") else name
    own = own.removeprefix("special_")
    if own in FUNCTIONS:
        return FUNCTIONS[own]
    if own != name and own.startswith("r") and own[1:] in FUNCTIONS:
        return lambda a, b: FUNCTIONS[own[1:]](b, a)
    if own.endswith("_") and own[:-1] in FUNCTIONS:
        raise Unsupported(f"'{name}' writes to a traced value, which cannot be written to; use '{own[:-1]}'")
    raise Unsupported(f"'{name}' cannot be part of a modification; known are {', '.join(sorted(FUNCTIONS))}")


def call(name, arguments, options):
    if any(isinstance(argument, Several) for argument in arguments):
        from ._stacked import of_several

        return of_several(name, arguments, options)
    function = method(name)
    if options.get("inplace") is False:
        options = {key: value for key, value in options.items() if key != "inplace"}
    try:
        return function(*arguments, **options)
    except TypeError as error:
        given = ", ".join([type(a).__name__ for a in arguments] + [f"{key}=" for key in options])
        raise Unsupported(f"'{name}' of ({given}) cannot be part of a modification: {error}") from error


def _operator(name, function):
    setattr(Value, f"__{name}__", lambda self, other: NotImplemented if isinstance(other, Several) else function(self, other))
    setattr(Value, f"__r{name}__", lambda self, other: function(other, self))


for _name, _function in (("add", _add), ("sub", _subtract), ("mul", _multiply), ("truediv", _true_divide),
                         ("floordiv", floor_divide), ("mod", remainder), ("and", bitwise_and), ("or", bitwise_or),
                         ("xor", bitwise_xor), ("pow", power), ("lshift", shift_left), ("rshift", shift_right),
                         ("divmod", _floor_division)):
    _operator(_name, _function)
for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    setattr(Value, f"__{_name}__", lambda self, other, relation=_name: (
        NotImplemented if isinstance(other, Several) else compare(relation, self, other)))
Value.__neg__, Value.__invert__, Value.__abs__, Value.__pos__ = negate, invert, absolute, lambda self: self
Value.__floor__, Value.__ceil__, Value.__trunc__ = floor, ceil, trunc
Value.__round__ = lambda self, digits=0: round_(self, digits or 0)
