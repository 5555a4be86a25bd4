// Workgroups over XCDs and compute units, and the clock that load decides.
#include "Grid/GridSchedule.h"

#include <gtest/gtest.h>

#include <algorithm>

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

TEST(GridSchedule, TheOldestOfThoseThatShareGetsOnBest) {
  // Together 2000 each on the mean; the older one by a quarter faster ends at 1600, when the younger has 0.4 left.
  const WorkgroupCycles one = {1000, 2000, 0.25};
  EXPECT_EQ(endsOnUnit(2, {one, one}), (std::vector<double>{1600, 2000}));
  EXPECT_NEAR(scheduleGrid(fixedClock(), 1, 1, 2, {one, one}).cycles, 2000, 1e-9);
  // Where another comes behind, the younger one is then the older one.
  const std::vector<double> ends = endsOnUnit(2, {one, one, one, one});
  EXPECT_EQ(ends[0], 1600);
  EXPECT_NEAR(ends[1], 1600 + 0.4 * 1600, 1e-9);
}

TEST(GridSchedule, OfThreeTheMiddleOneGetsOnAtTheMeanSpeed) {
  const WorkgroupCycles one = {1000, 3000, 0.5};
  EXPECT_NEAR(one.among(3, 3, 0), 2000, 1e-9);
  EXPECT_NEAR(one.among(3, 3, 1), 3000, 1e-9);
  EXPECT_NEAR(one.among(3, 3, 2), 6000, 1e-9);
  EXPECT_NEAR(one.among(1, 3, 0), 1000, 1e-9);
}

TEST(FitCycles, RepeatsTheEndsThatWereTimed) {
  // lone_wave twice on a unit, 32 tiles of 64 keys: 1024 workgroups of which 0, 256, 512 and 768 share a unit.
  const std::vector<double> timed = {60950, 94626, 137170, 173529};
  const UnitCycles fit = fitCycles(timed, 54901, 52158);
  const std::vector<double> ends = endsOnUnit(2, {fit.first, fit.first, fit.later, fit.later});
  EXPECT_NEAR(ends[0], timed[0], 1);
  EXPECT_NEAR(ends[1], timed[1], 1);
  EXPECT_NEAR(ends[3], timed[3], 1);
  EXPECT_NEAR(fit.first.skew, 0.38, 0.01);
  // A grid that puts two on each unit ends with the younger one, which has the unit for itself in the end.
  EXPECT_NEAR(endsOnUnit(2, {fit.first, fit.first})[1], 90931, 0.01 * 90931);
}

TEST(FitCycles, AlikeAndAloneAreAsTimed) {
  const UnitCycles alike = fitCycles({2000, 2000, 3900, 3900}, 1200, 1100);
  EXPECT_NEAR(alike.first.together, 2000, 1);
  EXPECT_NEAR(alike.first.skew, 0, 1e-3);
  EXPECT_NEAR(alike.later.together, 1900, 2);
  const UnitCycles alone = fitCycles({1200, 2300}, 1200, 1100);
  EXPECT_EQ(alone.first.together, 1200);
  EXPECT_NEAR(alone.later.together, 1100, 1);
  EXPECT_EQ(alone.first.skew, 0);
}

TEST(FitCycles, OfThoseThatFollowOneAnotherTheLastEndIsKept) {
  // One after the other: no skew says that of four, and the second four take longer than twice as long.
  const std::vector<double> timed = {100, 200, 300, 400, 650, 900, 1150, 1400};
  const UnitCycles fit = fitCycles(timed, 100, 250);
  std::vector<WorkgroupCycles> all(8, fit.later);
  std::fill_n(all.begin(), 4, fit.first);
  const std::vector<double> ends = endsOnUnit(4, all);
  EXPECT_NEAR(*std::max_element(ends.begin(), ends.end()), 1400, 14);
  EXPECT_NEAR(*std::max_element(ends.begin(), ends.begin() + 4), 400, 40);
  EXPECT_NEAR(fitCycles({100, 350}, 100, 250).later.together, 250, 1);
}
