// GF(2) elimination against brute force over all inputs of small random matrices.
#include "Layout/BitMatrix.h"

#include "Random.h"

#include <bit>
#include <set>

using namespace hocket;

class BitMatrixProperty : public test::RandomTest {};

static std::set<uint64_t> image(const BitMatrix &matrix) {
  std::set<uint64_t> result;
  for (uint64_t x = 0; x < uint64_t(1) << matrix.columns(); ++x)
    result.insert(matrix.apply(x));
  return result;
}

TEST_F(BitMatrixProperty, RankIsTheSizeOfTheImage) {
  for (int round = 0; round < 300; ++round) {
    BitMatrix m = matrix(below(8), below(8));
    EXPECT_EQ(uint64_t(1) << m.rank(), image(m).size());
    EXPECT_EQ(m.isInjective(), image(m).size() == uint64_t(1) << m.columns());
    EXPECT_EQ(m.isSurjective(), image(m).size() == uint64_t(1) << m.rows());
  }
}

TEST_F(BitMatrixProperty, ApplyIsLinear) {
  BitMatrix m = matrix(40, 50);
  for (int round = 0; round < 200; ++round) {
    uint64_t a = below(uint64_t(1) << 50), b = below(uint64_t(1) << 50);
    EXPECT_EQ(m.apply(a ^ b), m.apply(a) ^ m.apply(b));
  }
}

TEST_F(BitMatrixProperty, ThenAppliesBothInOrder) {
  for (int round = 0; round < 100; ++round) {
    BitMatrix first = matrix(6, 5), second = matrix(7, 6);
    for (uint64_t x = 0; x < 32; ++x)
      EXPECT_EQ(first.then(second).apply(x), second.apply(first.apply(x)));
  }
}

TEST_F(BitMatrixProperty, KernelIsExactlyWhatMapsToZero) {
  for (int round = 0; round < 100; ++round) {
    BitMatrix m = matrix(below(6), 1 + below(7));
    std::vector<uint64_t> kernel = m.kernel();
    EXPECT_EQ(kernel.size() + m.rank(), m.columns());
    for (uint64_t vector : kernel) {
      EXPECT_NE(vector, 0u);
      EXPECT_EQ(m.apply(vector), 0u);
    }
    EXPECT_EQ(BitMatrix(m.columns(), kernel).rank(), kernel.size());
  }
}

TEST_F(BitMatrixProperty, SolveFindsASourceExactlyWhereOneExists) {
  for (int round = 0; round < 100; ++round) {
    BitMatrix m = matrix(5, below(8));
    std::set<uint64_t> reachable = image(m);
    for (uint64_t y = 0; y < 32; ++y) {
      std::optional<uint64_t> x = m.solve(y);
      ASSERT_EQ(x.has_value(), reachable.count(y) == 1);
      if (!x)
        continue;
      EXPECT_EQ(m.apply(*x), y);
      EXPECT_EQ(*x & m.redundantColumns(), 0u);
    }
  }
}

TEST_F(BitMatrixProperty, InversesExistExactlyWhenTheyCan) {
  for (int round = 0; round < 300; ++round) {
    BitMatrix m = matrix(below(7), below(7));
    std::optional<BitMatrix> left = m.leftInverse(), right = m.rightInverse();
    ASSERT_EQ(left.has_value(), m.isInjective());
    ASSERT_EQ(right.has_value(), m.isSurjective());
    if (left)
      EXPECT_EQ(m.then(*left), BitMatrix::identity(m.columns()));
    if (right)
      EXPECT_EQ(right->then(m), BitMatrix::identity(m.rows()));
  }
}

TEST_F(BitMatrixProperty, WideMatricesInvert) {
  BitMatrix m = invertible(64 - 1);
  EXPECT_EQ(m.then(*m.leftInverse()), BitMatrix::identity(63));
}

TEST(BitMatrix, SixtyFourBitsWork) {
  BitMatrix m = BitMatrix::identity(64);
  EXPECT_EQ(m.apply(~uint64_t(0)), ~uint64_t(0));
  EXPECT_TRUE(m.isBijective());
  EXPECT_EQ(*m.leftInverse(), m);
}

TEST(BitMatrix, RedundantColumnsAreTheLaterOnes) {
  BitMatrix m(3, {1, 2, 3, 4, 0});
  EXPECT_EQ(m.redundantColumns(), 0b10100u);
  EXPECT_EQ(m.rank(), 3u);
}

TEST(BitMatrix, BitsBeyondTheRowsAreDropped) {
  EXPECT_EQ(BitMatrix(2, {7}).column(0), 3u);
  EXPECT_EQ(BitMatrix(2, {1}).apply(0xFE), 0u);
}
