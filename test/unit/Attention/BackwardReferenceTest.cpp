// The reference of the backward against finite differences of a forward written down as the definition says it.
#include "Verify/Attention/BackwardReference.h"
#include "Verify/Attention/Dropout.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>

using namespace hocket;
using namespace hocket::attention;

/// sum(dO * O), and of LSE's gradient sum(dLSE * LSE), of one group: what the gradients are of.
static double loss(const ForwardProblem &problem, const GroupTensors &t, const ScoreRules *rules,
                   const std::vector<BlockKind> *kinds = nullptr) {
  int64_t heads = problem.heads / problem.kvHeads, dim = problem.headDim, dimV = problem.valueHeadDim();
  double total = 0;
  for (int64_t row = 0; row != heads * problem.seqQ; ++row) {
    std::vector<double> output(dimV);
    double sum = problem.sink ? std::exp(t.sinks[row / problem.seqQ]) : 0;
    for (int64_t j = 0; j != problem.seqKv; ++j) {
      if (!problem.sees(row % problem.seqQ, j))
        continue;
      double score = 0;
      for (int64_t d = 0; d != dim; ++d)
        score += t.q[row * dim + d] * t.k[j * dim + d];
      int64_t head = row / problem.seqQ, query = row % problem.seqQ;
      if (kinds) { // of two heads, and blocks of which each row has two
        BlockKind kind = (*kinds)[head * 4 + query / problem.blocks.queries * 2 + j / problem.blocks.keys];
        if (kind == BlockKind::Hidden || (kind == BlockKind::Partial && !rules->sees({0, head, query, j})))
          continue;
      }
      score *= problem.effectiveScale();
      if (rules)
        score = rules->modified(score, {0, head, query, j});
      double weight = std::exp(score);
      sum += weight;
      if (problem.dropout)
        weight *= DropoutBytes(problem, t.dropoutState, 0, head).factor(query, j);
      for (int64_t d = 0; d != dimV; ++d)
        output[d] += weight * t.v[j * dimV + d];
    }
    for (int64_t d = 0; d != dimV && sum != 0; ++d)
      total += t.dO[row * dimV + d] * output[d] / sum;
    if (!t.dLse.empty() && sum != 0)
      total += t.dLse[row] * std::log(sum);
  }
  return total;
}

static std::vector<double> numbers(size_t count, uint32_t seed) {
  std::vector<double> result(count);
  for (double &value : result) {
    seed = seed * 1664525u + 1013904223u;
    value = (double(seed >> 8) / (1 << 24) - 0.5) * 3;
  }
  return result;
}

static void compareWithDifferences(const ForwardProblem &problem, const ScoreRules *rules, bool lseGradient) {
  SCOPED_TRACE(problem.describe() + (lseGradient ? ", LSE's gradient" : ""));
  size_t queries = problem.heads / problem.kvHeads * problem.seqQ, keys = problem.seqKv;
  GroupTensors tensors{numbers(queries * problem.headDim, 1), numbers(keys * problem.headDim, 2),
                       numbers(keys * problem.valueHeadDim(), 3), numbers(queries * problem.valueHeadDim(), 4),
                       numbers(problem.heads / problem.kvHeads, 5), {3, 0, 1, 0}};
  if (lseGradient)
    tensors.dLse = numbers(queries, 6);
  GroupGradients gradients = computeGradients(problem, tensors, 0, 0, rules);
  auto check = [&](std::vector<double> GroupTensors::*of, const std::vector<double> &gradient,
                   const char *name) {
    ASSERT_EQ(gradient.size(), (tensors.*of).size());
    for (size_t i = 0; i < gradient.size(); i += 1 + gradient.size() / 40) {
      constexpr double step = 1e-5;
      double &value = (tensors.*of)[i], was = value;
      value = was + step;
      double above = loss(problem, tensors, rules);
      value = was - step;
      double below = loss(problem, tensors, rules);
      value = was;
      ASSERT_NEAR(gradient[i], (above - below) / (2 * step), 1e-7) << name << " " << i;
    }
  };
  check(&GroupTensors::q, gradients.dq, "dq");
  check(&GroupTensors::k, gradients.dk, "dk");
  check(&GroupTensors::v, gradients.dv, "dv");
  if (problem.sink)
    check(&GroupTensors::sinks, gradients.others["sink"].values, "d_sink");
}

static void compareWithDifferences(const ForwardProblem &problem, const ScoreRules *rules = nullptr) {
  for (bool lseGradient : {false, true})
    compareWithDifferences(problem, rules, lseGradient);
}

static ForwardProblem problemOf(int64_t seqQ, int64_t seqKv, int64_t dim, int64_t dimV,
                                int64_t group, Visibility mask = {}) {
  ForwardProblem problem;
  problem.seqQ = seqQ, problem.seqKv = seqKv;
  problem.headDim = dim, problem.headDimV = dimV;
  problem.heads = group;
  problem.visibility = mask;
  return problem;
}

TEST(BackwardReference, FiniteDifferences) {
  compareWithDifferences(problemOf(5, 7, 8, 8, 1));
  compareWithDifferences(problemOf(70, 66, 8, 24, 1, Visibility::causal())); // blocks of 64
  compareWithDifferences(problemOf(9, 30, 16, 8, 3, Visibility::causal()));  // a group of heads
  compareWithDifferences(problemOf(30, 9, 8, 8, 2, Visibility::causal()));   // rows that see nothing
  ForwardProblem negative = problemOf(6, 6, 8, 8, 1);
  negative.scale = -0.7;
  compareWithDifferences(negative);
}

namespace {
/// Scores bent, by place.
struct Bent : ScoreRules {
  double modified(double scaled, const ScorePosition &at) const override {
    return 2 * std::tanh(scaled / 2) + 0.1 * double(at.query - at.key) + 0.2 * double(at.head);
  }
  double derivative(double scaled, const ScorePosition &) const override {
    return 1 - std::tanh(scaled / 2) * std::tanh(scaled / 2);
  }
  Influence influence(std::string_view, double, const ScorePosition &) const override { return {}; }
  bool sees(const ScorePosition &) const override { return true; }
};

/// A table by distance, of which what is read bends the score before a cap.
struct Tabled : ScoreRules {
  explicit Tabled(std::vector<double> table) : table(std::move(table)) {}
  int64_t placeOf(const ScorePosition &at) const {
    return std::clamp<int64_t>(at.query - at.key + 3, 0, static_cast<int64_t>(table.size()) - 1);
  }
  double before(double scaled, const ScorePosition &at) const {
    double number = table[static_cast<size_t>(placeOf(at))];
    return scaled * number + number * number;
  }
  double modified(double scaled, const ScorePosition &at) const override { return std::tanh(before(scaled, at)); }
  double slope(double scaled, const ScorePosition &at) const {
    return 1 - std::pow(std::tanh(before(scaled, at)), 2);
  }
  double derivative(double scaled, const ScorePosition &at) const override {
    return slope(scaled, at) * table[static_cast<size_t>(placeOf(at))];
  }
  Influence influence(std::string_view, double scaled, const ScorePosition &at) const override {
    return {slope(scaled, at) * (scaled + 2 * table[static_cast<size_t>(placeOf(at))]), placeOf(at)};
  }
  bool sees(const ScorePosition &) const override { return true; }
  std::vector<double> table;
};
} // namespace

TEST(BackwardReference, FiniteDifferencesOfACapturedTensor) {
  ForwardProblem problem = problemOf(20, 70, 8, 8, 2, Visibility::causal());
  problem.dropout = true;
  problem.dropping = {0.3, 1, 2, /*inMemory=*/true};
  GroupTensors tensors{numbers(2 * 20 * 8, 1), numbers(70 * 8, 2), numbers(70 * 8, 3), numbers(2 * 20 * 8, 4), {},
                       {3, 0, 1, 0}};
  Tabled rules(numbers(9, 6));
  GroupGradients gradients = computeGradients(problem, tensors, 0, 0, &rules, {{"table", 9}});
  for (size_t i = 0; i != 9; ++i) {
    constexpr double step = 1e-5;
    double &value = rules.table[i], was = value;
    value = was + step;
    double above = loss(problem, tensors, &rules);
    value = was - step;
    double below = loss(problem, tensors, &rules);
    value = was;
    double found = gradients.others.at("table").values[i];
    EXPECT_NEAR(found, (above - below) / (2 * step), 1e-6) << i;
    EXPECT_LE(std::abs(found), gradients.others.at("table").bounds.sizes[i] * (1 + 1e-12)) << i;
  }
}

TEST(BackwardReference, FiniteDifferencesOfModifiedScores) {
  ForwardProblem problem = problemOf(20, 70, 8, 8, 2, Visibility::causal());
  Bent bent;
  compareWithDifferences(problem, &bent);
  problem.sink = true;
  compareWithDifferences(problem, &bent);
  problem.dropout = true;
  problem.dropping = {0.4, 11, 12, /*inMemory=*/true};
  compareWithDifferences(problem, &bent);
  problem = problemOf(40, 9, 8, 8, 1, Visibility::causal()); // rows that see nothing but the sink
  problem.sink = true;
  compareWithDifferences(problem);
}

/// Lists of two heads: masks of a modification count in partial blocks, the problem's in all.
TEST(BackwardReference, FiniteDifferencesOfBlockLists) {
  struct Even : Bent {
    bool sees(const ScorePosition &at) const override { return (at.query + at.key) % 2 == 0; }
  } even;
  using enum BlockKind;
  ForwardProblem problem = problemOf(20, 70, 8, 8, 2, Visibility::causal());
  problem.blocks = {16, 64};
  problem.fullBlocks = true;
  std::vector<BlockKind> kinds = {Full, Partial, Partial, Hidden, Hidden, Full, Partial, Partial};
  ForwardInputs inputs = generateInputs(problem, DataKind::Normal, 1, 1);
  setBlockLists(listBlocks(1, 2, 2, 2, kinds), inputs);
  BlockTable table(problem, inputs);
  GroupTensors tensors{numbers(2 * 20 * 8, 1), numbers(70 * 8, 2), numbers(70 * 8, 3), numbers(2 * 20 * 8, 4), {},
                       {}, &table};
  GroupGradients gradients = computeGradients(problem, tensors, 0, 0, &even);
  auto check = [&](std::vector<double> GroupTensors::*of, const std::vector<double> &gradient) {
    for (size_t i = 0; i < gradient.size(); i += 1 + gradient.size() / 40) {
      constexpr double step = 1e-5;
      double &value = (tensors.*of)[i], was = value;
      value = was + step;
      double more = loss(problem, tensors, &even, &kinds);
      value = was - step;
      double less = loss(problem, tensors, &even, &kinds);
      value = was;
      ASSERT_NEAR(gradient[i], (more - less) / (2 * step), 1e-7) << i;
    }
  };
  check(&GroupTensors::q, gradients.dq);
  check(&GroupTensors::k, gradients.dk);
  check(&GroupTensors::v, gradients.dv);
}

/// What kernels are compared with has delta of the O that they are given: dQ differs from the exact one by what the
/// rounding of O makes of delta, times the mean key.
TEST(BackwardReference, DeltaIsOfTheStoredO) {
  BackwardProblem problem{problemOf(40, 50, 8, 16, 2, Visibility::causal()), {}};
  const ForwardProblem &forward = problem.forward;
  BackwardReference reference;
  BackwardInputs inputs = generateInputs(problem, DataKind::Normal, 3, {0}, reference, 1);
  auto wide = [](const verify::TypedArray &values) {
    std::vector<double> result;
    for (size_t i = 0; i != values.size(); ++i)
      result.push_back(values[i]);
    return result;
  };
  std::vector<double> k = wide(inputs.forward.k), stored = wide(inputs.o);
  GroupTensors tensors{wide(inputs.forward.q), k, wide(inputs.forward.v), wide(inputs.dO), {}, {}};
  GroupGradients exact = computeGradients(forward, tensors, 0, 0);
  const GroupGradients &given = reference.gradients.front();
  EXPECT_EQ(given.dv, exact.dv);
  EXPECT_NE(given.dk, exact.dk);
  double largest = 0;
  for (int64_t row = 0; row != 80; ++row) {
    double change = 0; // of delta
    for (int64_t d = 0; d != 16; ++d)
      change += tensors.dO[row * 16 + d] * (stored[row * 16 + d] - exact.o[row * 16 + d]);
    std::vector<double> mean(8);
    for (int64_t j = 0; j != 50; ++j) {
      if (!forward.sees(row % 40, j))
        continue;
      double score = 0;
      for (int64_t d = 0; d != 8; ++d)
        score += tensors.q[row * 8 + d] * k[j * 8 + d];
      double weight = std::exp(score * forward.effectiveScale() - exact.lse[row]);
      for (int64_t d = 0; d != 8; ++d)
        mean[d] += weight * k[j * 8 + d];
    }
    for (int64_t d = 0; d != 8; ++d) {
      double wanted = -forward.effectiveScale() * change * mean[d];
      EXPECT_NEAR(given.dq[row * 8 + d] - exact.dq[row * 8 + d], wanted, 1e-12);
      largest = std::max(largest, std::abs(wanted));
    }
  }
  EXPECT_GT(largest, 1e-4);
}

/// A wrong gradient is found, and so are NaN and what was not written.
TEST(BackwardReference, Rules) {
  BackwardProblem problem{problemOf(40, 50, 8, 8, 2, Visibility::causal()), {}};
  BackwardReference reference;
  generateInputs(problem, DataKind::Normal, 3, chooseGroups(problem, 0, 0), reference, 1);
  const GroupGradients &exact = reference.gradients.front();
  auto rounded = [](const std::vector<double> &values) { return verify::TypedArray(ElementType::BF16, values); };
  const BackwardOutputs right{rounded(exact.dq), rounded(exact.dk), rounded(exact.dv)};
  auto failures = [&](const BackwardOutputs &outputs) {
    return compareBackward(problem, DataKind::Normal, reference, outputs).failures;
  };
  EXPECT_TRUE(failures(right).empty());
  BackwardOutputs wrong = right;
  wrong.dk.set(8, wrong.dk[8] + 1);
  ASSERT_FALSE(failures(wrong).empty());
  EXPECT_NE(failures(wrong).front().find("dk: row error"), std::string::npos);
  EXPECT_NE(failures(wrong).front().find("key 1"), std::string::npos);
  wrong = right;
  wrong.dq.setBits(0, 0x7fd5);
  EXPECT_EQ(failures(wrong).front(), "dq: 1 elements were not written");
  wrong.dq.setBits(0, 0x7fc0);
  EXPECT_EQ(failures(wrong).front(), "dq: 1 elements are NaN");
}

/// The gradient of a sink is that of all batches, and is not judged where only some are known.
TEST(BackwardReference, GradientOfTheSinkIsSummed) {
  BackwardProblem problem{problemOf(30, 20, 8, 8, 2)};
  problem.forward.batch = 3;
  problem.forward.sink = true;
  problem.otherGradients = {"sink"};
  BackwardReference all, some;
  generateInputs(problem, DataKind::Normal, 3, {0, 1, 2}, all, 1);
  generateInputs(problem, DataKind::Normal, 3, {0, 2}, some, 1);
  EXPECT_TRUE(some.others.empty());
  double sum = 0;
  for (const GroupGradients &group : all.gradients)
    sum += group.others.at("sink").values[1];
  const std::vector<double> &exact = all.others.at("sink").values;
  EXPECT_EQ(exact[1], sum);
  auto zeros = [](size_t count) { return verify::TypedArray(ElementType::BF16, count); };
  BackwardOutputs outputs{zeros(3 * 2 * 30 * 8), zeros(3 * 20 * 8), zeros(3 * 20 * 8), {}};
  std::vector<double> ofSinks = {exact[0], exact[1]};
  auto give = [&] { outputs.others["sink"] = verify::TypedArray(ElementType::F32, ofSinks); };
  give();
  EXPECT_LT(compareBackward(problem, DataKind::Normal, all, outputs).gradients.back().worstRowRatio, 1e-3);
  ofSinks[1] += 1;
  give();
  BackwardErrors errors = compareBackward(problem, DataKind::Normal, all, outputs);
  EXPECT_GT(errors.gradients.back().worstRowRatio, 1);
  EXPECT_NE(errors.failures.back().find("d_sink: row error is"), std::string::npos);
  EXPECT_NE(errors.failures.back().find("element 1"), std::string::npos);
  EXPECT_FALSE(compareBackward(problem, DataKind::Normal, some, outputs).gradients.back().isChecked);
}
