// Costs of workgroups between the points at which they are known.
#include "hocket/Attention/KernelCost.h"

#include <gtest/gtest.h>

using namespace hocket::attention;

static double cyclesOf(const KernelCost &cost, int64_t tiles, int64_t together) {
  return cost.cyclesOf({.tiles = tiles}, together);
}

TEST(KernelCost, IsStraightBetweenKnownNumbersOfTiles) {
  KernelCost cost;
  cost.cycles.alone = {100, 150, 200, 400}; // of 1, 2, 4 and 8 tiles
  cost.cycles.shared = {100, 200, 400, 800};
  cost.resident = 3;
  EXPECT_EQ(cyclesOf(cost, 1, 1), 100);
  EXPECT_EQ(cyclesOf(cost, 2, 1), 150);
  EXPECT_EQ(cyclesOf(cost, 3, 1), 175);
  EXPECT_EQ(cyclesOf(cost, 6, 1), 300);
  EXPECT_EQ(cyclesOf(cost, 8, 1), 400);
  EXPECT_EQ(cyclesOf(cost, 16, 1), 800);
  EXPECT_EQ(cyclesOf(cost, 0, 1), 50);
  EXPECT_EQ(cyclesOf(cost, 10, 3), 1000);
  // Half-way between alone (500) and three together (1000).
  EXPECT_EQ(cyclesOf(cost, 10, 2), 750);
}

TEST(KernelCost, PointsMayBeListed) {
  KernelCost cost;
  cost.tiles = {0, 1, 3, 10};
  cost.cycles.alone = {20, 100, 200, 900};
  cost.cycles.shared = {40, 200, 400, 1800};
  cost.skew = {0.1, 0.2, 0.4, 0.5};
  cost.resident = 2;
  EXPECT_EQ(cyclesOf(cost, 0, 1), 20);
  EXPECT_EQ(cyclesOf(cost, 0, 2), 40);
  EXPECT_EQ(cyclesOf(cost, 2, 1), 150);
  EXPECT_EQ(cyclesOf(cost, 4, 2), 600);
  EXPECT_EQ(cyclesOf(cost, 11, 1), 1000);
  EXPECT_DOUBLE_EQ(cost.skewOf(2, 2), 0.3);
  EXPECT_DOUBLE_EQ(cost.skewOf(100, 2), 0.5);
  EXPECT_EQ(cost.skewOf(2, 1), 0);
}

TEST(KernelCost, WorkgroupsBehindTheFirstHaveTheirOwn) {
  KernelCost cost;
  cost.cycles.alone = {100, 200};
  EXPECT_EQ(cost.cyclesOf({.tiles = 2, .isFirst = false}, 1), 200);
  cost.cycles.aloneLater = {60, 150};
  EXPECT_EQ(cost.cyclesOf({.tiles = 2, .isFirst = false}, 1), 150);
  EXPECT_EQ(cost.cyclesOf({.tiles = 2, .isFirst = true}, 1), 200);
}

/// Of one tile with a quarter of the rows, of one with all, of several: with 1, 31, 33 and 63 keys of 64.
TEST(KernelCost, ALastTileThatIsNotFullAddsByItsKeys) {
  KernelCost cost;
  cost.keys = 64;
  cost.tiles = {0, 1, 2};
  cost.cycles.alone = {10, 1000, 2000};
  cost.partTile.alone = {-400, -340, 10, 70, -200, -200, 50, 50, 5, 5, 7, 7};
  EXPECT_EQ(cost.cyclesOf({.tiles = 1, .lastKeys = 0}, 1), 1000);
  EXPECT_EQ(cost.cyclesOf({.tiles = 1, .lastKeys = 20}, 1), 800);
  EXPECT_EQ(cost.cyclesOf({.tiles = 1, .lastKeys = 32}, 1), 800);
  EXPECT_EQ(cost.cyclesOf({.tiles = 1, .lastKeys = 33}, 1), 1050);
  EXPECT_EQ(cost.cyclesOf({.tiles = 2, .lastKeys = 31}, 1), 2005);
  EXPECT_EQ(cost.cyclesOf({.tiles = 2, .lastKeys = 40}, 1), 2007);
  EXPECT_EQ(cost.cyclesOf({.tiles = 0, .lastKeys = 40}, 1), 10);
  EXPECT_EQ(cost.cyclesOf({.tiles = 1, .lastKeys = 16, .rowShare = 0.25}, 1), 630);
  EXPECT_EQ(cost.cyclesOf({.tiles = 1, .lastKeys = 48, .rowShare = 0.1}, 1), 1040);
  // Half-way from a quarter of the rows (-370) to all (-200).
  EXPECT_EQ(cost.cyclesOf({.tiles = 1, .lastKeys = 16, .rowShare = 0.625}, 1), 715);
}

TEST(KernelCost, FewRowsSaveWhatIsKnownOfQuarters) {
  KernelCost cost;
  cost.cycles.alone = {1000, 2000};
  cost.fewRows.alone = {400, 300, 200, 100, 800, 600, 400, 200};
  EXPECT_EQ(cost.cyclesOf({.tiles = 1, .rowShare = 1}, 1), 1000);
  EXPECT_EQ(cost.cyclesOf({.tiles = 1, .rowShare = 0.875}, 1), 950);
  EXPECT_EQ(cost.cyclesOf({.tiles = 1, .rowShare = 0.5}, 1), 800);
  EXPECT_EQ(cost.cyclesOf({.tiles = 2, .rowShare = 0.125}, 1), 1300);
  EXPECT_EQ(cost.cyclesOf({.tiles = 3, .rowShare = 0.5}, 1), 2600);
  cost.cycles.alone = {100, 200};
  EXPECT_EQ(cost.cyclesOf({.tiles = 1, .rowShare = 0}, 1), 0);
}

TEST(KernelCost, TwoOnAUnitThatHoldsMoreHaveTheirOwn) {
  KernelCost cost;
  cost.resident = 4;
  cost.cycles.alone = {100, 200};
  cost.cycles.shared = {160, 400};
  cost.skew = {0.6, 0.8};
  EXPECT_EQ(cyclesOf(cost, 1, 2), 120);
  EXPECT_DOUBLE_EQ(cost.skewOf(1, 2), 0.2);
  cost.pair = {{100, 220}, {90, 200}, {0, 0.2}};
  EXPECT_EQ(cyclesOf(cost, 1, 2), 100);
  EXPECT_EQ(cyclesOf(cost, 1, 3), 130);
  EXPECT_EQ(cyclesOf(cost, 2, 4), 400);
  EXPECT_EQ(cost.cyclesOf({.tiles = 2, .isFirst = false}, 2), 200);
  EXPECT_DOUBLE_EQ(cost.skewOf(1, 3), 0.3);
}
