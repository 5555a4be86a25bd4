// MFMA layouts against the formulas of docs/Hardware.md 2.1, element by element.
#include "Layout/Mfma.h"

#include <gtest/gtest.h>

using namespace hocket;
using namespace hocket::dims;

class MfmaLayout : public ::testing::TestWithParam<MfmaShape> {};

static Coordinates at(uint64_t reg, uint64_t lane) { return {{"register", reg}, {"lane", lane}}; }

TEST_P(MfmaLayout, OperandsFollowTheFormula) {
  MfmaShape shape = GetParam();
  Result<LinearLayout> a = mfmaOperandA(shape), b = mfmaOperandB(shape);
  ASSERT_TRUE(a.ok() && b.ok());
  EXPECT_TRUE(a->isBijective() && b->isBijective());
  ASSERT_EQ(1u << a->inputBits(Register), shape.operandElements());
  for (unsigned lane = 0; lane < 64; ++lane)
    for (unsigned e = 0; e < shape.operandElements(); ++e) {
      unsigned k = shape.operandElements() * (lane / shape.m) + e;
      EXPECT_EQ(a->apply(at(e, lane), Row), lane % shape.m);
      EXPECT_EQ(a->apply(at(e, lane), K), k);
      EXPECT_EQ(b->apply(at(e, lane), Col), lane % shape.n);
      EXPECT_EQ(b->apply(at(e, lane), K), k);
    }
}

TEST_P(MfmaLayout, AccumulatorFollowsTheFormula) {
  MfmaShape shape = GetParam();
  Result<LinearLayout> d = mfmaAccumulator(shape);
  ASSERT_TRUE(d.ok());
  EXPECT_TRUE(d->isBijective());
  for (unsigned lane = 0; lane < 64; ++lane)
    for (unsigned r = 0; r < shape.accumulatorRegisters(); ++r) {
      unsigned row = shape.m == 32 ? 8 * (r / 4) + 4 * (lane / 32) + r % 4 : 4 * (lane / 16) + r;
      EXPECT_EQ(d->apply(at(r, lane), Row), row);
      EXPECT_EQ(d->apply(at(r, lane), Col), lane % shape.n);
    }
}

INSTANTIATE_TEST_SUITE_P(Shapes, MfmaLayout,
                         ::testing::Values(MfmaShape{32, 32, 16, 16}, MfmaShape{16, 16, 32, 16},
                                           MfmaShape{32, 32, 8, 16}, MfmaShape{16, 16, 16, 16},
                                           MfmaShape{32, 32, 16, 8}, MfmaShape{16, 16, 32, 8},
                                           MfmaShape{32, 32, 2, 32}, MfmaShape{16, 16, 4, 32}),
                         [](const auto &info) {
                           const MfmaShape &s = info.param;
                           return std::to_string(s.m) + "x" + std::to_string(s.n) + "x" +
                                  std::to_string(s.k) + "of" + std::to_string(s.elementBits);
                         });

// f8f6f4 with fp8: byte 16*h + b of a lane holds k = run*h + 16*(l/M) + b.
TEST(Mfma, WideFp8InterleavesRunsOfSixteenBytes) {
  for (MfmaShape shape : {MfmaShape{32, 32, 64, 8}, MfmaShape{16, 16, 128, 8}}) {
    Result<LinearLayout> a = mfmaOperandA(shape);
    ASSERT_TRUE(a.ok());
    for (unsigned lane = 0; lane < 64; ++lane)
      for (unsigned byte = 0; byte < 32; ++byte)
        EXPECT_EQ(a->apply(at(byte, lane), K),
                  shape.k / 2 * (byte / 16) + 16 * (lane / shape.m) + byte % 16);
  }
}

// f8f6f4 with 6 or 4 bits: element e of a lane holds k = 32*(l/M) + e.
TEST(Mfma, SixAndFourBitsHoldRunsOfThirtyTwo) {
  for (unsigned bits : {6u, 4u})
    for (MfmaShape shape : {MfmaShape{32, 32, 64, bits}, MfmaShape{16, 16, 128, bits}}) {
      Result<LinearLayout> a = mfmaOperandA(shape);
      ASSERT_TRUE(a.ok());
      for (unsigned lane = 0; lane < 64; ++lane)
        for (unsigned element = 0; element < 32; ++element)
          EXPECT_EQ(a->apply(at(element, lane), K), 32 * (lane / shape.m) + element);
    }
}

TEST(Mfma, TilesRepeatTheAtomInRegisters) {
  MfmaShape shape;
  Result<LinearLayout> a = mfmaOperandATile(shape, 64, 128), b = mfmaOperandBTile(shape, 64, 128);
  Result<LinearLayout> d = mfmaAccumulatorTile(shape, 64, 64);
  ASSERT_TRUE(a.ok() && b.ok() && d.ok());
  EXPECT_TRUE(a->isBijective() && b->isBijective() && d->isBijective());
  for (unsigned lane = 0; lane < 64; ++lane)
    for (unsigned reg = 0; reg < 128; ++reg) {
      unsigned e = reg % 8, step = reg / 8 % 8, block = reg / 64;
      EXPECT_EQ(a->apply(at(reg, lane), Row), 32 * block + lane % 32);
      EXPECT_EQ(a->apply(at(reg, lane), K), 16 * step + 8 * (lane / 32) + e);
      unsigned stepB = reg / 8 % 4, blockB = reg / 32;
      EXPECT_EQ(b->apply(at(reg, lane), K), 16 * stepB + 8 * (lane / 32) + e);
      EXPECT_EQ(b->apply(at(reg, lane), Col), 32 * blockB + lane % 32);
    }
  for (unsigned reg = 0; reg < 64; ++reg) {
    EXPECT_EQ(d->apply(at(reg, 33), Row), 32 * (reg / 16 % 2) + 8 * (reg % 16 / 4) + 4 + reg % 4);
    EXPECT_EQ(d->apply(at(reg, 33), Col), 32 * (reg / 32) + 1u);
  }
}

TEST(Mfma, UnknownShapesAreRefusedByName) {
  Result<LinearLayout> a = mfmaOperandA({4, 4, 4, 16});
  ASSERT_FALSE(a.ok());
  EXPECT_EQ(a.error().kind, ErrorKind::Unsupported);
  EXPECT_EQ(a.error().message,
            "no layout for mfma 4x4x4 of 16 bits; known are 16x16 and 32x32 with "
            "k a power of two and 4, 6, 8, 16 or 32 bits");
  EXPECT_FALSE(mfmaAccumulator({32, 16, 8, 16}).ok());
  EXPECT_FALSE(mfmaOperandB({32, 32, 12, 16}).ok());
  EXPECT_FALSE(mfmaOperandB({32, 32, 0, 16}).ok());
}

TEST(Mfma, TilesThatAreNoMultipleAreRefused) {
  Result<LinearLayout> tile = mfmaOperandATile({}, 64, 8);
  ASSERT_FALSE(tile.ok());
  EXPECT_EQ(tile.error().message, "tile has 8 of k, a power of two of at least 16 is needed");
  EXPECT_FALSE(mfmaOperandBTile({}, 16, 96).ok());
  EXPECT_FALSE(mfmaAccumulatorTile({}, 16, 32).ok());
}
