// The float64 reference of the attention backward, and the rules by which gradients are judged.
//
// The reference is analytic and computes in double throughout, from the rounded inputs that the kernels read, of which
// the forward's O is one: delta is made of it as it is stored (docs/Accuracy.md). With the exact O a test checks the
// reference by finite differences. It is computed for whole groups, a head of K and V with the query heads that share
// it, of as many batches and heads as take about a minute.
#pragma once

#include "Verify/Attention/BlockTable.h"
#include "Verify/Attention/Data.h"
#include "Verify/Attention/RowNumbers.h"
#include "Verify/Parallel.h"
#include "hocket/Attention/BackwardProblem.h"

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace hocket::attention {

/// One group's tensors in double, dense: [query head of the group, query, element] and [key, element].
struct GroupTensors {
  std::vector<double> q, k, v, dO;
  std::vector<double> sinks;        ///< [query head of the group], if the problem has a sink
  std::vector<double> dropoutState; ///< the tensor "dropout_state"; all zeros if it is empty
  const BlockTable *blocks = nullptr; ///< what lists say, if the problem has some
  std::vector<double> dLse{}; ///< [query head of the group, query]; empty: there is none
};

/// What bounds the rounding of a kernel, for each row of a gradient: the sum of the sizes of what is added up; of what
/// a number of 16 bits, a weight or a gradient of a score, is multiplied by; and of what a weight in f32 is. The last two
/// meet what is lost below the smallest numbers. `squares` are those of what is added up, before the two parts of a
/// gradient of a score cancel: a row whose own square is far below has lost most of its digits.
struct RowBounds {
  std::vector<double> sizes, factors, weightFactors, squares;
  static constexpr std::vector<double> RowBounds::*kSums[] = {&RowBounds::sizes, &RowBounds::factors,
                                                              &RowBounds::weightFactors, &RowBounds::squares};
  void resize(int64_t rows) {
    for (auto sums : kSums)
      (this->*sums).resize(rows);
  }
};

/// A gradient that many groups add to, dense, and what bounds the rounding of its numbers.
struct SummedGradient {
  std::vector<double> values;
  RowBounds bounds;
  void resize(size_t count) {
    values.resize(count);
    bounds.resize(static_cast<int64_t>(count));
  }
};

/// Gradients of a group. `o` and `lse` are the forward's.
struct GroupGradients {
  std::vector<double> dq, dk, dv;
  RowBounds dqBounds, dkBounds, dvBounds;
  std::vector<double> o, lse;
  /// What the group adds to the gradients of other tensors, by these tensors' names.
  std::map<std::string, SummedGradient, std::less<>> others;
};

/// Captured tensors whose gradients are computed, and how many numbers each has.
using CapturedSizes = std::map<std::string, int64_t, std::less<>>;

/// The O that delta = rowsum(dO O) is made of: the exact one, with which gradients are those of the forward; or that
/// one rounded to the problem's type, which is what a kernel is given.
enum class DeltaOf { ExactO, StoredO };

/// The gradients of the group of `batch`, whose lengths are those of `problem`, and `kvHead`. `rules`: what the problem's
/// modifications do; null if it has none.
GroupGradients computeGradients(const ForwardProblem &problem, const GroupTensors &tensors,
                                int64_t batch, int64_t kvHead, const ScoreRules *rules = nullptr,
                                const CapturedSizes &captured = {}, DeltaOf deltaOf = DeltaOf::ExactO);

/// What the kernels read, rows as in `ForwardInputs`: O and LSE are the reference's, rounded, in groups that are checked,
/// and ordinary numbers in others.
struct BackwardInputs {
  ForwardInputs forward;
  verify::TypedArray o, dO;
  std::vector<float> lse, dLse; ///< the latter empty where there is none
};

/// Groups (batch, head of K and V), ascending, with their gradients.
struct BackwardReference {
  std::vector<int64_t> groups;
  std::vector<GroupGradients> gradients;
  /// Gradients of other tensors by these tensors' names, of all groups; empty where not all are there.
  std::map<std::string, SummedGradient, std::less<>> others;
};

/// Groups to check: all if they take a minute of one core at most, else a sample of those that do, at least one.
/// `limit`: at most so many rows of Q; 0: as said.
std::vector<int64_t> chooseGroups(const BackwardProblem &problem, int64_t limit, uint64_t seed);

/// Generates what the kernels read, and with it the reference of `groups`. Lists are those of `blockLists`, which are
/// right for the problem, or random ones.
BackwardInputs generateInputs(const BackwardProblem &problem, DataKind kind, uint64_t seed,
                              std::vector<int64_t> groups, BackwardReference &reference,
                              unsigned threads = 0, const verify::Progress &progress = nullptr,
                              const ScoreRules *rules = nullptr, const MakeBlockLists &blockLists = nullptr);

/// Gradients, rows as in `ForwardInputs`; others by the names of the tensors that they are of, dense.
struct BackwardOutputs {
  verify::TypedArray dq, dk, dv;
  std::map<std::string, verify::TypedArray, std::less<>> others;
};

/// How one gradient compares. Ratios are error over allowed error: above 1 is wrong.
struct GradientErrors {
  std::string name;             ///< "dq"
  double tolerance = 0;         ///< the problem's, or more where it is rounded with each addition
  double tensorRelative = 0;    ///< relative error in L2 over what was checked
  double worstRowRatio = 0;     ///< a row's L2 error over what is allowed for it
  int64_t worstRow = -1;        ///< its number; of other gradients an element's
  bool isChecked = true;        ///< others are not, where not all groups are
  /// Whether `tensorRelative` is: of ordinary data, where not most of what is added up cancels. Rows are always.
  bool isJudged = false;
  int64_t nanElements = 0, unwrittenElements = 0; ///< everywhere
};

struct BackwardErrors {
  int64_t groupsTotal = 0, groupsChecked = 0;
  double tolerance = 0; ///< 4e-3 for bf16, 6e-4 for fp16
  std::vector<GradientErrors> gradients;
  std::vector<std::string> failures;

  bool passed() const { return failures.empty(); }
};

/// Applies the rules (docs/Accuracy.md).
BackwardErrors compareBackward(const BackwardProblem &problem, DataKind kind,
                               const BackwardReference &reference, const BackwardOutputs &outputs);

} // namespace hocket::attention
