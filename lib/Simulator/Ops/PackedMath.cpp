// VOP3P arithmetic: packed f32, f16 and 16-bit integers, and mixed-precision fma (CDNA3 ISA 12.12).
//
// Packed f32 operations are in attention's inner loop (rescaling the accumulator), so they have a
// path without modifiers. f16 fma rounds once: a double holds product and sum of f16 values well
// enough to round from (Half.h). Signed zero and NaN of minimum and maximum are as in FloatMath.h.
#include "Families.h"
#include "FloatMath.h"
#include "Packed.h"

#include <cstring>

namespace hocket::sim::HOCKET_SIM_ISA {

/// The words of a packed f32 operand that the low and the high result read, if they are registers
/// as they stand: op_sel and op_sel_hi choose between the two of a pair.
static bool isUnchanged(const Operand &operand) {
  return operand.kind == OperandKind::Vgpr && !operand.modified();
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

/// Out of line, so that a change of the host's rounding mode around a call cannot be moved into it.
template <auto F, size_t... I>
__attribute__((noinline)) static void packedFloatGeneral(Wave &wave, const Instruction &in,
                                                         std::index_sequence<I...>) {
  LaneWords low, high;
  bool dx10 = wave.mode.dx10Clamp();
  computePacked<F>(low, in.clamp, dx10, PackedFloat(wave, in.source[I], false)...);
  computePacked<F>(high, in.clamp, dx10, PackedFloat(wave, in.source[I], true)...);
  blend(wave.vgpr[in.destination], low.lane, wave.exec());
  blend(wave.vgpr[in.destination + 1], high.lane, wave.exec());
}

/// The low result waits, since the high one may read the register that it goes to.
template <auto F, size_t... I>
HOCKET_SIM_INLINE void packedFloatUnchanged(Wave &wave, const Instruction &in,
                                            std::index_sequence<I...>) {
  const u32 *lows[] = {wave.vgpr[in.source[I].reg + in.source[I].opSelect]...};
  const u32 *highs[] = {wave.vgpr[in.source[I].reg + in.source[I].opSelectHigh]...};
  LaneWords low, high;
  HOCKET_LANE_LOOP
  for (unsigned i = 0; i < 64; ++i) {
    low.lane[i] = bitCast<u32>(F(bitCast<f32>(lows[I][i])...));
    high.lane[i] = bitCast<u32>(F(bitCast<f32>(highs[I][i])...));
  }
  blend(wave.vgpr[in.destination], low.lane, wave.exec());
  blend(wave.vgpr[in.destination + 1], high.lane, wave.exec());
}

template <auto F, unsigned N> static void packedFloat(Wave &wave, const Instruction &in) {
  constexpr auto indices = std::make_index_sequence<N>();
  bool unchanged = !in.clamp && wave.mode.isDefault();
  for (unsigned i = 0; i < N; ++i)
    unchanged &= isUnchanged(in.source[i]);
  if (unchanged) [[likely]]
    return packedFloatUnchanged<F>(wave, in, indices);
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

template <class T, auto F, unsigned N> static void packed(Wave &wave, const Instruction &in) {
  packedSixteen<T, F>(wave, in, false, std::make_index_sequence<N>());
}

static constexpr auto fmaHalf = [](Half a, Half b, Half c) {
  return doubleToHalf(f64(halfToFloat(a)) * f64(halfToFloat(b)) + f64(halfToFloat(c)));
};

/// v_pk_fmac_f16, in a 32-bit encoding: the halves are not selectable.
static void packedFmac(Wave &wave, const Instruction &in) {
  if (!in.plain) {
    failWave(wave, in, "is not implemented by the simulator with modifiers");
    return;
  }
  Instruction straight = in;
  for (Operand &source : straight.source)
    source.opSelectHigh = true;
  packedHalf<fmaHalf, 3>(wave, straight);
}

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

template <MixResult R>
__attribute__((noinline)) static void fmaMixLanes(Wave &wave, const Instruction &in) {
  LaneWords a, b, c, result;
  readMixed(wave, in, 0, a);
  readMixed(wave, in, 1, b);
  readMixed(wave, in, 2, c);
  bool dx10 = wave.mode.dx10Clamp();
  u32 *to = wave.vgpr[in.destination];
  for (unsigned i = 0; i < 64; ++i) {
    f32 value =
        __builtin_fmaf(bitCast<f32>(a.lane[i]), bitCast<f32>(b.lane[i]), bitCast<f32>(c.lane[i]));
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

template <MixResult R> static void fmaMix(Wave &wave, const Instruction &in) {
  if (R != MixResult::Float && refuseHalfMode(wave, in))
    return;
  if (wave.mode.isDefault())
    return fmaMixLanes<R>(wave, in);
  FloatScope scope(wave, false);
  fmaMixLanes<R>(wave, in);
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

template <bool Ieee>
static constexpr auto minHalf =
    [](Half a, Half b) { return floatToHalf(minimumOf<Ieee>(halfToFloat(a), halfToFloat(b))); };
template <bool Ieee>
static constexpr auto maxHalf =
    [](Half a, Half b) { return floatToHalf(maximumOf<Ieee>(halfToFloat(a), halfToFloat(b))); };

template <auto Ieee, auto Other> static void halfByIeeeMode(Wave &wave, const Instruction &in) {
  if (wave.mode.ieee())
    packedHalf<Ieee, 2>(wave, in);
  else
    packedHalf<Other, 2>(wave, in);
}

static void registerPackedHalves(OpTable &table) {
  table.add(
      "v_pk_add_f16",
      packedHalf<[](Half a, Half b) { return floatToHalf(halfToFloat(a) + halfToFloat(b)); }, 2>);
  table.add(
      "v_pk_mul_f16",
      packedHalf<[](Half a, Half b) { return floatToHalf(halfToFloat(a) * halfToFloat(b)); }, 2>);
  table.add("v_pk_fma_f16", packedHalf<fmaHalf, 3>);
  table.add("v_pk_fmac_f16", packedFmac);
  table.add("v_pk_min_f16", halfByIeeeMode<minHalf<true>, minHalf<false>>);
  table.add("v_pk_max_f16", halfByIeeeMode<maxHalf<true>, maxHalf<false>>);
  table.add("v_pk_minimum3_f16", packedHalf<[](Half a, Half b, Half c) {
              f32 first = minimumPropagating(halfToFloat(a), halfToFloat(b));
              return floatToHalf(minimumPropagating(first, halfToFloat(c)));
            },
                                            3>);
  table.add("v_pk_maximum3_f16", packedHalf<[](Half a, Half b, Half c) {
              f32 first = maximumPropagating(halfToFloat(a), halfToFloat(b));
              return floatToHalf(maximumPropagating(first, halfToFloat(c)));
            },
                                            3>);
}

HOCKET_SIM_INLINE i16 saturateSigned(i32 value) {
  return static_cast<i16>(value < -32768 ? -32768 : value > 32767 ? 32767 : value);
}
HOCKET_SIM_INLINE u16 saturateUnsigned(i64 value) {
  return static_cast<u16>(value < 0 ? 0 : value > 65535 ? 65535 : value);
}

static void registerPackedArithmetic(OpTable &table) {
  table.addSaturating("v_pk_add_i16",
                      packed<i16, [](i16 a, i16 b) { return static_cast<i16>(a + b); }, 2>,
                      packed<i16, [](i16 a, i16 b) { return saturateSigned(a + b); }, 2>);
  table.addSaturating("v_pk_sub_i16",
                      packed<i16, [](i16 a, i16 b) { return static_cast<i16>(a - b); }, 2>,
                      packed<i16, [](i16 a, i16 b) { return saturateSigned(a - b); }, 2>);
  table.addSaturating("v_pk_add_u16",
                      packed<u16, [](u16 a, u16 b) { return static_cast<u16>(a + b); }, 2>,
                      packed<u16, [](u16 a, u16 b) { return saturateUnsigned(a + b); }, 2>);
  table.addSaturating("v_pk_sub_u16",
                      packed<u16, [](u16 a, u16 b) { return static_cast<u16>(a - b); }, 2>,
                      packed<u16, [](u16 a, u16 b) { return saturateUnsigned(a - b); }, 2>);
  table.addSaturating(
      "v_pk_mad_i16",
      packed<i16, [](i16 a, i16 b, i16 c) { return static_cast<i16>(a * b + c); }, 3>,
      packed<i16, [](i16 a, i16 b, i16 c) { return saturateSigned(i32(a) * b + c); }, 3>);
  table.addSaturating(
      "v_pk_mad_u16",
      packed<u16, [](u16 a, u16 b, u16 c) { return static_cast<u16>(u32(a) * b + c); }, 3>,
      packed<u16, [](u16 a, u16 b, u16 c) { return saturateUnsigned(i64(a) * b + c); }, 3>);
  table.add("v_pk_mul_lo_u16",
            packed<u16, [](u16 a, u16 b) { return static_cast<u16>(u32(a) * b); }, 2>, false);
}

static void registerPackedBits(OpTable &table) {
  table.add("v_pk_lshlrev_b16",
            packed<u16, [](u16 a, u16 b) { return static_cast<u16>(b << (a & 15)); }, 2>, false);
  table.add("v_pk_lshrrev_b16",
            packed<u16, [](u16 a, u16 b) { return static_cast<u16>(b >> (a & 15)); }, 2>, false);
  table.add("v_pk_ashrrev_i16",
            packed<i16, [](i16 a, i16 b) { return static_cast<i16>(b >> (a & 15)); }, 2>, false);
  table.add("v_pk_min_i16", packed<i16, [](i16 a, i16 b) { return a < b ? a : b; }, 2>, false);
  table.add("v_pk_max_i16", packed<i16, [](i16 a, i16 b) { return a > b ? a : b; }, 2>, false);
  table.add("v_pk_min_u16", packed<u16, [](u16 a, u16 b) { return a < b ? a : b; }, 2>, false);
  table.add("v_pk_max_u16", packed<u16, [](u16 a, u16 b) { return a > b ? a : b; }, 2>, false);
}

void registerPackedMath(OpTable &table) {
  registerPackedFloats(table);
  registerPackedHalves(table);
  registerPackedArithmetic(table);
  registerPackedBits(table);
}

} // namespace hocket::sim::HOCKET_SIM_ISA
