// The verdict on gradients: which rules they violate, and by how much (docs/Accuracy.md).
//
// A gradient is a sum in which large numbers may cancel: of a query that sees one key only, dS is the difference of two
// equal numbers. What a kernel rounds to 16 bits are P, dS, the forward's O and the result, so a row may be off by 1.5
// tolerances times the sum of the sizes of what is added up (BackwardReference.h); and what is smaller than the smallest
// numbers is lost, which in fp16 shows in weights of 1e-7. With ordinary data a whole tensor may be off by
// the tolerance, relative to itself.
#include "Verify/Attention/BackwardReference.h"

#include "Verify/DeviceTensor.h"

#include <cmath>
#include <cstdio>
#include <limits>

using namespace hocket;
using namespace hocket::attention;

/// Relative L2 error of ordinary data, as asked for; seen are some 2.5e-3 and 3e-4.
static constexpr double kToleranceBf16 = 4e-3, kToleranceFp16 = 6e-4;
/// A summand goes through three roundings, of O or P, of dS, and of the result: 3 x 2^-9 of its size in bf16.
static constexpr double kRowFactor = 1.5;

/// What is lost at most of a number that is too small: half of what the smallest numbers of the type are apart; and of a
/// weight before it is rounded, what exp2 may leave out (docs/Values.md).
static double lostOf(DataType type) { return type == DataType::BF16 ? 0x1p-134 : 0x1p-25; }
static constexpr double kLostWeight = 0x1p-126;

static std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.3g", value);
  return text;
}

namespace {
/// One gradient, as it was computed and as it should be.
struct Compared {
  const std::vector<uint16_t> &values;
  std::vector<double> GroupGradients::*expected;
  RowBounds GroupGradients::*bounds;
  int64_t rowsOfGroup, dim;
};
} // namespace

static void scan(DataType type, const std::vector<uint16_t> &values, GradientErrors &errors) {
  for (uint16_t bits : values)
    if (bits == verify::guardPattern)
      ++errors.unwrittenElements;
    else if (isNan(type, bits))
      ++errors.nanElements;
}

static GradientErrors compareGradient(DataType type, std::string name, double tolerance,
                                      const BackwardReference &reference, const Compared &of) {
  GradientErrors errors;
  errors.name = std::move(name);
  scan(type, of.values, errors);
  double squaredError = 0, squaredReference = 0;
  for (size_t g = 0; g != reference.groups.size(); ++g) {
    const GroupGradients &gradients = reference.gradients[g];
    const std::vector<double> &expected = gradients.*of.expected;
    for (int64_t r = 0; r != of.rowsOfGroup; ++r) {
      int64_t row = reference.groups[g] * of.rowsOfGroup + r;
      double rowError = 0;
      for (int64_t d = 0; d != of.dim; ++d) {
        double wanted = expected[r * of.dim + d];
        double error = widen(type, of.values[row * of.dim + d]) - wanted;
        rowError += error * error;
        squaredReference += wanted * wanted;
      }
      squaredError += rowError;
      const RowBounds &bounds = gradients.*of.bounds;
      double lost = lostOf(type) * (bounds.factors[r] + std::sqrt(double(of.dim))) +
                    kLostWeight * bounds.weightFactors[r];
      double allowed = kRowFactor * tolerance * bounds.sizes[r] + lost;
      double ratio = rowError == 0 ? 0 : std::sqrt(rowError) / allowed;
      // A NaN, of either side, is as wrong as can be.
      if (std::isnan(ratio))
        ratio = std::numeric_limits<double>::infinity();
      if (errors.worstRow < 0 || ratio > errors.worstRowRatio)
        errors.worstRowRatio = ratio, errors.worstRow = row;
    }
  }
  errors.tensorRelative = squaredError == 0 ? 0 : std::sqrt(squaredError / squaredReference);
  return errors;
}

static void judge(const BackwardProblem &problem, const GradientErrors &errors, double tolerance,
                  bool judgesTensors, std::vector<std::string> &failures) {
  auto fail = [&](const std::string &what) { failures.push_back(errors.name + ": " + what); };
  if (errors.unwrittenElements != 0)
    fail(std::to_string(errors.unwrittenElements) + " elements were not written");
  if (errors.nanElements != 0)
    fail(std::to_string(errors.nanElements) + " elements are NaN");
  if (!(errors.worstRowRatio <= 1)) {
    bool isQuery = errors.name == "dq";
    int64_t rows = isQuery ? problem.forward.seqQ : problem.forward.seqKv;
    int64_t heads = isQuery ? problem.forward.heads : problem.forward.kvHeads;
    int64_t group = errors.worstRow / rows;
    fail("row error is " + number(errors.worstRowRatio) + " times the allowed at batch " +
         std::to_string(group / heads) + ", head " + std::to_string(group % heads) +
         (isQuery ? ", query " : ", key ") + std::to_string(errors.worstRow % rows));
  }
  if (judgesTensors && !(errors.tensorRelative <= tolerance))
    fail("relative error of the whole tensor is " + number(errors.tensorRelative) + ", at most " +
         number(tolerance) + " is allowed");
}

BackwardErrors attention::compareBackward(const BackwardProblem &problem, DataKind kind,
                                          const BackwardReference &reference,
                                          const BackwardOutputs &outputs) {
  const ForwardProblem &forward = problem.forward;
  BackwardErrors errors;
  errors.groupsTotal = forward.batch * forward.kvHeads;
  errors.groupsChecked = static_cast<int64_t>(reference.groups.size());
  errors.tolerance = forward.dtype == DataType::BF16 ? kToleranceBf16 : kToleranceFp16;
  // Of a single key all gradients of scores cancel.
  errors.judgesTensors = kind == DataKind::Normal && forward.seqKv > 1;
  int64_t queries = forward.heads / forward.kvHeads * forward.seqQ, keys = forward.seqKv;
  const std::pair<const char *, Compared> list[] = {
      {"dq", {outputs.dq, &GroupGradients::dq, &GroupGradients::dqBounds, queries, forward.headDim}},
      {"dk", {outputs.dk, &GroupGradients::dk, &GroupGradients::dkBounds, keys, forward.headDim}},
      {"dv", {outputs.dv, &GroupGradients::dv, &GroupGradients::dvBounds, keys, forward.headDimV}}};
  for (size_t i = 0; i != std::size(list); ++i) {
    errors.gradients[i] =
        compareGradient(forward.dtype, list[i].first, errors.tolerance, reference, list[i].second);
    judge(problem, errors.gradients[i], errors.tolerance, errors.judgesTensors, errors.failures);
  }
  return errors;
}
