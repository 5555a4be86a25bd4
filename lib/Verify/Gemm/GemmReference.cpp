// The product in double, twice: of the values, and of their magnitudes, which bound the rounding
// errors of any order of summation.
#include "Verify/Gemm/GemmReference.h"

#include "Verify/DenseProduct.h"
#include "Verify/DeviceTensor.h"
#include "Verify/Random.h"

#include <algorithm>
#include <cmath>

using namespace hocket;
using namespace hocket::gemm;
using verify::Generator;

namespace {
constexpr int64_t blockRows = 64, blockColumns = 256, blockDepth = 256;
/// Multiplications and additions a second of one core, with some pessimism.
constexpr double hostRate = 5e9, rowLimitSeconds = 60;
constexpr int64_t largestInteger = 4;
/// Streams of random numbers.
enum Stream : uint64_t { StreamA = 11, StreamB, StreamChoice };
/// An error of each of k additions in float32, which the matrix unit need not round to nearest.
constexpr double sumRoundoff = 0x1p-23;
/// Rounding errors of k additions are as good as independent: beyond this many standard deviations
/// of their sum, and some for the few last additions, none is found (Higham and Mary, "A new
/// approach to probabilistic rounding error analysis", 2019, theorem 2.4).
constexpr double deviations = 8, lastAdditions = 16;
} // namespace

std::string_view gemm::toString(DataKind kind) {
  constexpr std::string_view names[] = {"normal", "integers", "onehot", "zeros"};
  return names[static_cast<size_t>(kind)];
}

Result<DataKind> gemm::parseDataKind(std::string_view text) {
  for (DataKind kind : {DataKind::Normal, DataKind::Integers, DataKind::OneHot, DataKind::Zeros})
    if (text == toString(kind))
      return kind;
  return invalidInput("data '" + std::string(text) +
                      "' is not known; use normal, integers, onehot or zeros");
}

bool gemm::isExact(const GemmProblem &problem, DataKind kind) {
  if (kind == DataKind::Integers)
    return problem.k <= (int64_t(1) << 24) / (largestInteger * largestInteger);
  return kind != DataKind::Normal;
}

static void fillRow(DataKind kind, uint64_t seed, Stream stream, int64_t row,
                    std::span<double> values) {
  std::fill(values.begin(), values.end(), 0.0);
  if (kind == DataKind::Zeros)
    return;
  if (kind == DataKind::OneHot && stream == StreamA) {
    values[Generator(seed, StreamChoice).bits(row) % values.size()] = 1;
    return;
  }
  Generator generator(seed, stream);
  auto first = static_cast<uint64_t>(row) * values.size();
  for (size_t i = 0; i != values.size(); ++i) {
    double unused;
    if (kind == DataKind::Integers)
      values[i] = double(generator.bits(first + i) % (2 * largestInteger + 1)) - largestInteger;
    else
      generator.normalPair(first + i, values[i], unused);
  }
}

GemmInputs gemm::generateInputs(const GemmProblem &problem, DataKind kind, uint64_t seed,
                                unsigned threads) {
  GemmInputs inputs;
  auto fill = [&](verify::TypedArray &to, int64_t rows, Stream stream) {
    to = verify::TypedArray(problem.dtype, static_cast<size_t>(rows * problem.k));
    verify::parallelFor(rows, threads, [&](int64_t row) {
      std::vector<double> values(static_cast<size_t>(problem.k));
      fillRow(kind, seed, stream, row, values);
      for (int64_t i = 0; i != problem.k; ++i)
        to.set(row * problem.k + i, values[i]);
    });
  };
  fill(inputs.a, problem.m, StreamA);
  fill(inputs.b, problem.n, StreamB);
  return inputs;
}

int64_t gemm::defaultRowLimit(const GemmProblem &problem) {
  double perRow = 4.0 * static_cast<double>(problem.n) * static_cast<double>(problem.k);
  return std::max<int64_t>(16, static_cast<int64_t>(hostRate * rowLimitSeconds / perRow));
}

namespace {
/// One block of rows of the reference.
class BlockWorker {
public:
  BlockWorker(const GemmProblem &problem, const GemmInputs &inputs, GemmReference &result)
      : problem(problem), inputs(inputs), result(result), a(blockRows * blockDepth),
        b(blockDepth * blockColumns), sums(blockRows * blockColumns) {}

  void run(int64_t block) {
    first = block * blockRows;
    count = std::min<int64_t>(blockRows, result.rows.size() - first);
    for (int64_t column = 0; column < problem.n; column += blockColumns) {
      multiply(column, /*magnitudes=*/false, result.sums);
      multiply(column, /*magnitudes=*/true, result.magnitudes);
    }
  }

private:
  double value(const verify::TypedArray &from, int64_t row, int64_t k, bool magnitude) const {
    double x = from[row * problem.k + k];
    return magnitude ? std::abs(x) : x;
  }

  void multiply(int64_t column, bool magnitudes, std::vector<double> &to) {
    std::fill(sums.begin(), sums.end(), 0.0);
    int64_t columns = std::min(blockColumns, problem.n - column);
    for (int64_t k = 0; k < problem.k; k += blockDepth) {
      int64_t depth = std::min(blockDepth, problem.k - k);
      std::fill(a.begin(), a.end(), 0.0);
      std::fill(b.begin(), b.end(), 0.0);
      for (int64_t r = 0; r != count; ++r)
        for (int64_t i = 0; i != depth; ++i)
          a[r * blockDepth + i] = value(inputs.a, result.rows[first + r], k + i, magnitudes);
      for (int64_t c = 0; c != columns; ++c)
        for (int64_t i = 0; i != depth; ++i)
          b[i * blockColumns + c] = value(inputs.b, column + c, k + i, magnitudes);
      verify::multiplyAccumulate(blockRows, blockColumns, depth, a.data(), blockDepth, b.data(),
                                    blockColumns, sums.data(), blockColumns);
    }
    for (int64_t r = 0; r != count; ++r)
      std::copy_n(sums.data() + r * blockColumns, columns,
                  to.data() + (first + r) * problem.n + column);
  }

  const GemmProblem &problem;
  const GemmInputs &inputs;
  GemmReference &result;
  std::vector<double> a, b, sums;
  int64_t first = 0, count = 0;
};
} // namespace

GemmReference gemm::computeReference(const GemmProblem &problem, const GemmInputs &inputs,
                                     std::vector<int64_t> rows, unsigned threads,
                                     const Progress &progress) {
  GemmReference result;
  result.rows = std::move(rows);
  result.sums.resize(result.rows.size() * static_cast<size_t>(problem.n));
  result.magnitudes.resize(result.sums.size());
  int64_t blocks = (static_cast<int64_t>(result.rows.size()) + blockRows - 1) / blockRows;
  verify::parallelFor(
      blocks, threads, [&](int64_t block) { BlockWorker(problem, inputs, result).run(block); },
      "reference", progress);
  return result;
}

/// What element may be off by, or 0 if it must be the rounded reference.
static double allowedError(const GemmProblem &problem, bool exact, double sum, double magnitude,
                           double roundoff) {
  if (exact)
    return 0;
  double k = static_cast<double>(problem.k);
  double additions = std::min(k, deviations * std::sqrt(k) + lastAdditions);
  const ElementTypeInfo &type = infoOf(problem.dtype);
  double smallest = std::ldexp(1.0, type.leastExponent() - type.mantissaBits);
  return roundoff * std::abs(sum) + (1 + roundoff) * sumRoundoff * additions * magnitude +
         smallest / 2;
}

GemmErrors gemm::compareGemm(const GemmProblem &problem, DataKind kind,
                             const GemmReference &reference, const verify::TypedArray &c) {
  GemmErrors errors;
  errors.rowsTotal = problem.m;
  errors.rowsChecked = static_cast<int64_t>(reference.rows.size());
  errors.roundoff = std::ldexp(1.0, -infoOf(problem.dtype).mantissaBits - 1);
  for (size_t i = 0, end = c.size(); i != end; ++i) {
    bool isUnwritten = verify::holdsGuard(c, i);
    errors.unwrittenElements += isUnwritten;
    errors.nanElements += !isUnwritten && c.isNan(i);
  }
  bool exact = isExact(problem, kind);
  double squaredError = 0, squaredReference = 0;
  for (size_t r = 0; r != reference.rows.size(); ++r)
    for (int64_t column = 0; column != problem.n; ++column) {
      size_t index = r * problem.n + column;
      double sum = reference.sums[index];
      double wanted = exact ? decode(problem.dtype, encode(problem.dtype, sum)) : sum;
      double found = c[reference.rows[r] * problem.n + column];
      double error = std::abs(found - wanted);
      double allowed =
          allowedError(problem, exact, sum, reference.magnitudes[index], errors.roundoff);
      double ratio = error == 0 ? 0 : error / allowed;
      squaredError += error * error;
      squaredReference += wanted * wanted;
      // Written so that a NaN counts as the worst.
      if (errors.worstRow < 0 ||
          (!(ratio <= errors.worstRatio) && !std::isnan(errors.worstRatio))) {
        errors.worstRatio = ratio;
        errors.worstRow = reference.rows[r];
        errors.worstColumn = column;
      }
    }
  errors.tensorRelative = squaredError == 0 ? 0 : std::sqrt(squaredError / squaredReference);
  auto fail = [&](std::string what) { errors.failures.push_back(std::move(what)); };
  if (errors.unwrittenElements != 0)
    fail(std::to_string(errors.unwrittenElements) + " elements of C were not written");
  if (errors.nanElements != 0)
    fail(std::to_string(errors.nanElements) + " elements of C are NaN");
  if (!(errors.worstRatio <= 1))
    fail("element (" + std::to_string(errors.worstRow) + ", " + std::to_string(errors.worstColumn) +
         ") of C is off by " +
         (exact ? std::string("some, this data gives exact sums")
                : std::to_string(errors.worstRatio) + " of what is allowed"));
  return errors;
}
