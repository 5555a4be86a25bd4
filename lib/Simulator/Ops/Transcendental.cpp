// The approximating instructions: exp, log, rcp, rsq, sqrt, sin, cos.
//
// The hardware's results are within about 1 ulp and not published bit by bit. Here f32 results are
// computed in f64 and rounded once, so they are within 0.5001 ulp, and the same on every host. As
// on the hardware, f32 inputs and results below the normal range are zero (docs/Hardware.md 2.5 for
// exp; LLVM's expansions assume it for the others). f64 reciprocals and roots, where the hardware
// gives some 28 bits, are exact here; f16 results are exact and keep denormals.
#include "Families.h"
#include "FloatMath.h"

namespace hocket::sim::HOCKET_SIM_ISA {

/// 2^f for |f| <= 0.5: the Taylor series in f * ln 2, relative error below 1e-12. Summed in pairs
/// of pairs, since a chain of dependent steps is what takes time.
static HOCKET_SIM_INLINE f64 powerOfTwoFraction(f64 f) {
  auto step = [](f64 high, f64 x, f64 low) { return fusedMultiplyAdd(high, x, low); };
  f64 t = f * 0.693147180559945309417, t2 = t * t, t4 = t2 * t2;
  f64 low = step(step(1.0 / 6.0, t, 0.5), t2, t + 1.0);
  f64 middle = step(step(1.0 / 5040.0, t, 1.0 / 720.0), t2, step(1.0 / 120.0, t, 1.0 / 24.0));
  f64 high =
      step(step(1.0 / 39916800.0, t, 1.0 / 3628800.0), t2, step(1.0 / 362880.0, t, 1.0 / 40320.0));
  return step(step(high, t4, middle), t4, low);
}

/// 2^x without the flush of small results.
static HOCKET_SIM_INLINE f64 exponential(f32 x) {
  // Limits keep the power of two in range; results there are 0 and infinity as f32.
  f64 v = x < -200.0f ? -200.0 : x > 200.0f ? 200.0 : static_cast<f64>(x);
  v = isNan(x) ? 0.0 : v;
  // Adding 1.5 * 2^52 rounds to an integer and leaves it in the low bits.
  f64 shifted = v + 0x1.8p52;
  f64 whole = shifted - 0x1.8p52;
  u64 exponent = (bitCast<u64>(shifted) + 1023) << 52;
  return powerOfTwoFraction(v - whole) * bitCast<f64>(exponent);
}

static HOCKET_SIM_INLINE f32 exp2Of(f32 x) {
  f32 result = static_cast<f32>(exponential(x));
  result = magnitudeBits(result) < 0x00800000 ? 0.0f : result;
  return isNan(x) ? quieted(x) : result;
}

#if defined(__AVX512F__)
/// Eight lanes of `exponential` for limited values: the same steps, so the same bits. The compiler
/// mixes vectors of different widths where f32 and f64 meet and takes twice as long.
static HOCKET_SIM_INLINE __m256 exponentialOfEight(__m256 x) {
  auto all = [](f64 value) { return _mm512_set1_pd(value); };
  auto step = [](__m512d high, __m512d t, __m512d low) { return _mm512_fmadd_pd(high, t, low); };
  __m512d v = _mm512_cvtps_pd(x), shifted = _mm512_add_pd(v, all(0x1.8p52));
  __m512d f = _mm512_sub_pd(v, _mm512_sub_pd(shifted, all(0x1.8p52)));
  __m512d t = _mm512_mul_pd(f, all(0.693147180559945309417)), t2 = _mm512_mul_pd(t, t);
  __m512d t4 = _mm512_mul_pd(t2, t2);
  __m512d low = step(step(all(1.0 / 6.0), t, all(0.5)), t2, _mm512_add_pd(t, all(1.0)));
  __m512d middle = step(step(all(1.0 / 5040.0), t, all(1.0 / 720.0)), t2,
                        step(all(1.0 / 120.0), t, all(1.0 / 24.0)));
  __m512d high = step(step(all(1.0 / 39916800.0), t, all(1.0 / 3628800.0)), t2,
                      step(all(1.0 / 362880.0), t, all(1.0 / 40320.0)));
  __m512d fraction = step(step(high, t4, middle), t4, low);
  // The fraction is near 1 and the exponent small: adding to the field is multiplying.
  __m512i exponent = _mm512_slli_epi64(_mm512_castpd_si512(shifted), 52);
  return _mm512_cvtpd_ps(
      _mm512_castsi512_pd(_mm512_add_epi64(_mm512_castpd_si512(fraction), exponent)));
}

/// exp2Of for all lanes.
static void exp2OfAll(u32 *to, const u32 *from) {
  for (unsigned lane = 0; lane < 64; lane += 16) {
    __m512 x = _mm512_loadu_ps(from + lane);
    // Limits take the second operand for a NaN.
    __m512 limited = _mm512_min_ps(_mm512_max_ps(x, _mm512_set1_ps(-200)), _mm512_set1_ps(200));
    __m256 low = exponentialOfEight(_mm512_castps512_ps256(limited));
    __m256 high = exponentialOfEight(_mm512_extractf32x8_ps(limited, 1));
    __m512 result = _mm512_insertf32x8(_mm512_castps256_ps512(low), high, 1);
    __mmask16 normal = _mm512_cmp_ps_mask(result, _mm512_set1_ps(0x1p-126f), _CMP_GE_OQ);
    result = _mm512_maskz_mov_ps(normal, result);
    __mmask16 nan = _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q);
    __m512i quiet = _mm512_or_si512(_mm512_castps_si512(x), _mm512_set1_epi32(0x00400000));
    _mm512_storeu_si512(to + lane, _mm512_mask_mov_epi32(_mm512_castps_si512(result), nan, quiet));
  }
}
#endif

static void exp2OfLanes(Wave &wave, const Instruction &in) {
#if defined(__AVX512F__)
  if (in.plain && wave.mode.isDefault()) [[likely]] {
    LaneWords buffer, result;
    exp2OfAll(result.lane, readPlain(wave, in.source[0], 0, operandType<f32>, buffer));
    return blend(wave.vgpr[in.destination], result.lane, wave.exec());
  }
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
