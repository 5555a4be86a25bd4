// The score accumulator as the second product's operand: the order found is the right one, and
// where there is none the refusal says so.
#include "Layout/OperandReuse.h"

#include "Layout/Mfma.h"

#include <gtest/gtest.h>

using namespace hocket;
using namespace hocket::dims;

static Coordinates at(uint64_t reg, uint64_t lane) { return {{"register", reg}, {"lane", lane}}; }

/// For every register and lane the accumulator's key is the order's image of the operand's k.
static void expectReuse(const LinearLayout &accumulator, const LinearLayout &operand,
                        const LinearLayout &order, std::string_view operandKept) {
  for (unsigned reg = 0; reg < 1u << accumulator.inputBits(Register); ++reg)
    for (unsigned lane = 0; lane < 64; ++lane) {
      EXPECT_EQ(accumulator.apply(at(reg, lane), Row),
                order.apply({{"k", operand.apply(at(reg, lane), K)}}, "key"));
      EXPECT_EQ(accumulator.apply(at(reg, lane), Col), operand.apply(at(reg, lane), operandKept));
    }
}

struct ReuseCase {
  MfmaShape scores, values;
  unsigned keys;
};

class Reuse : public ::testing::TestWithParam<ReuseCase> {};

TEST_P(Reuse, HoldsForOperandAAndB) {
  auto [scores, values, keys] = GetParam();
  Result<LinearLayout> accumulator = mfmaAccumulatorTile(scores, keys, scores.n);
  Result<LinearLayout> b = mfmaOperandBTile(values, keys, values.n);
  Result<LinearLayout> a = mfmaOperandATile(values, values.m, keys);
  ASSERT_TRUE(accumulator.ok() && a.ok() && b.ok());
  Result<LinearLayout> orderB = accumulatorAsOperand(*accumulator, *b);
  ASSERT_TRUE(orderB.ok()) << orderB.error().message;
  EXPECT_TRUE(orderB->isBijective());
  expectReuse(*accumulator, *b, *orderB, Col);
  Result<LinearLayout> orderA = accumulatorAsOperand(*accumulator, *a, {Row, Col, K, Row});
  ASSERT_TRUE(orderA.ok()) << orderA.error().message;
  EXPECT_EQ(*orderA, *orderB);
  expectReuse(*accumulator, *a, *orderA, Row);
}

INSTANTIATE_TEST_SUITE_P(Shapes, Reuse,
                         ::testing::Values(ReuseCase{{32, 32, 16, 16}, {32, 32, 16, 16}, 64},
                                           ReuseCase{{32, 32, 16, 16}, {32, 32, 16, 16}, 32},
                                           ReuseCase{{32, 32, 8, 16}, {32, 32, 8, 16}, 32},
                                           ReuseCase{{32, 32, 8, 16}, {32, 32, 16, 16}, 128},
                                           ReuseCase{{16, 16, 32, 16}, {16, 16, 32, 16}, 64},
                                           ReuseCase{{16, 16, 16, 16}, {16, 16, 16, 16}, 16}));

TEST(OperandReuse, SwapsBitsTwoAndThreeFor32x32x16) {
  LinearLayout order =
      *accumulatorAsOperand(*mfmaAccumulatorTile({}, 64, 32), *mfmaOperandBTile({}, 64, 32));
  for (unsigned k = 0; k < 64; ++k)
    EXPECT_EQ(order.apply({{"k", k}}, "key"), (k & ~12u) | (k & 4) << 1 | (k & 8) >> 1);
}

// 32x32x8 operands hold four consecutive k, just as the accumulator does: nothing to permute.
TEST(OperandReuse, NeedsNoPermutationFor32x32x8) {
  MfmaShape shape{32, 32, 8, 16};
  LinearLayout order =
      *accumulatorAsOperand(*mfmaAccumulatorTile(shape, 32, 32), *mfmaOperandBTile(shape, 32, 32));
  EXPECT_EQ(order.matrix(), BitMatrix::identity(5));
}

TEST(OperandReuse, PermutedOperandReadsTrueKeys) {
  LinearLayout operand = *mfmaOperandBTile({}, 64, 128);
  LinearLayout order =
      *accumulatorAsOperand(*mfmaAccumulatorTile({}, 64, 32), *mfmaOperandBTile({}, 64, 32));
  Result<LinearLayout> permuted = permuteOutput(operand, K, order);
  ASSERT_TRUE(permuted.ok());
  for (unsigned reg = 0; reg < 128; ++reg)
    for (unsigned lane = 0; lane < 64; ++lane) {
      EXPECT_EQ(permuted->apply(at(reg, lane), K),
                order.apply({{"k", operand.apply(at(reg, lane), K)}}, "key"));
      EXPECT_EQ(permuted->apply(at(reg, lane), Col), operand.apply(at(reg, lane), Col));
    }
}

// Without the transposed product the query is in the accumulator's rows: lanes hold different
// queries.
TEST(OperandReuse, RefusesWhatNeedsAnotherLanesData) {
  LinearLayout accumulator = *mfmaAccumulatorTile({}, 32, 64),
               operand = *mfmaOperandATile({}, 32, 64);
  Result<LinearLayout> order = accumulatorAsOperand(accumulator, operand, {Col, Row, K, Row});
  ASSERT_FALSE(order.ok());
  EXPECT_EQ(order.error().kind, ErrorKind::Unsupported);
  EXPECT_EQ(
      order.error().message,
      "the accumulator cannot be the operand: a lane would need another lane's elements; use a "
      "shape whose lanes hold the same 'row' in both");
}

TEST(OperandReuse, RefusesDifferentRegisterCounts) {
  Result<LinearLayout> order =
      accumulatorAsOperand(*mfmaAccumulatorTile({}, 64, 32), *mfmaOperandBTile({}, 32, 32));
  ASSERT_FALSE(order.ok());
  EXPECT_EQ(
      order.error().message,
      "accumulator and operand have different registers or lanes; choose tile sizes that hold "
      "the same number of elements in each lane");
}

TEST(OperandReuse, RefusesBroadcastOperands) {
  LinearLayout broadcast =
      LinearLayout::zeros(Register, 4, K, 4) * LinearLayout::zeros(Lane, 6, Col, 6);
  Result<LinearLayout> order = accumulatorAsOperand(*mfmaAccumulator({}), broadcast);
  ASSERT_FALSE(order.ok());
  EXPECT_EQ(order.error().message,
            "operand holds an element twice, so no order of its k is defined by it");
}
