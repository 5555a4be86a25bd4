// gfx950: CDNA4, MI350X and MI355X.
//
// What is odd about it, seen from gfx942: LDS is 160 KiB with 64 banks and allocated in granules of
// 1280 bytes; loads to LDS take 12 and 16 bytes a lane besides 1, 2 and 4, but not 8; there are
// transposing LDS reads; f16 and bf16 MFMA have twice the K at the old cycle count, while the old
// shapes run at half rate; transcendentals take 8 cycles instead of 16; FP8 is OCP's; XF32 is gone.
//
// Numbers in comments are sections of docs/Hardware.md, followed by its source tags.
#include "Chips.h"
#include "LdsPhases.h"

using namespace hocket;
using namespace hocket::chips;

// 4.5. Reads of 8 and 16 bytes: HK M, AITER M. ReadB32 and the writes beside WriteB64 are G: writes
// are assumed to move 128 bytes a clock over 32 banks as WriteB64 does (HK, G).
static LdsBankModel ldsAccess() {
  LdsBankModel model;
  model[LdsInstruction::ReadB32] = {64, {~uint64_t(0)}};
  model[LdsInstruction::ReadB64] = {64, consecutive(32)};
  model[LdsInstruction::ReadTransposed] = {64, consecutive(32)};
  model[LdsInstruction::ReadB128] = {64,
                                     bothHalves({lanes(0, 3) | lanes(12, 15) | lanes(20, 27),
                                                 lanes(4, 11) | lanes(16, 19) | lanes(28, 31)})};
  model[LdsInstruction::ReadB96] = {
      32, bothHalves({lanes(0, 3) | lanes(20, 23), lanes(4, 7) | lanes(16, 19),
                      lanes(8, 11) | lanes(28, 31), lanes(12, 15) | lanes(24, 27)})};
  model[LdsInstruction::WriteB32] = {32, consecutive(32)};
  model[LdsInstruction::WriteB64] = {32, consecutive(16)};
  model[LdsInstruction::WriteB96] = {32, consecutive(8)};
  model[LdsInstruction::WriteB128] = {32, consecutive(8)};
  return model;
}

// 4.1 AMDBLOG D, SCHED L; shapes and operand sizes 2.1, 2.2.
static std::vector<MfmaInfo> mfmaTable() {
  using enum ElementType;
  return {
      {kBf16Operands, F32, {32, 32, 16, 16}, 8},
      {kF16Operands, F32, {32, 32, 16, 16}, 8},
      {kBf16Operands, F32, {16, 16, 32, 16}, 4},
      {kF16Operands, F32, {16, 16, 32, 16}, 4},
      {kBf16Operands, F32, {32, 32, 8, 16}, 8},
      {kF16Operands, F32, {32, 32, 8, 16}, 8},
      {kBf16Operands, F32, {16, 16, 16, 16}, 4},
      {kF16Operands, F32, {16, 16, 16, 16}, 4},
      {kOcpOperands, F32, {32, 32, 16, 8}, 8},
      {kOcpOperands, F32, {16, 16, 32, 8}, 4},
      // Operands choose their own format; 6 and 4 bits alone are twice as fast (2.1).
      {kSmallOperands, F32, {32, 32, 64, 8}, 16, 8},
      {kSmallOperands, F32, {16, 16, 128, 8}, 8, 4},
      {kI8Operands, I32, {32, 32, 32, 8}, 8},
      {kI8Operands, I32, {16, 16, 64, 8}, 4},
      {kI8Operands, I32, {32, 32, 16, 8}, 8},
      {kI8Operands, I32, {16, 16, 32, 8}, 4},
      {kF32Operands, F32, {32, 32, 2, 32}, 16},
      {kF32Operands, F32, {16, 16, 4, 32}, 8},
  };
}

// 3, all L22; the MFMA rows agree with FLY's quotation of the ISA's table.
static HazardTable hazardTable() {
  HazardTable table;
  table.mfma = {{2, 5, 2, 4, 1}, {4, 8, 0, 6, 3}, {8, 12, 0, 10, 7}, {16, 20, 0, 18, 15}};
  // L22 probes: f32 results are ready two wait states earlier than those of the XDL path; f64 has
  // distances of its own and its accumulator may be overwritten at once.
  table.mfmaF32 = {{2, 4, 0, 2, 0}, {4, 6, 0, 4, 0}, {8, 10, 0, 8, 0}, {16, 18, 0, 16, 0}};
  table.mfmaF64 = {{4, 6, 0, 4, 0, 9}, {16, 19, 0, 17, 0, 18}};
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
  table.valuToPermlaneSwap = 2;
  table.m0ToLdsDma = 1;
  table.setregToGetreg = 2;
  table.wideStoreToOverwrite = 2;
  table.wideStoreScalarOffsetToOverwrite = 1; // missed by LLVM 22; PR #197267
  table.partialWriteToValu = 1;
  table.conversionToOtherPart = 1; // 3 ISA D; missed by LLVM 22
  return table;
}

static ArchInfo make() {
  ArchInfo arch;
  arch.name = "gfx950";
  arch.products = "MI350X, MI355X";
  arch.elfMachine = 0x4F; // 2.9 L22

  // 1 SPEC D; XCD order FLY/LORE M.
  arch.chip = {.computeUnits = 256,
               .xcds = 8,
               .peakClockMHz = 2400,
               .busyClockMHz = 1510, // 1 GLUON, LORE M
               .l2BytesPerXcd = 4u << 20,
               .memoryBytesPerSecond = 8'000'000'000'000};
  // 1 SPEC/RPC D.
  arch.waves = {.waveSize = 64, .simdsPerCu = 4, .maxWavesPerSimd = 8, .maxWorkgroupSize = 1024};
  // 1.1 L22, FLY D.
  arch.registers = {.vgprsPerSimd = 512,
                    .maxArchVgprs = 256,
                    .maxAccVgprs = 256,
                    .vgprGranule = 8,
                    .accumOffsetGranule = 4,
                    .addressableSgprs = 102,
                    .sgprGranule = 16};
  arch.lds.bytesPerCu = 160 << 10;        // 1 SPEC D
  arch.lds.bytesPerWorkgroup = 160 << 10; // 1.1 PR #167614, FLY D
  arch.lds.granule = 1280;                // 1.1 PR #167614, FLY D
  arch.lds.banks = 64;                    // 1 HK M, FLY
  arch.lds.access = ldsAccess();
  arch.lds.dmaBytes = {1, 2, 4, 12, 16};                  // 2.4 L22
  arch.lds.transposedBits = {4, 8, 16};                   // 2.3 L22
  arch.lds.maxOffset = 65535;                             // 2.3 PCODE D
  arch.waits = {.vmcnt = 63, .expcnt = 7, .lgkmcnt = 15}; // 2.7 L22
  arch.mfma = mfmaTable();
  arch.smallFloats = kOcpOperands; // 2.1 AMDBLOG D
  arch.hazards = hazardTable();
  arch.issue = {.valu = 4, .trans = 8};    // 4.3 SQTT M, GLUON M
  arch.features = {.permlaneSwap = true,   // 2.5 PCODE D
                   .bf16Conversion = true, // 2.5 PCODE D
                   .bf16Dot = true,        // 2.5 L22
                   .bf16BufferAdd = true,  // 2.5 L22
                   .bitop3 = true,         // 2.5 L22
                   .maximum3 = true,       // 2.5 L22
                   .ocpFp8 = true,         // 2.1 AMDBLOG D
                   .scaledFloats = true};  // 2.1 AMDBLOG D, 2.5 L22
  arch.maxBufferOffset = 4095;             // 2.6 L22
  arch.maxNop = 16;                        // 2.7 PCODE D, L22
  return arch;
}

const ArchInfo &chips::gfx950() {
  static const ArchInfo arch = make();
  return arch;
}
