// Occupancy against the table of docs/Hardware.md 1.1 and by hand.
#include "Target/Arch/Occupancy.h"

#include <gtest/gtest.h>

using namespace hocket;

static const ArchInfo &gfx950() { return **findArch("gfx950"); }

static Occupancy of(const KernelResources &kernel) {
  Result<Occupancy> result = occupancy(gfx950(), kernel);
  EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().message);
  return result.ok() ? *result : Occupancy();
}

TEST(Occupancy, WavesByRegisters) {
  const std::pair<unsigned, unsigned> table[] = {{64, 8},  {72, 7},  {80, 6},  {96, 5},
                                                 {128, 4}, {168, 3}, {256, 2}, {512, 1}};
  unsigned below = 0;
  for (auto [registers, waves] : table) {
    for (unsigned total : {below + 1, registers}) {
      unsigned arch = std::min(total, 256u), acc = total - arch;
      EXPECT_EQ(of({.vgprs = arch, .agprs = acc, .workgroupSize = 64}).wavesPerSimd, waves)
          << total;
    }
    EXPECT_EQ(maxVgprsFor(gfx950(), waves), registers);
    below = registers;
  }
  EXPECT_EQ(maxVgprsFor(gfx950(), 0), 0u);
  EXPECT_EQ(maxVgprsFor(gfx950(), 9), 0u);
}

TEST(Occupancy, AccumulationRegistersStartAtAMultipleOfFour) {
  EXPECT_EQ(allocatedVgprs(gfx950(), 61, 0), 64u);
  EXPECT_EQ(allocatedVgprs(gfx950(), 61, 1), 72u);
  EXPECT_EQ(allocatedVgprs(gfx950(), 60, 4), 64u);
  EXPECT_EQ(allocatedVgprs(gfx950(), 0, 0), 8u);
}

TEST(Occupancy, LdsIsAllocatedInGranules) {
  EXPECT_EQ(allocatedLds(gfx950(), 1), 1280u);
  EXPECT_EQ(allocatedLds(gfx950(), 0), 0u);
  EXPECT_EQ(maxLdsFor(gfx950(), 1), 163840u);
  EXPECT_EQ(maxLdsFor(gfx950(), 2), 81920u);
  EXPECT_EQ(maxLdsFor(gfx950(), 3), 53760u);
  EXPECT_EQ(maxLdsFor(gfx950(), 0), 0u);
}

// The D=128 attention kernel: eight waves, up to 256 registers, 66.5 KiB of LDS.
TEST(Occupancy, AttentionKernel) {
  Occupancy result = of({.vgprs = 246, .ldsBytes = 68096, .workgroupSize = 512});
  EXPECT_EQ(result.wavesPerSimd, 2u);
  EXPECT_EQ(result.workgroupsPerCu, 1u);
  EXPECT_EQ(result.limit, OccupancyLimit::Registers);
}

TEST(Occupancy, NamesWhatLimits) {
  EXPECT_EQ(of({.vgprs = 16, .workgroupSize = 256}).limit, OccupancyLimit::WaveSlots);
  EXPECT_EQ(of({.vgprs = 16, .workgroupSize = 256}).workgroupsPerCu, 8u);
  Occupancy lds = of({.vgprs = 16, .ldsBytes = 65536, .workgroupSize = 256});
  EXPECT_EQ(lds.limit, OccupancyLimit::Lds);
  EXPECT_EQ(lds.workgroupsPerCu, 2u);
  EXPECT_EQ(lds.wavesPerSimd, 2u);
  EXPECT_EQ(name(OccupancyLimit::Lds), "LDS");
  EXPECT_EQ(name(OccupancyLimit::Registers), "registers");
  EXPECT_EQ(name(OccupancyLimit::WaveSlots), "wave slots");
}

TEST(Occupancy, RefusesWhatCannotRun) {
  auto refusal = [](const KernelResources &kernel) {
    return occupancy(gfx950(), kernel).error().message;
  };
  EXPECT_EQ(refusal({.vgprs = 257, .workgroupSize = 64}), "kernel needs 257 VGPRs, gfx950 has 256");
  EXPECT_EQ(refusal({.agprs = 257, .workgroupSize = 64}),
            "kernel needs 257 AccVGPRs, gfx950 has 256");
  EXPECT_EQ(refusal({.ldsBytes = 196608, .workgroupSize = 64}),
            "kernel needs 196608 bytes of LDS, gfx950 has 163840");
  EXPECT_EQ(refusal({.workgroupSize = 1088}),
            "kernel needs 1088 work-items in a workgroup, gfx950 has 1024");
  EXPECT_EQ(refusal({.workgroupSize = 0}), "kernel has workgroups of 0 work-items");
  EXPECT_EQ(refusal({.vgprs = 256, .agprs = 8, .workgroupSize = 512}),
            "workgroup of 8 waves needs 2 on one SIMD, with 264 registers each only 1 fit; use at "
            "most 256 registers or "
            "fewer waves");
}
