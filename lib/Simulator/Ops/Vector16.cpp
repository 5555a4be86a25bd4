// 16-bit arithmetic, one value a lane: f16, i16, u16 (CDNA3 ISA 12.7 to 12.10).
//
// f16 is computed in f32 or f64 and rounded once: products and sums of two f16 are exact in f32 up
// to that rounding, a fused multiply-add in f64. Most instructions clear the upper half of their
// destination; the three-operand ones of gfx9 keep it.
#include "Families.h"
#include "FloatMath.h"
#include "Median.h"

namespace hocket::sim::HOCKET_SIM_ISA {

static HOCKET_SIM_INLINE f32 wide(Half h) { return halfToFloat(h); }

/// Quotients aside, every f16 operation here: an exact f32 (or f64) and one rounding.
static HOCKET_SIM_INLINE Half fusedHalf(Half a, Half b, Half c) {
  f64 product = static_cast<f64>(wide(a)) * static_cast<f64>(wide(b));
  return doubleToHalf(product + static_cast<f64>(wide(c)));
}
/// v_mad_f16 and v_mac_f16 round the product as well.
static HOCKET_SIM_INLINE Half unfusedHalf(Half a, Half b, Half c) {
  return floatToHalf(wide(floatToHalf(wide(a) * wide(b))) + wide(c));
}

static HOCKET_SIM_INLINE bool isNan(Half h) { return (h.bits & 0x7fff) > 0x7c00; }
static HOCKET_SIM_INLINE bool isSignalling(Half h) { return isNan(h) && !(h.bits & 0x200); }
static HOCKET_SIM_INLINE Half quieted(Half h) { return {static_cast<u16>(h.bits | 0x200)}; }

/// As v_min_f32 and v_max_f32. f16 order is that of the sign-magnitude integers.
static HOCKET_SIM_INLINE i32 orderOf(Half h) {
  i32 magnitude = h.bits & 0x7fff;
  return h.bits & 0x8000 ? -magnitude - 1 : magnitude;
}
template <bool Ieee, bool Maximum> static HOCKET_SIM_INLINE Half extremeOf(Half a, Half b) {
  bool takeB = Maximum ? orderOf(b) > orderOf(a) : orderOf(b) < orderOf(a);
  Half result = isNan(a) ? b : isNan(b) ? a : takeB ? b : a;
  if (Ieee && isSignalling(a))
    return quieted(a);
  if (Ieee && isSignalling(b))
    return quieted(b);
  return result;
}
template <bool Ieee> static HOCKET_SIM_INLINE Half medianOfHalves(Half a, Half b, Half c) {
  if (isNan(a) || isNan(b) || isNan(c))
    return extremeOf<Ieee, false>(extremeOf<Ieee, false>(a, b), c);
  Half low = extremeOf<Ieee, false>(a, b), high = extremeOf<Ieee, true>(a, b);
  return extremeOf<Ieee, true>(low, extremeOf<Ieee, false>(high, c));
}

template <auto Ieee, auto Other, bool Keep>
static void byIeeeMode(Wave &wave, const Instruction &in) {
  if (Keep)
    return wave.mode.ieee() ? lanesKeepHalf<Ieee>(wave, in) : lanesKeepHalf<Other>(wave, in);
  return wave.mode.ieee() ? lanes<Ieee>(wave, in) : lanes<Other>(wave, in);
}

template <bool Ieee> struct HalfMinMax {
  static constexpr auto min = [](Half a, Half b) { return extremeOf<Ieee, false>(a, b); };
  static constexpr auto max = [](Half a, Half b) { return extremeOf<Ieee, true>(a, b); };
  static constexpr auto min3 = [](Half a, Half b, Half c) {
    return extremeOf<Ieee, false>(extremeOf<Ieee, false>(a, b), c);
  };
  static constexpr auto max3 = [](Half a, Half b, Half c) {
    return extremeOf<Ieee, true>(extremeOf<Ieee, true>(a, b), c);
  };
  static constexpr auto med3 = [](Half a, Half b, Half c) { return medianOfHalves<Ieee>(a, b, c); };
};

static void registerHalfArithmetic(OpTable &table) {
  table.add("v_add_f16", lanes<[](Half a, Half b) { return floatToHalf(wide(a) + wide(b)); }>);
  table.add("v_sub_f16", lanes<[](Half a, Half b) { return floatToHalf(wide(a) - wide(b)); }>);
  table.add("v_subrev_f16", lanes<[](Half a, Half b) { return floatToHalf(wide(b) - wide(a)); }>);
  table.add("v_mul_f16", lanes<[](Half a, Half b) { return floatToHalf(wide(a) * wide(b)); }>);
  table.add("v_fma_f16", lanesKeepHalf<[](Half a, Half b, Half c) { return fusedHalf(a, b, c); }>);
  table.add("v_fma_legacy_f16", lanes<[](Half a, Half b, Half c) { return fusedHalf(a, b, c); }>);
  constexpr auto unfused = [](Half a, Half b, Half c) { return unfusedHalf(a, b, c); };
  table.add("v_mad_f16", lanesKeepHalf<unfused>);
  for (const char *name : {"v_mad_legacy_f16", "v_mac_f16", "v_madmk_f16", "v_madak_f16"})
    table.add(name, lanes<unfused>);
  using A = HalfMinMax<true>;
  using B = HalfMinMax<false>;
  table.add("v_min_f16", byIeeeMode<A::min, B::min, false>);
  table.add("v_max_f16", byIeeeMode<A::max, B::max, false>);
  table.add("v_min3_f16", byIeeeMode<A::min3, B::min3, true>);
  table.add("v_max3_f16", byIeeeMode<A::max3, B::max3, true>);
  table.add("v_med3_f16", byIeeeMode<A::med3, B::med3, true>);
}

static HOCKET_SIM_INLINE i16 halfExponent(Half a) {
  return static_cast<i16>(frexpExponent(wide(a)));
}

static void registerHalfFunctions(OpTable &table) {
  table.add("v_trunc_f16", lanes<[](Half a) { return floatToHalf(truncOf(wide(a))); }>);
  table.add("v_ceil_f16", lanes<[](Half a) { return floatToHalf(ceilOf(wide(a))); }>);
  table.add("v_floor_f16", lanes<[](Half a) { return floatToHalf(floorOf(wide(a))); }>);
  table.add("v_rndne_f16", lanes<[](Half a) { return floatToHalf(roundEvenOf(wide(a))); }>);
  table.add("v_fract_f16", lanes<[](Half a) {
              f32 fraction = wide(a) - floorOf(wide(a));
              constexpr f32 belowOne = 0x1.ffcp-1f;
              return floatToHalf(fraction > belowOne ? belowOne : fraction);
            }>);
  table.add("v_frexp_mant_f16", lanes<[](Half a) { return floatToHalf(frexpMantissa(wide(a))); }>);
  table.add("v_frexp_exp_i16_f16", lanes<[](Half a) { return halfExponent(a); }>);
  table.add("v_ldexp_f16", lanes<[](Half a, i16 e) {
              return doubleToHalf(scaleByPower(static_cast<f64>(wide(a)), i32(e)));
            }>);
}

static HOCKET_SIM_INLINE i16 clamp16(i32 v) {
  return static_cast<i16>(v > 0x7fff ? 0x7fff : v < -0x8000 ? -0x8000 : v);
}
static HOCKET_SIM_INLINE u16 clampUnsigned16(i64 v) {
  return static_cast<u16>(v > 0xffff ? 0xffff : v < 0 ? 0 : v);
}

static void registerIntegerArithmetic(OpTable &table) {
  table.addSaturating("v_add_u16", lanes<[](u16 a, u16 b) -> u16 { return a + b; }>,
                      lanes<[](u16 a, u16 b) { return clampUnsigned16(i32(a) + b); }>);
  table.addSaturating("v_sub_u16", lanes<[](u16 a, u16 b) -> u16 { return a - b; }>,
                      lanes<[](u16 a, u16 b) { return clampUnsigned16(i32(a) - b); }>);
  table.addSaturating("v_subrev_u16", lanes<[](u16 a, u16 b) -> u16 { return b - a; }>,
                      lanes<[](u16 a, u16 b) { return clampUnsigned16(i32(b) - a); }>);
  table.addSaturating("v_add_i16", lanesKeepHalf<[](i16 a, i16 b) -> i16 { return a + b; }>,
                      lanesKeepHalf<[](i16 a, i16 b) { return clamp16(i32(a) + b); }>);
  table.addSaturating("v_sub_i16", lanesKeepHalf<[](i16 a, i16 b) -> i16 { return a - b; }>,
                      lanesKeepHalf<[](i16 a, i16 b) { return clamp16(i32(a) - b); }>);
  table.add("v_mul_lo_u16", lanes<[](u16 a, u16 b) -> u16 { return u32(a) * b; }>);
  constexpr auto mad = [](u16 a, u16 b, u16 c) -> u16 { return u32(a) * b + c; };
  constexpr auto madUnsigned = [](u16 a, u16 b, u16 c) { return clampUnsigned16(i64(a) * b + c); };
  constexpr auto madSigned = [](i16 a, i16 b, i16 c) { return clamp16(i32(a) * b + c); };
  table.addSaturating("v_mad_u16", lanesKeepHalf<mad>, lanesKeepHalf<madUnsigned>);
  table.addSaturating("v_mad_i16", lanesKeepHalf<mad>, lanesKeepHalf<madSigned>);
  table.addSaturating("v_mad_legacy_u16", lanes<mad>, lanes<madUnsigned>);
  table.addSaturating("v_mad_legacy_i16", lanes<mad>, lanes<madSigned>);
  table.add("v_mad_u32_u16", lanes<[](u16 a, u16 b, u32 c) { return u32(a) * b + c; }>, false);
  table.add("v_mad_i32_i16",
            lanes<[](i16 a, i16 b, u32 c) { return static_cast<u32>(i32(a) * b) + c; }>, false);
}

static void registerIntegerLogic(OpTable &table) {
  table.add("v_lshlrev_b16", lanes<[](u16 n, u16 a) -> u16 { return a << (n & 15); }>);
  table.add("v_lshrrev_b16", lanes<[](u16 n, u16 a) -> u16 { return a >> (n & 15); }>);
  table.add("v_ashrrev_i16", lanes<[](u16 n, i16 a) -> i16 { return a >> (n & 15); }>);
  table.add("v_min_u16", lanes<[](u16 a, u16 b) { return a < b ? a : b; }>);
  table.add("v_max_u16", lanes<[](u16 a, u16 b) { return a > b ? a : b; }>);
  table.add("v_min_i16", lanes<[](i16 a, i16 b) { return a < b ? a : b; }>);
  table.add("v_max_i16", lanes<[](i16 a, i16 b) { return a > b ? a : b; }>);
  auto three = [&]<class T>(T, const char *min, const char *max, const char *median) {
    table.add(min, lanesKeepHalf<leastOf3<T>>);
    table.add(max, lanesKeepHalf<greatestOf3<T>>);
    table.add(median, lanesKeepHalf<medianOf3<T>>);
  };
  three(i16(), "v_min3_i16", "v_max3_i16", "v_med3_i16");
  three(u16(), "v_min3_u16", "v_max3_u16", "v_med3_u16");
}

/// As v_bitop3_b32 (VectorInteger.cpp), on halves.
static void bitFunction16(Wave &wave, const Instruction &in) {
  LaneWords source[3], high, result;
  for (unsigned i = 0; i < 3; ++i)
    readGeneral(wave, in, i, operandType<u16>, source[i], high);
  u32 w0 = in.words[0], w1 = in.words[1];
  u32 truth = (w1 >> 27 & 3) << 6 | (w0 >> 8 & 7) << 3 | (w1 >> 29 & 7);
  for (unsigned i = 0; i < 64; ++i) {
    u32 a = source[0].lane[i], b = source[1].lane[i], c = source[2].lane[i], bits = 0;
    for (unsigned k = 0; k < 8; ++k)
      bits |= truth >> k & 1 ? (k & 4 ? a : ~a) & (k & 2 ? b : ~b) & (k & 1 ? c : ~c) : 0;
    result.lane[i] = bits & 0xffff;
  }
  writeGeneral(wave, in, operandType<u16>, result, high, wave.exec(), true);
}

static void registerPacking(OpTable &table) { table.add("v_bitop3_b16", bitFunction16); }

void registerVector16(OpTable &table) {
  registerHalfArithmetic(table);
  registerHalfFunctions(table);
  registerIntegerArithmetic(table);
  registerIntegerLogic(table);
  registerPacking(table);
}

} // namespace hocket::sim::HOCKET_SIM_ISA
