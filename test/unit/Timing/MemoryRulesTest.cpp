// LDS service and latency, counters, loads to LDS, memory.
#include "UnitBench.h"

#include <gtest/gtest.h>

using namespace hocket;
using namespace hocket::sim;
using namespace hocket::sim::test;

static const std::string read128 = "ds_read_b128 v[0:3], v8\n";
static const std::string ldsDrain = "s_waitcnt lgkmcnt(0)\n";

/// The cost that the access `line` has with lane l at byte `address(l)`.
template <class Address> static ExecutedCost costOf(const std::string &line, Address address) {
  TimeParameters parameters = UnitBench::free();
  auto arch = findArch("gfx950");
  AccessCosts costs(**arch, parameters);
  TimedInstruction timed = UnitBench::assemble(line, parameters).front();
  PendingOp op;
  op.mask = ~uint64_t(0);
  bool lds = timed.unit == TimedUnit::Lds;
  for (unsigned lane = 0; lane < 64; ++lane)
    if (lds)
      op.ldsAddress[lane] = static_cast<uint32_t>(address(lane));
    else
      op.address[lane] = address(lane);
  return costs.of(timed, 0, op);
}

TEST(LdsCycles, FollowFromAddresses) { // 4.5
  auto linear = [](unsigned l) { return 16 * l; };
  EXPECT_EQ(costOf(read128, linear).ldsCycles, 4u);
  EXPECT_EQ(costOf(read128, linear).ldsConflicts, 0u);
  // Lanes of one phase meet in pairs, then in fours, in the same banks.
  EXPECT_EQ(costOf(read128, [](unsigned l) { return 32 * l; }).ldsCycles, 8u);
  EXPECT_EQ(costOf(read128, [](unsigned l) { return 64 * l; }).ldsCycles, 16u);
  EXPECT_EQ(costOf(read128, [](unsigned) { return 64; }).ldsCycles, 4u)
      << "the same dword is shared";
  EXPECT_EQ(costOf("ds_read_b64_tr_b16 v[0:1], v8", [](unsigned l) { return 8 * l; }).ldsCycles,
            2u);
  EXPECT_EQ(costOf("ds_read_b64 v[0:1], v8", [](unsigned l) { return 8 * l; }).ldsCycles, 2u);
  EXPECT_EQ(costOf("ds_write_b64 v8, v[0:1]", [](unsigned l) { return 8 * l; }).ldsCycles, 4u);
  EXPECT_EQ(
      costOf("ds_read2_b64 v[0:3], v8 offset1:1", [](unsigned l) { return 16 * l; }).ldsCycles,
      16u);
}

TEST(LdsCycles, OfPairsAreConflictsAndWhatPairsCost) { // 4.5
  // Two reads of 8 bytes, of which 32 lanes take every other 8: 4 cycles, twice; and as a pair 16.
  auto everyOther = [](unsigned l) { return 16 * l; };
  EXPECT_EQ(costOf("ds_read_b64 v[0:1], v8", everyOther).ldsCycles, 4u);
  EXPECT_EQ(costOf("ds_read_b64 v[0:1], v8", everyOther).ldsConflicts, 2u);
  ExecutedCost pair = costOf("ds_read2st64_b64 v[0:3], v8 offset1:1", everyOther);
  EXPECT_EQ(pair.ldsCycles, 16u);
  EXPECT_EQ(pair.ldsConflicts, 4u);
  EXPECT_EQ(pair.ldsPairs, 8u);
  // Without conflicts, and with so many that they hide what pairs cost.
  ExecutedCost linear = costOf("ds_read2st64_b64 v[0:3], v8 offset1:1", [](unsigned l) { return 8 * l; });
  EXPECT_EQ(linear.ldsConflicts, 0u);
  EXPECT_EQ(linear.ldsPairs, 12u);
  ExecutedCost crowded = costOf("ds_read2st64_b64 v[0:3], v8 offset1:1", [](unsigned l) { return 256 * l; });
  EXPECT_EQ(crowded.ldsCycles, 128u);
  EXPECT_EQ(crowded.ldsConflicts, 124u);
  EXPECT_EQ(crowded.ldsPairs, 0u);
}

TEST(LdsCycles, APatternIsKnownAgainOnlyIfItIsTheSame) {
  TimeParameters parameters = UnitBench::free();
  auto arch = findArch("gfx950");
  AccessCosts costs(**arch, parameters);
  TimedInstruction timed = UnitBench::assemble(read128, parameters).front();
  PendingOp op;
  op.mask = ~uint64_t(0);
  auto cycles = [&](unsigned step, unsigned base) {
    for (unsigned lane = 0; lane < 64; ++lane)
      op.ldsAddress[lane] = base + step * lane;
    return costs.of(timed, 7, op).ldsCycles;
  };
  EXPECT_EQ(cycles(16, 0), 4u);
  EXPECT_EQ(cycles(16, 4096), 4u);
  EXPECT_EQ(cycles(32, 4096), 8u);
  EXPECT_EQ(cycles(16, 0), 4u);
}

/// Issue interval of one wave's reads with a wave on each SIMD, in the steady state.
static double readInterval(uint32_t ldsCycles) {
  UnitBench bench;
  for (unsigned simd = 0; simd < 4; ++simd)
    bench.addWave(repeat(40, read128), simd, {.ldsCycles = ldsCycles});
  bench.run();
  return double(bench.issued(0)[39] - bench.issued(0)[19]) / 20;
}

TEST(Lds, FourWavesShareItsBandwidth) { // 4.5 GLUON: 16, 32 and 64 cycles a wave
  EXPECT_EQ(readInterval(4), 16);
  EXPECT_EQ(readInterval(8), 32);
  EXPECT_EQ(readInterval(16), 64);
}

TEST(Lds, LatencyOfOneRead) { // 4.5: service, then 44
  EXPECT_EQ(UnitBench::span(read128 + ldsDrain, {.ldsCycles = 4}), 48u);
  EXPECT_EQ(UnitBench::span(read128 + read128 + ldsDrain, {.ldsCycles = 4}), 52u);
  EXPECT_EQ(UnitBench::span(read128 + read128 + "s_waitcnt lgkmcnt(1)\n", {.ldsCycles = 4}), 48u);
  EXPECT_EQ(UnitBench::span(read128 + "s_waitcnt vmcnt(0)\n", {.ldsCycles = 4}), 4u);
}

TEST(Lds, TheSixteenthReadWaitsForTheCounter) { // 2.7
  TimeParameters p = UnitBench::free();
  p.ldsLatency = 1000;
  p.ldsQueue = 100;
  UnitBench bench;
  bench.parameters = p;
  bench.addWave(repeat(16, read128), 0, {.ldsCycles = 4});
  bench.run();
  EXPECT_EQ(bench.issued(0)[14], 14u * 4);
  EXPECT_EQ(bench.issued(0)[15], 1004u) << "when the first has come back";
}

static const std::string dma = "buffer_load_dwordx4 v0, s[0:3], 0 offen lds\n";

TEST(Memory, LoadsToLdsIssueSlowlyAndComeBackInOrder) { // 4.4, 4.6
  ExecutedCost cost{.sectors = 16, .missed = 8, .bytes = 1024};
  TimeParameters p = UnitBench::free();
  UnitBench bench;
  bench.addWave(dma + dma + "s_waitcnt vmcnt(1)\ns_waitcnt vmcnt(0)\n", 0, cost);
  bench.run();
  const std::vector<uint64_t> &at = bench.issued();
  EXPECT_EQ(at[1], 36u);
  // Address work, then 1024 bytes at 32 a cycle, then the latency.
  EXPECT_EQ(at[2], 16 + 32 + p.memoryLatency);
  EXPECT_EQ(at[3], at[2] + 36);
}

TEST(Memory, AHitInTheL1CacheIsQuick) { // 4.6
  ExecutedCost hit{.sectors = 4, .bytes = 256};
  EXPECT_EQ(UnitBench::span("global_load_dword v0, v1, s[0:1]\ns_waitcnt vmcnt(0)", hit), 144u)
      << "16 + 125, in the SIMD's next turn";
}

TEST(Memory, LinesAreCountedAndCached) {
  auto cost =
      costOf("global_load_dwordx4 v[0:3], v[8:9], off", [](unsigned l) { return 4096 + 16 * l; });
  EXPECT_EQ(cost.sectors, 16u);
  EXPECT_EQ(cost.missed, 8u);
  EXPECT_EQ(cost.bytes, 1024u);
  auto rows = costOf("global_load_dword v0, v[8:9], off", [](unsigned l) { return 256 * l; });
  EXPECT_EQ(rows.sectors, 64u);
  EXPECT_EQ(rows.missed, 64u);
}

TEST(Memory, ScalarLoads) { // 4.4
  const TimeParameters p = UnitBench::free();
  std::string load = "s_load_dwordx2 s[0:1], s[2:3], 0\n" + ldsDrain;
  EXPECT_EQ(UnitBench::span(load, {.scalarMiss = true}), p.scalarMiss);
  EXPECT_EQ(UnitBench::span(load), p.scalarHit);
}

TEST(Fetch, FirstTouchCosts) { // 4.4
  TimeParameters p = UnitBench::free();
  p.fetchCold = 700;
  UnitBench bench;
  bench.parameters = p;
  bench.addWave("s_nop 0\ns_nop 0");
  bench.run();
  EXPECT_EQ(bench.issued()[0], 700u);
  EXPECT_EQ(bench.issued()[1], 704u);
}
