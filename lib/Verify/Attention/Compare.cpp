// The verdict: which rules a result violates, and by how much (docs/Accuracy.md).
//
// A row may be off by 3 tol |R| + 0.01 tol max|V| in L2: relative to the row, with a floor for rows
// that average to nearly nothing. The whole tensor may be off by tol. The rules ask for finite
// results first: a NaN compares false with everything and would slip through a maximum.
#include "Verify/Attention/Reference.h"

#include "Verify/Attention/RowNumbers.h"
#include "Verify/DeviceTensor.h"
#include "Verify/ReportParts.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

using namespace hocket;
using namespace hocket::attention;
using verify::guardPattern;

namespace {
constexpr double toleranceBf16 = 3.5e-3;
constexpr double toleranceFp16 = 5e-4;
constexpr double toleranceLse = 1e-4;

/// Weights of a mantissa of 3 bits, which errors of 16 bits are small against.
constexpr double toleranceF8 = 3.5e-2;
/// Of a mantissa of 1 bit and a power of two for each 32 keys: what rounding to the nearest makes of weights, as a share of
/// their root mean square, is 0.11 to 0.18 where scores have deviations of 0.5 to 3 (docs/notes/2026-11-28-four-bits.md).
constexpr double toleranceF4 = 0.2;

/// Of f32: what weights and their products lose. A score is a sum that is rounded for every two of its products, and
/// what it loses its weight has as a factor.
constexpr double toleranceF32 = 5e-6, roundingF32 = 0x1p-24;

/// The largest score that counts, as LSE has it.
double largestScore(const ForwardReference &reference) {
  double largest = 0;
  for (double lse : reference.lse)
    largest = std::max(largest, std::isinf(lse) ? 0.0 : std::abs(lse));
  return largest;
}

double toleranceOf(const ForwardProblem &problem, const ForwardReference &reference) {
  if (problem.dtype.q == ElementType::F32)
    return toleranceF32 + roundingF32 * std::sqrt(double(problem.headDim) / 2) * largestScore(reference);
  if (infoOf(problem.dtype.v).bits < 8)
    return toleranceF4;
  const ElementType weights = problem.dtype.q == ElementType::I8 ? problem.dtype.v : problem.dtype.q;
  if (infoOf(weights).bits <= 8)
    return toleranceF8;
  return weights == ElementType::BF16 ? toleranceBf16 : toleranceFp16;
}
constexpr double rowFactor = 3;
constexpr double valueFactor = 0.01;

/// What numbers of O count, and how far apart they may be for the steps of their type alone: of 16 bits and more, whose
/// rounding is within the tolerance, nothing is allowed.
class StoredNumbers {
public:
  StoredNumbers(const ForwardProblem &problem, const ForwardInputs &inputs)
      : type(infoOf(problem.dtype.o)), isNarrow(problem.dtype.hasNarrowOutput()),
        unit(problem.outputScale ? inputs.captured.at("output_scale").front() : 1) {}

  double value(double stored) const { return stored * unit; }
  /// What `number` would be if nothing was rounded: no more than the largest there is.
  double nearest(double number) const {
    return isNarrow ? std::clamp(number, -type.largest() * std::abs(unit), type.largest() * std::abs(unit)) : number;
  }
  /// By how much a `stored` number is further from `wanted` than half a step.
  double excess(double stored, double wanted) const {
    const double error = value(stored) - wanted;
    if (!isNarrow)
      return error;
    const double size = std::max(std::abs(stored), std::abs(wanted / unit));
    const int exponent = size == 0 ? type.leastExponent() : std::max(std::ilogb(size), type.leastExponent());
    const double half = std::ldexp(std::abs(unit), exponent - type.mantissaBits - 1);
    return std::abs(error) <= half ? 0 : std::abs(error) - half; // of a NaN a NaN
  }

private:
  const ElementTypeInfo &type;
  bool isNarrow;
  double unit;
};

/// Sums over the checked rows, on the way to ForwardErrors.
struct ErrorSums {
  double squaredError = 0, squaredReference = 0;
};
} // namespace

std::string attention::describeRow(const ForwardProblem &problem, int64_t row) {
  RowNumbers::Place place = RowNumbers(problem).query(row);
  return "batch " + std::to_string(place.sequence) + ", head " + std::to_string(place.head) +
         ", query " + std::to_string(place.position);
}

static double maxMagnitude(const verify::TypedArray &values) {
  double largest = 0;
  for (size_t i = 0, end = values.size(); i != end; ++i)
    largest = std::max(largest, std::abs(values[i]));
  return largest;
}

/// Looks at every element, checked or not: what was not written, and what is not a number.
static void scan(const ForwardOutputs &outputs, ForwardErrors &errors) {
  for (size_t i = 0, end = outputs.o.size(); i != end; ++i) {
    if (verify::holdsGuard(outputs.o, i))
      ++errors.unwrittenElements;
    else if (outputs.o.isNan(i))
      ++errors.nanElements;
  }
  for (float value : outputs.lse) {
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof(bits));
    if (bits == (uint32_t(guardPattern) << 16 | guardPattern))
      ++errors.unwrittenElements;
    else if (std::isnan(value))
      ++errors.nanElements;
  }
}

/// Whether the `dim` elements of row `row` are all zero.
static bool isZero(const verify::TypedArray &values, int64_t row, int64_t dim) {
  for (int64_t d = 0; d != dim; ++d)
    if (values[row * dim + d] != 0)
      return false;
  return true;
}

/// O is exactly 0 and LSE exactly -inf in rows that see nothing; all such rows are looked at.
static void checkEmptyRows(const ForwardProblem &problem, const ForwardOutputs &outputs,
                           ForwardErrors &errors) {
  // With a sink no row is empty; what masks of modifications leave empty, the reference knows.
  if (problem.sink)
    return;
  const RowNumbers numbers(problem);
  for (int64_t row = 0; row != errors.rowsTotal; ++row) {
    RowNumbers::Place place = numbers.query(row);
    if (problem.visibility.seesAny(place.position, numbers.of(place.sequence)))
      continue;
    bool right = isZero(outputs.o, row, problem.valueHeadDim());
    if (!outputs.lse.empty())
      right = right && outputs.lse[row] == -std::numeric_limits<float>::infinity();
    errors.wrongEmptyRows += right ? 0 : 1;
  }
}

/// Rows that modifications leave without a key; those that were checked.
static void checkHiddenRows(const ForwardReference &reference, const ForwardOutputs &outputs,
                            int64_t dim, ForwardErrors &errors) {
  for (size_t index = 0; index != reference.rows.size(); ++index) {
    if (reference.lse[index] != -std::numeric_limits<double>::infinity())
      continue;
    int64_t row = reference.rows[index];
    bool right = isZero(outputs.o, row, dim);
    if (!outputs.lse.empty())
      right = right && outputs.lse[row] == -std::numeric_limits<float>::infinity();
    errors.wrongEmptyRows += right ? 0 : 1;
  }
}

static void checkRow(const ForwardProblem &problem, const ForwardReference &reference, size_t index,
                     const ForwardOutputs &outputs, const StoredNumbers &numbers, double maxV, ErrorSums &sums,
                     ForwardErrors &errors) {
  int64_t row = reference.rows[index], dim = problem.valueHeadDim();
  const double *r = reference.o.data() + index * dim;
  double squaredError = 0, squaredReference = 0;
  for (int64_t d = 0; d != dim; ++d) {
    const double stored = outputs.o[row * dim + d], wanted = numbers.nearest(r[d]);
    const double excess = numbers.excess(stored, wanted), error = std::abs(numbers.value(stored) - wanted);
    squaredError += excess * excess;
    squaredReference += wanted * wanted;
    if (!(error <= errors.maxAbsolute))
      errors.maxAbsolute = error;
  }
  sums.squaredError += squaredError;
  sums.squaredReference += squaredReference;
  double allowed = rowFactor * errors.tolerance * std::sqrt(squaredReference) +
                   valueFactor * errors.tolerance * maxV;
  double error = std::sqrt(squaredError);
  double ratio = error == 0 ? 0 : error / allowed;
  // Written so that a NaN counts as the worst.
  if (errors.worstRow < 0 || !(ratio <= errors.worstRowRatio)) {
    errors.worstRowRatio = ratio;
    errors.worstRow = row;
  }
}

static void checkLse(const ForwardReference &reference, size_t index, const ForwardOutputs &outputs,
                     ForwardErrors &errors) {
  int64_t row = reference.rows[index];
  double wanted = reference.lse[index], found = outputs.lse[row];
  if (std::isinf(wanted)) // counted by checkEmptyRows
    return;
  double error = std::abs(found - wanted) / std::max(1.0, std::abs(wanted));
  if (errors.worstLseRow < 0 || !(error <= errors.worstLse)) {
    errors.worstLse = error;
    errors.worstLseRow = row;
  }
}

static void judge(const ForwardProblem &problem, ForwardErrors &errors) {
  auto fail = [&](std::string what) { errors.failures.push_back(std::move(what)); };
  if (errors.unwrittenElements != 0)
    fail(std::to_string(errors.unwrittenElements) + " output elements were not written");
  if (errors.nanElements != 0)
    fail(std::to_string(errors.nanElements) + " output elements are NaN");
  if (errors.wrongEmptyRows != 0)
    fail(std::to_string(errors.wrongEmptyRows) +
         " rows that see no key are not exactly O = 0 and LSE = -inf");
  if (!(errors.worstRowRatio <= 1))
    fail("row error is " + verify::decimal("%.3g", errors.worstRowRatio) + " times the allowed at " +
         describeRow(problem, errors.worstRow));
  if (!(errors.tensorRelative <= errors.tolerance))
    fail("relative error of the whole tensor is " + verify::decimal("%.3g", errors.tensorRelative) + ", at most " +
         verify::decimal("%.3g", errors.tolerance) + " is allowed");
  if (!(errors.worstLse <= errors.lseTolerance))
    fail("LSE error is " + verify::decimal("%.3g", errors.worstLse) + " at " +
         describeRow(problem, errors.worstLseRow) + ", at most " + verify::decimal("%.3g", errors.lseTolerance) +
         " is allowed");
}

ForwardErrors attention::compareForward(const ForwardProblem &problem, const ForwardInputs &inputs,
                                        const ForwardReference &reference,
                                        const ForwardOutputs &outputs) {
  ForwardErrors errors;
  errors.rowsTotal = RowNumbers(problem).queries();
  errors.rowsChecked = static_cast<int64_t>(reference.rows.size());
  errors.tolerance = toleranceOf(problem, reference);
  errors.lseTolerance = toleranceLse;
  scan(outputs, errors);
  checkEmptyRows(problem, outputs, errors);
  if ((!problem.modifications.empty() || problem.blocks.any()) && !problem.sink)
    checkHiddenRows(reference, outputs, problem.valueHeadDim(), errors);
  double maxV = maxMagnitude(inputs.v);
  if (problem.descale)
    maxV *= *std::ranges::max_element(inputs.captured.at("v_descale"));
  ErrorSums sums;
  const StoredNumbers numbers(problem, inputs);
  for (size_t i = 0; i != reference.rows.size(); ++i) {
    checkRow(problem, reference, i, outputs, numbers, maxV, sums, errors);
    if (!outputs.lse.empty())
      checkLse(reference, i, outputs, errors);
  }
  // A reference of nothing but zeros allows no error at all.
  errors.tensorRelative =
      sums.squaredError == 0 ? 0 : std::sqrt(sums.squaredError / sums.squaredReference);
  judge(problem, errors);
  return errors;
}
