// The float64 reference of the attention forward, and the rules by which a result is judged.
//
// The reference reads the same rounded inputs as the kernel and computes in double throughout. The
// rules are the project's accuracy contract (docs/Accuracy.md): they can be applied to all rows or
// to a seeded sample when a problem is too large, which the outcome then says.
#pragma once

#include "Verify/Attention/Data.h"
#include "hocket/Attention/ForwardProblem.h"
#include "Verify/Parallel.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace hocket::attention {

using verify::Progress;

/// Reference rows: `row` r is query rows[r], a number of `RowNumbers`.
struct ForwardReference {
  std::vector<int64_t> rows; ///< ascending
  std::vector<double> o;     ///< rows.size() x valueHeadDim()
  std::vector<double> lse;   ///< rows.size(); -inf where no key is visible
};

/// The rows to check: all if there are at most `limit`, else a sample of that many that contains
/// the first and last of every (batch, head) as far as that fits.
std::vector<int64_t> chooseRows(const ForwardProblem &problem, int64_t limit, uint64_t seed);

/// As many rows as take some 60 seconds of one core; at least 1024.
int64_t defaultRowLimit(const ForwardProblem &problem);

/// Computes the reference of `rows` (ascending) on `threads` threads (0: all cores).
/// `rules`: what the problem's modifications do; null if it has none.
ForwardReference computeReference(const ForwardProblem &problem, const ForwardInputs &inputs,
                                  std::vector<int64_t> rows, unsigned threads = 0,
                                  const Progress &progress = nullptr,
                                  const ScoreRules *rules = nullptr);

/// A kernel's result, dense, rows in the order of `RowNumbers`.
struct ForwardOutputs {
  verify::TypedArray o;
  std::vector<float> lse; ///< empty if it was not wanted
};

/// How a result compares. Ratios are error over allowed error: above 1 is wrong.
struct ForwardErrors {
  int64_t rowsTotal = 0, rowsChecked = 0;
  double tolerance = 0;      ///< 3.5e-3 for bf16, 5e-4 for fp16
  double maxAbsolute = 0;    ///< largest |O - R| of an element; of O of 8 bits half a step of its type among it
  double tensorRelative = 0; ///< |O - R| / |R| in L2 over the checked rows; at most `tolerance`
  double worstRowRatio = 0;  ///< row L2 error over 3 tol |R| + 0.01 tol max|V|
  int64_t worstRow = -1;     ///< the row of `worstRowRatio`
  double worstLse = 0;       ///< |L - R| / max(1, |R|); at most `lseTolerance`
  double lseTolerance = 0;
  int64_t worstLseRow = -1;
  int64_t nanElements = 0;       ///< NaN that the kernel wrote, in O or LSE
  int64_t unwrittenElements = 0; ///< still `verify::guardPattern`
  int64_t wrongEmptyRows = 0;    ///< rows that see no key whose O is not 0 or LSE not -inf
  /// One sentence a violated rule; empty if the result is right.
  std::vector<std::string> failures;

  bool passed() const { return failures.empty(); }
};

/// Applies the rules. NaN and unwritten elements are looked for in all rows, not only the checked.
ForwardErrors compareForward(const ForwardProblem &problem, const ForwardInputs &inputs,
                             const ForwardReference &reference, const ForwardOutputs &outputs);

/// "batch 0, head 3, query 17" of a row index.
std::string describeRow(const ForwardProblem &problem, int64_t row);

} // namespace hocket::attention
