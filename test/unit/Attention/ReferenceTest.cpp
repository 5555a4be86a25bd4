// The blocked reference against attention written down as the definition says it.
#include "Verify/Attention/Reference.h"

#include <cmath>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace hocket;
using namespace hocket::attention;

/// One row by the definition: all scores, their maximum, exponentials, a weighted sum.
static void naiveRow(const ForwardProblem &problem, const ForwardInputs &inputs, int64_t row,
                     std::vector<double> &o, double &lse) {
  int64_t group = row / problem.seqQ, batch = group / problem.heads;
  int64_t kvHead = group % problem.heads / (problem.heads / problem.kvHeads);
  int64_t base = (batch * problem.kvHeads + kvHead) * problem.seqKv;
  int64_t visible = problem.visibleKeys(row % problem.seqQ).size();
  o.assign(problem.valueHeadDim(), 0.0);
  lse = -INFINITY;
  if (visible == 0)
    return;
  std::vector<double> scores(visible);
  for (int64_t j = 0; j != visible; ++j) {
    for (int64_t d = 0; d != problem.headDim; ++d)
      scores[j] += inputs.q[row * problem.headDim + d] * inputs.k[(base + j) * problem.headDim + d];
    scores[j] *= problem.effectiveScale();
  }
  double maximum = *std::max_element(scores.begin(), scores.end()), total = 0;
  for (int64_t j = 0; j != visible; ++j) {
    double weight = std::exp(scores[j] - maximum);
    total += weight;
    for (int64_t d = 0; d != problem.valueHeadDim(); ++d)
      o[d] += weight * inputs.v[(base + j) * problem.valueHeadDim() + d];
  }
  for (double &value : o)
    value /= total;
  lse = maximum + std::log(total);
}

static void compareWithNaive(const ForwardProblem &problem, DataKind kind) {
  SCOPED_TRACE(problem.describe() + " " + std::string(toString(kind)));
  ASSERT_TRUE(validate(problem).ok());
  ForwardInputs inputs = generateInputs(problem, kind, 11);
  ForwardReference reference =
      computeReference(problem, inputs, chooseRows(problem, 1 << 20, 0), 2);
  ASSERT_EQ(reference.rows.size(), static_cast<size_t>(problem.tensor("o").rows()));
  for (size_t i = 0; i < reference.rows.size(); i += 3) {
    std::vector<double> o;
    double lse;
    naiveRow(problem, inputs, reference.rows[i], o, lse);
    if (std::isinf(lse))
      ASSERT_EQ(reference.lse[i], lse);
    else
      ASSERT_NEAR(reference.lse[i], lse, 1e-11 * std::max(1.0, std::abs(lse)));
    for (int64_t d = 0; d != problem.valueHeadDim(); ++d)
      ASSERT_NEAR(reference.o[i * problem.valueHeadDim() + d], o[d], 1e-12) << "row " << i;
  }
}

static ForwardProblem makeProblem(int64_t seqQ, int64_t seqKv, bool causal) {
  ForwardProblem problem;
  problem.batch = 2;
  problem.heads = 4;
  problem.kvHeads = 2;
  problem.seqQ = seqQ;
  problem.seqKv = seqKv;
  problem.visibility = causal ? Visibility::causal() : Visibility();
  return problem;
}

TEST(Reference, AgreesWithTheDefinition) {
  for (bool causal : {false, true})
    for (auto [q, kv] :
         {std::pair<int64_t, int64_t>{1, 1}, {65, 63}, {70, 130}, {130, 70}, {3, 257}})
      for (DataKind kind : {DataKind::Normal, DataKind::Rising, DataKind::Large})
        compareWithNaive(makeProblem(q, kv, causal), kind);
}

TEST(Reference, TakesOtherShapesTypesAndScales) {
  ForwardProblem problem = makeProblem(33, 100, true);
  problem.dtype = ElementType::F16;
  problem.headDim = 37;
  problem.headDimV = 21;
  problem.scale = -0.3;
  compareWithNaive(problem, DataKind::Normal);
  problem.kvHeads = 1;
  compareWithNaive(problem, DataKind::OneHot);
}

TEST(Reference, DoesNotDependOnThreadsOrSelection) {
  ForwardProblem problem = makeProblem(100, 200, true);
  ForwardInputs inputs = generateInputs(problem, DataKind::Normal, 1);
  ForwardReference all = computeReference(problem, inputs, chooseRows(problem, 1 << 20, 0), 1);
  ForwardReference some = computeReference(problem, inputs, {5, 99, 100, 799}, 3);
  for (size_t i = 0; i != some.rows.size(); ++i) {
    EXPECT_EQ(some.lse[i], all.lse[some.rows[i]]);
    EXPECT_EQ(some.o[i * 128 + 7], all.o[some.rows[i] * 128 + 7]);
  }
}

TEST(Reference, SamplesRowsEvenlyAndSorted) {
  ForwardProblem problem = makeProblem(1000, 10, false);
  std::vector<int64_t> rows = chooseRows(problem, 500, 9);
  EXPECT_LE(rows.size(), 500u);
  EXPECT_GE(rows.size(), 450u);
  EXPECT_TRUE(std::is_sorted(rows.begin(), rows.end()));
  EXPECT_EQ(std::adjacent_find(rows.begin(), rows.end()), rows.end());
  EXPECT_EQ(rows.front(), 0);
  EXPECT_EQ(rows.back(), 7999);
  EXPECT_THAT(rows, testing::IsSupersetOf({999, 1000, 6999, 7000}));
  EXPECT_NE(rows, chooseRows(problem, 500, 10));
  EXPECT_EQ(chooseRows(problem, 3, 1).size(), 3u);
}

TEST(Reference, ReportsProgress) {
  ForwardProblem problem = makeProblem(10, 10, false);
  double last = 0;
  Progress progress = [&](std::string_view phase, double fraction) {
    EXPECT_EQ(phase, "reference");
    EXPECT_GE(fraction, last);
    last = fraction;
  };
  computeReference(problem, generateInputs(problem, DataKind::Normal, 1), {0, 1}, 1, progress);
  EXPECT_EQ(last, 1);
}
