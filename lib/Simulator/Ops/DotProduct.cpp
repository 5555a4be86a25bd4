// Dot products of packed values with a 32-bit sum (CDNA3 ISA 12.10 and 12.12).
//
// Sums go in the order of the ISA's formulas. f16 and bf16 products are exact in f32 except for
// bf16 ones beyond f32's range, so each addition rounds once; v_dot2_f32_bf16 adds the third
// operand last, the others first. Integer sums wrap, with the clamp bit they saturate at the end.
#include "Families.h"
#include "Packed.h"

namespace hocket::sim::HOCKET_SIM_ISA {

/// The third operand with its sign modifiers: only f32 ones have them.
static void readSum(const Wave &wave, const Instruction &in, OperandType type, LaneWords &to) {
  const Operand &operand = in.source[2];
  LaneWords buffer;
  const u32 *from = readPlain(wave, operand, 0, type, buffer);
  u32 flip = type.isFloat && operand.negate ? 0x80000000 : 0;
  for (unsigned i = 0; i < 64; ++i)
    to.lane[i] = from[i] ^ flip;
}

/// Two-operand encodings have no op_sel: low halves with low ones, high with high.
static Instruction withStraightHalves(const Instruction &in) {
  Instruction straight = in;
  if (in.encoding != Encoding::VOP3P)
    for (Operand &source : straight.source) {
      source.opSelect = false;
      source.opSelectHigh = true;
      source.negate = source.absolute = false;
    }
  return straight;
}

/// Modifiers that a two-operand encoding could carry and that are not handled.
static bool refuseModifiers(Wave &wave, const Instruction &in) {
  if (in.encoding == Encoding::VOP3P || in.plain || in.extension == Extension::DPP)
    return false;
  failWave(wave, in, "is not implemented by the simulator with modifiers");
  return true;
}

/// Source 0 of a DPP form comes from other lanes; the others are plain registers.
static void permuteFirst(Wave &wave, const Instruction &in, PackedHalves &first) {
  if (in.extension != Extension::DPP)
    return;
  LaneWords words, none;
  readGeneral(wave, in, 0, operandType<u32>, words, none);
  for (unsigned i = 0; i < 64; ++i) {
    first.low.lane[i] = words.lane[i] & 0xffff;
    first.high.lane[i] = words.lane[i] >> 16;
  }
}

/// The form that attention's row sums have: no modifiers, one factor may be a constant.
template <OperandType Halves, OperandType Sum, auto F>
static void dot2Plain(Wave &wave, const Instruction &in) {
  LaneWords buffer[3], result;
  const u32 *a = readPlain(wave, in.source[0], 0, Halves, buffer[0]);
  const u32 *b = readPlain(wave, in.source[1], 0, Halves, buffer[1]);
  const u32 *sum = readPlain(wave, in.source[2], 0, Sum, buffer[2]);
  HOCKET_LANE_LOOP
  for (unsigned i = 0; i < 64; ++i)
    result.lane[i] = F(a[i] & 0xffff, b[i] & 0xffff, a[i] >> 16, b[i] >> 16, sum[i], false, false);
  blend(wave.vgpr[in.destination], result.lane, wave.exec());
}

/// `F(a low, b low, a high, b high, sum)` on raw bits.
template <OperandType Halves, OperandType Sum, auto F>
static void dot2(Wave &wave, const Instruction &original) {
  if (original.plain)
    return dot2Plain<Halves, Sum, F>(wave, original);
  if (refuseModifiers(wave, original))
    return;
  Instruction in = withStraightHalves(original);
  PackedHalves a(wave, in, 0, Halves), b(wave, in, 1, Halves);
  permuteFirst(wave, in, a);
  LaneWords sum, result;
  readSum(wave, in, Sum, sum);
  bool clamp = in.clamp, dx10 = wave.mode.dx10Clamp();
  for (unsigned i = 0; i < 64; ++i)
    result.lane[i] =
        F(a.low.lane[i], b.low.lane[i], a.high.lane[i], b.high.lane[i], sum.lane[i], clamp, dx10);
  blend(wave.vgpr[in.destination], result.lane, writeMaskGeneral(wave, in));
}

HOCKET_SIM_INLINE u32 floatResult(f32 value, bool clamp, bool dx10) {
  return bitCast<u32>(clamp ? clampFloat(value, dx10) : value);
}
/// A 64-bit sum as a wrapped or saturated 32-bit one.
template <bool Signed> HOCKET_SIM_INLINE u32 integerResult(i64 value, bool clamp) {
  i64 low = Signed ? i64(-2147483647) - 1 : 0, high = Signed ? 2147483647 : i64(0xffffffff);
  i64 limited = value < low ? low : value > high ? high : value;
  return static_cast<u32>(clamp ? limited : value);
}
template <bool Signed> HOCKET_SIM_INLINE i64 widenSum(u32 sum) {
  return Signed ? i64(static_cast<i32>(sum)) : i64(sum);
}

HOCKET_SIM_INLINE f32 half(u32 bits) { return halfToFloat({static_cast<u16>(bits)}); }
HOCKET_SIM_INLINE f32 bfloat(u32 bits) { return bfloatToFloat(static_cast<u16>(bits)); }

static constexpr auto dotHalf = [](u32 a0, u32 b0, u32 a1, u32 b1, u32 sum, bool clamp, bool dx10) {
  f32 first = bitCast<f32>(sum) + half(a0) * half(b0);
  return floatResult(first + half(a1) * half(b1), clamp, dx10);
};
static constexpr auto dotBfloatSumFirst = [](u32 a0, u32 b0, u32 a1, u32 b1, u32 sum, bool clamp,
                                             bool dx10) {
  f32 first = bitCast<f32>(sum) + bfloat(a0) * bfloat(b0);
  return floatResult(first + bfloat(a1) * bfloat(b1), clamp, dx10);
};
static constexpr auto dotBfloatSumLast = [](u32 a0, u32 b0, u32 a1, u32 b1, u32 sum, bool clamp,
                                            bool dx10) {
  f32 products = bfloat(a0) * bfloat(b0) + bfloat(a1) * bfloat(b1);
  return floatResult(products + bitCast<f32>(sum), clamp, dx10);
};
template <bool Signed>
static constexpr auto dotShort = [](u32 a0, u32 b0, u32 a1, u32 b1, u32 sum, bool clamp, bool) {
  auto widen = [](u32 bits) { return Signed ? i64(static_cast<i16>(bits)) : i64(bits); };
  i64 products = widen(a0) * widen(b0) + widen(a1) * widen(b1);
  return integerResult<Signed>(products + widenSum<Signed>(sum), clamp);
};

/// Element `index` of `Bits` bits.
template <unsigned Bits, bool Signed> HOCKET_SIM_INLINE i32 element(u32 word, unsigned index) {
  u32 top = word << (32 - Bits - Bits * index);
  return Signed ? static_cast<i32>(top) >> (32 - Bits) : static_cast<i32>(top >> (32 - Bits));
}

/// Dot products of whole words of 8-bit or 4-bit integers.
template <unsigned Bits, bool Signed> static void dotWords(Wave &wave, const Instruction &in) {
  if (refuseModifiers(wave, in))
    return;
  LaneWords a, b, sum, none, result;
  if (in.extension == Extension::DPP) {
    readGeneral(wave, in, 0, operandType<u32>, a, none);
  } else {
    LaneWords buffer;
    const u32 *from = readPlain(wave, in.source[0], 0, packedInteger, buffer);
    __builtin_memcpy(a.lane, from, sizeof(a.lane));
  }
  LaneWords buffer;
  const u32 *from = readPlain(wave, in.source[1], 0, packedInteger, buffer);
  __builtin_memcpy(b.lane, from, sizeof(b.lane));
  readSum(wave, in, packedInteger, sum);
  for (unsigned i = 0; i < 64; ++i) {
    i64 total = widenSum<Signed>(sum.lane[i]);
    for (unsigned e = 0; e < 32 / Bits; ++e)
      total += element<Bits, Signed>(a.lane[i], e) * element<Bits, Signed>(b.lane[i], e);
    result.lane[i] = integerResult<Signed>(total, in.clamp);
  }
  blend(wave.vgpr[in.destination], result.lane, writeMaskGeneral(wave, in));
}

void registerDotProduct(OpTable &table) {
  constexpr OperandType halves = operandType<Half>, floats = operandType<f32>;
  constexpr OperandType integers = packedInteger;
  table.add("v_dot2_f32_f16", dot2<halves, floats, dotHalf>);
  table.add("v_dot2c_f32_f16", dot2<halves, floats, dotHalf>);
  table.add("v_dot2_f32_bf16", dot2<halves, floats, dotBfloatSumLast>);
  table.add("v_dot2c_f32_bf16", dot2<halves, floats, dotBfloatSumFirst>);
  table.add("v_dot2_i32_i16", dot2<integers, integers, dotShort<true>>);
  table.add("v_dot2c_i32_i16", dot2<integers, integers, dotShort<true>>);
  table.add("v_dot2_u32_u16", dot2<integers, integers, dotShort<false>>);
  table.add("v_dot4_i32_i8", dotWords<8, true>);
  table.add("v_dot4c_i32_i8", dotWords<8, true>);
  table.add("v_dot4_u32_u8", dotWords<8, false>);
  table.add("v_dot8_i32_i4", dotWords<4, true>);
  table.add("v_dot8c_i32_i4", dotWords<4, true>);
  table.add("v_dot8_u32_u4", dotWords<4, false>);
}

} // namespace hocket::sim::HOCKET_SIM_ISA
