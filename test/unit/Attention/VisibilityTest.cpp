// Kinds of masks: that their ranges are what the rest relies on, and that masks with a predicate go
// through reference, data and comparison.
#include "Verify/Attention/Reference.h"

#include <cmath>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace hocket;
using namespace hocket::attention;

namespace {
/// Every third key of a window that moves with the row, and is empty for the first rows.
constexpr MaskKind kEveryThird{
    .name = "every_third",
    .left = 20,
    .right = 9,
    .sees = [](int64_t row, int64_t key, Lengths) { return (row + key) % 3 == 0; }};

/// Nobody sees anything of a range that is not empty.
constexpr MaskKind kNothing{.name = "nothing",
                            .right = 0,
                            .sees = [](int64_t, int64_t, Lengths) { return false; }};
} // namespace

TEST(Visibility, RangesAreOrderedAndWithinTheKeys) {
  for (const MaskKind &kind : Visibility::kinds())
    for (Lengths lengths : {Lengths{1, 1}, {5, 5}, {7, 3}, {3, 11}, {300, 100}}) {
      Visibility mask(kind);
      KeyRange last{0, 0};
      for (int64_t row = 0; row < lengths.q + 300; ++row) {
        KeyRange range = mask.range(row, lengths);
        EXPECT_GE(range.begin, last.begin) << kind.name << " row " << row;
        EXPECT_GE(range.end, last.end) << kind.name << " row " << row;
        EXPECT_LE(range.end, lengths.kv) << kind.name << " row " << row;
        last = range;
      }
    }
}

TEST(Visibility, OfCausalIsTheDiagonalToTheBottomRight) {
  Visibility causal = Visibility::causal();
  for (Lengths lengths : {Lengths{5, 5}, {7, 3}, {3, 11}})
    for (int64_t row = 0; row < lengths.q; ++row)
      for (int64_t key = -1; key <= lengths.kv; ++key)
        EXPECT_EQ(causal.sees(row, key, lengths),
                  key >= 0 && key < lengths.kv && key <= row + lengths.kv - lengths.q)
            << row << ", " << key;
  EXPECT_FALSE(causal.seesAny(3, {7, 3}));
  EXPECT_TRUE(causal.seesAny(4, {7, 3}));
  EXPECT_EQ(causal.rangeOfBlock(1, 2, {3, 11}), (KeyRange{0, 11}));
}

TEST(Visibility, AWindowMovesWithTheRow) {
  Visibility mask(kEveryThird);
  EXPECT_EQ(mask.range(0, {150, 130}), (KeyRange{0, 0}));
  EXPECT_EQ(mask.range(40, {150, 130}), (KeyRange{0, 30}));
  EXPECT_EQ(mask.range(100, {150, 130}), (KeyRange{60, 90}));
  EXPECT_EQ(mask.range(149, {150, 130}), (KeyRange{109, 130}));
  EXPECT_EQ(mask.rangeOfBlock(100, 50, {150, 130}), (KeyRange{60, 130}));
  EXPECT_TRUE(mask.sees(100, 62, {150, 130}));
  EXPECT_FALSE(mask.sees(100, 61, {150, 130}));
  EXPECT_FALSE(mask.sees(100, 59, {150, 130}));
}

TEST(Visibility, IsSpeltAsTheDialectDoes) {
  EXPECT_EQ(Visibility().attnText(), "none");
  EXPECT_EQ(Visibility::causal().attnText(), "causal");
  EXPECT_EQ(Visibility(kEveryThird).attnText(), "window(20, 9)");
  EXPECT_EQ(Visibility(kNothing).attnText(), "window(?, 0)");
}

TEST(Visibility, IsFoundByName) {
  for (const MaskKind &kind : Visibility::kinds()) {
    Result<Visibility> found = Visibility::parse(kind.name);
    ASSERT_TRUE(found.ok());
    EXPECT_EQ(*found, Visibility(kind));
  }
  EXPECT_EQ(*Visibility::parse("none"), Visibility());
  EXPECT_EQ(*Visibility::parse("causal"), Visibility::causal());
  EXPECT_NE(Visibility(), Visibility::causal());
  EXPECT_THAT(Visibility::parse("full").error().message,
              testing::StartsWith("mask 'full' is unknown; known are none, causal"));
}

TEST(Visibility, ManifestsTakeAMaskForNoOther) {
  ForwardProblem problem;
  auto causal = [&] { return problemVariables(problem).at("causal").asInteger(); };
  EXPECT_EQ(causal(), 0);
  problem.visibility = Visibility::causal();
  EXPECT_EQ(causal(), 1);
  problem.visibility = Visibility(kEveryThird);
  EXPECT_EQ(causal(), 2);
}

static ForwardProblem makeProblem(const MaskKind &kind) {
  ForwardProblem problem;
  problem.heads = problem.kvHeads = 2;
  problem.seqQ = 150;
  problem.seqKv = 130;
  problem.headDim = problem.headDimV = 16;
  problem.visibility = Visibility(kind);
  problem.wantLse = true;
  return problem;
}

/// Against the formula, written as it stands.
TEST(Visibility, WithAPredicateTheReferenceIsTheFormula) {
  ForwardProblem problem = makeProblem(kEveryThird);
  ForwardInputs inputs = generateInputs(problem, DataKind::Normal, 3);
  ForwardReference reference = computeReference(problem, inputs, chooseRows(problem, 1000, 0));
  auto at = [&](const verify::TypedArray &values, int64_t row, int64_t d) { return values[row * 16 + d]; };
  for (size_t r = 0; r != reference.rows.size(); ++r) {
    int64_t row = reference.rows[r], position = row % 150, keys = row / 150 * 130;
    double total = 0;
    std::vector<double> o(16);
    for (int64_t key = 0; key != 130; ++key) {
      if (key < position - 40 || key > position - 11 || (position + key) % 3 != 0)
        continue;
      double score = 0;
      for (int64_t d = 0; d != 16; ++d)
        score += at(inputs.q, row, d) * at(inputs.k, keys + key, d) / 4;
      total += std::exp(score);
      for (int64_t d = 0; d != 16; ++d)
        o[d] += std::exp(score) * at(inputs.v, keys + key, d);
    }
    for (int64_t d = 0; d != 16; ++d)
      ASSERT_NEAR(reference.o[r * 16 + d], total == 0 ? 0 : o[d] / total, 1e-12) << row;
    if (total == 0)
      ASSERT_EQ(reference.lse[r], -INFINITY) << row;
    else
      ASSERT_NEAR(reference.lse[r], std::log(total), 1e-12) << row;
  }
}

TEST(Visibility, RowsOfARangeThatSeeNothingAreEmpty) {
  ForwardProblem problem = makeProblem(kNothing);
  ForwardInputs inputs = generateInputs(problem, DataKind::OneHot, 3);
  ForwardReference reference = computeReference(problem, inputs, chooseRows(problem, 1000, 0));
  EXPECT_THAT(reference.o, testing::Each(0.0));
  EXPECT_THAT(reference.lse, testing::Each(-INFINITY));
}

/// The chosen key of a one-hot row is one that the row sees.
TEST(Visibility, OneHotDataAgreesWithAKeyThatIsSeen) {
  ForwardProblem problem = makeProblem(kEveryThird);
  const int64_t dim = problem.headDim = problem.headDimV = 64;
  ForwardInputs inputs = generateInputs(problem, DataKind::OneHot, 5);
  ForwardReference reference = computeReference(problem, inputs, chooseRows(problem, 1000, 0));
  for (int64_t row = 0; row != 150; ++row) {
    if (!problem.visibility.seesAny(row, problem.lengths()))
      continue;
    double best = INFINITY; // how far O is from the nearest row of V that is seen
    for (int64_t key = 0; key != 130; ++key) {
      double distance = 0;
      for (int64_t d = 0; d != dim; ++d)
        distance += std::abs(reference.o[row * dim + d] - inputs.v[key * dim + d]);
      if (problem.sees(row, key))
        best = std::min(best, distance);
    }
    EXPECT_LT(best, 1e-3) << row;
  }
}

/// Also where the first row sees keys: a mask may leave any row with none.
TEST(Visibility, EmptyRowsAreLookedForInAllRows) {
  constexpr static MaskKind kNotTheLast{
      .name = "not_the_last",
      .sees = [](int64_t row, int64_t, Lengths lengths) { return row < lengths.q - 1; }};
  ForwardProblem problem = makeProblem(kNotTheLast);
  ForwardInputs inputs = generateInputs(problem, DataKind::Normal, 5);
  ForwardReference reference = computeReference(problem, inputs, {0});
  ForwardOutputs outputs;
  outputs.o = verify::TypedArray(problem.dtype.o, 2 * 150 * 16);
  outputs.lse.assign(2 * 150, -INFINITY);
  EXPECT_EQ(compareForward(problem, inputs, reference, outputs).wrongEmptyRows, 0);
  outputs.o.set(149 * 16 + 3, 1);
  outputs.lse[299] = 0;
  EXPECT_EQ(compareForward(problem, inputs, reference, outputs).wrongEmptyRows, 2);
}
