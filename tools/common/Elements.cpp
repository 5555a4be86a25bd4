// Numbers of arrays, by the table of element types.
#include "Elements.h"

#include "Verify/Random.h"

#include <cmath>
#include <cstring>
#include <limits>

using namespace hocket;
using namespace hocket::run;

/// Bits of an element, zero-extended.
static uint64_t bitsOf(const Array &array, int64_t index) {
  uint64_t bits = 0;
  int64_t size = bytesOf(array.dtype);
  std::memcpy(&bits, array.data.data() + index * size, static_cast<size_t>(size));
  return bits;
}

double run::elementOf(const Array &array, int64_t index) { return decode(array.dtype, bitsOf(array, index)); }

void run::setElement(Array &array, int64_t index, double value) {
  uint64_t bits = encode(array.dtype, value);
  int64_t size = bytesOf(array.dtype);
  std::memcpy(array.data.data() + index * size, &bits, static_cast<size_t>(size));
}

Array run::convertFloats(const Array &array, ElementType to) {
  Array result{to, array.shape, {}};
  int64_t elements = array.elements();
  result.data.resize(static_cast<size_t>(elements * bytesOf(to)));
  for (int64_t i = 0; i != elements; ++i)
    setElement(result, i, elementOf(array, i));
  return result;
}

Array run::randomArray(std::vector<int64_t> shape, ElementType dtype, uint64_t bytes,
                       uint64_t seed) {
  Array array{dtype, std::move(shape), std::vector<std::byte>(bytes)};
  verify::Generator generator(seed, /*stream=*/0);
  bool isUnsigned = !infoOf(dtype).isSigned;
  for (int64_t i = 0, end = array.elements(); i != end; ++i) {
    double a, b;
    if (isFloat(dtype))
      generator.normalPair(static_cast<uint64_t>(i) / 2, a, b);
    else
      a = b =
          static_cast<double>(generator.bits(static_cast<uint64_t>(i)) % (isUnsigned ? 9 : 17)) -
          (isUnsigned ? 0 : 8);
    setElement(array, i, i % 2 == 0 ? a : b);
  }
  return array;
}

Tolerance run::defaultTolerance(ElementType dtype) {
  const ElementTypeInfo &info = infoOf(dtype);
  if (!info.isFloat())
    return {};
  auto ofBoth = [](double tolerance) { return Tolerance{tolerance, tolerance}; };
  switch (info.bits) {
  case 64:
    return ofBoth(1e-12);
  case 32:
    return ofBoth(1e-5);
  case 16:
    return ofBoth(std::ldexp(1.0, 1 - info.mantissaBits));
  default:
    return ofBoth(std::ldexp(1.0, -info.mantissaBits));
  }
}

/// Error over what may be; infinite where only one of both is a number, or no error may be.
static double ratioOf(double found, double wanted, Tolerance tolerance) {
  if (found == wanted || (std::isnan(found) && std::isnan(wanted)))
    return 0;
  double error = std::abs(found - wanted);
  if (!std::isfinite(error))
    return std::numeric_limits<double>::infinity();
  double allowed = tolerance.absolute + tolerance.relative * std::abs(wanted);
  return allowed > 0 ? error / allowed : std::numeric_limits<double>::infinity();
}

/// An integer that no double holds is compared as it is.
static bool sameBits(const Array &a, const Array &b, int64_t index) {
  return a.dtype == b.dtype && bitsOf(a, index) == bitsOf(b, index);
}

Comparison run::compare(const Array &found, const Array &wanted, Tolerance tolerance) {
  Comparison result;
  result.elements = found.elements();
  bool exact =
      !isFloat(found.dtype) && tolerance.absolute == 0 && tolerance.relative == 0;
  for (int64_t i = 0; i != result.elements; ++i) {
    double a = elementOf(found, i), b = elementOf(wanted, i);
    double ratio = ratioOf(a, b, tolerance);
    if (exact && ratio == 0 && found.dtype == wanted.dtype && !sameBits(found, wanted, i))
      ratio = std::numeric_limits<double>::infinity();
    result.wrong += ratio > 1;
    if (ratio <= result.ratio)
      continue;
    result.worst = i, result.found = a, result.wanted = b, result.ratio = ratio;
  }
  return result;
}
