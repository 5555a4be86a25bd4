"""Floats of 8 and 4 bits by definition, in numpy: the number of each pattern, and the pattern of the nearest one."""
import numpy

#: Bits of exponent and mantissa, and whether the largest exponent is of infinity and NaN, of NaN alone, or of numbers.
_FORMATS = {"e4m3": (4, 3, "nan"), "e5m2": (5, 2, "ieee"), "e2m1": (2, 1, "none")}


def numbers(name):
    """The numbers of all patterns, in their order."""
    exponent_bits, mantissa_bits, specials = _FORMATS[name]
    bias, count = 2 ** (exponent_bits - 1) - 1, 2 ** (exponent_bits + mantissa_bits)
    exponent, mantissa = numpy.divmod(numpy.arange(count), 2**mantissa_bits)
    fraction = numpy.where(exponent == 0, 0, 1) + mantissa / 2**mantissa_bits
    values = fraction * 2.0 ** (numpy.maximum(exponent, 1) - bias)
    if specials == "nan":
        values[-1] = numpy.nan
    if specials == "ieee":
        values[-(2**mantissa_bits):] = numpy.nan
        values[-(2**mantissa_bits)] = numpy.inf
    return numpy.concatenate([values, -values])


def largest(name):
    values = numbers(name)
    return values[numpy.isfinite(values)].max()


def rounding(name):
    """A function to the patterns of the nearest numbers, of two the even one; beyond the largest, infinities among it, that.
    Of NaN it is a NaN, of a format without such 0."""
    values = numbers(name)
    values = values[: len(values) // 2]
    finite = values[numpy.isfinite(values)]
    sign_bit, nan = len(values), int(numpy.isnan(values).argmax()) if numpy.isnan(values).any() else 0
    if name == "e5m2":
        nan = 0x7F  # what the chip makes of any
    middles = (finite[1:] + finite[:-1]) / 2

    def rounded(x):
        magnitude = numpy.abs(numpy.asarray(x, numpy.float64))
        # A middle itself goes to the pattern whose last bit is 0.
        at = numpy.searchsorted(middles, magnitude, "left")
        is_middle = (at < len(middles)) & (middles[numpy.minimum(at, len(middles) - 1)] == magnitude)
        at = numpy.where(is_middle & (at % 2 == 1), at + 1, at)
        at = numpy.where(numpy.isnan(magnitude), nan, numpy.minimum(at, len(finite) - 1))
        return (at | numpy.where(numpy.signbit(x), sign_bit, 0)).astype("uint8")

    return rounded
