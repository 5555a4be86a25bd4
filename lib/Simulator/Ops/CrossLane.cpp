// v_permlane16_swap_b32 and v_permlane32_swap_b32: two registers exchange halves of their lanes
// (CDNA4 ISA, docs/Hardware.md 2.5). Both registers are written, whatever EXEC says.
#include "Families.h"
#include "Lanes.h"

namespace hocket::sim::HOCKET_SIM_ISA {

/// In each `2 * Span` lanes the upper half of the destination and the lower half of source 0.
template <unsigned Span> static void permlaneSwap(Wave &wave, const Instruction &in) {
  u32 *upper = wave.vgpr[in.destination], *lower = wave.vgpr[in.source[0].reg];
  for (unsigned first = 0; first < 64; first += 2 * Span)
    for (unsigned i = 0; i < Span; ++i) {
      u32 value = lower[first + i];
      lower[first + i] = upper[first + Span + i];
      upper[first + Span + i] = value;
    }
}

void registerCrossLane(OpTable &table) {
  table.add("v_permlane16_swap_b32", permlaneSwap<16>);
  table.add("v_permlane32_swap_b32", permlaneSwap<32>);
}

} // namespace hocket::sim::HOCKET_SIM_ISA
