"""Functions of traced values that are made of others, accurate to some units in the last place of f32.

The names are torch's; arguments are f32, and results are as torch's on f32 tensors, infinities and NaN included.
"""
import math

from ._functions import (FUNCTIONS, absolute, cast, copysign, cos, divide, erf, exp, expm1, log, log1p, maximum, minimum, negate,
                         sin, sqrt, tanh, trunc, where)
from ._trace import converted, trace_of, value_of

_PI, _LN2 = math.pi, math.log(2)


def _float(operand):
    return converted(value_of(trace_of(operand), operand), "f32")


def tan(x):
    return sin(x) / cos(x)


#: atan(x) / x as a polynomial of x squared, for x up to tan(pi / 8), fitted at Chebyshev's points: within 7e-10.
_ATAN = (1.0, -0.33333307, 0.19998183, -0.14239512, 0.10569589, -0.060255123)


def _polynomial(x, coefficients):
    result = coefficients[-1]
    for coefficient in coefficients[-2::-1]:
        result = x * result + coefficient
    return result


def atan(x):
    """By atan(x) = pi/2 - atan(1/x), and atan(x) = pi/4 + atan((x - 1) / (x + 1))."""
    x = _float(x)
    size = absolute(x)
    large, middle = size > 1 + math.sqrt(2), size > math.sqrt(2) - 1
    reduced = where(large, -1.0 / size, where(middle, (size - 1) / (size + 1), size))
    begin = where(large, _PI / 2, where(middle, _PI / 4, 0.0))
    return copysign(begin + reduced * _polynomial(reduced * reduced, _ATAN), x)


def atan2(y, x):
    trace = trace_of(y, x)
    y, x = (converted(value_of(trace, operand), "f32") for operand in (y, x))
    # Two infinities, or two zeros, have no quotient.
    equal = (absolute(x) == absolute(y)) & (absolute(x) == math.inf)
    ratio = where(equal, 1.0, absolute(y) / absolute(x))
    angle = where((x == 0) & (y == 0), 0.0, atan(ratio))
    is_left = copysign(1.0, x) < 0
    angle = copysign(where(is_left, _PI - angle, angle), y)
    return where((x != x) | (y != y), x + y, angle)


def asin(x):
    x = _float(x)
    return atan(x / sqrt((1 - x) * (1 + x)))


def acos(x):
    x = _float(x)
    return 2 * atan(sqrt((1 - x) / (1 + x)))


def sinh(x):
    x = _float(x)
    size = absolute(x)
    half = exp(size / 2)  # whose square is infinite no earlier than the result
    small = expm1(size)
    return copysign(where(size < 1, (small + small / (small + 1)) / 2, half / 2 * half - 0.5 / half / half), x)


def cosh(x):
    half = exp(absolute(_float(x)) / 2)
    return half / 2 * half + 0.5 / half / half


def asinh(x):
    x = _float(x)
    size = absolute(x)
    near = minimum(size, 1e9)  # whose square f32 holds
    result = log1p(near + near * near / (1 + sqrt(near * near + 1)))
    return copysign(where(size > 1e9, log(size) + _LN2, result), x)


def acosh(x):
    x = _float(x)
    excess = minimum(x, 1e9) - 1
    result = where(x > 1e9, log(x) + _LN2, log1p(excess + sqrt(excess * (excess + 2))))
    return where(x < 1, math.nan, result)


def atanh(x):
    x = _float(x)
    return log1p(2 * x / (1 - x)) / 2


def sigmoid(x):
    return 1 / (1 + exp(negate(_float(x))))


def log_sigmoid(x):
    x = _float(x)
    return minimum(x, 0.0) - log1p(exp(-absolute(x)))


def softplus(x, beta=1, threshold=20):
    scaled = _float(x) * beta
    return where(scaled > threshold, x, (maximum(scaled, 0.0) + log1p(exp(-absolute(scaled)))) / beta)


def relu(x):
    return maximum(x, 0)


def silu(x):
    return x * sigmoid(x)


def gelu(x, approximate="none"):
    x = _float(x)
    if approximate == "tanh":
        return 0.5 * x * (1 + tanh(math.sqrt(2 / _PI) * (x + 0.044715 * x * x * x)))
    return 0.5 * x * (1 + erf(x * math.sqrt(0.5)))


def leaky_relu(x, negative_slope=0.01):
    return where(x > 0, x, _float(x) * negative_slope)


def elu(x, alpha=1.0):
    return where(x > 0, x, alpha * expm1(x))


def celu(x, alpha=1.0):
    return where(x > 0, x, alpha * expm1(_float(x) / alpha))


def selu(x):
    return 1.0507009873554805 * elu(_float(x), 1.6732632423543772)


def mish(x):
    return x * tanh(softplus(x))


def hardtanh(x, min_val=-1.0, max_val=1.0):
    return minimum(maximum(x, min_val), max_val)


def hardsigmoid(x):
    return hardtanh(_float(x) / 6 + 0.5, 0.0, 1.0)


def hardswish(x):
    return x * hardsigmoid(x)


def hardshrink(x, lambd=0.5):
    return where((x > lambd) | (x < -lambd) | (x != x), x, 0.0)


def softshrink(x, lambd=0.5):
    x = _float(x)
    return where(x > lambd, x - lambd, where(x < -lambd, x + lambd, where(x != x, x, 0.0)))


def threshold(x, threshold, value):  # noqa: A002
    return where(x <= threshold, converted(value_of(x.trace, value), x.kind), x)


def sinc(x):
    angle = _float(x) * _PI
    return where(angle == 0, 1.0, sin(angle) / where(angle == 0, 1.0, angle))


def logit(x, eps=None):
    x = _float(x)
    x = x if eps is None else hardtanh(x, eps, 1 - eps)
    return log(x / (1 - x))


def ldexp(x, exponent):
    return _float(x) * FUNCTIONS["exp2"](_float(exponent))


def heaviside(x, at_zero):
    return where(x == 0, at_zero, where(x > 0, 1.0, 0.0))


def entr(x):
    x = _float(x)
    return where(x != x, x, where(x < 0, -math.inf, -xlogy(x, x)))


def sign(x):
    trace = trace_of(x)
    x = value_of(trace, x)
    if x.kind == "i1":
        return x
    result = where(x > 0, 1, where(x < 0, -1, 0))
    # NaN has none, in torch 0.
    return converted(result, x.kind)


def square(x):
    return x * x


def frac(x):
    return x - trunc(x)


def hypot(a, b):
    trace = trace_of(a, b)
    a, b = (absolute(converted(value_of(trace, operand), "f32")) for operand in (a, b))
    large, small = maximum(a, b), minimum(a, b)
    ratio = where(large == 0, 0.0, small / large)
    result = large * sqrt(1 + ratio * ratio)
    return where((a == math.inf) | (b == math.inf), math.inf, result)


def logaddexp(a, b):
    trace = trace_of(a, b)
    (a, b) = (converted(value_of(trace, operand), "f32") for operand in (a, b))
    largest = maximum(a, b)
    return where(a == b, a + _LN2, largest + log1p(exp(-absolute(a - b))))


def logaddexp2(a, b):
    trace = trace_of(a, b)
    (a, b) = (converted(value_of(trace, operand), "f32") for operand in (a, b))
    return where(a == b, a + 1.0, maximum(a, b) + log1p(FUNCTIONS["exp2"](-absolute(a - b))) * (1 / _LN2))


def isnan(x):
    return x != x if x.kind == "f32" else x.trace.constant(False, "i1")


def isinf(x):
    return absolute(x) == math.inf if x.kind == "f32" else x.trace.constant(False, "i1")


def isfinite(x):
    return absolute(x) < math.inf if x.kind == "f32" else x.trace.constant(True, "i1")


def nan_to_num(x, nan=0.0, posinf=None, neginf=None):
    if x.kind != "f32":
        return x
    largest = 3.4028234663852886e38
    x = where(x != x, nan or 0.0, x)
    x = where(x == math.inf, largest if posinf is None else posinf, x)
    return where(x == -math.inf, -largest if neginf is None else neginf, x)


def signbit(x):
    return copysign(1.0, x) < 0 if x.kind == "f32" else x < 0


def xlogy(x, y):
    trace = trace_of(x, y)
    x, y = value_of(trace, x), value_of(trace, y)
    return where(y != y, math.nan, where(x == 0, 0.0, x * log(y)))


def lerp(start, end, weight):
    return start + weight * (end - start)


def _filled(number):
    def function(like, *_, dtype=None, **__):
        value = like.trace.constant(number, "i32")
        return cast(value, dtype) if dtype is not None else converted(value, like.kind)

    return function


def full(like, size, fill_value=None, *_, dtype=None, **__):
    fill_value = size if fill_value is None else fill_value
    value = value_of(like.trace, fill_value)
    return cast(value, dtype) if dtype is not None else converted(value, like.kind)


def same(x, *_, **__):
    return x


FUNCTIONS.update({
    "tan": tan, "atan": atan, "arctan": atan, "atan2": atan2, "arctan2": atan2, "asin": asin, "arcsin": asin, "acos": acos,
    "arccos": acos, "sinh": sinh, "cosh": cosh, "asinh": asinh, "arcsinh": asinh, "acosh": acosh, "arccosh": acosh,
    "atanh": atanh, "arctanh": atanh, "sigmoid": sigmoid, "expit": sigmoid, "logsigmoid": log_sigmoid, "log_sigmoid": log_sigmoid,
    "softplus": softplus, "relu": relu, "silu": silu, "gelu": gelu, "leaky_relu": leaky_relu, "elu": elu, "sign": sign,
    "sgn": sign, "square": square, "reciprocal": lambda x: divide(1.0, x), "frac": frac, "hypot": hypot,
    "logaddexp": logaddexp, "logaddexp2": logaddexp2, "isnan": isnan, "isinf": isinf, "isfinite": isfinite,
    "nan_to_num": nan_to_num, "signbit": signbit, "xlogy": xlogy, "lerp": lerp,
    "clamp_min": maximum, "clamp_max": minimum, "rad2deg": lambda x: _float(x) * (180 / _PI),
    "deg2rad": lambda x: _float(x) * (_PI / 180), "positive": same, "clone": same, "contiguous": same, "detach": same,
    "view": same, "reshape": same, "squeeze": same, "expand": same, "expand_as": same, "ones_like": _filled(1),
    "zeros_like": _filled(0), "new_ones": lambda x, size, **k: _filled(1)(x, **k),
    "new_zeros": lambda x, size, **k: _filled(0)(x, **k), "full_like": lambda x, fill, **k: full(x, fill, **k),
    "new_full": full, "dim": lambda x: 0, "numel": lambda x: 1, "size": lambda x: (), "mean": same, "sum": same,
    "addcmul": lambda x, a, b, value=1: x + value * a * b, "addcdiv": lambda x, a, b, value=1: x + value * a / b,
    "celu": celu, "selu": selu, "mish": mish, "hardtanh": hardtanh, "hardsigmoid": hardsigmoid, "hardswish": hardswish,
    "hardshrink": hardshrink, "softshrink": softshrink, "threshold": threshold, "sinc": sinc, "logit": logit, "ldexp": ldexp,
    "heaviside": heaviside, "entr": entr, "relu6": lambda x: hardtanh(x, 0.0, 6.0),
    "softsign": lambda x: _float(x) / (1 + absolute(_float(x))), "tanhshrink": lambda x: x - tanh(x),
    "isposinf": lambda x: x == math.inf if x.kind == "f32" else x.trace.constant(False, "i1"),
    "isneginf": lambda x: x == -math.inf if x.kind == "f32" else x.trace.constant(False, "i1"),
    "masked_fill": lambda x, mask, value: where(mask, converted(value_of(x.trace, value), x.kind), x),
})
