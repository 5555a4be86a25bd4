// Data for matrix products, the float64 reference, and the rules by which a result is judged.
//
// The rules are the standard forward error bound, element by element (docs/Accuracy.md): one
// rounding of the result, and the rounding errors of a float32 sum in proportion to the sum of
// magnitudes. Where data makes every sum exact, the result must be exact.
#pragma once

#include "Gemm/GemmProblem.h"
#include "Verify/Parallel.h"
#include "Verify/TypedArray.h"

#include <string>
#include <vector>

namespace hocket::gemm {

using verify::Progress;

enum class DataKind {
  Normal,   ///< standard normal A and B
  Integers, ///< integers from -4 to 4: every sum is exact, and the result its rounding
  OneHot,   ///< a row of A is 1 in one place: rows of C are columns of B, exactly
  Zeros,    ///< all zero
};
std::string_view toString(DataKind kind);
Result<DataKind> parseDataKind(std::string_view text);
/// Whether sums of `kind` are exact in float32 for this problem.
bool isExact(const GemmProblem &problem, DataKind kind);

/// A and B as dense rows, whatever the strides.
struct GemmInputs {
  verify::TypedArray a, b;
};
GemmInputs generateInputs(const GemmProblem &problem, DataKind kind, uint64_t seed,
                          unsigned threads = 0);

/// Rows of the product in double, and of the product of magnitudes.
struct GemmReference {
  std::vector<int64_t> rows; ///< ascending
  std::vector<double> sums, magnitudes;
};

/// As many rows as take some 60 seconds of one core; at least 16.
int64_t defaultRowLimit(const GemmProblem &problem);
GemmReference computeReference(const GemmProblem &problem, const GemmInputs &inputs,
                               std::vector<int64_t> rows, unsigned threads = 0,
                               const Progress &progress = nullptr);

/// How a result compares. Ratios are error over allowed error: above 1 is wrong.
struct GemmErrors {
  int64_t rowsTotal = 0, rowsChecked = 0;
  double roundoff = 0;       ///< of the result's type: 2^-8 for bf16, 2^-11 for fp16
  double tensorRelative = 0; ///< |C - R| / |R| in L2 over the checked rows; for information
  double worstRatio = 0;     ///< largest |c - r| / allowed
  int64_t worstRow = -1, worstColumn = -1;
  int64_t nanElements = 0;       ///< NaN that the kernel wrote
  int64_t unwrittenElements = 0; ///< still `verify::guardPattern`
  std::vector<std::string> failures;
};

/// Applies the rules to dense `c`. NaN and unwritten elements are looked for in all rows.
GemmErrors compareGemm(const GemmProblem &problem, DataKind kind, const GemmReference &reference,
                       const verify::TypedArray &c);

} // namespace hocket::gemm
