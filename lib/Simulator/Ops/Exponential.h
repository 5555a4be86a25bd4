// 2^x for v_exp_f32 and v_exp_f16: the reference in f64, and for hosts with AVX-512 a faster way
// that gives the same bits.
//
// The fast way works in f32 on 16 lanes: x = n + node + r, where node is one of 32 numbers close to
// j / 32 whose powers of two are f32 numbers but for 2^-37 (the idea is S. Gal's), and
// 2^node * 2^r is summed as two f32. The sum is known within 2^-35. Where that decides the
// rounding, as it does but for about one lane in 2000, the result is correctly rounded, and so is
// the reference's, which is off by 2^-40 at most; other lanes are left to the reference. A test
// compares all 2^32 inputs when asked to (docs/Testing.md).
#pragma once

#include "FloatMath.h"

namespace hocket::sim::HOCKET_SIM_ISA {

/// 2^f for |f| <= 0.5: the Taylor series in f * ln 2, relative error below 1e-12. Summed in pairs
/// of pairs, since a chain of dependent steps is what takes time.
HOCKET_SIM_INLINE f64 powerOfTwoFraction(f64 f) {
  auto step = [](f64 high, f64 x, f64 low) { return fusedMultiplyAdd(high, x, low); };
  f64 t = f * 0.693147180559945309417, t2 = t * t, t4 = t2 * t2;
  f64 low = step(step(1.0 / 6.0, t, 0.5), t2, t + 1.0);
  f64 middle = step(step(1.0 / 5040.0, t, 1.0 / 720.0), t2, step(1.0 / 120.0, t, 1.0 / 24.0));
  f64 high =
      step(step(1.0 / 39916800.0, t, 1.0 / 3628800.0), t2, step(1.0 / 362880.0, t, 1.0 / 40320.0));
  return step(step(high, t4, middle), t4, low);
}

/// 2^x without the flush of small results.
HOCKET_SIM_INLINE f64 exponential(f32 x) {
  // Limits keep the power of two in range; results there are 0 and infinity as f32.
  f64 v = x < -200.0f ? -200.0 : x > 200.0f ? 200.0 : static_cast<f64>(x);
  v = isNan(x) ? 0.0 : v;
  // Adding 1.5 * 2^52 rounds to an integer and leaves it in the low bits.
  f64 shifted = v + 0x1.8p52;
  f64 whole = shifted - 0x1.8p52;
  u64 exponent = (bitCast<u64>(shifted) + 1023) << 52;
  return powerOfTwoFraction(v - whole) * bitCast<f64>(exponent);
}

/// v_exp_f32 of one lane.
HOCKET_SIM_INLINE f32 exp2Of(f32 x) {
  f32 result = static_cast<f32>(exponential(x));
  result = magnitudeBits(result) < 0x00800000 ? 0.0f : result;
  return isNan(x) ? quieted(x) : result;
}

#if defined(__AVX512F__)
/// Eight lanes of `exponential` for limited values: the same steps, so the same bits. The compiler
/// mixes vectors of different widths where f32 and f64 meet and takes twice as long.
HOCKET_SIM_INLINE __m256 exponentialOfEight(__m256 x) {
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

/// exp2Of for sixteen lanes, the slow way.
HOCKET_SIM_INLINE __m512 exp2OfSixteen(__m512 x) {
  // Limits take the second operand for a NaN.
  __m512 limited = _mm512_min_ps(_mm512_max_ps(x, _mm512_set1_ps(-200)), _mm512_set1_ps(200));
  __m256 low = exponentialOfEight(_mm512_castps512_ps256(limited));
  __m256 high = exponentialOfEight(_mm512_extractf32x8_ps(limited, 1));
  __m512 result = _mm512_insertf32x8(_mm512_castps256_ps512(low), high, 1);
  __mmask16 normal = _mm512_cmp_ps_mask(result, _mm512_set1_ps(0x1p-126f), _CMP_GE_OQ);
  __mmask16 nan = _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q);
  __m512i quiet = _mm512_or_si512(_mm512_castps_si512(x), _mm512_set1_epi32(0x00400000));
  return _mm512_mask_mov_ps(_mm512_maskz_mov_ps(normal, result), nan, _mm512_castsi512_ps(quiet));
}

/// What node j adds to j / 32, multiples of 2^-29, so that x less its node is exact; and 2^node.
alignas(64) inline constexpr f32 powerNodeOffset[32] = {0,
                                                        -0x1.efdp-16f,
                                                        0x1.2c8p-19f,
                                                        0x1.22a8p-16f,
                                                        -0x1.deap-16f,
                                                        0x1.a5dp-17f,
                                                        -0x1.2998p-16f,
                                                        0x1.9ee8p-16f,
                                                        0x1.5a3p-16f,
                                                        0x1.8b7p-17f,
                                                        -0x1.43p-19f,
                                                        0x1.e688p-16f,
                                                        -0x1.22b8p-16f,
                                                        0x1.67ap-18f,
                                                        0x1.bb58p-16f,
                                                        -0x1.9efp-17f,
                                                        -0x1.a1ep-18f,
                                                        -0x1.f16p-18f,
                                                        0x1.1438p-16f,
                                                        0x1.6c1p-17f,
                                                        0x1.bfp-20f,
                                                        -0x1.1bep-17f,
                                                        -0x1.5fcp-18f,
                                                        0x1.532p-16f,
                                                        -0x1.43e8p-16f,
                                                        0x1.181p-17f,
                                                        0x1.632p-17f,
                                                        0x1.1cb8p-16f,
                                                        0x1.c24p-17f,
                                                        -0x1.235p-17f,
                                                        -0x1.90ep-16f,
                                                        -0x1.dd4p-17f};
alignas(64) inline constexpr f32 powerOfNode[32] = {
    0x1p0f,        0x1.0599aep0f, 0x1.0b55a2p0f, 0x1.1130f4p0f, 0x1.172a1ap0f, 0x1.1d4916p0f,
    0x1.2386bcp0f, 0x1.29eb2ep0f, 0x1.3070fep0f, 0x1.371b1ap0f, 0x1.3dea42p0f, 0x1.44e232p0f,
    0x1.4bfca8p0f, 0x1.534308p0f, 0x1.5ab21ep0f, 0x1.624724p0f, 0x1.6a098p0f,  0x1.71f6e2p0f,
    0x1.7a1262p0f, 0x1.825958p0f, 0x1.8ace72p0f, 0x1.9372ep0f,  0x1.9c48b6p0f, 0x1.a551bep0f,
    0x1.ae888p0f,  0x1.b7f816p0f, 0x1.c19a96p0f, 0x1.cb737p0f,  0x1.d582acp0f, 0x1.dfc8b6p0f,
    0x1.ea48e6p0f, 0x1.f50622p0f};

/// The 64 lanes of a register as four host vectors, which go through each step together: hosts
/// overlap what stands close together.
struct FourVectors {
  __m512 part[4];
};
template <class F, class... V> HOCKET_SIM_INLINE FourVectors eachPart(F &&f, const V &...operands) {
  FourVectors result;
#pragma clang loop unroll(full)
  for (unsigned i = 0; i < 4; ++i)
    result.part[i] = f(operands.part[i]...);
  return result;
}
HOCKET_SIM_INLINE FourVectors addAll(const FourVectors &a, const FourVectors &b) {
  return eachPart([](__m512 x, __m512 y) { return _mm512_add_ps(x, y); }, a, b);
}
HOCKET_SIM_INLINE FourVectors subtractAll(const FourVectors &a, const FourVectors &b) {
  return eachPart([](__m512 x, __m512 y) { return _mm512_sub_ps(x, y); }, a, b);
}
HOCKET_SIM_INLINE FourVectors multiplyAll(const FourVectors &a, const FourVectors &b) {
  return eachPart([](__m512 x, __m512 y) { return _mm512_mul_ps(x, y); }, a, b);
}
HOCKET_SIM_INLINE FourVectors addProduct(const FourVectors &a, const FourVectors &b,
                                         const FourVectors &c) {
  return eachPart([](__m512 x, __m512 y, __m512 z) { return _mm512_fmadd_ps(x, y, z); }, a, b, c);
}
/// a * b - c.
HOCKET_SIM_INLINE FourVectors productError(const FourVectors &a, const FourVectors &b,
                                           const FourVectors &c) {
  return eachPart([](__m512 x, __m512 y, __m512 z) { return _mm512_fmsub_ps(x, y, z); }, a, b, c);
}
HOCKET_SIM_INLINE FourVectors splatAll(f32 value) {
  __m512 all = _mm512_set1_ps(value);
  return {{all, all, all, all}};
}
/// One of 32 numbers for each lane, by the low five bits of its word.
HOCKET_SIM_INLINE FourVectors chooseAll(const f32 (&table)[32], const FourVectors &index) {
  __m512 low = _mm512_load_ps(table), high = _mm512_load_ps(table + 16);
  return eachPart(
      [&](__m512 x) { return _mm512_permutex2var_ps(low, _mm512_castps_si512(x), high); }, index);
}

/// v_exp_f32 of all lanes. Returns those whose result is not certain, NaNs among them.
HOCKET_SIM_INLINE u64 exp2OfAll(FourVectors &to, const FourVectors &from) {
  constexpr f64 ln2 = 0.693147180559945309417;
  constexpr f32 c1 = f32(ln2), c1Low = f32(ln2 - f64(c1)), c2 = f32(ln2 * ln2 / 2),
                c3 = f32(ln2 * ln2 * ln2 / 6), c4 = f32(ln2 * ln2 * ln2 * ln2 / 24);
  // 2^128 is infinity like what is above. The minimum keeps a NaN, its second operand.
  FourVectors x = eachPart([](__m512 v) { return _mm512_min_ps(_mm512_set1_ps(128), v); }, from);
  // Adding rounds to a multiple of 1/32 and leaves it in the low bits.
  FourVectors shifted = addAll(x, splatAll(0x1.8p18f));
  FourVectors whole = subtractAll(shifted, splatAll(0x1.8p18f));
  FourVectors power = chooseAll(powerOfNode, shifted);
  FourVectors r = subtractAll(subtractAll(x, whole), chooseAll(powerNodeOffset, shifted));
  // 2^r - 1 = linear + rest.
  FourVectors linear = multiplyAll(r, splatAll(c1));
  FourVectors lost = productError(r, splatAll(c1), linear);
  FourVectors series = addProduct(addProduct(r, splatAll(c4), splatAll(c3)), r, splatAll(c2));
  FourVectors product = multiplyAll(power, linear);
  FourVectors rest = addProduct(addProduct(series, r, splatAll(c1Low)), r, lost);
  // power * (1 + linear + rest) = high + low.
  FourVectors high = addAll(power, product);
  FourVectors error = subtractAll(product, subtractAll(high, power));
  FourVectors low = addAll(error, addProduct(power, rest, productError(power, linear, product)));
  FourVectors above = addAll(high, addAll(low, splatAll(0x1p-35f)));
  FourVectors below = addAll(high, addAll(low, splatAll(-0x1p-35f)));
  u64 uncertain = 0;
#pragma clang loop unroll(full)
  for (unsigned i = 0; i < 4; ++i) {
    // Numbers below -126 are far enough below that rounding does not make their power normal.
    __mmask16 normal = _mm512_cmp_ps_mask(x.part[i], _mm512_set1_ps(-126), _CMP_NLT_UQ);
    __mmask16 differ = _mm512_mask_cmp_ps_mask(normal, above.part[i], below.part[i], _CMP_NEQ_UQ);
    uncertain |= u64(differ) << (16 * i);
    to.part[i] = _mm512_maskz_scalef_ps(normal, above.part[i], whole.part[i]);
  }
  return uncertain;
}
#endif

} // namespace hocket::sim::HOCKET_SIM_ISA
