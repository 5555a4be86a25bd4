// The verdict on gradients: which rules they violate, and by how much (docs/Accuracy.md).
//
// A gradient is a sum in which large numbers may cancel: of a query that sees one key only, dS is the difference of two
// equal numbers. What a kernel rounds to 16 bits are P, dS, the forward's O and the result, so a row may be off by 1.5
// tolerances times the sum of the sizes of what is added up (BackwardReference.h); and what is smaller than the smallest
// numbers is lost, which in fp16 shows in weights of 1e-7. With ordinary data a whole tensor may be off by
// the tolerance, relative to itself, unless most of what it adds up cancels.
#include "Verify/Attention/BackwardReference.h"

#include "Verify/DeviceTensor.h"
#include "Verify/ReportParts.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

using namespace hocket;
using namespace hocket::attention;

/// Relative L2 error of ordinary data, as asked for; seen are some 2.5e-3 and 3e-4.
static constexpr double kToleranceBf16 = 4e-3, kToleranceFp16 = 6e-4;
/// A summand goes through three roundings, of O or P, of dS, and of the result: 3 x 2^-9 of its size in bf16.
static constexpr double kRowFactor = 1.5;

/// A tensor is judged as a whole unless its squares are below the square of so much of those of what it adds up. Kernels
/// are at 3e-4 (fp16) where nothing cancels, and at 5e-4 there.
static constexpr double kLeastLeft = 0.25;

/// Keys after which a sum in memory is rounded again: what workgroups of the fused loop hold.
static constexpr int64_t kFewSummedKeys = 128, kManySummedKeys = 256, kManySummedFrom = 97, kManySummedTo = 128;

/// How often dQ's sums in memory are rounded to 16 bits; 0: not at all.
static int64_t roundedSums(const BackwardProblem &problem) {
  const ForwardProblem &forward = problem.forward;
  if (problem.accumulate != Accumulation::Packed)
    return 0;
  bool isMany = forward.headDim >= kManySummedFrom && forward.headDim <= kManySummedTo && forward.valueHeadDim() <= kManySummedTo;
  int64_t keys = isMany ? kManySummedKeys : kFewSummedKeys;
  return (forward.seqKv + keys - 1) / keys;
}

/// What dQ may be off by, relative: each sum in memory by half a unit in the last place more, none of which knows of
/// another.
static double toleranceOfSums(const BackwardProblem &problem, double tolerance) {
  double unit = std::ldexp(1.0, -infoOf(problem.forward.dtype.q).mantissaBits - 2);
  return std::hypot(tolerance, unit * std::sqrt(double(roundedSums(problem))));
}

/// What is lost at most of a number that is too small: half of what the smallest numbers of the type are apart; and of a
/// weight before it is rounded, what exp2 may leave out (docs/Values.md).
static double lostOf(ElementType type) {
  const ElementTypeInfo &info = infoOf(type);
  return std::ldexp(1.0, info.leastExponent() - info.mantissaBits - 1);
}
static constexpr double kLostWeight = 0x1p-126;

namespace {
/// One gradient, as it was computed and as it should be.
struct Compared {
  const verify::TypedArray &values;
  std::vector<double> GroupGradients::*expected;
  RowBounds GroupGradients::*bounds;
  int64_t dim;
  bool ofKeys;
  int64_t roundedSums = 0; ///< beside the result
};
} // namespace

static void scan(const verify::TypedArray &values, GradientErrors &errors) {
  for (size_t i = 0, end = values.size(); i != end; ++i)
    if (verify::holdsGuard(values, i))
      ++errors.unwrittenElements;
    else if (values.isNan(i))
      ++errors.nanElements;
}

/// Takes `error` at number `row`, of which `allowed` may be, into the worst. A NaN, of either side, is as wrong as can be.
static void takeIn(GradientErrors &errors, int64_t row, double error, double allowed) {
  double ratio = error == 0 ? 0 : error / allowed;
  if (std::isnan(ratio))
    ratio = std::numeric_limits<double>::infinity();
  if (errors.worstRow < 0 || ratio > errors.worstRowRatio)
    errors.worstRowRatio = ratio, errors.worstRow = row;
}

/// The number of the first row of a group.
static int64_t firstRowOf(const ForwardProblem &forward, const RowNumbers &numbers, int64_t group, bool ofKeys) {
  int64_t sequence = group / forward.kvHeads, kvHead = group % forward.kvHeads;
  return ofKeys ? numbers.firstKey(sequence, kvHead)
                : numbers.firstQuery(sequence, kvHead * (forward.heads / forward.kvHeads));
}

static GradientErrors compareGradient(const ForwardProblem &forward, const RowNumbers &numbers, std::string name,
                                      double tolerance, const BackwardReference &reference, const Compared &of) {
  ElementType type = of.values.type();
  GradientErrors errors;
  errors.name = std::move(name);
  errors.tolerance = tolerance;
  scan(of.values, errors);
  double squaredError = 0, squaredReference = 0, squares = 0;
  for (size_t g = 0; g != reference.groups.size(); ++g) {
    const GroupGradients &gradients = reference.gradients[g];
    const std::vector<double> &expected = gradients.*of.expected;
    const RowBounds &bounds = gradients.*of.bounds;
    int64_t first = firstRowOf(forward, numbers, reference.groups[g], of.ofKeys);
    for (size_t r = 0; r != bounds.sizes.size(); ++r) {
      int64_t row = first + static_cast<int64_t>(r);
      double rowError = 0;
      for (int64_t d = 0; d != of.dim; ++d) {
        double wanted = expected[r * of.dim + d];
        double error = of.values[row * of.dim + d] - wanted;
        rowError += error * error;
        squaredReference += wanted * wanted;
      }
      squaredError += rowError;
      squares += bounds.squares[r];
      double lost = lostOf(type) * (bounds.factors[r] + std::sqrt(double(of.dim)) * (1 + of.roundedSums)) +
                    kLostWeight * bounds.weightFactors[r];
      takeIn(errors, row, std::sqrt(rowError), kRowFactor * tolerance * bounds.sizes[r] + lost);
    }
  }
  errors.tensorRelative = squaredError == 0 ? 0 : std::sqrt(squaredError / squaredReference);
  errors.isJudged = squaredReference >= kLeastLeft * kLeastLeft * squares;
  return errors;
}

/// What a tensor has that nothing wrote.
static verify::TypedArray unwritten(const manifest::TensorSpec &tensor) {
  verify::TypedArray values(tensor.type, static_cast<size_t>(tensor.elements()));
  verify::fillWithGuard(values, 0, values.size());
  return values;
}

/// The gradient of another tensor: of what it adds up O was rounded, and the sum to the tensor's type.
static GradientErrors compareOther(const BackwardProblem &problem, const std::string &name, double tolerance,
                                   const BackwardReference &reference, const verify::TypedArray &values) {
  GradientErrors errors;
  errors.name = "d_" + name;
  scan(values, errors);
  auto found = reference.others.find(name);
  errors.isChecked = found != reference.others.end();
  if (!errors.isChecked)
    return errors;
  const SummedGradient &wanted = found->second;
  double squaredError = 0, squaredReference = 0, rounding = lostOf(problem.forward.dtype.q);
  double own = values.type() == ElementType::F32 ? 0 : lostOf(values.type());
  for (size_t i = 0; i != wanted.values.size(); ++i) {
    double error = values[i] - wanted.values[i];
    squaredError += error * error;
    squaredReference += wanted.values[i] * wanted.values[i];
    double lost = rounding * wanted.bounds.factors[i] + kLostWeight * (1 + wanted.bounds.weightFactors[i]) + own;
    takeIn(errors, static_cast<int64_t>(i), std::abs(error), kRowFactor * tolerance * wanted.bounds.sizes[i] + lost);
  }
  errors.tensorRelative = squaredError == 0 ? 0 : std::sqrt(squaredError / squaredReference);
  return errors;
}

/// "batch 0, head 3, query 17" of a row of a gradient.
static std::string placeOf(const ForwardProblem &forward, const RowNumbers &numbers, const GradientErrors &errors) {
  if (errors.name != "dq" && errors.name != "dk" && errors.name != "dv")
    return "element " + std::to_string(errors.worstRow);
  bool isQuery = errors.name == "dq";
  int64_t heads = isQuery ? forward.heads : forward.kvHeads;
  auto firstOf = [&](int64_t group) {
    return isQuery ? numbers.firstQuery(group / heads, group % heads) : numbers.firstKey(group / heads, group % heads);
  };
  // The last head of a sequence that begins at or before it.
  int64_t group = forward.batch * heads - 1;
  while (group != 0 && firstOf(group) > errors.worstRow)
    --group;
  return "batch " + std::to_string(group / heads) + ", head " + std::to_string(group % heads) +
         (isQuery ? ", query " : ", key ") + std::to_string(errors.worstRow - firstOf(group));
}

static void judge(const ForwardProblem &forward, const RowNumbers &numbers, const GradientErrors &errors,
                  double tolerance, std::vector<std::string> &failures) {
  auto fail = [&](const std::string &what) { failures.push_back(errors.name + ": " + what); };
  if (errors.unwrittenElements != 0)
    fail(std::to_string(errors.unwrittenElements) + " elements were not written");
  if (errors.nanElements != 0)
    fail(std::to_string(errors.nanElements) + " elements are NaN");
  if (!(errors.worstRowRatio <= 1))
    fail("row error is " + verify::decimal("%.3g", errors.worstRowRatio) + " times the allowed at " + placeOf(forward, numbers, errors));
  if (errors.isJudged && !(errors.tensorRelative <= tolerance))
    fail("relative error of the whole tensor is " + verify::decimal("%.3g", errors.tensorRelative) + ", at most " +
         verify::decimal("%.3g", tolerance) + " is allowed");
}

BackwardErrors attention::compareBackward(const BackwardProblem &problem, DataKind kind,
                                          const BackwardReference &reference,
                                          const BackwardOutputs &outputs) {
  const ForwardProblem &forward = problem.forward;
  const RowNumbers numbers(forward);
  BackwardErrors errors;
  errors.groupsTotal = forward.batch * forward.kvHeads;
  errors.groupsChecked = static_cast<int64_t>(reference.groups.size());
  errors.tolerance = forward.dtype == ElementType::BF16 ? kToleranceBf16 : kToleranceFp16;
  const bool isOrdinary = kind == DataKind::Normal;
  const std::pair<const char *, Compared> list[] = {
      {"dq", {outputs.dq, &GroupGradients::dq, &GroupGradients::dqBounds, forward.headDim, false, roundedSums(problem)}},
      {"dk", {outputs.dk, &GroupGradients::dk, &GroupGradients::dkBounds, forward.headDim, true}},
      {"dv", {outputs.dv, &GroupGradients::dv, &GroupGradients::dvBounds, forward.valueHeadDim(), true}}};
  for (const auto &[name, compared] : list) {
    double tolerance = compared.roundedSums != 0 ? toleranceOfSums(problem, errors.tolerance) : errors.tolerance;
    errors.gradients.push_back(compareGradient(forward, numbers, name, tolerance, reference, compared));
    errors.gradients.back().isJudged &= isOrdinary;
    judge(forward, numbers, errors.gradients.back(), tolerance, errors.failures);
  }
  // Sums over whole batches may cancel as they like: they are judged by the sizes of what is added up.
  for (const std::string &name : problem.otherGradients) {
    auto found = outputs.others.find(name);
    verify::TypedArray values = found != outputs.others.end() ? found->second : unwritten(problem.tensor("d_" + name));
    errors.gradients.push_back(compareOther(problem, name, errors.tolerance, reference, values));
    judge(forward, numbers, errors.gradients.back(), errors.tolerance, errors.failures);
  }
  return errors;
}
