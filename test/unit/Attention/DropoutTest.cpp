// The random bytes of dropout against published numbers and against their definition, read the other way round.
#include "Verify/Attention/Dropout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace hocket;
using namespace hocket::attention;
using ::testing::ElementsAre;

// kat_vectors of Random123, "philox4x32 7".
TEST(Dropout, PhiloxHasItsPublishedNumbers) {
  EXPECT_THAT(philox7({0, 0, 0, 0}, {0, 0}), ElementsAre(0x5f6fb709, 0x0d893f64, 0x4f121f81, 0x4f730a48));
  constexpr uint32_t ones = 0xffffffff;
  EXPECT_THAT(philox7({ones, ones, ones, ones}, {ones, ones}),
              ElementsAre(0x5207ddc2, 0x45165e59, 0x4d8ee751, 0x8c52f662));
}

TEST(Dropout, BytesLieWhereEachLaneOfABlockHasThem) {
  ForwardProblem problem;
  problem.heads = 5;
  problem.dropout = true;
  problem.dropping = {.probability = 0.25, .seed = 0x123456789abcdef, .offset = -3};
  int64_t batch = 2, head = 3, blockRow = 4, blockColumn = 9;
  DropoutBytes bytes(problem, {}, batch, head);
  for (uint64_t lane = 0; lane != 64; ++lane) {
    uint64_t offset = uint64_t(-3) + (2 * 5 + 3) * 64 + lane;
    auto words = philox7({static_cast<uint32_t>(offset), static_cast<uint32_t>(offset >> 32), 4, 9},
                         {0x89abcdef, 0x01234567});
    for (int64_t r = 0; r != 16; ++r) {
      int64_t row = 32 * blockRow + 16 * (r / 8) + 8 * static_cast<int64_t>(lane / 32) + r % 8;
      int64_t column = 32 * blockColumn + static_cast<int64_t>(lane % 32);
      ASSERT_EQ(bytes.at(row, column), words[r / 4] >> (8 * (r % 4)) & 0xff) << row << ", " << column;
    }
  }
}

TEST(Dropout, WhatIsInMemoryIsAdded) {
  ForwardProblem problem, other;
  problem.dropping = {.probability = 0.5, .seed = 40, .offset = int64_t(7) << 32, .inMemory = true};
  other.dropping = {.probability = 0.5, .seed = 42 + (int64_t(1) << 32), .offset = int64_t(5) << 32};
  double state[] = {2, 1, 0, -2};
  DropoutBytes inMemory(problem, state, 0, 0), byValue(other, {}, 0, 0);
  for (int64_t row = 0; row != 40; ++row)
    ASSERT_EQ(inMemory.at(row, 3 * row), byValue.at(row, 3 * row));
}

TEST(Dropout, KeepsAsManyAsItSays) {
  ForwardProblem problem;
  problem.dropping = {.probability = 0.1, .seed = 5};
  EXPECT_EQ(problem.dropping.threshold(), 229); // floor(0.9 * 255)
  DropoutBytes bytes(problem, {}, 0, 0);
  int64_t kept = 0, size = 512;
  for (int64_t row = 0; row != size; ++row)
    for (int64_t column = 0; column != size; ++column)
      kept += bytes.factor(row, column) != 0;
  // 230 of 256, within five standard deviations of a binomial one.
  double expected = 230.0 / 256, deviation = std::sqrt(expected * (1 - expected) / double(size * size));
  EXPECT_NEAR(double(kept) / double(size * size), expected, 5 * deviation);
}

TEST(Dropout, ProbabilitiesAreBelowOne) {
  ForwardProblem problem;
  problem.dropout = true;
  for (double wrong : {-0.1, 1.0, 2.0, double(NAN)}) {
    problem.dropping.probability = wrong;
    EXPECT_THAT(validate(problem).error().message, ::testing::HasSubstr("expected a probability from 0 to less than 1"));
  }
}
