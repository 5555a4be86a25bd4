// f16 and bf16 as bits, converted in integer arithmetic so that every host instruction set gives
// the same bits and loops over lanes vectorise without F16C.
#pragma once

#include "../HostIsa.h"

#include <cstdint>

namespace hocket::sim::HOCKET_SIM_ISA {

/// An IEEE binary16 value.
struct Half {
  uint16_t bits;
};

/// Exact. A signalling NaN comes out quiet, as the hardware's conversions do.
HOCKET_SIM_INLINE float halfToFloat(Half h) {
  uint32_t sign = uint32_t(h.bits & 0x8000) << 16;
  uint32_t magnitude = h.bits & 0x7fff;
  // Normal: move the exponent from bias 15 to 127. Infinity and NaN: the largest exponent.
  uint32_t normal = (magnitude << 13) + (uint32_t(127 - 15) << 23);
  uint32_t special = 0x7f800000 | magnitude << 13 | (magnitude > 0x7c00 ? 0x400000 : 0);
  // Subnormal: magnitude * 2^-24 is exact in f32.
  float scaled = static_cast<float>(static_cast<int32_t>(magnitude)) * 0x1p-24f;
  uint32_t subnormal = __builtin_bit_cast(uint32_t, scaled);
  uint32_t bits = magnitude >= 0x7c00 ? special : magnitude >= 0x0400 ? normal : subnormal;
  return __builtin_bit_cast(float, sign | bits);
}

/// Rounds to nearest even; overflow gives infinity, NaN stays NaN (quiet, upper payload bits kept).
HOCKET_SIM_INLINE Half floatToHalf(float value) {
  uint32_t bits = __builtin_bit_cast(uint32_t, value);
  uint32_t sign = bits >> 16 & 0x8000;
  uint32_t magnitude = bits & 0x7fffffff;
  // Normal result: round bit 12 away with ties to even, then re-bias; the carry moves the exponent.
  uint32_t rounded = magnitude + 0xfff + (magnitude >> 13 & 1);
  uint32_t normal = (rounded - (uint32_t(127 - 15) << 23)) >> 13;
  // Subnormal result: adding 0.5 puts the unit of 2^-24 at bit 0 and rounds to nearest even.
  float shifted = __builtin_bit_cast(float, magnitude) + 0.5f;
  uint32_t subnormal = __builtin_bit_cast(uint32_t, shifted) - 0x3f000000;
  uint32_t special = magnitude > 0x7f800000 ? 0x7e00 | (magnitude >> 13 & 0x3ff) : 0x7c00;
  uint32_t result = magnitude < 0x38800000 ? subnormal : normal;
  result = rounded >= 0x47800000 ? 0x7c00 : result;
  result = magnitude >= 0x7f800000 ? special : result;
  return {static_cast<uint16_t>(sign | result)};
}

/// Rounds a double to f16 once (nearest even). A detour over f32 would round twice; rounding the
/// f32 to odd first keeps what the second rounding needs.
HOCKET_SIM_INLINE Half doubleToHalf(double value) {
  float nearest = static_cast<float>(value);
  uint32_t bits = __builtin_bit_cast(uint32_t, nearest);
  double back = static_cast<double>(nearest);
  bool inexact = back != value && value == value;
  // Rounded to nearest in f32: step to the neighbour towards zero if it went away from zero, then
  // set the last bit as a sticky bit.
  double magnitude = value < 0 ? -value : value, backMagnitude = back < 0 ? -back : back;
  uint32_t truncated = inexact && backMagnitude > magnitude ? bits - 1 : bits;
  return floatToHalf(__builtin_bit_cast(float, inexact ? truncated | 1 : bits));
}

HOCKET_SIM_INLINE float bfloatToFloat(uint16_t bits) {
  return __builtin_bit_cast(float, uint32_t(bits) << 16);
}

/// Rounds to nearest even; NaN stays NaN and comes out quiet.
HOCKET_SIM_INLINE uint16_t floatToBfloat(float value) {
  uint32_t bits = __builtin_bit_cast(uint32_t, value);
  uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
  uint32_t quiet = bits >> 16 | 0x40;
  return static_cast<uint16_t>((bits & 0x7fffffff) > 0x7f800000 ? quiet : rounded);
}

} // namespace hocket::sim::HOCKET_SIM_ISA
