// Workgroups over XCDs and compute units, and the clock that load decides.
#include "Simulator/GridTime.h"

#include <gtest/gtest.h>

using namespace hocket::sim;

static TimeParameters fixedClock() {
  TimeParameters p;
  p.clockFull = p.clockHalf = p.clockEighth = 1;
  return p;
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
  GridSchedule s = scheduleGrid(fixedClock(), 2, 2, 1, {1000, 2000, 3000, 4000});
  EXPECT_EQ(s.cycles, 4000);
  EXPECT_DOUBLE_EQ(s.microseconds, 4);
  EXPECT_DOUBLE_EQ(s.busyShare, (1000 + 2000 + 3000 + 4000) / 16000.0);
}

TEST(GridSchedule, WorkgroupsGoToXcdsInTurnWhateverTheirLength) {
  // XCD 0 gets the even ones, all long.
  GridSchedule s = scheduleGrid(fixedClock(), 2, 1, 1, {1000, 10, 1000, 10, 1000, 10});
  EXPECT_EQ(s.cycles, 3000);
}

TEST(GridSchedule, WithinAnXcdTheFirstFreeUnitTakesTheNext) {
  GridSchedule heavyFirst = scheduleGrid(fixedClock(), 1, 2, 1, {4000, 3000, 2000, 1000});
  EXPECT_EQ(heavyFirst.cycles, 5000);
  GridSchedule lightFirst = scheduleGrid(fixedClock(), 1, 2, 1, {1000, 2000, 3000, 4000});
  EXPECT_EQ(lightFirst.cycles, 6000) << "block order matters";
}

TEST(GridSchedule, SeveralAtATime) {
  EXPECT_EQ(scheduleGrid(fixedClock(), 1, 1, 2, {1000, 1000, 1000, 1000}).cycles, 2000);
}

TEST(GridSchedule, TheTailRunsAtAHigherClock) {
  TimeParameters p;
  std::vector<double> even(256, 1510.0), tail = even;
  EXPECT_NEAR(scheduleGrid(p, 8, 32, 1, even).microseconds, 1.0, 1e-9);
  tail[0] += 2400;
  EXPECT_NEAR(scheduleGrid(p, 8, 32, 1, tail).microseconds, 2.0, 1e-9);
}
