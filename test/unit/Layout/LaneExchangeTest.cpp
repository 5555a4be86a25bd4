// Plans of exchanges against an emulation: what the exchanges leave in every register of every lane
// is what the plan's layout says, and its stores touch whole lines.
#include "Layout/LaneExchange.h"

#include "Random.h"

#include "Layout/Mfma.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

using namespace hocket;
using namespace hocket::dims;

/// (row, col).
using Item = std::pair<uint64_t, uint64_t>;
static constexpr unsigned kLaneBits[] = {5, 4, 3};

static Item itemAt(const LinearLayout &layout, unsigned reg, unsigned lane) {
  Coordinates at = layout.apply({{"register", reg}, {"lane", lane}});
  return {coordinate(at, Row), coordinate(at, Col)};
}

/// One exchange, as the instructions do it: the lane without the bit gives the register with it.
static void emulate(std::vector<std::vector<Item>> &held, LaneExchange step) {
  unsigned laneBit = 1u << step.laneBit, regBit = 1u << step.registerBit;
  for (unsigned lane = 0; lane < held.size(); ++lane)
    for (unsigned reg = 0; reg < held[lane].size(); ++reg)
      if ((lane & laneBit) == 0 && (reg & regBit) != 0)
        std::swap(held[lane][reg], held[lane | laneBit][reg & ~regBit]);
}

static void expectAsPlanned(const LinearLayout &layout, const LinePlan &plan) {
  std::vector<std::vector<Item>> held(64);
  for (unsigned lane = 0; lane < 64; ++lane)
    for (unsigned reg = 0; reg < 1u << layout.inputBits(Register); ++reg)
      held[lane].push_back(itemAt(layout, reg, lane));
  for (LaneExchange step : plan.exchanges)
    emulate(held, step);
  for (unsigned lane = 0; lane < 64; ++lane)
    for (unsigned reg = 0; reg < held[lane].size(); ++reg)
      ASSERT_EQ(held[lane][plan.oldRegister(reg)], itemAt(plan.layout, reg, lane))
          << "lane " << lane << ", register " << reg;
}

/// The bytes that a store of 16 bytes a lane writes of a line: the fewest of all stores and lines.
static unsigned leastOfLine(const LinePlan &plan, unsigned elementBytes) {
  unsigned perStore = kWidestAccessBytes / elementBytes, least = kLineBytes;
  for (unsigned first = 0; first < 1u << plan.layout.inputBits(Register); first += perStore) {
    std::map<Item, unsigned> bytes;
    for (unsigned lane = 0; lane < 64; ++lane)
      for (unsigned i = 0; i < perStore; ++i) {
        Item item = itemAt(plan.layout, first + i, lane);
        EXPECT_EQ(item.first, itemAt(plan.layout, first, lane).first);
        EXPECT_EQ(item.second, itemAt(plan.layout, first, lane).second + i);
        bytes[{item.first, item.second * elementBytes / kLineBytes}] += elementBytes;
      }
    for (auto [line, count] : bytes)
      least = std::min(least, count);
  }
  return least;
}

/// An accumulator whose rows are the columns of memory, as attention's output lies.
static LinearLayout accumulator(unsigned columns) {
  std::string_view order[] = {Row, Col};
  return mfmaAccumulatorTile({32, 32, 16, 16}, columns, 32)
      ->renameOutput(Row, "columns")
      .renameOutput(Col, Row)
      .renameOutput("columns", Col)
      .reorderOutputs(order);
}

TEST(LaneExchange, AccumulatorsBecomeWholeLines) {
  for (auto [columns, elementBytes, line] :
       {std::tuple(64u, 2u, 128u), {128u, 2u, 128u}, {32u, 4u, 128u}, {32u, 2u, 64u}}) {
    LinearLayout layout = accumulator(columns);
    std::optional<LinePlan> plan = planLines(layout, elementBytes, kLaneBits);
    ASSERT_TRUE(plan);
    expectAsPlanned(layout, *plan);
    EXPECT_EQ(leastOfLine(*plan, elementBytes), line) << columns << " columns";
  }
}

TEST(LaneExchange, AreFewAndOfCheapLanesFirst) {
  std::optional<LinePlan> plan = planLines(accumulator(64), 2, kLaneBits);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->exchanges, (std::vector<LaneExchange>{{5, 2}, {4, 3}, {3, 4}}));
  // Four f32 are 16 bytes as they lie, and two lanes side by side.
  plan = planLines(accumulator(32), 4, kLaneBits);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->exchanges, (std::vector<LaneExchange>{{4, 2}, {3, 3}}));
}

TEST(LaneExchange, WhatLiesInLinesStays) {
  LinearLayout lines = LinearLayout::identity(Register, Col, 3) *
                       LinearLayout::identity(Lane, Col, 3) * LinearLayout::identity(Lane, Row, 3);
  EXPECT_FALSE(planLines(lines, 2, kLaneBits));
}

TEST(LaneExchange, RefusesWhatItCannotRearrange) {
  // Rows along the registers: two elements of a dword lie in different rows.
  LinearLayout down =
      LinearLayout::identity(Register, Row, 4) * LinearLayout::identity(Lane, Col, 6);
  EXPECT_FALSE(planLines(down, 2, kLaneBits));
  // Copies in the upper lanes.
  LinearLayout copies = LinearLayout::identity(Register, Col, 4) *
                        LinearLayout::identity(Lane, Row, 5) * LinearLayout::zeros(Lane, 1, Row);
  EXPECT_FALSE(planLines(copies, 2, kLaneBits));
  EXPECT_FALSE(planLines(accumulator(64), 8, kLaneBits));
}

/// A random reordering of the bits of a tile of 2^rows x 2^columns.
static LinearLayout randomLayout(std::mt19937_64 &random, unsigned rows, unsigned columns) {
  std::vector<Coordinates> images;
  for (unsigned bit = 0; bit < rows; ++bit)
    images.push_back({{std::string(Row), uint64_t(1) << bit}});
  for (unsigned bit = 1; bit < columns; ++bit)
    images.push_back({{std::string(Col), uint64_t(1) << bit}});
  std::shuffle(images.begin(), images.end(), random);
  // Two elements of a dword lie side by side.
  InputBases registers{std::string(Register), {{{std::string(Col), 1}}}};
  InputBases lanes{std::string(Lane), {images.begin(), images.begin() + 6}};
  registers.bases.insert(registers.bases.end(), images.begin() + 6, images.end());
  return *LinearLayout::fromBases({registers, lanes},
                                  {{std::string(Row), rows}, {std::string(Col), columns}});
}

using LaneExchangeRandom = hocket::test::RandomTest;

TEST_F(LaneExchangeRandom, LayoutsBecomeWhatThePlanSays) {
  unsigned planned = 0;
  for (unsigned trial = 0; trial < 300; ++trial) {
    LinearLayout layout = randomLayout(rng, 5, 6);
    std::optional<LinePlan> plan = planLines(layout, 2, kLaneBits);
    if (!plan)
      continue;
    ++planned;
    expectAsPlanned(layout, *plan);
    EXPECT_GE(leastOfLine(*plan, 2), kWidestAccessBytes);
  }
  EXPECT_GT(planned, 50u);
}
