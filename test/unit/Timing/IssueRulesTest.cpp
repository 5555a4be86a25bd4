// One micro-benchmark for each rule of the cycle model, with the cycles that docs/Hardware.md
// gives.
#include "UnitBench.h"

#include <gtest/gtest.h>

#include <array>

using namespace hocket::sim;
using namespace hocket::sim::test;

static const std::string mfma = "v_mfma_f32_32x32x16_bf16 v[0:15], v[64:67], v[68:71], v[0:15]\n";
static const std::string otherMfma =
    "v_mfma_f32_32x32x16_bf16 v[16:31], v[64:67], v[68:71], v[16:31]\n";
static const std::string add = "v_add_f32 v100, v101, v102\n";

static uint64_t span(const std::string &program) { return UnitBench::span(program); }

TEST(Vector, DependentChainIssuesEveryFourCycles) { // 4.3
  EXPECT_EQ(span(repeat(9, "v_add_f32 v0, v0, v0")), 8u * 4);
  EXPECT_EQ(span(repeat(9, add)), 8u * 4);
}

TEST(Vector, Rates) { // 4.3
  auto slot = [](const std::string &line) { return span(repeat(5, line)) / 4; };
  EXPECT_EQ(slot("v_exp_f32 v0, v1"), 8u);
  EXPECT_EQ(slot("v_pk_mul_f32 v[0:1], v[2:3], v[4:5]"), 4u);
  EXPECT_EQ(slot("v_pk_fma_f32 v[0:1], v[2:3], v[4:5], v[6:7]"), 4u);
  EXPECT_EQ(slot("v_pk_mul_f16 v0, v1, v2"), 4u);
  EXPECT_EQ(slot("v_permlane32_swap_b32 v0, v1"), 8u);
  EXPECT_EQ(slot("v_cvt_pk_bf16_f32 v0, v1, v2"), 4u);
  EXPECT_EQ(slot("v_fma_f64 v[0:1], v[2:3], v[4:5], v[6:7]"), 8u);
  EXPECT_EQ(slot("v_mul_lo_u32 v0, v1, v2"), 16u);
  EXPECT_EQ(slot("v_add_u32_dpp v0, v1, v2 row_shr:1 row_mask:0xf bank_mask:0xf"), 4u);
}

TEST(Vector, DotProductAccumulatesAtOnceAndIsReadLater) { // 3
  EXPECT_EQ(span(repeat(5, "v_dot2c_f32_bf16 v0, v1, v2")), 4u * 4);
  EXPECT_EQ(span("v_dot2c_f32_bf16 v0, v1, v2\nv_add_f32 v3, v0, v0"), 16u);
}

TEST(Matrix, BackToBack) { // 4.1
  EXPECT_EQ(span(repeat(5, mfma)), 4u * 32);
  EXPECT_EQ(span(repeat(2, mfma + otherMfma)), 3u * 32);
  EXPECT_EQ(span(repeat(5, "v_mfma_f32_16x16x32_bf16 v[0:3], v[64:67], v[68:71], v[0:3]")),
            4u * 16);
  std::string f8 = "v_mfma_f32_32x32x64_f8f6f4 v[0:15], v[64:71], v[72:79], v[0:15]";
  EXPECT_EQ(span(repeat(3, f8)), 2u * 64);
  std::string f4 = "v_mfma_f32_32x32x64_f8f6f4 v[0:15], v[64:67], v[72:75], v[0:15] cbsz:4 blgp:4";
  EXPECT_EQ(span(repeat(3, f4)), 2u * 32);
}

TEST(Matrix, ShadowHoldsSixVectorInstructions) { // 4.1
  EXPECT_EQ(span(mfma + repeat(6, add) + otherMfma), 32u);
  EXPECT_EQ(span(mfma + repeat(7, add) + otherMfma), 36u);
}

TEST(Matrix, ShadowHoldsThreeExponentials) { // 4.1
  EXPECT_EQ(span(mfma + repeat(3, "v_exp_f32 v100, v101") + otherMfma), 32u);
  EXPECT_EQ(span(mfma + repeat(4, "v_exp_f32 v100, v101") + otherMfma), 40u);
}

TEST(Matrix, ShadowOfASmallOneHoldsTwo) { // 4.1
  std::string small = "v_mfma_f32_16x16x32_bf16 v[0:3], v[64:67], v[68:71], v[0:3]\n";
  EXPECT_EQ(span(small + repeat(2, add) + small), 16u);
  EXPECT_EQ(span(small + repeat(3, add) + small), 20u);
}

TEST(Matrix, PackedF32WaitsForItsOwnShadowToEnd) { // 4.3
  std::string packed = "v_pk_mul_f32 v[100:101], v[102:103], v[104:105]\n";
  EXPECT_EQ(span(mfma + packed), 32u);
  TimeParameters beneath = UnitBench::free();
  beneath.packedBeneathMfma = 1;
  EXPECT_EQ(UnitBench::span(mfma + packed, {}, beneath), 8u);
}

TEST(Matrix, ResultLatency) { // 4.1: 4 * (passes + 4)
  EXPECT_EQ(span(mfma + "v_add_f32 v100, v0, v0"), 48u);
  EXPECT_EQ(span(mfma + "v_mfma_f32_32x32x16_bf16 v[16:31], v[0:3], v[68:71], v[16:31]"), 48u);
  EXPECT_EQ(span(mfma + "v_mov_b32 v3, 0"), 48u) << "overwriting waits too";
  EXPECT_EQ(span("v_mfma_f32_16x16x32_bf16 v[0:3], v[64:67], v[68:71], 0\nv_add_f32 v9, v0, v0"),
            32u);
}

TEST(Matrix, PartnerWaveBlocksThePipeButNotTheShadow) { // 4.1
  UnitBench matrix;
  matrix.addWave(repeat(2, mfma));
  matrix.addWave(repeat(2, mfma));
  matrix.run();
  EXPECT_EQ(matrix.issued(0), (std::vector<uint64_t>{0, 32, 36})) << "the oldest wave first";
  EXPECT_EQ(matrix.issued(1), (std::vector<uint64_t>{64, 96, 100}));
  UnitBench vector;
  vector.addWave(mfma + otherMfma);
  vector.addWave(repeat(7, add));
  vector.run();
  EXPECT_EQ(vector.issued(0)[1], 32u);
  EXPECT_EQ(vector.issued(1)[6], 28u) << "seven in the slots that the MFMA leaves";
}

TEST(Matrix, SimdsHaveTheirOwn) {
  UnitBench bench;
  for (unsigned simd = 0; simd < 4; ++simd)
    bench.addWave(repeat(3, mfma), simd);
  bench.run();
  for (unsigned simd = 0; simd < 4; ++simd)
    EXPECT_EQ(bench.issued(simd)[2], 64 + simd) << "turns rotate by one cycle";
}

TEST(Issue, TypesIssueTogetherFromDifferentWaves) { // 4.2
  UnitBench bench;
  bench.addWave(repeat(3, add));
  bench.addWave(repeat(3, "s_add_u32 s0, s0, 1"));
  bench.addWave(repeat(3, "s_nop 0"));
  bench.run();
  for (unsigned wave = 0; wave < 3; ++wave)
    EXPECT_EQ(bench.issued(wave), (std::vector<uint64_t>{0, 4, 8, 12}));
}

TEST(Issue, OneTypeOncePerTurn) { // 4.2
  UnitBench bench;
  bench.addWave(repeat(3, add));
  bench.addWave(repeat(3, add));
  bench.run();
  EXPECT_EQ(bench.issued(0), (std::vector<uint64_t>{0, 4, 8, 12})) << "the oldest wave first";
  EXPECT_EQ(bench.issued(1), (std::vector<uint64_t>{12, 16, 20, 24}));
}

TEST(Issue, PriorityWins) { // 2.7
  UnitBench bench;
  bench.addWave("s_nop 0\n" + repeat(4, add));
  bench.addWave("s_setprio 1\n" + repeat(4, add) + "s_setprio 0");
  bench.run();
  EXPECT_EQ(bench.issued(1)[4], 16u) << "as if alone";
  EXPECT_EQ(bench.issued(0)[1], 20u);
}

TEST(Issue, RotationGivesWavesTurns) { // a variation: no source says which wave goes first
  auto last = [](double rotation) {
    UnitBench bench;
    bench.parameters.issueRotation = rotation;
    for (unsigned wave = 0; wave != 3; ++wave)
      bench.addWave(repeat(4, add));
    bench.run();
    return std::array{bench.issued(0)[3], bench.issued(1)[3], bench.issued(2)[3]};
  };
  EXPECT_EQ(last(0), (std::array<uint64_t, 3>{12, 28, 44})) << "the oldest first";
  EXPECT_EQ(last(1), (std::array<uint64_t, 3>{36, 40, 44})) << "in turns";
}

TEST(Internal, Nops) { // 2.7: N + 1 wait states
  EXPECT_EQ(span("s_nop 0\ns_nop 0"), 4u);
  EXPECT_EQ(span("s_nop 7\ns_nop 0"), 32u);
  EXPECT_EQ(span("s_nop 15\ns_nop 0"), 64u);
}

TEST(Internal, TurnsBetweenScalarAndVector) {
  const TimeParameters p = UnitBench::free();
  EXPECT_EQ(span("v_cmp_gt_f32 vcc, v0, v1\ns_cbranch_vccnz 0"), 4 + p.valuToScalar);
  EXPECT_EQ(span("v_readfirstlane_b32 s0, v0\ns_add_u32 s1, s0, 1"), 4 + p.valuToScalar);
  EXPECT_EQ(span("v_cmp_gt_f32 vcc, v0, v1\nv_cndmask_b32 v2, v3, v4, vcc"), 4u);
  EXPECT_EQ(span("s_add_u32 s0, s0, 1\ns_add_u32 s1, s0, 1"), 4u);
  TimeParameters slow = p;
  slow.scalarToValu = 16;
  EXPECT_EQ(UnitBench::span("s_mov_b32 s0, 1\nv_add_f32 v0, s0, v0", {}, slow), 20u);
}

TEST(Internal, TakenBranch) { // 4.4
  const TimeParameters p = UnitBench::free();
  EXPECT_EQ(span("s_cbranch_scc0 0\ns_nop 0"), 4u);
  EXPECT_EQ(UnitBench::span("s_cbranch_scc0 0\ns_nop 0", {.taken = true}), 4 + p.branchTaken);
}

TEST(Internal, BarrierOpensAfterTheLastArrival) { // 4.4
  const TimeParameters p = UnitBench::free();
  UnitBench bench;
  bench.addWave("s_barrier\ns_nop 0", 0);
  bench.addWave("s_nop 15\ns_barrier\ns_nop 0", 1);
  bench.run();
  uint64_t arrival = bench.issued(1)[1];
  EXPECT_EQ(arrival, 65u);
  EXPECT_EQ(bench.issued(0)[1], 112u) << "65 + 46, in the SIMD's next turn";
  EXPECT_EQ(bench.issued(1)[2], 113u);
  EXPECT_EQ(p.barrierLatency, 46);
}

TEST(Internal, EndedWavesDoNotHoldABarrier) {
  UnitBench bench;
  bench.addWave("s_barrier\ns_nop 0");
  bench.addWave("s_nop 0", 1);
  bench.run();
  EXPECT_EQ(bench.issued(0).size(), 3u);
}

TEST(Stalls, HaveTheirCause) {
  UnitBench bench;
  bench.addWave(mfma + "v_add_f32 v100, v0, v0\ns_nop 3\ns_nop 0");
  bench.run();
  EXPECT_EQ(bench.events[1].stall, Stall::MatrixResult);
  EXPECT_EQ(bench.events[1].cycle - bench.events[1].ready, 40u) << "beyond the shadow's start";
  EXPECT_EQ(bench.events[3].stall, Stall::Nop);
  EXPECT_EQ(bench.events[3].cycle - bench.events[3].ready, 12u);
}
