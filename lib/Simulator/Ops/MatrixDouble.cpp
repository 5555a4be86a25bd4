// MFMA on f64 (CDNA3 ISA 7). Row 4 * r + l / 16 and column l % 16 of the 16x16 result are in pair
// r of lane l, unlike the narrow forms; the 4x4 one has row l / 16, column l % 4 of block
// l / 4 % 4. An operand has one element a lane: k = l / 16. blgp negates A, B and C.
#include "Families.h"
#include "Matrix.h"

namespace hocket::sim::HOCKET_SIM_ISA {

static f64 doubleAt(const u32 (*pair)[waveSize], unsigned lane) {
  return bitCast<f64>(u64(pair[1][lane]) << 32 | pair[0][lane]);
}
static void setDouble(Registers pair, unsigned lane, f64 value) {
  u64 bits = value != value ? u64(0x7ff8) << 48 : bitCast<u64>(value);
  pair[0][lane] = static_cast<u32>(bits);
  pair[1][lane] = static_cast<u32>(bits >> 32);
}

/// `Size` 16: one block, 4: four blocks. Depth is 4 in both.
template <unsigned Size> static void matrix(Wave &wave, const Instruction &in) {
  if (in.cbsz | in.abid) {
    failWave(wave, in, "is not implemented by the simulator with cbsz or abid");
    return;
  }
  constexpr unsigned pairs = Size == 16 ? 4 : 1;
  f64 a[waveSize], b[waveSize];
  for (unsigned lane = 0; lane < waveSize; ++lane) {
    a[lane] = doubleAt(&wave.vgpr[in.source[0].reg], lane) * (in.blgp & 1 ? -1.0 : 1.0);
    b[lane] = doubleAt(&wave.vgpr[in.source[1].reg], lane) * (in.blgp & 2 ? -1.0 : 1.0);
  }
  placeAccumulator(wave, in, 2 * pairs, operandType<f64>);
  for (unsigned r = 0; r < pairs; ++r)
    for (unsigned lane = 0; lane < waveSize; ++lane) {
      Registers d = &wave.vgpr[in.destination + 2 * r];
      // Operand lanes of k = 0; those of the next k are 16 further.
      unsigned row = Size == 16 ? 4 * r + lane / 16 : lane % 16 / 4 * 4 + lane / 16;
      unsigned column = lane % 16;
      f64 sum = doubleAt(d, lane) * (in.blgp & 4 ? -1.0 : 1.0);
      for (unsigned k = 0; k < 4; ++k)
        sum = __builtin_fma(a[16 * k + row], b[16 * k + column], sum);
      setDouble(d, lane, sum);
    }
}

void registerMatrixDouble(OpTable &table) {
  table.add("v_mfma_f64_16x16x4_f64", matrix<16>);
  table.add("v_mfma_f64_4x4x4_4b_f64", matrix<4>);
}

} // namespace hocket::sim::HOCKET_SIM_ISA
