// VOP3P arithmetic: packed f32, f16 and 16-bit integers, and mixed-precision fma (CDNA3 ISA 12.12).
//
// Packed f32 operations are in attention's inner loop (rescaling the accumulator), so they have a
// path without modifiers. f16 fma rounds once: a double holds product and sum of f16 values well
// enough to round from (Half.h). Signed zero and NaN of minimum and maximum are as in FloatMath.h.
#include "Families.h"
#include "FloatMath.h"
#include "Packed.h"

namespace hocket::sim::HOCKET_SIM_ISA {

/// op_sel, op_sel_hi and neg of a packed f32 operand say: low from low, high from high, unchanged.
static bool isStraight(const Operand &operand) {
  return operand.kind == OperandKind::Vgpr && !operand.opSelect && operand.opSelectHigh &&
         !operand.modified();
}

template <auto F, class... S>
HOCKET_SIM_INLINE void computePacked(LaneWords &to, bool clamp, bool dx10, const S &...sources) {
  HOCKET_LANE_LOOP
  for (unsigned i = 0; i < 64; ++i)
    to.lane[i] = bitCast<u32>(F(sources[i]...));
  if (clamp)
    for (unsigned i = 0; i < 64; ++i)
      to.lane[i] = bitCast<u32>(clampFloat(bitCast<f32>(to.lane[i]), dx10));
}

template <auto F, size_t... I>
HOCKET_SIM_INLINE void packedFloatGeneral(Wave &wave, const Instruction &in,
                                          std::index_sequence<I...>) {
  LaneWords low, high;
  bool dx10 = wave.mode.dx10Clamp();
  computePacked<F>(low, in.clamp, dx10, PackedFloat(wave, in.source[I], false)...);
  computePacked<F>(high, in.clamp, dx10, PackedFloat(wave, in.source[I], true)...);
  blend(wave.vgpr[in.destination], low.lane, wave.exec());
  blend(wave.vgpr[in.destination + 1], high.lane, wave.exec());
}

template <auto F, size_t... I>
HOCKET_SIM_INLINE void packedFloatStraight(Wave &wave, const Instruction &in,
                                           std::index_sequence<I...>) {
  LaneWords result;
  for (unsigned word = 0; word < 2; ++word) {
    const f32 *from[] = {reinterpret_cast<const f32 *>(wave.vgpr[in.source[I].reg + word])...};
    HOCKET_LANE_LOOP
    for (unsigned i = 0; i < 64; ++i)
      result.lane[i] = bitCast<u32>(F(bitCast<f32>(wave.vgpr[in.source[I].reg + word][i])...));
    (void)from;
    blend(wave.vgpr[in.destination + word], result.lane, wave.exec());
  }
}

/// Tuples are even-aligned, so a register pair of the result is a source pair or none of it.
template <auto F, unsigned N> static void packedFloat(Wave &wave, const Instruction &in) {
  constexpr auto indices = std::make_index_sequence<N>();
  bool straight = !in.clamp && wave.mode.isDefault();
  for (unsigned i = 0; i < N; ++i)
    straight &= isStraight(in.source[i]);
  if (straight) [[likely]]
    return packedFloatStraight<F>(wave, in, indices);
  if (wave.mode.isDefault())
    return packedFloatGeneral<F>(wave, in, indices);
  FloatScope scope(wave, false);
  packedFloatGeneral<F>(wave, in, indices);
}

/// v_pk_mov_b32: op_sel of source 0 chooses the low result, that of source 1 the high one.
static void packedMove(Wave &wave, const Instruction &in) {
  LaneWords result[2];
  for (unsigned i = 0; i < 2; ++i) {
    LaneWords buffer;
    const Operand &operand = in.source[i];
    const u32 *from = readPlain(wave, operand, operand.opSelect, packedInteger, buffer);
    std::memcpy(result[i].lane, from, sizeof(result[i].lane));
  }
  for (unsigned i = 0; i < 2; ++i)
    blend(wave.vgpr[in.destination + i], result[i].lane, wave.exec());
}

HOCKET_SIM_INLINE u16 clampHalf(u16 bits, bool dx10) {
  return floatToHalf(clampFloat(halfToFloat({bits}), dx10)).bits;
}

/// `T`: Half, u16 or i16; `F` gives a 16-bit result of values of `T`.
template <class T, auto F, size_t... I>
HOCKET_SIM_INLINE void packedSixteen(Wave &wave, const Instruction &in, bool clamp,
                                     std::index_sequence<I...>) {
  constexpr OperandType type = TypeOf<T>::isFloat ? operandType<T> : packedInteger;
  const PackedHalves sources[] = {PackedHalves(wave, in, I, type)...};
  bool dx10 = wave.mode.dx10Clamp();
  LaneWords result;
  HOCKET_LANE_LOOP
  for (unsigned i = 0; i < 64; ++i) {
    u16 low = lowWord(F(fromWords<T>(sources[I].low.lane[i], 0)...));
    u16 high = lowWord(F(fromWords<T>(sources[I].high.lane[i], 0)...));
    result.lane[i] = low | u32(high) << 16;
  }
  if (clamp)
    for (unsigned i = 0; i < 64; ++i) {
      u32 word = result.lane[i];
      result.lane[i] = clampHalf(static_cast<u16>(word), dx10) |
                       u32(clampHalf(static_cast<u16>(word >> 16), dx10)) << 16;
    }
  blend(wave.vgpr[in.destination], result.lane, wave.exec());
}

template <auto F, unsigned N> static void packedHalf(Wave &wave, const Instruction &in) {
  if (refuseHalfMode(wave, in))
    return;
  packedSixteen<Half, F>(wave, in, in.clamp, std::make_index_sequence<N>());
}

template <class T, auto F, unsigned N>
static void packedInteger16(Wave &wave, const Instruction &in) {
  packedSixteen<T, F>(wave, in, false, std::make_index_sequence<N>());
}

HOCKET_SIM_INLINE i16 saturateSigned(i32 value) {
  return static_cast<i16>(value < -32768 ? -32768 : value > 32767 ? 32767 : value);
}
/// For results that are too large; differences are clamped at 0 by their function.
HOCKET_SIM_INLINE u16 saturateUnsigned(i64 value) {
  return static_cast<u16>(value < 0 ? 0 : value > 65535 ? 65535 : value);
}

HOCKET_SIM_INLINE Half halfOf(f32 value) { return floatToHalf(value); }

static constexpr auto fmaHalf = [](Half a, Half b, Half c) {
  return doubleToHalf(f64(halfToFloat(a)) * f64(halfToFloat(b)) + f64(halfToFloat(c)));
};

/// Source `index` of a mixed-precision operation as f32: f16 if op_sel_hi says so.
static void readMixed(const Wave &wave, const Instruction &in, unsigned index, LaneWords &to) {
  const Operand &operand = in.source[index];
  bool half = operand.opSelectHigh;
  LaneWords buffer;
  const u32 *from =
      readPlain(wave, operand, 0, half ? operandType<Half> : operandType<f32>, buffer);
  u32 keep = operand.absolute ? 0x7fffffff : ~0u, flip = operand.negate ? 0x80000000 : 0;
  unsigned shift = operand.opSelect ? 16 : 0;
  for (unsigned i = 0; i < 64; ++i) {
    u32 word = half ? bitCast<u32>(halfToFloat({static_cast<u16>(from[i] >> shift)})) : from[i];
    to.lane[i] = (word & keep) ^ flip;
  }
}

/// Where the result of a mixed-precision fma goes.
enum class MixResult : u8 { Float, LowHalf, HighHalf };

template <MixResult R> static void fmaMix(Wave &wave, const Instruction &in) {
  if (R != MixResult::Float && refuseHalfMode(wave, in))
    return;
  FloatScope scope(wave, false);
  LaneWords a, b, c, result;
  readMixed(wave, in, 0, a);
  readMixed(wave, in, 1, b);
  readMixed(wave, in, 2, c);
  bool dx10 = wave.mode.dx10Clamp();
  u32 *to = wave.vgpr[in.destination];
  for (unsigned i = 0; i < 64; ++i) {
    f32 value = __builtin_fmaf(bitCast<f32>(a.lane[i]), bitCast<f32>(b.lane[i]),
                               bitCast<f32>(c.lane[i]));
    if (in.clamp)
      value = clampFloat(value, dx10);
    if constexpr (R == MixResult::Float)
      result.lane[i] = bitCast<u32>(value);
    else if constexpr (R == MixResult::LowHalf)
      result.lane[i] = (to[i] & 0xffff0000) | floatToHalf(value).bits;
    else
      result.lane[i] = (to[i] & 0xffff) | u32(floatToHalf(value).bits) << 16;
  }
  blend(to, result.lane, wave.exec());
}

static void registerPackedFloats(OpTable &table) {
  table.add("v_pk_add_f32", packedFloat<[](f32 a, f32 b) { return a + b; }, 2>);
  table.add("v_pk_mul_f32", packedFloat<[](f32 a, f32 b) { return a * b; }, 2>);
  table.add("v_pk_fma_f32",
            packedFloat<[](f32 a, f32 b, f32 c) { return __builtin_fmaf(a, b, c); }, 3>);
  table.add("v_pk_mov_b32", packedMove);
  table.add("v_fma_mix_f32", fmaMix<MixResult::Float>);
  table.add("v_fma_mixlo_f16", fmaMix<MixResult::LowHalf>);
  table.add("v_fma_mixhi_f16", fmaMix<MixResult::HighHalf>);
}

static void registerPackedHalves(OpTable &table) {
  table.add("v_pk_add_f16", packedHalf<[](Half a, Half b) {
    return halfOf(halfToFloat(a) + halfToFloat(b));
  }, 2>);
  table.add("v_pk_mul_f16", packedHalf<[](Half a, Half b) {
    return halfOf(halfToFloat(a) * halfToFloat(b));
  }, 2>);
  table.add("v_pk_fma_f16", packedHalf<fmaHalf, 3>);
  table.add("v_pk_fmac_f16", packedFmac);
  table.add("v_pk_min_f16", packedHalf<minimumNumberHalf, 2>);
  table.add("v_pk_max_f16", packedHalf<maximumNumberHalf, 2>);
  table.add("v_pk_minimum3_f16", packedHalf<[](Half a, Half b, Half c) {
    return minimumHalf(minimumHalf(a, b), c);
  }, 3>);
  table.add("v_pk_maximum3_f16", packedHalf<[](Half a, Half b, Half c) {
    return maximumHalf(maximumHalf(a, b), c);
  }, 3>);
}
