// Workgroups over XCDs and compute units, and the clock that load decides.
#include "Simulator/GridSchedule.h"

#include <gtest/gtest.h>

using namespace hocket::sim;

static TimeParameters fixedClock() {
  TimeParameters p;
  p.clockFull = p.clockHalf = p.clockEighth = 1;
  return p;
}

/// Workgroups whose time does not depend on who else is on their compute unit.
static std::vector<WorkgroupCycles> independent(const std::vector<double> &cycles) {
  std::vector<WorkgroupCycles> result;
  for (double each : cycles)
    result.push_back({each, each});
  return result;
}

TEST(GridClock, FallsWithLoad) { // published measurements
  TimeParameters p;
  EXPECT_DOUBLE_EQ(effectiveClock(p, 0.01), 2.4);
  EXPECT_DOUBLE_EQ(effectiveClock(p, 0.125), 2.4);
  EXPECT_DOUBLE_EQ(effectiveClock(p, 0.5), 2.1);
  EXPECT_DOUBLE_EQ(effectiveClock(p, 1), 1.51);
  EXPECT_GT(effectiveClock(p, 0.7), effectiveClock(p, 0.9));
}

TEST(GridSchedule, OneRound) {
  GridSchedule s = scheduleGrid(fixedClock(), 2, 2, 1, independent({1000, 2000, 3000, 4000}));
  EXPECT_EQ(s.cycles, 4000);
  EXPECT_DOUBLE_EQ(s.microseconds, 4);
  EXPECT_DOUBLE_EQ(s.busyShare, (1000 + 2000 + 3000 + 4000) / 16000.0);
}

TEST(GridSchedule, WorkgroupsGoToXcdsInTurnWhateverTheirLength) {
  // XCD 0 gets the even ones, all long.
  GridSchedule s = scheduleGrid(fixedClock(), 2, 1, 1, independent({1000, 10, 1000, 10, 1000, 10}));
  EXPECT_EQ(s.cycles, 3000);
}

TEST(GridSchedule, WithinAnXcdTheFirstFreeUnitTakesTheNext) {
  GridSchedule heavyFirst = scheduleGrid(fixedClock(), 1, 2, 1, independent({4000, 3000, 2000, 1000}));
  EXPECT_EQ(heavyFirst.cycles, 5000);
  GridSchedule lightFirst = scheduleGrid(fixedClock(), 1, 2, 1, independent({1000, 2000, 3000, 4000}));
  EXPECT_EQ(lightFirst.cycles, 6000) << "block order matters";
}

TEST(GridSchedule, SeveralAtATime) {
  EXPECT_EQ(scheduleGrid(fixedClock(), 1, 1, 2, independent({1000, 1000, 1000, 1000})).cycles, 2000);
}

TEST(GridSchedule, OneThatSharesAUnitIsSlowerForAsLongAsItDoes) {
  // Alone 1000 and 400, together half as fast: the short one ends at 800, when 600 of the long one are left.
  std::vector<WorkgroupCycles> groups{{1000, 2000}, {400, 800}};
  EXPECT_NEAR(scheduleGrid(fixedClock(), 1, 1, 2, groups).cycles, 1400, 1e-9);
  EXPECT_NEAR(scheduleGrid(fixedClock(), 1, 2, 2, groups).cycles, 1000, 1e-9) << "units are filled one each first";
}

TEST(GridSchedule, HeavyBesideLightEndsBeforeHeavyBesideHeavy) {
  std::vector<WorkgroupCycles> heavyFirst{{4000, 8000}, {3000, 6000}, {2000, 4000}, {1000, 2000}};
  std::vector<WorkgroupCycles> folded{heavyFirst[0], heavyFirst[1], heavyFirst[3], heavyFirst[2]};
  EXPECT_NEAR(scheduleGrid(fixedClock(), 1, 2, 2, heavyFirst).cycles, 6000, 1e-9);
  EXPECT_NEAR(scheduleGrid(fixedClock(), 1, 2, 2, folded).cycles, 5000, 1e-9);
}

TEST(GridSchedule, OfManyThatShareAUnitEachGetsOnByTheirNumber) {
  // 3 of at most 5: half way between alone and together.
  std::vector<WorkgroupCycles> groups(3, {1000, 2000});
  EXPECT_NEAR(scheduleGrid(fixedClock(), 1, 1, 5, groups).cycles, 1500, 1e-9);
}

TEST(GridSchedule, TheTailRunsAtAHigherClock) {
  TimeParameters p;
  std::vector<double> even(256, 1510.0), tail = even;
  EXPECT_NEAR(scheduleGrid(p, 8, 32, 1, independent(even)).microseconds, 1.0, 1e-9);
  tail[0] += 2400;
  EXPECT_NEAR(scheduleGrid(p, 8, 32, 1, independent(tail)).microseconds, 2.0, 1e-9);
}
