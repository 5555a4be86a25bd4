// The generators keep their promises: determinism, rounding, and the property each kind is named
// for.
#include "Verify/Attention/Data.h"

#include <cmath>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace hocket;
using namespace hocket::attention;

static ForwardProblem makeProblem(ElementType type, bool causal = false) {
  ForwardProblem problem;
  problem.dtype = type;
  problem.batch = 2;
  problem.heads = 4;
  problem.kvHeads = 2;
  problem.seqQ = 70;
  problem.seqKv = 400;
  problem.visibility = causal ? Visibility::causal() : Visibility();
  return problem;
}

/// The scaled score of query `row` (over [batch, head, query]) and key `key` of its KV head.
static double score(const ForwardProblem &problem, const ForwardInputs &inputs, int64_t row,
                    int64_t key) {
  int64_t group = row / problem.seqQ, batch = group / problem.heads;
  int64_t kvHead = group % problem.heads / (problem.heads / problem.kvHeads);
  int64_t kvRow = (batch * problem.kvHeads + kvHead) * problem.seqKv + key;
  double sum = 0;
  for (int64_t d = 0; d != problem.headDim; ++d)
    sum += inputs.q[row * problem.headDim + d] * inputs.k[kvRow * problem.headDim + d];
  return sum * problem.effectiveScale();
}

TEST(Data, FollowsTheSeedAlone) {
  ForwardProblem problem = makeProblem(ElementType::BF16);
  ForwardInputs one = generateInputs(problem, DataKind::Normal, 5, 1);
  ForwardInputs many = generateInputs(problem, DataKind::Normal, 5, 3);
  ForwardInputs other = generateInputs(problem, DataKind::Normal, 6, 1);
  EXPECT_EQ(one.q, many.q);
  EXPECT_EQ(one.v, many.v);
  EXPECT_NE(one.q, other.q);
  EXPECT_NE(one.k, one.v);
}

TEST(Data, NormalHasItsMoments) {
  ForwardProblem problem = makeProblem(ElementType::F16);
  ForwardInputs inputs = generateInputs(problem, DataKind::Normal, 1);
  double sum = 0, squares = 0;
  for (size_t i = 0; i != inputs.k.size(); ++i) {
    double value = inputs.k[i];
    sum += value;
    squares += value * value;
  }
  double count = static_cast<double>(inputs.k.size());
  EXPECT_NEAR(sum / count, 0, 0.01);
  EXPECT_NEAR(squares / count, 1, 0.02);
}

TEST(Data, AllKindsAreFiniteInBothTypes) {
  for (ElementType type : {ElementType::BF16, ElementType::F16})
    for (const char *name : {"normal", "equal", "rising", "large", "onehot", "zeros"})
      for (double scale : {1.0, 1e-4, -0.1}) {
        ForwardProblem problem = makeProblem(type);
        problem.scale = scale;
        ForwardInputs inputs = generateInputs(problem, *parseDataKind(name), 3);
        for (const auto *tensor : {&inputs.q, &inputs.k, &inputs.v})
          for (size_t i = 0; i != tensor->size(); ++i)
            ASSERT_TRUE(std::isfinite((*tensor)[i])) << name << " " << scale;
      }
}

TEST(Data, EqualScoresAreEqual) {
  ForwardProblem problem = makeProblem(ElementType::BF16);
  ForwardInputs inputs = generateInputs(problem, DataKind::Equal, 2);
  for (int64_t row : {0, 69, 333, 559})
    for (int64_t key = 1; key < problem.seqKv; key += 37)
      ASSERT_EQ(score(problem, inputs, row, key), score(problem, inputs, row, 0));
  EXPECT_NE(score(problem, inputs, 0, 0), 0);
}

TEST(Data, RisingGrowsInEveryTile) {
  for (ElementType type : {ElementType::BF16, ElementType::F16})
    for (std::optional<double> scale : {std::optional<double>(), std::optional<double>(1.0)}) {
      ForwardProblem problem = makeProblem(type);
      problem.scale = scale;
      ForwardInputs inputs = generateInputs(problem, DataKind::Rising, 4);
      bool small = false, large = false;
      for (int64_t row = 0; row < 560; row += 13) {
        double before = -INFINITY;
        for (int64_t tile = 0; tile < problem.seqKv; tile += 32) {
          double maximum = before;
          for (int64_t key = tile; key < std::min(tile + 32, problem.seqKv); ++key)
            maximum = std::max(maximum, score(problem, inputs, row, key));
          ASSERT_GT(maximum, before) << "row " << row << " tile " << tile;
          if (tile != 0)
            (maximum - before > 5.5 ? large : small) = true;
          before = maximum;
        }
      }
      EXPECT_TRUE(small && large) << "steps on both sides of a lazy rescale's threshold";
    }
}

TEST(Data, LargeScoresAreLarge) {
  ForwardProblem problem = makeProblem(ElementType::F16);
  ForwardInputs inputs = generateInputs(problem, DataKind::Large, 4);
  double squares = 0;
  for (int64_t row = 0; row != 70; ++row)
    for (int64_t key = 0; key != 100; ++key)
      squares += std::pow(score(problem, inputs, row, key), 2) / 7000;
  EXPECT_NEAR(std::sqrt(squares), 50, 5);
}

TEST(Data, OneHotPicksOneVisibleKey) {
  ForwardProblem problem = makeProblem(ElementType::BF16, true);
  problem.seqKv = 100;
  ForwardInputs inputs = generateInputs(problem, DataKind::OneHot, 4);
  for (int64_t row = 0; row < 560; row += 7) {
    int64_t visible = problem.visibleKeys(row % problem.seqQ).size();
    std::vector<double> scores;
    for (int64_t key = 0; key != visible; ++key)
      scores.push_back(score(problem, inputs, row, key));
    std::sort(scores.rbegin(), scores.rend());
    ASSERT_GT(scores[0], 60) << "row " << row;
    if (visible > 1)
      ASSERT_GT(scores[0] - scores[1], 20) << "row " << row;
  }
}

TEST(Data, ZerosAreZero) {
  ForwardInputs inputs = generateInputs(makeProblem(ElementType::BF16), DataKind::Zeros, 4);
  EXPECT_EQ(inputs.v, verify::TypedArray(ElementType::BF16, inputs.v.size()));
  EXPECT_EQ(parseDataKind("ones").error().message,
            "data 'ones' is not known; use normal, equal, rising, large, onehot or zeros");
}
