// How a vector instruction is written: a function on one lane's typed values.
//
//   table.add("v_add_f32", lanes<[](f32 a, f32 b) { return a + b; }>);
//
// The argument types say how operands are read (register pairs for 64-bit types, neg and abs for
// floats, op_sel and SDWA for all), the result type how they are written. The loop over lanes,
// EXEC, modifiers, clamp, omod, DPP and the MODE register are dealt with here, once: a fast loop
// for operands with no more than signs changed, and a general path. This header is compiled once
// per host instruction set; everything in it is internal to the copy or always inlined (HostIsa.h).
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

/// `from` with the operand's neg and abs applied, in `buffer`; `sign` is the sign bit.
const u32 *applySigns(const u32 *from, const Operand &operand, u32 sign, LaneWords &buffer);

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

/// The words of up to three operands: [operand][low or high].
struct OperandWords {
  const u32 *word[3][2];
};

/// Computes all 64 lanes of one instruction.
using LaneLoop = void (*)(u32 *low, u32 *high, const OperandWords &operands);

/// What the general path needs to know of a lane function.
struct LaneSignature {
  LaneLoop loop;
  u8 count;
  OperandType result;
  OperandType argument[3];
  bool anyFloat, anyHalf, anyWide;
};

/// Executes `signature` with all modifiers, DPP, SDWA and the MODE register.
void runGeneral(Wave &wave, const Instruction &in, const LaneSignature &signature, bool keepHigh);

namespace detail {

/// One operand of the plain path, as values.
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

/// One operand with its modifiers applied, as values.
template <class T> struct GeneralSource {
  LaneWords low, high;
  HOCKET_SIM_INLINE GeneralSource(const Wave &wave, const Instruction &in, unsigned index) {
    readGeneral(wave, in, index, operandType<T>, low, high);
  }
  HOCKET_SIM_INLINE T operator[](unsigned lane) const {
    return fromWords<T>(low.lane[lane], high.lane[lane]);
  }
};

template <class T> inline constexpr bool isHalf = TypeOf<T>::isFloat && TypeOf<T>::bits == 16;
template <class T> inline constexpr bool isWide = TypeOf<T>::isFloat && TypeOf<T>::bits == 64;

/// The signature of a lane function, taken apart.
template <auto F, class Signature> struct LaneFunction;
template <auto F, class R, class L, class... A> struct LaneFunction<F, R (L::*)(A...) const> {
  /// One copy for all paths. Out of line, so that a change of the host's rounding mode around a
  /// call cannot be moved into it.
  __attribute__((noinline)) static void loop(u32 *low, u32 *high, const OperandWords &operands) {
    loopOver(low, high, operands, std::make_index_sequence<sizeof...(A)>());
  }
  template <size_t... I>
  HOCKET_SIM_INLINE static void loopOver(u32 *low, u32 *high, const OperandWords &operands,
                                         std::index_sequence<I...>) {
    const u32 *words[3][2];
    __builtin_memcpy(words, operands.word, sizeof(words));
    HOCKET_LANE_LOOP
    for (unsigned i = 0; i < 64; ++i) {
      R result = F(fromWords<A>(words[I][0][i], words[I][TypeOf<A>::bits == 64][i])...);
      low[i] = lowWord(result);
      if constexpr (TypeOf<R>::bits == 64)
        high[i] = highWord(result);
    }
  }

  template <size_t... I>
  HOCKET_SIM_INLINE static void plain(Wave &wave, const Instruction &in,
                                      std::index_sequence<I...>) {
    LaneWords buffers[sizeof...(A)][2];
    OperandWords operands;
    (readOperand<A>(wave, in.source[I], buffers[I], operands.word[I]), ...);
    u32 *low = wave.vgpr[in.destination], *high = wave.vgpr[in.destination + 1];
    u64 mask = wave.exec();
    if (mask == allLanes) {
      loop(low, high, operands);
      return;
    }
    LaneWords lowResult, highResult;
    loop(lowResult.lane, highResult.lane, operands);
    blend(low, lowResult.lane, mask);
    if constexpr (TypeOf<R>::bits == 64)
      blend(high, highResult.lane, mask);
  }
  template <class T>
  HOCKET_SIM_INLINE static void readOperand(const Wave &wave, const Operand &operand,
                                            LaneWords (&buffer)[2], const u32 *(&words)[2]) {
    words[0] = readPlain(wave, operand, 0, operandType<T>, buffer[0]);
    constexpr bool wide = TypeOf<T>::bits == 64;
    if constexpr (wide)
      words[1] = readPlain(wave, operand, 1, operandType<T>, buffer[1]);
    if constexpr (TypeOf<T>::isFloat)
      if (operand.modified()) [[unlikely]]
        words[wide] = applySigns(words[wide], operand, TypeOf<T>::bits == 16 ? 0x8000 : 0x80000000,
                                 buffer[wide]);
  }

  static constexpr LaneSignature signature = {loop,
                                              sizeof...(A),
                                              operandType<R>,
                                              {operandType<A>...},
                                              TypeOf<R>::isFloat || (TypeOf<A>::isFloat || ...),
                                              isHalf<R> || (isHalf<A> || ...),
                                              isWide<R> || (isWide<A> || ...)};

  static void run(Wave &wave, const Instruction &in) {
    if (in.simple && (!signature.anyFloat || wave.mode.isDefault())) [[likely]]
      return plain(wave, in, std::make_index_sequence<sizeof...(A)>());
    runGeneral(wave, in, signature, /*keepHigh=*/false);
  }
};

template <auto F> using LaneFunctionOf = LaneFunction<F, decltype(&decltype(F)::operator())>;

} // namespace detail

/// Executes `F` on every active lane. 16-bit results clear the upper half of the register.
template <auto F> void lanes(Wave &wave, const Instruction &in) {
  detail::LaneFunctionOf<F>::run(wave, in);
}

/// The same for the 16-bit instructions that keep the other half of the destination register.
template <auto F> void lanesKeepHalf(Wave &wave, const Instruction &in) {
  runGeneral(wave, in, detail::LaneFunctionOf<F>::signature, /*keepHigh=*/true);
}

} // namespace hocket::sim::HOCKET_SIM_ISA
