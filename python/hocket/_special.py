"""torch's special functions of traced values, within some 1e-6 of their size, or of 1 where they pass through 0.

Polynomials are fitted at Chebyshev's points to torch's functions in float64; the names of further ones are refused with a
reason.
"""
import math

from ._errors import Unsupported
from ._elementary import _float, _polynomial
from ._functions import FUNCTIONS, _fused, absolute, copysign, cos, exp, log, log1p, maximum, minimum, negate, round_, sin, sqrt, where
from ._trace import converted, trace_of, value_of

_LOG_PI = math.log(math.pi)
#: erfcx(x) (1 + x / 2) as a polynomial of 1 / (1 + x / 2) - 1/2, for x from 0 on.
_ERFCX = (0.510791361, 0.687160611, 0.558943152, 0.145775765, -0.172032356, -0.103846125, 0.0979371965, 0.055645939, -0.0769679919,
          -0.0208552796, 0.0436957143, 0.00311677274)
#: erfinv(x) / x: of w - 2.5 for w = -log(1 - x^2) up to 5, of sqrt(w) - 3.2 up to 17, of sqrt(w) - 6.5 beyond.
_ERFINV = ((1.50140941, 0.24664028, -0.00417738827, -0.00125272525, 0.000218345886, -4.97306974e-06, -3.46309298e-06,
            4.68266961e-07, 2.32647999e-08, -8.94141383e-09),
           (3.03363729, 1.00468826, 0.005951114, -0.00424419064, 0.00305627985, -0.00216330332, 0.000937646837, -0.000135985989),
           (6.36459303, 1.00910926, -0.000508836063, -1.05613972e-05, 1.02789918e-05, -2.93306221e-06, 8.68949371e-07,
            -1.26492139e-07))
#: lgamma(x) / ((x - 1)(x - 2)) of x - 2, for x from 1 to 3.
_LGAMMA = (0.422784328, -0.100317299, 0.032965634, -0.0123844901, 0.0049914429, -0.00210474338, 0.000944760744, -0.000419535791,
           0.000129948268, -5.83495712e-05, 7.85106458e-05, -3.66189452e-05)
#: i0(x), and i1(x) / (x / 2), of (x / 2)^2 for x up to 8; beyond, exp(-x) sqrt(x) times them, of 8 / x.
_I0 = ((1.0, 1.0, 0.25000003, 0.0277777258, 0.00173614814, 6.94297851e-05, 1.93245978e-06, 3.88687269e-08, 6.59684307e-10,
        5.22840582e-12, 1.42133701e-13),
       (0.398942292, 0.00623367215, 0.00043612218, 6.54265241e-05, -2.75085199e-06, 1.15907696e-05))
_I1 = ((1.0, 0.50000006, 0.0833332092, 0.00694458326, 0.000347148132, 1.15957482e-05, 2.7186573e-07, 5.29891908e-09, 4.6026679e-11,
        1.44056837e-12),
       (0.398942292, -0.0187006518, -0.000727979699, -8.95094199e-05, 1.64984442e-06, -1.35226101e-05))


def _exp_of_square(x, sign):
    """exp(sign x^2), as exact as exp: the square is rounded, and what that lost put right."""
    square = x * x
    rest = _fused(x, x, -square)
    finite = square < math.inf
    return exp(square * sign) * (1.0 + where(finite, rest, 0.0) * sign)


def _erfcx_of_positive(x):
    t = 1.0 / (1.0 + x * 0.5)
    return t * _polynomial(t - 0.5, _ERFCX)


def erfcx(x):
    x = _float(x)
    right = _erfcx_of_positive(absolute(x))
    return where(x < 0, 2.0 * _exp_of_square(x, 1.0) - right, right)


def erfc(x):
    x = _float(x)
    size = absolute(x)
    tail = _exp_of_square(minimum(size, 11.0), -1.0) * _erfcx_of_positive(size)
    return where(x < 0, 2.0 - tail, tail)


def log_ndtr(x):
    x = _float(x)
    far = log(_erfcx_of_positive(absolute(x) * math.sqrt(0.5)) * 0.5) - x * x * 0.5
    return where(x < -1, far, log1p(erfc(x * math.sqrt(0.5)) * -0.5))


def _erfinv(x, product):
    """Of x, where `product` is 1 - x^2."""
    w = negate(log(product))
    root = sqrt(w)
    near, middle, far = (_polynomial(at, of) for at, of in zip((w - 2.5, root - 3.2, root - 6.5), _ERFINV))
    return x * where(w < 5, near, where(w < 17, middle, far))


def erfinv(x):
    x = _float(x)
    inside = absolute(x) < 1
    made = _erfinv(x, where(inside, (1 - x) * (1 + x), 1.0))
    return where(inside, made, where(absolute(x) == 1, copysign(math.inf, x), math.nan))


def ndtri(p):
    p = _float(p)
    inside = (p > 0) & (p < 1)
    made = math.sqrt(2) * _erfinv(2.0 * p - 1.0, where(inside, 4.0 * p * (1 - p), 1.0))
    return where(inside, made, where(p == 0, -math.inf, where(p == 1, math.inf, math.nan)))


def _lgamma_of_positive(x):
    small = x < 1
    near = where(small, x + 1, x)
    middle = (near - 1) * (near - 2) * _polynomial(near - 2, _LGAMMA)
    inverse = 1.0 / x
    square = inverse * inverse
    series = inverse * _polynomial(square, (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188))
    stirling = (x - 0.5) * (log(x) - 1) + (math.log(2 * math.pi) / 2 - 0.5) + series
    result = where(x < 3, where(small, middle - log(x), middle), stirling)
    return where(x == math.inf, math.inf, result)


def _around(x):
    """pi times what is left of x beside the nearest whole number."""
    return math.pi * (x - round_(x))


def lgamma(x):
    x = _float(x)
    right = _lgamma_of_positive(where(x < 0, 1 - x, x))
    left = _LOG_PI - log(absolute(sin(_around(x)))) - right
    return where(x < 0, where((x == round_(x)) | (x == -math.inf), math.inf, left), right)


def multigammaln(x, p):
    result = p * (p - 1) / 4 * _LOG_PI
    for number in range(p):
        result = result + lgamma(_float(x) - number / 2)
    return result


def digamma(x):
    x = _float(x)
    at, below = where(x < 0, 1 - x, x), 0.0
    for _ in range(6):
        is_small = at < 6
        below = below + where(is_small, 1.0 / at, 0.0)
        at = where(is_small, at + 1, at)
    square = 1.0 / (at * at)
    right = log(at) - 0.5 / at - square * _polynomial(square, (1 / 12, -1 / 120, 1 / 252, -1 / 240)) - below
    angle = _around(x)
    left = where(x == round_(x), math.nan, right - math.pi * cos(angle) / sin(angle))
    return where(x == 0, copysign(math.inf, negate(x)), where(x < 0, left, right))


def _bessel(x, tables, factor):
    """(I(x), exp(-|x|) I(x)) of a function whose series begins with `factor`."""
    x = _float(x)
    size = absolute(x)
    half = minimum(size, 8.0) * 0.5
    near = _polynomial(half * half, tables[0]) * factor(half)
    scaled = _polynomial(8.0 / maximum(size, 8.0), tables[1]) / sqrt(size)
    root = exp(size * 0.5)  # whose square is infinite no earlier than the result
    return where(size <= 8, near, root * scaled * root), where(size <= 8, near * exp(negate(size)), scaled)


def i0(x):
    return _bessel(x, _I0, lambda half: 1.0)[0]


def i0e(x):
    return _bessel(x, _I0, lambda half: 1.0)[1]


def i1(x):
    return copysign(_bessel(x, _I1, lambda half: half)[0], x)


def i1e(x):
    return copysign(_bessel(x, _I1, lambda half: half)[1], x)


def spherical_bessel_j0(x):
    x = _float(x)
    return where(x == 0, 1.0, where(absolute(x) == math.inf, 0.0, sin(x) / where(x == 0, 1.0, x)))


def xlog1py(x, y):
    trace = trace_of(x, y)
    x, y = value_of(trace, x), value_of(trace, y)
    return where(y != y, math.nan, where(x == 0, 0.0, x * log1p(y)))


#: The least number above 0, and what added to a normal number, relatively, rounds to its neighbour away from 0, and
#: subtracted to the one towards 0.
_LEAST, _NEIGHBOUR = 2.0**-149, 1.25 * 2.0**-24


def nextafter(x, y):
    trace = trace_of(x, y)
    x, y = (converted(value_of(trace, operand), "f32") for operand in (x, y))
    grows = where(x < 0, y < x, y > x)  # away from 0
    size = absolute(x)
    step = where(grows, 1.0, -1.0)
    other = where(size < 2.0**-125, size + step * _LEAST, _fused(size, step * _NEIGHBOUR, size))
    moved = copysign(where(size == math.inf, 3.4028234663852886e38, other), x)
    moved = where(x == 0, copysign(_LEAST, y), moved)
    return where((x != x) | (y != y), x + y, where(x == y, y, moved))


#: What is not computed, and why.
_SUMS = "is a sum whose length depends on its arguments"
_REFUSED = {
    **dict.fromkeys(("igamma", "igammac", "gammainc", "gammaincc", "zeta", "polygamma"), _SUMS),
    **{f"{kind}_polynomial_{letter}": _SUMS for kind, letters in (
        ("chebyshev", "tuvw"), ("shifted_chebyshev", "tuvw"), ("hermite", ("h", "he")), ("laguerre", "l"), ("legendre", "p"))
       for letter in letters},
    **dict.fromkeys(("bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "airy_ai", "modified_bessel_k0", "modified_bessel_k1",
                     "scaled_modified_bessel_k0", "scaled_modified_bessel_k1"), "has no approximation here"),
    **dict.fromkeys(("softmax", "log_softmax", "logsumexp", "cumsum", "cumprod"), "takes more than one score"),
}


def _refusing(name, reason):
    def function(*_, **__):
        raise Unsupported(f"'{name}' cannot be part of a modification: it {reason}; put what it gives into a tensor that "
                          f"the function reads")

    return function


FUNCTIONS.update({name: _refusing(name, reason) for name, reason in _REFUSED.items()})
FUNCTIONS.update({
    "erfc": erfc, "erfcx": erfcx, "erfinv": erfinv, "ndtri": ndtri, "log_ndtr": log_ndtr, "ndtr": lambda x: 0.5 * erfc(
        _float(x) * -math.sqrt(0.5)), "lgamma": lgamma, "gammaln": lgamma, "mvlgamma": multigammaln, "multigammaln": multigammaln,
    "digamma": digamma, "psi": digamma, "i0": i0, "i0e": i0e, "i1": i1, "i1e": i1e, "modified_bessel_i0": i0,
    "modified_bessel_i1": i1, "spherical_bessel_j0": spherical_bessel_j0, "xlog1py": xlog1py, "nextafter": nextafter,
})
