// f32 and f64 arithmetic: VOP1, VOP2 and VOP3 forms (CDNA3 ISA 12.7 to 12.10).
//
// Everything here is exact: one IEEE rounding in MODE's rounding mode. Approximations are in
// Transcendental.cpp.
#include "Families.h"
#include "FloatMath.h"

namespace hocket::sim::HOCKET_SIM_ISA {

/// The form for MODE.IEEE set or clear.
template <auto Ieee, auto Other> static void byIeeeMode(Wave &wave, const Instruction &in) {
  if (wave.mode.ieee())
    lanes<Ieee>(wave, in);
  else
    lanes<Other>(wave, in);
}

template <class F, bool Ieee> struct MinMax {
  static constexpr auto min = [](F a, F b) { return minimumOf<Ieee>(a, b); };
  static constexpr auto max = [](F a, F b) { return maximumOf<Ieee>(a, b); };
  static constexpr auto min3 = [](F a, F b, F c) {
    return minimumOf<Ieee>(minimumOf<Ieee>(a, b), c);
  };
  static constexpr auto max3 = [](F a, F b, F c) {
    return maximumOf<Ieee>(maximumOf<Ieee>(a, b), c);
  };
  static constexpr auto med3 = [](F a, F b, F c) { return medianOf<Ieee>(a, b, c); };
};

/// Minimum and maximum of values that are no NaNs: -0 is below +0.
static constexpr auto minNumber = [](f32 a, f32 b) {
  f32 less = b < a ? b : a;
  return a == b ? bitCast<f32>(bitCast<u32>(a) | bitCast<u32>(b)) : less;
};
static constexpr auto maxNumber = [](f32 a, f32 b) {
  f32 more = a < b ? b : a;
  return a == b ? bitCast<f32>(bitCast<u32>(a) & bitCast<u32>(b)) : more;
};

/// v_max_f32 and its relatives of two or three operands, which attention's row maxima are made of:
/// without a NaN among the lanes, active or not, `Number` is folded over the operands; else
/// `Exact`, the rule for all values, is executed.
template <auto Number, ExecuteFunction Exact, unsigned N>
static void foldNumbers(Wave &wave, const Instruction &in) {
  if (!in.plain || !wave.mode.isDefault())
    return Exact(wave, in);
  LaneWords buffer[3], result;
  const u32 *a = readPlain(wave, in.source[0], 0, operandType<f32>, buffer[0]);
  const u32 *b = readPlain(wave, in.source[1], 0, operandType<f32>, buffer[1]);
  const u32 *c = b;
  if constexpr (N == 3)
    c = readPlain(wave, in.source[2], 0, operandType<f32>, buffer[2]);
  u32 unordered = 0;
  HOCKET_LANE_LOOP
  for (unsigned i = 0; i < 64; ++i) {
    f32 x = bitCast<f32>(a[i]), y = bitCast<f32>(b[i]), z = bitCast<f32>(c[i]);
    f32 value = Number(x, y);
    unordered |= __builtin_isunordered(x, y);
    if constexpr (N == 3) {
      value = Number(value, z);
      unordered |= __builtin_isunordered(z, z);
    }
    result.lane[i] = bitCast<u32>(value);
  }
  if (unordered) [[unlikely]]
    return Exact(wave, in);
  blend(wave.vgpr[in.destination], result.lane, wave.exec());
}

static void registerArithmetic(OpTable &table) {
  table.add("v_add_f32", lanes<[](f32 a, f32 b) { return a + b; }>);
  table.add("v_sub_f32", lanes<[](f32 a, f32 b) { return a - b; }>);
  table.add("v_subrev_f32", lanes<[](f32 a, f32 b) { return b - a; }>);
  table.add("v_mul_f32", lanes<[](f32 a, f32 b) { return a * b; }>);
  // Zero times anything, even infinity or NaN, is zero.
  table.add("v_mul_legacy_f32",
            lanes<[](f32 a, f32 b) { return a == 0 || b == 0 ? 0.0f : a * b; }>);
  constexpr auto fma = [](f32 a, f32 b, f32 c) { return fusedMultiplyAdd(a, b, c); };
  for (const char *name : {"v_fma_f32", "v_fmac_f32", "v_fmamk_f32", "v_fmaak_f32"})
    table.add(name, lanes<fma>);

  table.add("v_add_f64", lanes<[](f64 a, f64 b) { return a + b; }>);
  table.add("v_mul_f64", lanes<[](f64 a, f64 b) { return a * b; }>);
  constexpr auto fma64 = [](f64 a, f64 b, f64 c) { return fusedMultiplyAdd(a, b, c); };
  for (const char *name : {"v_fma_f64", "v_fmac_f64"})
    table.add(name, lanes<fma64>);
}

static void registerMinMax(OpTable &table) {
  using A = MinMax<f32, true>;
  using B = MinMax<f32, false>;
  table.add("v_min_f32", foldNumbers<minNumber, byIeeeMode<A::min, B::min>, 2>);
  table.add("v_max_f32", foldNumbers<maxNumber, byIeeeMode<A::max, B::max>, 2>);
  table.add("v_min3_f32", foldNumbers<minNumber, byIeeeMode<A::min3, B::min3>, 3>);
  table.add("v_max3_f32", foldNumbers<maxNumber, byIeeeMode<A::max3, B::max3>, 3>);
  table.add("v_med3_f32", byIeeeMode<A::med3, B::med3>);
  table.add("v_min_f64", byIeeeMode<MinMax<f64, true>::min, MinMax<f64, false>::min>);
  table.add("v_max_f64", byIeeeMode<MinMax<f64, true>::max, MinMax<f64, false>::max>);
  table.add(
      "v_minimum3_f32",
      lanes<[](f32 a, f32 b, f32 c) { return minimumPropagating(minimumPropagating(a, b), c); }>);
  table.add(
      "v_maximum3_f32",
      lanes<[](f32 a, f32 b, f32 c) { return maximumPropagating(maximumPropagating(a, b), c); }>);
}

static void registerRounding(OpTable &table) {
  table.add("v_trunc_f32", lanes<[](f32 a) { return truncOf(a); }>);
  table.add("v_ceil_f32", lanes<[](f32 a) { return ceilOf(a); }>);
  table.add("v_floor_f32", lanes<[](f32 a) { return floorOf(a); }>);
  table.add("v_rndne_f32", lanes<[](f32 a) { return roundEvenOf(a); }>);
  table.add("v_fract_f32", lanes<[](f32 a) { return fractionOf(a); }>);
  table.add("v_trunc_f64", lanes<[](f64 a) { return truncOf(a); }>);
  table.add("v_ceil_f64", lanes<[](f64 a) { return ceilOf(a); }>);
  table.add("v_floor_f64", lanes<[](f64 a) { return floorOf(a); }>);
  table.add("v_rndne_f64", lanes<[](f64 a) { return roundEvenOf(a); }>);
  table.add("v_fract_f64", lanes<[](f64 a) { return fractionOf(a); }>);
}

static void registerExponents(OpTable &table) {
  table.add("v_ldexp_f32", lanes<[](f32 a, i32 e) { return scaleByPower(a, e); }>);
  table.add("v_ldexp_f64", lanes<[](f64 a, i32 e) { return scaleByPower(a, e); }>);
  table.add("v_frexp_exp_i32_f32", lanes<[](f32 a) { return frexpExponent(a); }>);
  table.add("v_frexp_exp_i32_f64", lanes<[](f64 a) { return frexpExponent(a); }>);
  table.add("v_frexp_mant_f32", lanes<[](f32 a) { return frexpMantissa(a); }>);
  table.add("v_frexp_mant_f64", lanes<[](f64 a) { return frexpMantissa(a); }>);
}

/// The face of a cube map that (x, y, z) points at: 0 and 1 x, 2 and 3 y, 4 and 5 z.
static HOCKET_SIM_INLINE int cubeFace(f32 x, f32 y, f32 z) {
  f32 ax = absolute(x), ay = absolute(y), az = absolute(z);
  if (az >= ax && az >= ay)
    return z < 0 ? 5 : 4;
  if (ay >= ax)
    return y < 0 ? 3 : 2;
  return x < 0 ? 1 : 0;
}

static void registerCube(OpTable &table) {
  table.add("v_cubeid_f32",
            lanes<[](f32 x, f32 y, f32 z) { return static_cast<f32>(cubeFace(x, y, z)); }>);
  table.add("v_cubesc_f32", lanes<[](f32 x, f32 y, f32 z) {
              int face = cubeFace(x, y, z);
              return face == 5 ? -x : face >= 2 ? x : face == 1 ? z : -z;
            }>);
  table.add("v_cubetc_f32", lanes<[](f32 x, f32 y, f32 z) {
              int face = cubeFace(x, y, z);
              return face >= 4 || face < 2 ? -y : face == 3 ? -z : z;
            }>);
  table.add("v_cubema_f32", lanes<[](f32 x, f32 y, f32 z) {
              int face = cubeFace(x, y, z);
              return 2.0f * (face >= 4 ? z : face >= 2 ? y : x);
            }>);
}

void registerVectorFloat(OpTable &table) {
  registerArithmetic(table);
  registerMinMax(table);
  registerRounding(table);
  registerExponents(table);
  registerCube(table);
}

} // namespace hocket::sim::HOCKET_SIM_ISA
