// The arch table: internally consistent, and the numbers that code depends on are the documented
// ones.
#include "Target/Arch/ArchInfo.h"
#include "Target/Arch/KnownChips.h"

#include "Layout/FragmentReads.h"
#include "Layout/LdsSearch.h"
#include "Layout/OperandReuse.h"

#include <bit>
#include <gtest/gtest.h>

using namespace hocket;

class EveryArch : public ::testing::TestWithParam<std::string_view> {
protected:
  const ArchInfo &arch = **findArch(GetParam());
};

INSTANTIATE_TEST_SUITE_P(Archs, EveryArch, ::testing::ValuesIn(knownArchs()),
                         [](const auto &info) { return std::string(info.param); });

TEST_P(EveryArch, LdsPhasesCoverEachLaneOnce) {
  EXPECT_FALSE(arch.lds.access.empty());
  for (const auto &[instruction, rule] : arch.lds.access) {
    uint64_t seen = 0;
    for (uint64_t phase : rule.phases) {
      EXPECT_EQ(seen & phase, 0u) << name(instruction);
      seen |= phase;
      // What a phase moves fits through the banks it uses.
      EXPECT_LE(std::popcount(phase) * bytesPerLane(instruction), rule.banks * 4)
          << name(instruction);
    }
    EXPECT_EQ(seen, ~uint64_t(0)) << name(instruction);
    EXPECT_LE(rule.banks, arch.lds.banks);
  }
}

TEST_P(EveryArch, EveryMfmaHasALayoutAndHazards) {
  for (const MfmaInfo &info : arch.mfma) {
    EXPECT_TRUE(validateMfmaShape(info.shape).ok()) << info.shape.str();
    EXPECT_TRUE(arch.hazards.forPasses(info.passes)) << info.shape.str();
    EXPECT_TRUE(mfmaOperandA(info.shape)->isBijective());
  }
}

TEST_P(EveryArch, LongerMfmaNeedsLongerWaits) {
  for (size_t i = 1; i < arch.hazards.mfma.size(); ++i) {
    const MfmaHazard &a = arch.hazards.mfma[i - 1], &b = arch.hazards.mfma[i];
    EXPECT_LT(a.passes, b.passes);
    EXPECT_LT(a.resultToUse, b.resultToUse);
    EXPECT_LT(a.resultToOtherSrcC, b.resultToOtherSrcC);
    EXPECT_LT(a.srcCToOverwrite, b.srcCToOverwrite);
    EXPECT_GE(b.resultToUse, b.resultToOtherSrcC);
  }
}

TEST_P(EveryArch, SizesAreConsistent) {
  EXPECT_LE(arch.lds.bytesPerWorkgroup, arch.lds.bytesPerCu);
  EXPECT_EQ(arch.lds.bytesPerCu % arch.lds.granule, 0u);
  EXPECT_EQ(arch.registers.vgprsPerSimd, arch.registers.maxArchVgprs + arch.registers.maxAccVgprs);
  EXPECT_EQ(arch.chip.computeUnits % arch.chip.xcds, 0u);
  EXPECT_EQ(arch.waves.maxWorkgroupSize % arch.waves.waveSize, 0u);
}

TEST_P(EveryArch, WaitsRoundTrip) {
  for (unsigned vm = 0; vm <= arch.waits.vmcnt; ++vm)
    for (unsigned exp = 0; exp <= arch.waits.expcnt; ++exp)
      for (unsigned lgkm = 0; lgkm <= arch.waits.lgkmcnt; ++lgkm)
        ASSERT_EQ(decodeWait(encodeWait(arch.waits, vm, exp, lgkm)), (WaitCounts{vm, exp, lgkm}));
}

TEST(Gfx950, WaitEncodingsAreTheDocumentedOnes) {
  const WaitCounterLimits &limits = (*findArch("gfx950"))->waits;
  EXPECT_EQ(encodeWait(limits, 0, 7, 15), 0x0F70);
  EXPECT_EQ(encodeWait(limits, 63, 7, 0), 0xC07F);
  EXPECT_EQ(encodeWait(limits, 20, 7, 15), 0x4F74);
  EXPECT_EQ(encodeWait(limits, 1000, 1000, 1000), encodeWait(limits, 63, 7, 15))
      << "no wait at all";
}

static constexpr MatrixTypes kBf16 = MatrixTypes::of(ElementType::BF16), kF16 = MatrixTypes::of(ElementType::F16),
                             kF32 = MatrixTypes::of(ElementType::F32), kI8 = MatrixTypes::of(ElementType::I8),
                             kFp8 = MatrixTypes::of(ElementType::F8E4M3), kFp4 = MatrixTypes::of(ElementType::F4E2M1),
                             kFnuz = MatrixTypes::of(ElementType::F8E4M3FNUZ);
/// fp4 by fp8.
static constexpr MatrixTypes kMixed = {ElementType::F4E2M1, ElementType::F8E5M2, ElementType::F32};

// Layouts, and types of the tile dialect, are for these waves (lib/Layout/Wave.h).
TEST_P(EveryArch, WavesAreThoseOfLayouts) { EXPECT_EQ(arch.waves.waveSize, kWaveLanes); }

TEST(Gfx950, MfmaCycles) {
  const ArchInfo &arch = **findArch("gfx950");
  ASSERT_TRUE(arch.findMfma(kBf16, 32, 32));
  EXPECT_EQ(arch.findMfma(kBf16, 32, 32)->shape.k, 16u) << "the fastest, not the first";
  EXPECT_EQ(arch.findMfma(kBf16, 32, 32)->cycles(), 32u);
  EXPECT_EQ(arch.findMfma(kF16, 16, 16)->cycles(), 16u);
  EXPECT_EQ(arch.findMfma(kF16, 32, 32, 8)->cycles(), 32u);
  EXPECT_EQ(arch.findMfma(kFp8, 32, 32)->shape.k, 64u);
  EXPECT_EQ(arch.findMfma(kFp8, 32, 32)->cycles(kFp8), 64u);
  EXPECT_EQ(arch.findMfma(kMixed, 32, 32)->cycles(kMixed), 64u) << "at the rate of the wider one";
  EXPECT_EQ(arch.findMfma(kFp4, 32, 32)->cycles(kFp4), 32u);
  EXPECT_EQ(arch.findMfma(kFp8, 32, 32, 16)->cycles(kFp8), 32u);
  EXPECT_EQ(arch.findMfma(kI8, 32, 32)->shape.k, 32u);
  EXPECT_EQ(arch.findMfma(kBf16, 32, 32, 4), nullptr);
  EXPECT_EQ(arch.findMfma(kFnuz, 32, 32), nullptr) << "formats of another chip";
  EXPECT_EQ(arch.findMfma({ElementType::I8, ElementType::I8, ElementType::F32}, 32, 32), nullptr) << "int8 sums in i32";
  EXPECT_EQ(arch.findMfma({ElementType::BF16, ElementType::F16, ElementType::F32}, 32, 32), nullptr);
}

// Multiply-adds in a clock and compute unit against the chip's peak rates (docs/Hardware.md 1).
TEST(Gfx950, MfmaRatesGiveThePeak) {
  const ArchInfo &arch = **findArch("gfx950");
  auto flopsPerClock = [&](const MatrixTypes &types, unsigned mn) {
    const MfmaInfo *info = arch.findMfma(types, mn, mn);
    return 2 * info->shape.m * info->shape.n * info->shape.k * arch.waves.simdsPerCu /
           info->cycles(types);
  };
  for (unsigned mn : {16u, 32u}) {
    EXPECT_EQ(flopsPerClock(kBf16, mn), 4096u);
    EXPECT_EQ(flopsPerClock(kF16, mn), 4096u);
    EXPECT_EQ(flopsPerClock(kFp8, mn), 8192u);
    EXPECT_EQ(flopsPerClock(kI8, mn), 8192u);
    EXPECT_EQ(flopsPerClock(kMixed, mn), 8192u);
    EXPECT_EQ(flopsPerClock(kFp4, mn), 16384u);
    EXPECT_EQ(flopsPerClock(kF32, mn), 256u);
  }
}

TEST(Gfx950, Features) {
  const ArchInfo &arch = **findArch("gfx950");
  EXPECT_TRUE(arch.hasLdsDma(16));
  EXPECT_FALSE(arch.hasLdsDma(8));
  EXPECT_TRUE(arch.hasTransposedRead(16));
  EXPECT_FALSE(arch.hasTransposedRead(32));
  EXPECT_EQ(arch.hazards.forPasses(8)->resultToUse, 12u);
  EXPECT_EQ(arch.hazards.forPasses(3), nullptr);
}

// LDS bandwidth that follows from the phases: 256 bytes a clock for reads, 128 for writes.
TEST(Gfx950, LdsBandwidth) {
  const ArchInfo &arch = **findArch("gfx950");
  auto bytesPerClock = [&](LdsInstruction instruction) {
    return 64 * bytesPerLane(instruction) / unsigned(arch.lds.access.at(instruction).phases.size());
  };
  EXPECT_EQ(bytesPerClock(LdsInstruction::ReadB128), 256u);
  EXPECT_EQ(bytesPerClock(LdsInstruction::ReadB64), 256u);
  EXPECT_EQ(bytesPerClock(LdsInstruction::ReadTransposed), 256u);
  EXPECT_EQ(bytesPerClock(LdsInstruction::WriteB64), 128u);
  EXPECT_EQ(bytesPerClock(LdsInstruction::WriteB128), 128u);
}

// The tiles of the D=128 kernel: K as operand A by ds_read_b128, V by transposing reads, 0
// conflicts.
TEST(Gfx950, AttentionTilesHaveNoConflicts) {
  const ArchInfo &arch = **findArch("gfx950");
  LdsTileRequest keys{.rows = 64, .rowBytes = 256, .uses = {}, .dmaWaves = 8};
  LdsTileRequest values = keys;
  keys.uses = {{LdsInstruction::ReadB128,
                *directReads(*mfmaOperandATile({}, 64, 128), {dims::Row, dims::K}, 16, 16)}};
  LinearLayout order =
      *accumulatorAsOperand(*mfmaAccumulatorTile({}, 64, 32), *mfmaOperandBTile({}, 64, 32));
  LinearLayout operand = *permuteOutput(*mfmaOperandATile({}, 128, 64), dims::K, order);
  values.uses = {
      {LdsInstruction::ReadTransposed, *transposedReads(operand, {dims::K, dims::Row}, 16)}};
  for (const LdsTileRequest &request : {keys, values}) {
    Result<LdsTileChoice> choice = findLdsLayout(request, arch.lds.access);
    ASSERT_TRUE(choice.ok()) << choice.error().message;
    EXPECT_EQ(choice->conflicts(), 0u) << choice->describe(request.uses);
  }
}

static unsigned flopsPerClock(const ArchInfo &arch, const MatrixTypes &types, unsigned mn) {
  const MfmaInfo *info = arch.findMfma(types, mn, mn);
  return 2 * info->shape.m * info->shape.n * info->shape.k * arch.waves.simdsPerCu / info->cycles();
}

// docs/Hardware.md 1: 1307 TFLOP/s of f16 and bf16, twice that of fp8 and int8, 163.4 of f32.
TEST(Gfx942, MfmaRatesGiveThePeak) {
  const ArchInfo &arch = **findArch("gfx942");
  EXPECT_EQ(arch.findMfma(kBf16, 32, 32)->shape.k, 8u);
  for (unsigned mn : {16u, 32u}) {
    EXPECT_EQ(flopsPerClock(arch, kBf16, mn), 2048u);
    EXPECT_EQ(flopsPerClock(arch, kF16, mn), 2048u);
    EXPECT_EQ(flopsPerClock(arch, kFnuz, mn), 4096u);
    EXPECT_EQ(flopsPerClock(arch, kI8, mn), 4096u);
    EXPECT_EQ(flopsPerClock(arch, kF32, mn), 256u);
  }
  double peak = 2048.0 * arch.chip.computeUnits * arch.chip.peakClockMHz * 1e-6;
  EXPECT_NEAR(peak, 1307, 1);
}

TEST(Gfx942, WhatItLacks) {
  const ArchInfo &arch = **findArch("gfx942");
  EXPECT_TRUE(arch.hasLdsDma(4));
  EXPECT_FALSE(arch.hasLdsDma(16));
  EXPECT_FALSE(arch.hasTransposedRead(16));
  EXPECT_EQ(arch.lds.access.count(LdsInstruction::ReadTransposed), 0u);
  EXPECT_EQ(arch.chip.computeUnitsPerXcd(), 38u);
  EXPECT_EQ(arch.hazards.forPasses(8)->resultToUse, 11u);
  EXPECT_FALSE(arch.features.bf16Dot || arch.features.bf16Conversion || arch.features.permlaneSwap);
}

// 128 bytes a clock, whatever the instruction.
TEST(Gfx942, LdsBandwidth) {
  const ArchInfo &arch = **findArch("gfx942");
  for (const auto &[instruction, rule] : arch.lds.access)
    if (instruction != LdsInstruction::ReadB96 && instruction != LdsInstruction::WriteB96) {
      EXPECT_EQ(64 * bytesPerLane(instruction) / rule.phases.size(), 128u) << name(instruction);
    }
}

TEST(FindArch, UnknownTargetListsTheKnownOnes) {
  Result<const ArchInfo *> arch = findArch("gfx1100");
  ASSERT_FALSE(arch.ok());
  EXPECT_EQ(arch.error().kind, ErrorKind::Unsupported);
  EXPECT_TRUE(
      arch.error().message.starts_with("unknown target 'gfx1100'; known targets: gfx950, gfx942"));
  EXPECT_FALSE(findArch("").ok());
  EXPECT_FALSE(findArch("gfx950:xnack+").ok());
}

TEST_P(EveryArch, IsFoundByItsElfMachine) {
  const ArchInfo &arch = **findArch(GetParam());
  EXPECT_EQ(findArchByElf(arch.elfMachine), &arch);
  EXPECT_GE(deviceMemoryBytes(arch), uint64_t(192) << 30);
}

TEST(KnownChips, NamesThem) {
  EXPECT_EQ(defaultArch().name, knownArchs().front());
  EXPECT_EQ(findArchByElf(0x3f), nullptr); // gfx90a
  EXPECT_EQ(listArchs(), "gfx950 (0x4f) and gfx942 (0x4c)");
}
