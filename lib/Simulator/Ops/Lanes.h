// How a vector instruction is written: a function on one lane's typed values.
//
//   table.add("v_add_f32", lanes<[](f32 a, f32 b) { return a + b; }>);
//
// The argument types say how operands are read (register pairs for 64-bit types, neg and abs for
// floats, op_sel and SDWA for all), the result type how they are written. The loop over lanes,
// EXEC, modifiers, clamp, omod, DPP and the MODE register are dealt with here, once: a fast loop
// for plain operands, and a general path. This header is compiled once per host instruction set;
// everything in it is internal to the copy or always inlined (HostIsa.h).
#pragma once

#include "../HostIsa.h"
#include "../Instruction.h"
#include "../OpTable.h"
#include "../Wave.h"
#include "Half.h"

#include <cstddef>
#include <cstdint>
#include <utility>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#ifndef HOCKET_SIM_ISA
#error "compile this as part of a lane family: see lib/Simulator/CMakeLists.txt"
#endif

/// In front of a loop over lanes: iterations touch their own lane only, whatever registers overlap.
#define HOCKET_LANE_LOOP _Pragma("clang loop vectorize(assume_safety)")

namespace hocket::sim::HOCKET_SIM_ISA {

using u8 = uint8_t;
using u16 = uint16_t;
using u32 = uint32_t;
using u64 = uint64_t;
using i8 = int8_t;
using i16 = int16_t;
using i32 = int32_t;
using i64 = int64_t;
using f32 = float;
using f64 = double;

inline constexpr u64 allLanes = ~u64(0);

template <class To, class From> HOCKET_SIM_INLINE To bitCast(From from) {
  return __builtin_bit_cast(To, from);
}

/// 64 lanes of one register.
struct alignas(64) LaneWords {
  u32 lane[64];
};

/// How a C++ type is held in registers.
template <class T> struct TypeOf {
  static constexpr unsigned bits = sizeof(T) * 8;
  static constexpr bool isFloat = false;
  static constexpr bool isSigned = T(-1) < T(0);
};
template <> struct TypeOf<f32> {
  static constexpr unsigned bits = 32;
  static constexpr bool isFloat = true, isSigned = true;
};
template <> struct TypeOf<f64> {
  static constexpr unsigned bits = 64;
  static constexpr bool isFloat = true, isSigned = true;
};
template <> struct TypeOf<Half> {
  static constexpr unsigned bits = 16;
  static constexpr bool isFloat = true, isSigned = true;
};

/// A type as run-time data, for the general path.
struct OperandType {
  u8 bits;
  bool isFloat, isSigned;
};
template <class T>
inline constexpr OperandType operandType = {TypeOf<T>::bits, TypeOf<T>::isFloat,
                                            TypeOf<T>::isSigned};

/// Makes a `T` of its words; narrow types take the low bits.
template <class T> HOCKET_SIM_INLINE T fromWords(u32 low, u32 high) {
  if constexpr (TypeOf<T>::bits == 64)
    return bitCast<T>(u64(high) << 32 | low);
  else if constexpr (TypeOf<T>::bits == 32)
    return bitCast<T>(low);
  else if constexpr (TypeOf<T>::bits == 16)
    return bitCast<T>(static_cast<u16>(low));
  else
    return bitCast<T>(static_cast<u8>(low));
}
template <class T> HOCKET_SIM_INLINE u32 lowWord(T value) {
  if constexpr (TypeOf<T>::bits == 64)
    return static_cast<u32>(bitCast<u64>(value));
  else if constexpr (TypeOf<T>::bits == 32)
    return bitCast<u32>(value);
  else if constexpr (TypeOf<T>::bits == 16)
    return bitCast<u16>(value);
  else
    return bitCast<u8>(value);
}
template <class T> HOCKET_SIM_INLINE u32 highWord(T value) {
  return static_cast<u32>(bitCast<u64>(value) >> 32);
}

/// Writes `values` to the lanes of `to` that `mask` has.
HOCKET_SIM_INLINE void blend(u32 *to, const u32 *values, u64 mask) {
#if defined(__AVX512F__)
  for (unsigned i = 0; i < 4; ++i)
    _mm512_mask_storeu_epi32(to + 16 * i, static_cast<__mmask16>(mask >> (16 * i)),
                             _mm512_loadu_si512(values + 16 * i));
#else
  HOCKET_LANE_LOOP
  for (unsigned i = 0; i < 64; ++i)
    to[i] = mask >> i & 1 ? values[i] : to[i];
#endif
}

HOCKET_SIM_INLINE void splat(LaneWords &to, u32 value) {
  for (unsigned i = 0; i < 64; ++i)
    to.lane[i] = value;
}

/// Word `word` of an operand that is not a vector register.
u32 uniformWord(const Wave &wave, const Operand &operand, unsigned word, OperandType type);

/// The general way to read an operand: all modifiers, SDWA, DPP. `low` and `high` receive it.
void readGeneral(const Wave &wave, const Instruction &in, unsigned index, OperandType type,
                 LaneWords &low, LaneWords &high);

/// The plain way: returns the register, or `buffer` filled with a uniform value.
HOCKET_SIM_INLINE const u32 *readPlain(const Wave &wave, const Operand &operand, unsigned word,
                                       OperandType type, LaneWords &buffer) {
  if (operand.kind == OperandKind::Vgpr)
    return wave.vgpr[operand.reg + word];
  splat(buffer, operand.kind == OperandKind::Sgpr ? wave.sgpr[operand.reg + word]
                                                  : uniformWord(wave, operand, word, type));
  return buffer.lane;
}

/// The lanes that a vector instruction writes: EXEC, less what DPP masks off.
u64 writeMaskGeneral(const Wave &wave, const Instruction &in);

/// The general way to write: omod, clamp, op_sel, SDWA destinations.
void writeGeneral(Wave &wave, const Instruction &in, OperandType type, LaneWords &low,
                  LaneWords &high, u64 mask, bool keepHigh);

/// Makes the host's floating-point unit follow MODE while it lives, for the types given.
class FloatScope {
public:
  FloatScope(const Wave &wave, bool wide);
  ~FloatScope();

private:
  unsigned saved;
};

/// Refuses f16 arithmetic in a mode other than the default; true if it did.
bool refuseHalfMode(Wave &wave, const Instruction &in);

namespace detail {

/// One operand of the plain path.
template <class T> struct PlainSource {
  const u32 *low, *high;
  LaneWords lowBuffer, highBuffer;
  HOCKET_SIM_INLINE PlainSource(const Wave &wave, const Instruction &in, unsigned index) {
    low = readPlain(wave, in.source[index], 0, operandType<T>, lowBuffer);
    high = low;
    if constexpr (TypeOf<T>::bits == 64)
      high = readPlain(wave, in.source[index], 1, operandType<T>, highBuffer);
  }
  HOCKET_SIM_INLINE T operator[](unsigned lane) const {
    return fromWords<T>(low[lane], high[lane]);
  }
};

/// One operand of the general path.
template <class T> struct GeneralSource {
  LaneWords low, high;
  HOCKET_SIM_INLINE GeneralSource(const Wave &wave, const Instruction &in, unsigned index) {
    readGeneral(wave, in, index, operandType<T>, low, high);
  }
  HOCKET_SIM_INLINE T operator[](unsigned lane) const {
    return fromWords<T>(low.lane[lane], high.lane[lane]);
  }
};

template <auto F, class R, class... S>
HOCKET_SIM_INLINE void computeLanes(u32 *low, u32 *high, const S &...sources) {
  HOCKET_LANE_LOOP
  for (unsigned i = 0; i < 64; ++i) {
    R result = F(sources[i]...);
    low[i] = lowWord(result);
    if constexpr (TypeOf<R>::bits == 64)
      high[i] = highWord(result);
  }
}

/// The signature of a lane function, taken apart.
template <auto F, class Signature> struct LaneFunction;
template <auto F, class R, class L, class... A> struct LaneFunction<F, R (L::*)(A...) const> {
  static constexpr bool anyFloat = TypeOf<R>::isFloat || (TypeOf<A>::isFloat || ...);
  template <class T> static constexpr bool isHalf = TypeOf<T>::isFloat && TypeOf<T>::bits == 16;
  template <class T> static constexpr bool isWide = TypeOf<T>::isFloat && TypeOf<T>::bits == 64;
  static constexpr bool anyHalf = isHalf<R> || (isHalf<A> || ...);
  static constexpr bool anyWide = isWide<R> || (isWide<A> || ...);

  template <template <class> class Source, size_t... I>
  HOCKET_SIM_INLINE static void compute(Wave &wave, const Instruction &in, u32 *low, u32 *high,
                                        std::index_sequence<I...>) {
    computeLanes<F, R>(low, high, Source<A>(wave, in, I)...);
  }

  static void plain(Wave &wave, const Instruction &in) {
    u32 *low = wave.vgpr[in.destination], *high = wave.vgpr[in.destination + 1];
    constexpr auto indices = std::make_index_sequence<sizeof...(A)>();
    u64 mask = wave.exec();
    if (mask == allLanes && TypeOf<R>::bits >= 32) {
      compute<PlainSource>(wave, in, low, high, indices);
      return;
    }
    LaneWords lowResult, highResult;
    compute<PlainSource>(wave, in, lowResult.lane, highResult.lane, indices);
    blend(low, lowResult.lane, mask);
    if constexpr (TypeOf<R>::bits == 64)
      blend(high, highResult.lane, mask);
  }

  template <bool KeepHigh>
  __attribute__((noinline)) static void inScope(Wave &wave, const Instruction &in) {
    LaneWords low, high;
    u64 mask = writeMaskGeneral(wave, in);
    compute<GeneralSource>(wave, in, low.lane, high.lane, std::make_index_sequence<sizeof...(A)>());
    writeGeneral(wave, in, operandType<R>, low, high, mask, KeepHigh);
  }

  template <bool KeepHigh> static void general(Wave &wave, const Instruction &in) {
    if (!anyFloat || wave.mode.isDefault())
      return inScope<KeepHigh>(wave, in);
    if (anyHalf && refuseHalfMode(wave, in))
      return;
    FloatScope scope(wave, anyWide);
    inScope<KeepHigh>(wave, in);
  }
};

template <auto F> using LaneFunctionOf = LaneFunction<F, decltype(&decltype(F)::operator())>;

} // namespace detail

/// Executes `F` on every active lane. 16-bit results clear the upper half of the register.
template <auto F> void lanes(Wave &wave, const Instruction &in) {
  using Function = detail::LaneFunctionOf<F>;
  if (in.plain && (!Function::anyFloat || wave.mode.isDefault())) [[likely]]
    return Function::plain(wave, in);
  Function::template general<false>(wave, in);
}

/// The same for the 16-bit instructions that keep the other half of the destination register.
template <auto F> void lanesKeepHalf(Wave &wave, const Instruction &in) {
  detail::LaneFunctionOf<F>::template general<true>(wave, in);
}

} // namespace hocket::sim::HOCKET_SIM_ISA
