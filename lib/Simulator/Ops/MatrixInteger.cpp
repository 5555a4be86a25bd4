// MFMA with i32 results from i8 operands (CDNA3 ISA 7, docs/Hardware.md 2.1). Sums wrap.
#include "Families.h"
#include "Matrix.h"

namespace hocket::sim::HOCKET_SIM_ISA {

HOCKET_SIM_INLINE i32 byteOf(u32 word, unsigned index) {
  return static_cast<i32>(static_cast<i8>(word >> (8 * index)));
}

/// Unpacks block `block` of an operand of `Words` registers to [k][row or column].
template <unsigned Size, unsigned Blocks, unsigned Words>
static void unpack(const u32 (*operand)[waveSize], unsigned block, i32 (*to)[Size]) {
  constexpr unsigned groups = waveSize / (Size * Blocks);
  for (unsigned group = 0; group < groups; ++group)
    for (unsigned e = 0; e < 4 * Words; ++e) {
      const u32 *words = operand[e / 4] + (group * Blocks + block) * Size;
      for (unsigned i = 0; i < Size; ++i)
        to[group * 4 * Words + e][i] = byteOf(words[i], e % 4);
    }
}

/// Where row `row` of block `block` is: its first column, in words from the first register.
template <unsigned Size> static unsigned blockRow(unsigned block, unsigned row) {
  if constexpr (Size == 4)
    return row * waveSize + block * 4;
  else
    return block * Size * Size + rowOffset<Size>(row);
}

template <unsigned Size, unsigned Blocks, unsigned Words>
static void matrix(Wave &wave, const Instruction &in) {
  if (in.cbsz | in.abid | in.blgp) {
    failWave(wave, in, "is not implemented by the simulator with cbsz, abid or blgp");
    return;
  }
  constexpr unsigned depth = waveSize / (Size * Blocks) * Words * 4;
  i32 rows[Blocks][depth][Size], columns[Blocks][depth][Size];
  for (unsigned block = 0; block < Blocks; ++block) {
    unpack<Size, Blocks, Words>(&wave.vgpr[in.source[0].reg], block, rows[block]);
    unpack<Size, Blocks, Words>(&wave.vgpr[in.source[1].reg], block, columns[block]);
  }
  placeAccumulator(wave, in, Blocks * Size * Size / waveSize, operandType<i32>);
  for (unsigned block = 0; block < Blocks; ++block)
    for (unsigned i = 0; i < Size; ++i) {
      u32 *d = &wave.vgpr[0][0] + in.destination * waveSize + blockRow<Size>(block, i);
      u32 sums[Size];
      std::memcpy(sums, d, sizeof(sums));
      for (unsigned k = 0; k < depth; ++k)
        for (unsigned j = 0; j < Size; ++j)
          sums[j] += static_cast<u32>(rows[block][k][i] * columns[block][k][j]);
      std::memcpy(d, sums, sizeof(sums));
    }
}

void registerMatrixInteger(OpTable &table) {
  table.add("v_mfma_i32_32x32x32_i8", matrix<32, 1, 4>);
  table.add("v_mfma_i32_16x16x64_i8", matrix<16, 1, 4>);
  table.add("v_mfma_i32_32x32x16_i8", matrix<32, 1, 2>);
  table.add("v_mfma_i32_16x16x32_i8", matrix<16, 1, 2>);
  table.add("v_mfma_i32_32x32x4_2b_i8", matrix<32, 2, 1>);
  table.add("v_mfma_i32_16x16x4_4b_i8", matrix<16, 4, 1>);
  table.add("v_mfma_i32_4x4x4_16b_i8", matrix<4, 16, 1>);
}

} // namespace hocket::sim::HOCKET_SIM_ISA
