// Floating-point functions on one lane, with the hardware's rules for NaN, zero signs and
// denormals.
//
// Written without library calls that could differ between the host instruction sets and without
// multiply-add contraction (the build sets -ffp-contract=off), so that all copies give the same
// bits.
#pragma once

#include "Lanes.h"

namespace hocket::sim::HOCKET_SIM_ISA {

template <class F> struct FloatBits;
template <> struct FloatBits<f32> {
  using U = u32;
  using I = i32;
  static constexpr unsigned mantissa = 23, bias = 127;
  static constexpr U sign = 0x80000000u, infinity = 0x7f800000u, quiet = 0x00400000u;
};
template <> struct FloatBits<f64> {
  using U = u64;
  using I = i64;
  static constexpr unsigned mantissa = 52, bias = 1023;
  static constexpr U sign = u64(1) << 63, infinity = 0x7ff0000000000000, quiet = u64(1) << 51;
};

template <class F> using BitsOf = typename FloatBits<F>::U;
template <class F> HOCKET_SIM_INLINE BitsOf<F> toBits(F x) { return bitCast<BitsOf<F>>(x); }
template <class F> HOCKET_SIM_INLINE BitsOf<F> magnitudeBits(F x) {
  return toBits(x) & ~FloatBits<F>::sign;
}
template <class F> HOCKET_SIM_INLINE bool isNan(F x) {
  return magnitudeBits(x) > FloatBits<F>::infinity;
}
template <class F> HOCKET_SIM_INLINE bool isInfinity(F x) {
  return magnitudeBits(x) == FloatBits<F>::infinity;
}
template <class F> HOCKET_SIM_INLINE bool isSignalling(F x) {
  return isNan(x) && !(toBits(x) & FloatBits<F>::quiet);
}
template <class F> HOCKET_SIM_INLINE F quieted(F x) {
  return bitCast<F>(toBits(x) | FloatBits<F>::quiet);
}
template <class F> HOCKET_SIM_INLINE bool isNegative(F x) { return toBits(x) & FloatBits<F>::sign; }
template <class F> HOCKET_SIM_INLINE bool isDenormal(F x) {
  BitsOf<F> m = magnitudeBits(x);
  return m != 0 && m < (BitsOf<F>(1) << FloatBits<F>::mantissa);
}
template <class F> HOCKET_SIM_INLINE F absolute(F x) { return bitCast<F>(magnitudeBits(x)); }
template <class F> HOCKET_SIM_INLINE F withSign(F magnitude, bool negative) {
  return bitCast<F>(magnitudeBits(magnitude) | (negative ? FloatBits<F>::sign : 0));
}
/// The exponent field.
template <class F> HOCKET_SIM_INLINE int exponentField(F x) {
  return static_cast<int>(magnitudeBits(x) >> FloatBits<F>::mantissa);
}
/// A denormal as a zero of its sign.
template <class F> HOCKET_SIM_INLINE F flushed(F x) {
  return isDenormal(x) ? bitCast<F>(toBits(x) & FloatBits<F>::sign) : x;
}

/// Total order of non-NaN values with -0 below +0.
template <class F> HOCKET_SIM_INLINE bool orderedLess(F a, F b) {
  return a < b || (a == b && isNegative(a) && !isNegative(b));
}

/// v_min, v_max: a NaN loses to a number; in IEEE mode a signalling NaN comes back quieted.
template <bool Ieee, class F> HOCKET_SIM_INLINE F minimumOf(F a, F b) {
  F result = isNan(a) ? b : isNan(b) ? a : orderedLess(b, a) ? b : a;
  if constexpr (Ieee)
    result = isSignalling(a) ? quieted(a) : isSignalling(b) ? quieted(b) : result;
  return result;
}
template <bool Ieee, class F> HOCKET_SIM_INLINE F maximumOf(F a, F b) {
  F result = isNan(a) ? b : isNan(b) ? a : orderedLess(a, b) ? b : a;
  if constexpr (Ieee)
    result = isSignalling(a) ? quieted(a) : isSignalling(b) ? quieted(b) : result;
  return result;
}

/// IEEE-2019 minimum and maximum: NaN propagates.
template <class F> HOCKET_SIM_INLINE F minimumPropagating(F a, F b) {
  return isNan(a) ? quieted(a) : isNan(b) ? quieted(b) : orderedLess(b, a) ? b : a;
}
template <class F> HOCKET_SIM_INLINE F maximumPropagating(F a, F b) {
  return isNan(a) ? quieted(a) : isNan(b) ? quieted(b) : orderedLess(a, b) ? b : a;
}

/// v_med3: with a NaN the minimum of all three.
template <bool Ieee, class F> HOCKET_SIM_INLINE F medianOf(F a, F b, F c) {
  if (isNan(a) || isNan(b) || isNan(c))
    return minimumOf<Ieee>(minimumOf<Ieee>(a, b), c);
  F low = minimumOf<Ieee>(a, b), high = maximumOf<Ieee>(a, b);
  return maximumOf<Ieee>(low, minimumOf<Ieee>(high, c));
}

/// x * 2^exponent, rounded once (in the host's current rounding mode).
HOCKET_SIM_INLINE f32 scaleByPower(f32 x, i32 exponent) {
  // In f64 every step is exact for an f32 with |exponent| up to 400; beyond, all is 0 or infinity.
  i32 e = exponent > 400 ? 400 : exponent < -400 ? -400 : exponent;
  f64 power = bitCast<f64>(static_cast<u64>(e + 1023) << 52);
  return static_cast<f32>(static_cast<f64>(x) * power);
}
HOCKET_SIM_INLINE f64 scaleByPower(f64 x, i32 exponent) {
  // Two exact steps upwards of the denormal range, then one that rounds.
  i32 e = exponent > 4400 ? 4400 : exponent < -4400 ? -4400 : exponent;
  auto power = [](i32 p) { return bitCast<f64>(static_cast<u64>(p + 1023) << 52); };
  while (e > 1000) {
    x *= power(1000);
    e -= 1000;
  }
  if (e >= -1000 && e >= 0)
    return x * power(e);
  // Downwards: bring the value near 1 first, so that only the last product is inexact.
  i32 field = exponentField(x);
  if (field == 0) {
    x *= power(60);
    e -= 60;
    field = exponentField(x);
  }
  if (field == 0 || field == 0x7ff)
    return x; // zero, infinity, NaN
  i32 unbiased = field - 1023;
  f64 mantissa = bitCast<f64>((toBits(x) & ~FloatBits<f64>::infinity) | u64(1023) << 52);
  i32 target = unbiased + e;
  if (target < -1080)
    target = -1080;
  if (target >= -1000)
    return mantissa * power(target);
  return mantissa * power(-1000) * power(target + 1000);
}

/// Exponent e with x = m * 2^e and 0.5 <= |m| < 1; 0 for zero, infinity and NaN.
template <class F> HOCKET_SIM_INLINE i32 frexpExponent(F x) {
  constexpr F lift = sizeof(F) == 8 ? F(0x1p54) : F(0x1p25);
  constexpr int lifted = sizeof(F) == 8 ? 54 : 25;
  bool denormal = isDenormal(x);
  int field = exponentField(denormal ? x * lift : x);
  i32 result = field - static_cast<int>(FloatBits<F>::bias) + 1 - (denormal ? lifted : 0);
  return magnitudeBits(x) == 0 || magnitudeBits(x) >= FloatBits<F>::infinity ? 0 : result;
}
template <class F> HOCKET_SIM_INLINE F frexpMantissa(F x) {
  constexpr F lift = sizeof(F) == 8 ? F(0x1p54) : F(0x1p25);
  F normal = isDenormal(x) ? x * lift : x;
  F mantissa = bitCast<F>((toBits(normal) & ~FloatBits<F>::infinity) |
                          BitsOf<F>(FloatBits<F>::bias - 1) << FloatBits<F>::mantissa);
  if (magnitudeBits(x) == 0 || isInfinity(x))
    return x;
  return isNan(x) ? quieted(x) : mantissa;
}

template <class F> HOCKET_SIM_INLINE F floorOf(F x) {
  if constexpr (sizeof(F) == 8)
    return __builtin_floor(x);
  else
    return __builtin_floorf(x);
}
template <class F> HOCKET_SIM_INLINE F ceilOf(F x) {
  if constexpr (sizeof(F) == 8)
    return __builtin_ceil(x);
  else
    return __builtin_ceilf(x);
}
template <class F> HOCKET_SIM_INLINE F truncOf(F x) {
  if constexpr (sizeof(F) == 8)
    return __builtin_trunc(x);
  else
    return __builtin_truncf(x);
}
template <class F> HOCKET_SIM_INLINE F roundEvenOf(F x) {
  if constexpr (sizeof(F) == 8)
    return __builtin_roundeven(x);
  else
    return __builtin_roundevenf(x);
}
/// x - floor(x), kept below 1.
template <class F> HOCKET_SIM_INLINE F fractionOf(F x) {
  constexpr F belowOne = sizeof(F) == 8 ? F(0x1.fffffffffffffp-1) : F(0x1.fffffep-1f);
  F fraction = x - floorOf(x);
  return fraction > belowOne ? belowOne : fraction;
}
template <class F> HOCKET_SIM_INLINE F fusedMultiplyAdd(F a, F b, F c) {
  if constexpr (sizeof(F) == 8)
    return __builtin_fma(a, b, c);
  else
    return __builtin_fmaf(a, b, c);
}

/// Truncates to an integer and saturates; NaN gives 0.
template <class I, class F> HOCKET_SIM_INLINE I toInteger(F x) {
  constexpr I lowest = I(-1) < I(0) ? static_cast<I>(I(1) << (sizeof(I) * 8 - 1)) : I(0);
  constexpr I highest = static_cast<I>(~lowest);
  f64 value = static_cast<f64>(x);
  value = value != value ? 0.0 : value;
  value = value < static_cast<f64>(lowest) ? static_cast<f64>(lowest) : value;
  value = value > static_cast<f64>(highest) ? static_cast<f64>(highest) : value;
  if constexpr (I(-1) < I(0))
    return static_cast<I>(static_cast<i32>(value));
  else
    return static_cast<I>(static_cast<u32>(static_cast<i64>(value)));
}

/// v_cmp_class: bits 0 signalling NaN, 1 quiet NaN, 2 -inf, 3 -normal, 4 -denormal, 5 -0, 6 +0,
/// 7 +denormal, 8 +normal, 9 +inf.
template <class F> HOCKET_SIM_INLINE bool isOfClass(F x, u32 mask) {
  bool negative = isNegative(x);
  u32 bit = isSignalling(x)         ? 0
            : isNan(x)              ? 1
            : isInfinity(x)         ? (negative ? 2 : 9)
            : isDenormal(x)         ? (negative ? 4 : 7)
            : magnitudeBits(x) == 0 ? (negative ? 5 : 6)
                                    : (negative ? 3 : 8);
  return mask >> bit & 1;
}

} // namespace hocket::sim::HOCKET_SIM_ISA
