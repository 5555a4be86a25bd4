// The steps of an exactly rounded division: v_div_scale, v_div_fmas, v_div_fixup.
//
// v_div_scale moves numerator or denominator by a power of two where the quotient or the reciprocal
// would leave the normal range, and says in VCC that the quotient is to be moved back; v_div_fmas
// does the last multiply-add and moves it back; v_div_fixup handles what is no division of finite
// numbers. The published pseudocode leaves quotients that overflow as NaN and contradicts itself in
// two places (the direction in which a huge denominator moves, the factor of v_div_fmas); here all
// three are as LLVM's sequence needs them to be right.
#include "Families.h"
#include "FloatMath.h"
#include "Masks.h"

namespace hocket::sim::HOCKET_SIM_ISA {

template <class F> struct DivideConstants;
template <> struct DivideConstants<f32> {
  static constexpr int scale = 64, nearMaximum = 96, tinyNumerator = 23, underflow = -150;
};
template <> struct DivideConstants<f64> {
  static constexpr int scale = 128, nearMaximum = 768, tinyNumerator = 53, underflow = -1075;
};

template <class F> struct Scaled {
  F value;
  bool flag;
};

/// `value` is the numerator or the denominator, whichever is to be scaled now.
template <class F>
static HOCKET_SIM_INLINE Scaled<F> scaleForDivision(F value, F denominator, F numerator) {
  using C = DivideConstants<F>;
  bool isDenominator = toBits(value) == toBits(denominator);
  bool isNumerator = toBits(value) == toBits(numerator);
  F up = scaleByPower(value, C::scale), down = scaleByPower(value, -C::scale);
  if (magnitudeBits(denominator) == 0 || magnitudeBits(numerator) == 0)
    return {bitCast<F>(FloatBits<F>::infinity | FloatBits<F>::quiet), false};
  if (exponentField(numerator) - exponentField(denominator) >= C::nearMaximum)
    return {isDenominator ? up : value, true};
  if (isDenormal(denominator))
    return {up, false};
  bool reciprocalDenormal = isDenormal(F(1) / denominator);
  bool quotientDenormal = isDenormal(numerator / denominator);
  if (reciprocalDenormal && quotientDenormal)
    return {isDenominator ? down : value, true};
  if (reciprocalDenormal)
    return {down, false};
  if (quotientDenormal)
    return {isNumerator ? up : value, true};
  if (exponentField(numerator) <= C::tinyNumerator)
    return {up, false};
  return {value, false};
}

template <class F> static void divideScale(Wave &wave, const Instruction &in) {
  detail::GeneralSource<F> value(wave, in, 0), denominator(wave, in, 1), numerator(wave, in, 2);
  LaneWords low, high, flag;
  for (unsigned i = 0; i < 64; ++i) {
    Scaled<F> r = scaleForDivision(value[i], denominator[i], numerator[i]);
    low.lane[i] = lowWord(r.value);
    if constexpr (sizeof(F) == 8)
      high.lane[i] = highWord(r.value);
    flag.lane[i] = r.flag ? ~0u : 0u;
  }
  u64 exec = wave.exec();
  writeGeneral(wave, in, operandType<F>, low, high, exec, false);
  wave.setPair(in.scalarDestination, maskOfSigns(flag) & exec);
}

/// (a * b + c) * 2^-scale rounded once, where `sum` is a * b + c rounded to nearest. A denormal
/// result that lies halfway between two neighbours only because of the first rounding is put right.
template <class F> static HOCKET_SIM_INLINE F scaleDownOnce(F a, F b, F c, F sum) {
  using C = DivideConstants<F>;
  F scaled = scaleByPower(sum, -C::scale);
  F lost = sum - scaleByPower(scaled, C::scale); // exact
  // c is the quotient and a * b its last correction: sum and c are close, their difference exact.
  F residual = fusedMultiplyAdd(a, b, c - sum);
  F smallest = bitCast<F>(BitsOf<F>(1));
  F half = scaleByPower(smallest, C::scale - 1);
  if (exponentField(scaled) > 1 || residual == 0)
    return scaled;
  if (lost == half && residual > 0)
    return scaled + smallest;
  if (lost == -half && residual < 0)
    return scaled - smallest;
  return scaled;
}

template <class F>
static __attribute__((noinline)) void divideFmasIn(Wave &wave, const Instruction &in) {
  using C = DivideConstants<F>;
  detail::GeneralSource<F> a(wave, in, 0), b(wave, in, 1), c(wave, in, 2);
  u64 vcc = wave.vcc();
  LaneWords low, high;
  for (unsigned i = 0; i < 64; ++i) {
    F result = fusedMultiplyAdd(a[i], b[i], c[i]);
    bool large = exponentField(c[i]) > static_cast<int>(FloatBits<F>::bias);
    if (vcc >> i & 1)
      result = large ? scaleByPower(result, C::scale) : scaleDownOnce(a[i], b[i], c[i], result);
    low.lane[i] = lowWord(result);
    if constexpr (sizeof(F) == 8)
      high.lane[i] = highWord(result);
  }
  writeGeneral(wave, in, operandType<F>, low, high, wave.exec(), false);
}

template <class F> static void divideFmas(Wave &wave, const Instruction &in) {
  if (wave.mode.isDefault())
    return divideFmasIn<F>(wave, in);
  FloatScope scope(wave, sizeof(F) == 8);
  divideFmasIn<F>(wave, in);
}

template <class F> static HOCKET_SIM_INLINE F fixQuotient(F quotient, F denominator, F numerator) {
  using C = DivideConstants<F>;
  bool negative = isNegative(denominator) != isNegative(numerator);
  F infinity = bitCast<F>(FloatBits<F>::infinity);
  F invalid = bitCast<F>(FloatBits<F>::infinity | FloatBits<F>::quiet | FloatBits<F>::sign);
  bool zeroOverZero = magnitudeBits(denominator) == 0 && magnitudeBits(numerator) == 0;
  if (isNan(numerator))
    return quieted(numerator);
  if (isNan(denominator))
    return quieted(denominator);
  if (zeroOverZero || (isInfinity(denominator) && isInfinity(numerator)))
    return invalid;
  if (magnitudeBits(denominator) == 0 || isInfinity(numerator))
    return withSign(infinity, negative);
  if (isInfinity(denominator) || magnitudeBits(numerator) == 0)
    return withSign(F(0), negative);
  if (exponentField(numerator) - exponentField(denominator) < C::underflow)
    return withSign(F(0), negative);
  // An overflow in between leaves infinity minus infinity; the quotient of finite numbers is no
  // NaN.
  return withSign(isNan(quotient) ? infinity : quotient, negative);
}

/// On f16 by way of f32: exact, and the special values are the same.
static HOCKET_SIM_INLINE Half fixHalf(Half q, Half d, Half n) {
  f32 denominator = halfToFloat(d), numerator = halfToFloat(n);
  return floatToHalf(fixQuotient(halfToFloat(q), denominator, numerator));
}

void registerVectorDivide(OpTable &table) {
  table.add("v_div_scale_f32", divideScale<f32>);
  table.add("v_div_scale_f64", divideScale<f64>);
  table.add("v_div_fmas_f32", divideFmas<f32>);
  table.add("v_div_fmas_f64", divideFmas<f64>);
  table.add("v_div_fixup_f32", lanes<[](f32 q, f32 d, f32 n) { return fixQuotient(q, d, n); }>);
  table.add("v_div_fixup_f64", lanes<[](f64 q, f64 d, f64 n) { return fixQuotient(q, d, n); }>);
  table.add("v_div_fixup_f16",
            lanesKeepHalf<[](Half q, Half d, Half n) { return fixHalf(q, d, n); }>);
  table.add("v_div_fixup_legacy_f16",
            lanes<[](Half q, Half d, Half n) { return fixHalf(q, d, n); }>);
}

} // namespace hocket::sim::HOCKET_SIM_ISA
