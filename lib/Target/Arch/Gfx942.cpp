// gfx942: CDNA3, MI300X and MI325X.
//
// What is odd about it, seen from gfx950: LDS is 64 KiB with 32 banks, allocated in granules of 512
// bytes; loads to LDS take 1, 2 and 4 bytes a lane, which is too narrow to feed matrix
// instructions, so tiles pass through registers; no LDS read transposes; 32x32x8 and 16x16x16 are
// the deepest f16 and bf16 MFMA, at the cycle count of gfx950's twice as deep ones; results of MFMA
// of four and more passes are ready one wait state earlier; transcendentals take 16 cycles;
// v_cvt_pk_bf16_f32, v_dot2_f32_bf16, v_permlane*_swap, v_bitop3 and v_maximum3 are missing; FP8 is
// FNUZ.
//
// Numbers in comments are sections of docs/Hardware.md, followed by its source tags.
#include "Chips.h"
#include "LdsPhases.h"

using namespace hocket;
using namespace hocket::chips;

// 4.5, 8.2. Phases of ds_read_b128: HK M. Everything else is G: what 128 bytes a clock over 32
// banks (1 SPEC/RPC D) allow, in consecutive lanes as gfx950's writes go (HK M).
static LdsBankModel ldsAccess() {
  LdsBankModel model;
  std::vector<uint64_t> groupsOfEight =
      bothHalves({lanes(0, 3) | lanes(20, 23), lanes(4, 7) | lanes(16, 19),
                  lanes(8, 11) | lanes(28, 31), lanes(12, 15) | lanes(24, 27)});
  model[LdsInstruction::ReadB32] = {32, consecutive(32)};
  model[LdsInstruction::ReadB64] = {32, consecutive(16)};
  model[LdsInstruction::ReadB96] = {32, groupsOfEight};
  model[LdsInstruction::ReadB128] = {32, groupsOfEight};
  model[LdsInstruction::WriteB32] = {32, consecutive(32)};
  model[LdsInstruction::WriteB64] = {32, consecutive(16)};
  model[LdsInstruction::WriteB96] = {32, consecutive(8)};
  model[LdsInstruction::WriteB128] = {32, consecutive(8)};
  return model;
}

// 8.1 AMDBLOG D, SCHED L: cycles that give the chip's peak rates (1).
static std::vector<MfmaInfo> mfmaTable() {
  using enum ElementType;
  return {
      {kBf16Operands, F32, {32, 32, 8, 16}, 8},  {kF16Operands, F32, {32, 32, 8, 16}, 8},
      {kBf16Operands, F32, {16, 16, 16, 16}, 4}, {kF16Operands, F32, {16, 16, 16, 16}, 4},
      {kFnuzOperands, F32, {32, 32, 16, 8}, 8},  {kFnuzOperands, F32, {16, 16, 32, 8}, 4},
      {kI8Operands, I32, {32, 32, 16, 8}, 8},    {kI8Operands, I32, {16, 16, 32, 8}, 4},
      {kF32Operands, F32, {32, 32, 2, 32}, 16},  {kF32Operands, F32, {16, 16, 4, 32}, 8},
  };
}

// 3 and 8.1, all L22.
static HazardTable hazardTable() {
  HazardTable table;
  table.mfma = {{2, 5, 2, 3, 1}, {4, 7, 0, 5, 3}, {8, 11, 0, 9, 7}, {16, 19, 0, 17, 15}};
  table.mfmaF32 = {{2, 4, 0, 2, 0}, {4, 6, 0, 4, 0}, {8, 10, 0, 8, 0}, {16, 18, 0, 16, 0}};
  table.mfmaF64 = {{4, 6, 0, 4, 0, 9}, {8, 11, 0, 9, 0, 18}};
  table.dotToOther = 3;
  table.valuToMfma = 2;
  table.transToValu = 1;
  table.valuToReadlane = 1;
  table.afterSgpr.valu = 2;
  table.afterSgpr.vmem = 5;
  table.afterSgpr.laneSelect = 4;
  table.vccToCndmask = 2;
  table.vccToDivFmas = 4;
  table.afterExec.mfma = 4;
  table.afterExec.laneAccess = 4;
  table.afterExec.dpp = 5;
  table.valuToDpp = 2;
  table.m0ToLdsDma = 1;
  table.setregToGetreg = 2;
  table.wideStoreToOverwrite = 2;
  table.wideStoreScalarOffsetToOverwrite = 1; // missed by LLVM 22; PR #197267
  table.partialWriteToValu = 1;
  return table;
}

static ArchInfo make() {
  ArchInfo arch;
  arch.name = "gfx942";
  arch.products = "MI300X, MI325X";
  arch.elfMachine = 0x4C; // 8.1 L22

  // 1 SPEC D, for the MI300X.
  arch.chip = {.computeUnits = 304,
               .xcds = 8,
               .peakClockMHz = 2100,
               .busyClockMHz = 1320, // 8.3 G
               .l2BytesPerXcd = 4u << 20,
               .memoryBytesPerSecond = 5'300'000'000'000};
  // 1 SPEC/RPC D.
  arch.waves = {.waveSize = 64, .simdsPerCu = 4, .maxWavesPerSimd = 8, .maxWorkgroupSize = 1024};
  // 1 SPEC/RPC D, 1.1 L22.
  arch.registers = {.vgprsPerSimd = 512,
                    .maxArchVgprs = 256,
                    .maxAccVgprs = 256,
                    .vgprGranule = 8,
                    .accumOffsetGranule = 4,
                    .addressableSgprs = 102,
                    .sgprGranule = 16};
  arch.lds.bytesPerCu = 64 << 10;        // 1 SPEC D
  arch.lds.bytesPerWorkgroup = 64 << 10; // 8.1 L22
  arch.lds.granule = 512;                // 8.1 L22
  arch.lds.banks = 32;                   // 1 HK M, FLY
  arch.lds.access = ldsAccess();
  arch.lds.dmaBytes = {1, 2, 4};                          // 2.4 L22
  arch.lds.maxOffset = 65535;                             // 2.3 PCODE D
  arch.waits = {.vmcnt = 63, .expcnt = 7, .lgkmcnt = 15}; // 2.7 L22
  arch.mfma = mfmaTable();
  arch.smallFloats = kFnuzOperands; // 2.1 AMDBLOG D
  arch.hazards = hazardTable();
  arch.issue = {.valu = 4, .trans = 16}; // 4.3 GLUON M
  arch.features = {};                    // 8.1 L22; FP8 2.1 AMDBLOG D
  arch.maxBufferOffset = 4095;           // 2.6 L22
  arch.maxNop = 16;                      // 2.7 PCODE D, L22
  return arch;
}

const ArchInfo &chips::gfx942() {
  static const ArchInfo arch = make();
  return arch;
}
