// Where named dimensions lie in a flattened index: the first in the lowest bits. Private to the
// library; users speak in names.
#pragma once

#include "Layout/LinearLayout.h"

namespace hocket::flat {

inline uint64_t mask(unsigned bits) {
  return bits >= 64 ? ~uint64_t(0) : (uint64_t(1) << bits) - 1;
}

inline const LayoutDim *find(std::span<const LayoutDim> list, std::string_view name) {
  for (const LayoutDim &dim : list)
    if (dim.name == name)
      return &dim;
  return nullptr;
}

inline unsigned total(std::span<const LayoutDim> list) {
  unsigned sum = 0;
  for (const LayoutDim &dim : list)
    sum += dim.bits;
  return sum;
}

/// The first bit of `name`; the total if it is not there.
inline unsigned start(std::span<const LayoutDim> list, std::string_view name) {
  unsigned sum = 0;
  for (const LayoutDim &dim : list) {
    if (dim.name == name)
      break;
    sum += dim.bits;
  }
  return sum;
}

/// Flattens `coordinates`; unknown names are ignored, bits beyond a dimension's size dropped.
inline uint64_t pack(std::span<const LayoutDim> list, const Coordinates &coordinates) {
  uint64_t packed = 0;
  unsigned shift = 0;
  for (const LayoutDim &dim : list) {
    if (dim.bits)
      packed |= (coordinate(coordinates, dim.name) & mask(dim.bits)) << shift;
    shift += dim.bits;
  }
  return packed;
}

} // namespace hocket::flat
