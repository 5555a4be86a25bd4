// Moves, selects, and moves between vector and scalar registers (CDNA3 ISA 12.8 to 12.10).
#include "Families.h"
#include "Masks.h"

namespace hocket::sim::HOCKET_SIM_ISA {

/// D = mask ? S1 : S0. Modifiers act on the sign bit, as for floats.
static void select(Wave &wave, const Instruction &in) {
  LaneWords result, high, other;
  OperandType type = operandType<f32>;
  if (in.plain) {
    LaneWords buffer;
    const u32 *first = readPlain(wave, in.source[0], 0, type, buffer);
    __builtin_memcpy(result.lane, first, sizeof(result.lane));
    const u32 *second = readPlain(wave, in.source[1], 0, type, buffer);
    blend(result.lane, second, maskOperand(wave, in));
    blend(wave.vgpr[in.destination], result.lane, wave.exec());
    return;
  }
  readGeneral(wave, in, 0, type, result, high);
  readGeneral(wave, in, 1, type, other, high);
  blend(result.lane, other.lane, maskOperand(wave, in));
  writeGeneral(wave, in, operandType<u32>, result, high, writeMaskGeneral(wave, in), false);
}

static u32 uniformSource(const Wave &wave, const Operand &operand) {
  return operand.kind == OperandKind::Vgpr ? wave.vgpr[operand.reg][0]
                                           : scalarWord(wave, operand, 0, 32, false, false);
}

/// The first active lane's value; lane 0's if none is active.
static void readFirstLane(Wave &wave, const Instruction &in) {
  u64 exec = wave.exec();
  unsigned lane = exec ? __builtin_ctzll(exec) : 0;
  const Operand &source = in.source[0];
  wave.sgpr[in.destination] =
      source.kind == OperandKind::Vgpr ? wave.vgpr[source.reg][lane] : uniformSource(wave, source);
}

static void readLane(Wave &wave, const Instruction &in) {
  unsigned lane = uniformSource(wave, in.source[1]) & 63;
  const Operand &source = in.source[0];
  wave.sgpr[in.destination] =
      source.kind == OperandKind::Vgpr ? wave.vgpr[source.reg][lane] : uniformSource(wave, source);
}

/// Ignores EXEC.
static void writeLane(Wave &wave, const Instruction &in) {
  unsigned lane = uniformSource(wave, in.source[1]) & 63;
  wave.vgpr[in.destination][lane] = uniformSource(wave, in.source[0]);
}

static void swap(Wave &wave, const Instruction &in) {
  u32 *a = wave.vgpr[in.destination], *b = wave.vgpr[in.source[0].reg];
  LaneWords old;
  __builtin_memcpy(old.lane, a, sizeof(old.lane));
  u64 exec = wave.exec();
  blend(a, b, exec);
  blend(b, old.lane, exec);
}

/// Counts the lanes below this one in the mask; `first`: the lane that bit 0 stands for.
static void countBelow(Wave &wave, const Instruction &in, unsigned first) {
  detail::GeneralSource<u32> mask(wave, in, 0), base(wave, in, 1);
  LaneWords result, high;
  for (unsigned i = 0; i < 64; ++i) {
    u32 below = i <= first ? 0 : i >= first + 32 ? ~0u : (1u << (i - first)) - 1;
    result.lane[i] = static_cast<u32>(__builtin_popcount(mask[i] & below)) + base[i];
  }
  writeGeneral(wave, in, operandType<u32>, result, high, writeMaskGeneral(wave, in), false);
}

void registerVectorMove(OpTable &table) {
  table.add("v_mov_b32", lanes<[](u32 a) { return a; }>);
  table.add("v_mov_b64", lanes<[](u64 a) { return a; }>);
  table.add("v_accvgpr_read_b32", lanes<[](u32 a) { return a; }>);
  table.add("v_accvgpr_write_b32", lanes<[](u32 a) { return a; }>);
  table.add("v_accvgpr_mov_b32", lanes<[](u32 a) { return a; }>);
  auto nothing = [](Wave &, const Instruction &) {};
  table.add("v_nop", nothing);
  table.add("v_clrexcp", nothing); // there are no exceptions here
  table.add("v_cndmask_b32", select);
  table.add("v_readfirstlane_b32", readFirstLane);
  table.add("v_readlane_b32", readLane);
  table.add("v_writelane_b32", writeLane);
  table.add("v_swap_b32", swap);
  table.add("v_mbcnt_lo_u32_b32",
            [](Wave &wave, const Instruction &in) { countBelow(wave, in, 0); });
  table.add("v_mbcnt_hi_u32_b32",
            [](Wave &wave, const Instruction &in) { countBelow(wave, in, 32); });
}

} // namespace hocket::sim::HOCKET_SIM_ISA
