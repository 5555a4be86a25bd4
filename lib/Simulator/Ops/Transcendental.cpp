// The approximating instructions: exp, log, rcp, rsq, sqrt, sin, cos.
//
// The hardware's results are within about 1 ulp and not published bit by bit. Here f32 results are
// computed in f64 and rounded once, so they are within 0.5001 ulp, and the same on every host. As
// on the hardware, f32 inputs and results below the normal range are zero (docs/Hardware.md 2.5 for
// exp; LLVM's expansions assume it for the others). f64 reciprocals and roots, where the hardware
// gives some 28 bits, are exact here; f16 results are exact and keep denormals.
#include "Exponential.h"
#include "Families.h"
#include "FloatMath.h"

namespace hocket::sim::HOCKET_SIM_ISA {

#if defined(__AVX512F__)
/// The lanes of `uncertain` of `to`, sixteen at a time.
__attribute__((noinline)) static void correctExponentials(FourVectors &to, const u32 *from,
                                                          u64 uncertain) {
  for (unsigned i = 0; i < 4; ++i)
    if (uncertain >> (16 * i) & 0xffff)
      to.part[i] = exp2OfSixteen(_mm512_loadu_ps(from + 16 * i));
}

static void exp2OfRegister(Wave &wave, const Instruction &in) {
  LaneWords buffer;
  const u32 *from = readPlain(wave, in.source[0], 0, operandType<f32>, buffer);
  FourVectors x, result;
  for (unsigned i = 0; i < 4; ++i)
    x.part[i] = _mm512_loadu_ps(from + 16 * i);
  u64 uncertain = exp2OfAll(result, x);
  if (uncertain) [[unlikely]]
    correctExponentials(result, from, uncertain);
  u32 *to = wave.vgpr[in.destination];
  u64 mask = wave.exec();
  for (unsigned i = 0; i < 4; ++i)
    _mm512_mask_storeu_ps(to + 16 * i, static_cast<__mmask16>(mask >> (16 * i)), result.part[i]);
}
#endif

static void exp2OfLanes(Wave &wave, const Instruction &in) {
#if defined(__AVX512F__)
  if (in.plain && wave.mode.isDefault()) [[likely]]
    return exp2OfRegister(wave, in);
#endif
  lanes<[](f32 x) { return exp2Of(x); }>(wave, in);
}

/// log2 of a positive, finite, normal value.
static HOCKET_SIM_INLINE f64 logarithm(f64 x) {
  u64 bits = bitCast<u64>(x);
  // Mantissa in [sqrt(1/2), sqrt(2)).
  i64 exponent = static_cast<i64>(bits - 0x3fe6a09e667f3bcd) >> 52;
  f64 m = bitCast<f64>(bits - (static_cast<u64>(exponent) << 52));
  f64 s = (m - 1.0) / (m + 1.0), z = s * s;
  f64 p = 1.0 / 19.0;
  p = p * z + 1.0 / 17.0;
  p = p * z + 1.0 / 15.0;
  p = p * z + 1.0 / 13.0;
  p = p * z + 1.0 / 11.0;
  p = p * z + 1.0 / 9.0;
  p = p * z + 1.0 / 7.0;
  p = p * z + 1.0 / 5.0;
  p = p * z + 1.0 / 3.0;
  p = p * z + 1.0;
  return static_cast<f64>(static_cast<i32>(exponent)) + 2.0 * s * p * 1.44269504088896340736;
}

static HOCKET_SIM_INLINE f32 log2Of(f32 value) {
  f32 x = flushed(value);
  f32 result = static_cast<f32>(logarithm(static_cast<f64>(x > 0 ? x : 1.0f)));
  result = magnitudeBits(x) == 0 ? bitCast<f32>(0xff800000u) : result;
  result = x < 0 ? bitCast<f32>(0x7fc00000u) : result;
  result = isInfinity(x) && x > 0 ? x : result;
  return isNan(x) ? quieted(x) : result;
}

static HOCKET_SIM_INLINE f32 reciprocal(f32 value) { return flushed(1.0f / flushed(value)); }
static HOCKET_SIM_INLINE f32 squareRoot(f32 value) { return __builtin_sqrtf(flushed(value)); }
static HOCKET_SIM_INLINE f32 reciprocalRoot(f32 value) {
  f64 root = __builtin_sqrt(static_cast<f64>(flushed(value)));
  return static_cast<f32>(1.0 / root);
}

/// sin(2 pi x) for |x| <= 0.25 by its series; error below 1e-13.
static HOCKET_SIM_INLINE f64 sineSeries(f64 x) {
  f64 t = x * 6.28318530717958647693, z = t * t;
  f64 p = -1.0 / 1307674368000.0;
  p = p * z + 1.0 / 6227020800.0;
  p = p * z - 1.0 / 39916800.0;
  p = p * z + 1.0 / 362880.0;
  p = p * z - 1.0 / 5040.0;
  p = p * z + 1.0 / 120.0;
  p = p * z - 1.0 / 6.0;
  return t + t * z * p;
}

/// sin(2 pi (x + quarters / 4)): reduced to one period exactly, then folded into [-1/4, 1/4].
static HOCKET_SIM_INLINE f32 sineOfTurns(f32 value, f64 offset) {
  f64 x = static_cast<f64>(flushed(value));
  bool finite = magnitudeBits(value) < 0x7f800000;
  bool valid = x >= -256.0 && x <= 256.0;
  f64 v = (valid ? x : 0.0) + offset;
  f64 r = v - ((v + 0x1.8p52) - 0x1.8p52);
  f64 folded = r > 0.25 ? 0.5 - r : r < -0.25 ? -0.5 - r : r;
  f32 result = flushed(static_cast<f32>(sineSeries(folded)));
  return finite ? result : bitCast<f32>(0x7fc00000u);
}
static HOCKET_SIM_INLINE f32 sine(f32 x) { return magnitudeBits(x) == 0 ? x : sineOfTurns(x, 0.0); }
static HOCKET_SIM_INLINE f32 cosine(f32 x) { return sineOfTurns(x, 0.25); }

static void registerSingle(OpTable &table) {
  for (const char *name : {"v_exp_f32", "v_exp_legacy_f32"})
    table.add(name, exp2OfLanes);
  for (const char *name : {"v_log_f32", "v_log_legacy_f32"})
    table.add(name, lanes<[](f32 x) { return log2Of(x); }>);
  for (const char *name : {"v_rcp_f32", "v_rcp_iflag_f32"})
    table.add(name, lanes<[](f32 x) { return reciprocal(x); }>);
  table.add("v_rsq_f32", lanes<[](f32 x) { return reciprocalRoot(x); }>);
  table.add("v_sqrt_f32", lanes<[](f32 x) { return squareRoot(x); }>);
  table.add("v_sin_f32", lanes<[](f32 x) { return sine(x); }>);
  table.add("v_cos_f32", lanes<[](f32 x) { return cosine(x); }>);
}

static void registerHalf(OpTable &table) {
  table.add("v_exp_f16", lanes<[](Half a) {
              f32 x = halfToFloat(a);
              return isNan(x) ? floatToHalf(x) : doubleToHalf(exponential(x));
            }>);
  table.add("v_log_f16", lanes<[](Half a) { return floatToHalf(log2Of(halfToFloat(a))); }>);
  table.add("v_rcp_f16", lanes<[](Half a) { return doubleToHalf(1.0 / halfToFloat(a)); }>);
  table.add("v_rsq_f16", lanes<[](Half a) {
              return doubleToHalf(1.0 / __builtin_sqrt(static_cast<f64>(halfToFloat(a))));
            }>);
  table.add(
      "v_sqrt_f16",
      lanes<[](Half a) { return doubleToHalf(__builtin_sqrt(static_cast<f64>(halfToFloat(a)))); }>);
  table.add("v_sin_f16", lanes<[](Half a) { return floatToHalf(sine(halfToFloat(a))); }>);
  table.add("v_cos_f16", lanes<[](Half a) { return floatToHalf(cosine(halfToFloat(a))); }>);
}

/// 2/pi, 1201 bits after the binary point, for v_trig_preop_f64.
static const u32 twoOverPi[38] = {
    0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0, 0xdb629599, 0x3c439041, 0xfe5163ab, 0xdebbc561,
    0xb7246e3a, 0x424dd2e0, 0x06492eea, 0x09d1921c, 0xfe1deb1c, 0xb129a73e, 0xe88235f5, 0x2ebb4484,
    0xe99c7026, 0xb45f7e41, 0x3991d639, 0x835339f4, 0x9c845f8b, 0xbdf9283b, 0x1ff897ff, 0xde05980f,
    0xef2f118b, 0x5a0a6d1f, 0x6d367ecf, 0x27cb09b7, 0x4f463f66, 0x9e5fea2d, 0x7527bac7, 0xebe5f17b,
    0x3d0739f7, 0x8a5292ea, 0x6bfb5fb1, 0x1f8d5d08, 0x56033046, 0xfc7b6bab};

/// Bits [shift, shift + 53) of 2/pi as a number scaled to where they belong (CDNA3 ISA 12.10).
static f64 trigPreOp(f64 x, u32 segment) {
  i32 exponent = exponentField(x);
  i32 shift = static_cast<i32>(segment & 31) * 53;
  if (exponent > 1077)
    shift += exponent - 1077;
  u64 mantissa = 0;
  for (i32 i = 0; i < 53; ++i) {
    i32 bit = shift + i;
    u64 value = bit < 1201 ? twoOverPi[bit / 32] >> (31 - bit % 32) & 1 : 0;
    mantissa = mantissa << 1 | value;
  }
  i32 scale = -53 - shift + (exponent >= 1968 ? 128 : 0);
  return scaleByPower(static_cast<f64>(mantissa), scale);
}

static void registerDouble(OpTable &table) {
  table.add("v_rcp_f64", lanes<[](f64 x) { return 1.0 / x; }>);
  table.add("v_rsq_f64", lanes<[](f64 x) { return 1.0 / __builtin_sqrt(x); }>);
  table.add("v_sqrt_f64", lanes<[](f64 x) { return __builtin_sqrt(x); }>);
  table.add("v_trig_preop_f64", lanes<[](f64 x, u32 n) { return trigPreOp(x, n); }>);
}

void registerTranscendental(OpTable &table) {
  registerSingle(table);
  registerHalf(table);
  registerDouble(table);
}

} // namespace hocket::sim::HOCKET_SIM_ISA
