// Small floats go through APFloat, which knows every format; the rest are the host's own.
#include "Elements.h"

#include "Verify/Random.h"

#include "llvm/ADT/APFloat.h"

#include <cmath>
#include <cstring>
#include <limits>

using namespace hocket;
using namespace hocket::run;
using llvm::APFloat;
using manifest::ElementType;

static const llvm::fltSemantics &semanticsOf(ElementType type) {
  switch (type) {
  case ElementType::BF16:
    return APFloat::BFloat();
  case ElementType::F16:
    return APFloat::IEEEhalf();
  case ElementType::F8E4M3:
    return APFloat::Float8E4M3FN();
  case ElementType::F8E5M2:
    return APFloat::Float8E5M2();
  case ElementType::F32:
    return APFloat::IEEEsingle();
  default:
    return APFloat::IEEEdouble();
  }
}

template <typename T> static T loadAs(const Array &array, int64_t index) {
  T value;
  std::memcpy(&value, array.data.data() + index * static_cast<int64_t>(sizeof(T)), sizeof(T));
  return value;
}

/// Bits of an element, zero-extended.
static uint64_t bitsOf(const Array &array, int64_t index) {
  uint64_t bits = 0;
  uint32_t size = manifest::sizeInBytes(array.dtype);
  std::memcpy(&bits, array.data.data() + index * static_cast<int64_t>(size), size);
  return bits;
}

double run::elementOf(const Array &array, int64_t index) {
  switch (array.dtype) {
  case ElementType::F32:
    return loadAs<float>(array, index);
  case ElementType::F64:
    return loadAs<double>(array, index);
  case ElementType::I8:
    return loadAs<int8_t>(array, index);
  case ElementType::I16:
    return loadAs<int16_t>(array, index);
  case ElementType::I32:
    return loadAs<int32_t>(array, index);
  case ElementType::I64:
    return static_cast<double>(loadAs<int64_t>(array, index));
  case ElementType::U8:
  case ElementType::U16:
  case ElementType::U32:
  case ElementType::U64:
    return static_cast<double>(bitsOf(array, index));
  default:
    break;
  }
  uint32_t width = 8 * manifest::sizeInBytes(array.dtype);
  APFloat value(semanticsOf(array.dtype), llvm::APInt(width, bitsOf(array, index)));
  bool loses;
  value.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &loses);
  return value.convertToDouble();
}

static uint64_t bitsOf(double value, ElementType type) {
  if (manifest::isFloat(type)) {
    APFloat converted(value);
    bool loses;
    converted.convert(semanticsOf(type), APFloat::rmNearestTiesToEven, &loses);
    return converted.bitcastToAPInt().getZExtValue();
  }
  return static_cast<uint64_t>(static_cast<int64_t>(std::nearbyint(value)));
}

void run::setElement(Array &array, int64_t index, double value) {
  uint64_t bits = bitsOf(value, array.dtype);
  uint32_t size = manifest::sizeInBytes(array.dtype);
  std::memcpy(array.data.data() + index * static_cast<int64_t>(size), &bits, size);
}

Array run::convertFloats(const Array &array, ElementType to) {
  Array result{to, array.shape, {}};
  int64_t elements = array.elements();
  result.data.resize(static_cast<size_t>(elements) * manifest::sizeInBytes(to));
  for (int64_t i = 0; i != elements; ++i)
    setElement(result, i, elementOf(array, i));
  return result;
}

Array run::randomArray(std::vector<int64_t> shape, ElementType dtype, uint64_t bytes,
                       uint64_t seed) {
  Array array{dtype, std::move(shape), std::vector<std::byte>(bytes)};
  verify::Generator generator(seed, /*stream=*/0);
  bool isUnsigned = manifest::toString(dtype).front() == 'u';
  for (int64_t i = 0, end = array.elements(); i != end; ++i) {
    double a, b;
    if (manifest::isFloat(dtype))
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
  switch (dtype) {
  case ElementType::F8E4M3:
    return {0.125, 0.125};
  case ElementType::F8E5M2:
    return {0.25, 0.25};
  case ElementType::BF16:
    return {0x1p-6, 0x1p-6};
  case ElementType::F16:
    return {0x1p-9, 0x1p-9};
  case ElementType::F32:
    return {1e-5, 1e-5};
  case ElementType::F64:
    return {1e-12, 1e-12};
  default:
    return {};
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
      !manifest::isFloat(found.dtype) && tolerance.absolute == 0 && tolerance.relative == 0;
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
