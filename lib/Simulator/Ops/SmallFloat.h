// The 8-, 6- and 4-bit floating-point formats of gfx950 (OCP: docs/Hardware.md 2.1, 2.5), and the
// two 8-bit ones of gfx942 (fnuz: no infinity, one zero, one NaN with the bits of a negative zero).
//
// All are sign, exponent, mantissa with subnormals. E4M3 has no infinity and one NaN per sign, E5M2
// is like IEEE, the 6- and 4-bit ones have neither and saturate. Values go in and out exactly: as
// f32 upwards, as f64 downwards, so that a scale of 2^-127 to 2^127 is applied before the one
// rounding. A result too large for an 8-bit format is NaN (E4M3) or infinity (E5M2), or the largest
// finite value if MODE.FP16_OVFL is set.
#pragma once

#include "Lanes.h"

namespace hocket::sim::HOCKET_SIM_ISA {

enum class Specials : u8 { None, NaNOnly, Ieee, Fnuz };

struct SmallFormat {
  unsigned exponentBits, mantissaBits;
  int bias;
  Specials specials;
  constexpr unsigned bits() const { return 1 + exponentBits + mantissaBits; }
  constexpr u32 magnitudeMask() const { return (1u << (bits() - 1)) - 1; }
  constexpr u32 infinity() const { return magnitudeMask() & ~((1u << mantissaBits) - 1); }
  constexpr u32 nan() const {
    return specials == Specials::Fnuz ? magnitudeMask() + 1 : magnitudeMask();
  }
  constexpr u32 largest() const {
    return specials == Specials::Ieee      ? infinity() - 1
           : specials == Specials::NaNOnly ? magnitudeMask() - 1
                                           : magnitudeMask();
  }
};

inline constexpr SmallFormat e4m3 = {4, 3, 7, Specials::NaNOnly};
inline constexpr SmallFormat e5m2 = {5, 2, 15, Specials::Ieee};
inline constexpr SmallFormat e4m3Fnuz = {4, 3, 8, Specials::Fnuz};
inline constexpr SmallFormat e5m2Fnuz = {5, 2, 16, Specials::Fnuz};
inline constexpr SmallFormat e2m3 = {2, 3, 1, Specials::None};
inline constexpr SmallFormat e3m2 = {3, 2, 3, Specials::None};
inline constexpr SmallFormat e2m1 = {2, 1, 1, Specials::None};

/// 2^exponent, for -1022 <= exponent <= 1023.
HOCKET_SIM_INLINE f64 powerOfTwo(int exponent) {
  return bitCast<f64>(static_cast<u64>(exponent + 1023) << 52);
}

/// The value of the low bits of `bits`.
template <SmallFormat F> HOCKET_SIM_INLINE f32 decodeSmall(u32 bits) {
  constexpr u32 unitBits = static_cast<u32>(127 + 1 - F.bias - int(F.mantissaBits)) << 23;
  const f32 unit = bitCast<f32>(unitBits);
  u32 magnitude = bits & F.magnitudeMask();
  u32 normal = (magnitude << (23 - F.mantissaBits)) + (static_cast<u32>(127 - F.bias) << 23);
  u32 subnormal = bitCast<u32>(static_cast<f32>(static_cast<i32>(magnitude)) * unit);
  u32 result = magnitude >> F.mantissaBits ? normal : subnormal;
  if constexpr (F.specials == Specials::NaNOnly)
    result = magnitude == F.nan() ? 0x7fc00000 : result;
  if constexpr (F.specials == Specials::Ieee)
    result = magnitude > F.infinity()    ? 0x7fc00000
             : magnitude == F.infinity() ? 0x7f800000
                                         : result;
  if constexpr (F.specials == Specials::Fnuz)
    if ((bits & (F.nan() | F.magnitudeMask())) == F.nan())
      return bitCast<f32>(0x7fc00000u);
  return bitCast<f32>(result | (bits >> (F.bits() - 1) & 1) << 31);
}

/// What becomes of a magnitude above the largest finite one, and of NaN.
template <SmallFormat F> HOCKET_SIM_INLINE u32 overflowed(bool isNan, bool saturate) {
  if constexpr (F.specials == Specials::None)
    return F.largest();
  if (isNan)
    return F.nan();
  if (saturate)
    return F.largest();
  return F.specials == Specials::Ieee ? F.infinity() : F.nan();
}

/// `value` in `F`. Rounds to nearest even, or with `stochastic` adds `random` * 2^-32 of the last
/// place and truncates, which is what adding random bits below the mantissa does.
template <SmallFormat F>
HOCKET_SIM_INLINE u32 encodeSmall(f64 value, bool saturate, bool stochastic, u32 random) {
  constexpr int lowest = 1 - F.bias;
  u64 bits = bitCast<u64>(value), magnitude = bits & ~(u64(1) << 63);
  u32 sign = static_cast<u32>(bits >> 63) << (F.bits() - 1);
  if (magnitude >= u64(0x7ff) << 52)
    return sign | overflowed<F>(magnitude > u64(0x7ff) << 52, false);
  int exponent = static_cast<int>(magnitude >> 52) - 1023;
  if (exponent > 64)
    return sign | overflowed<F>(false, saturate);
  exponent = exponent < lowest ? lowest : exponent;
  f64 units = bitCast<f64>(magnitude) * powerOfTwo(int(F.mantissaBits) - exponent);
  f64 whole = __builtin_floor(stochastic ? units + random * 0x1p-32 : units);
  f64 rest = units - whole;
  u32 count = static_cast<u32>(whole);
  if (!stochastic && (rest > 0.5 || (rest == 0.5 && (count & 1))))
    ++count;
  // A carry out of the mantissa moves the exponent on.
  u32 result =
      (static_cast<u32>(exponent + F.bias) << F.mantissaBits) + count - (u32(1) << F.mantissaBits);
  if (F.specials == Specials::Fnuz && result == 0)
    return 0;
  return sign | (result > F.largest() ? overflowed<F>(false, saturate) : result);
}

} // namespace hocket::sim::HOCKET_SIM_ISA
