// Numbers out of arrays of any element type, and back.
#pragma once

#include "Npy.h"

namespace hocket::run {

/// Element `index` as a double; 64-bit integers beyond 2^53 are rounded.
double elementOf(const Array &array, int64_t index);
/// Rounded to the nearest, ties to even, integers within the type's range.
void setElement(Array &array, int64_t index, double value);

/// The same floats in another type of floats.
Array convertFloats(const Array &array, ElementType to);

/// Random numbers: normally distributed floats, integers from -8 (unsigned ones from 0) to 8.
Array randomArray(std::vector<int64_t> shape, ElementType dtype, uint64_t bytes,
                  uint64_t seed);

/// What may lie between found and wanted: absolute + relative * |wanted|.
struct Tolerance {
  double absolute = 0, relative = 0;
};
/// A few roundings of the type; nothing for integers.
Tolerance defaultTolerance(ElementType dtype);

struct Comparison {
  int64_t elements = 0, wrong = 0;
  /// The element with the largest error over what may be, which is infinite where only one of both
  /// is a number; the first of equals. -1: all are exact.
  int64_t worst = -1;
  double found = 0, wanted = 0;
  double ratio = 0; ///< of the worst: error over what may be
};
/// Arrays of as many elements. NaN equals NaN.
Comparison compare(const Array &found, const Array &wanted, Tolerance tolerance);

} // namespace hocket::run
