// Vector instructions whose result or third input is one bit a lane: compares, carries, selects.
#pragma once

#include "Lanes.h"

namespace hocket::sim::HOCKET_SIM_ISA {

/// One bit for each lane whose word has its top bit set.
HOCKET_SIM_INLINE u64 maskOfSigns(const LaneWords &words) {
  u64 mask = 0;
#if defined(__AVX512DQ__)
  for (unsigned i = 0; i < 4; ++i)
    mask |= u64(_mm512_movepi32_mask(_mm512_load_si512(words.lane + 16 * i))) << (16 * i);
#elif defined(__AVX2__)
  for (unsigned i = 0; i < 8; ++i) {
    __m256 part = _mm256_castsi256_ps(
        _mm256_load_si256(reinterpret_cast<const __m256i *>(words.lane + 8 * i)));
    mask |= u64(static_cast<u32>(_mm256_movemask_ps(part))) << (8 * i);
  }
#else
  for (unsigned i = 0; i < 64; ++i)
    mask |= u64(words.lane[i] >> 31) << i;
#endif
  return mask;
}

namespace detail {

template <auto F, class Signature> struct MaskFunction;
template <auto F, class L, class... A> struct MaskFunction<F, bool (L::*)(A...) const> {
  static constexpr bool anyFloat = (TypeOf<A>::isFloat || ...);
  template <class T> static constexpr bool isHalf = TypeOf<T>::isFloat && TypeOf<T>::bits == 16;
  template <class T> static constexpr bool isWide = TypeOf<T>::isFloat && TypeOf<T>::bits == 64;

  template <class... S> HOCKET_SIM_INLINE static u64 loop(const S &...sources) {
    LaneWords flags;
    HOCKET_LANE_LOOP
    for (unsigned i = 0; i < 64; ++i)
      flags.lane[i] = F(sources[i]...) ? ~u32(0) : u32(0);
    return maskOfSigns(flags);
  }
  template <template <class> class Source, size_t... I>
  HOCKET_SIM_INLINE static u64 compute(Wave &wave, const Instruction &in,
                                       std::index_sequence<I...>) {
    return loop(Source<A>(wave, in, I)...);
  }
  __attribute__((noinline)) static u64 inScope(Wave &wave, const Instruction &in) {
    return compute<GeneralSource>(wave, in, std::make_index_sequence<sizeof...(A)>());
  }
  static u64 run(Wave &wave, const Instruction &in) {
    if (in.plain && (!anyFloat || wave.mode.isDefault())) [[likely]]
      return compute<PlainSource>(wave, in, std::make_index_sequence<sizeof...(A)>());
    if (!anyFloat || wave.mode.isDefault())
      return inScope(wave, in);
    FloatScope scope(wave, (isWide<A> || ...));
    return inScope(wave, in);
  }
};

} // namespace detail

/// The lanes, active or not, where `F` holds.
template <auto F> u64 maskOf(Wave &wave, const Instruction &in) {
  return detail::MaskFunction<F, decltype(&decltype(F)::operator())>::run(wave, in);
}

/// The carry-in or select mask: VCC, or the third source of the VOP3 form.
HOCKET_SIM_INLINE u64 maskOperand(const Wave &wave, const Instruction &in) {
  if (in.encoding != Encoding::VOP3)
    return wave.vcc();
  const Operand &operand = in.source[2];
  if (operand.kind == OperandKind::Sgpr)
    return wave.pair(operand.reg);
  return scalarWord(wave, operand, 0, 64, false, true) |
         u64(scalarWord(wave, operand, 1, 64, false, true)) << 32;
}

} // namespace hocket::sim::HOCKET_SIM_ISA
