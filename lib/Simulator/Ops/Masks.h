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

/// Runs a lane function that returns ~0 or 0, and gathers its results into a mask.
u64 maskOfLanes(Wave &wave, const Instruction &in, const LaneSignature &signature);

/// The lanes, active or not, where the predicate `F` holds.
template <auto F> u64 maskOf(Wave &wave, const Instruction &in) {
  using Function = detail::LaneFunctionOf<F>;
  return maskOfLanes(wave, in, Function::signature);
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
