// Derivatives of ops for the reference of gradients, in float64: forwards, op by op, and so another way than the
// compiler's, which goes backwards.
#include "ElementSlopes.h"

#include "llvm/ADT/StringSwitch.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>

using namespace hocket::reference;

namespace {
using Operands = std::span<const double>;
using Slopes = std::array<double, 3>;
using SlopeFunction = Slopes (*)(Operands x, double result);
} // namespace

static double signOf(double x) { return x > 0 ? 1 : x < 0 ? -1 : 0; }

/// So far from overflow that what has no say, zero, times it and what follows is zero.
static double boundedExponential(double x) { return std::min(std::exp(x), 1e100); }

static SlopeFunction slopesOf(std::string_view name) {
  return llvm::StringSwitch<SlopeFunction>(llvm::StringRef(name))
      .Case("arith.addf", [](Operands, double) -> Slopes { return {1, 1}; })
      .Case("arith.subf", [](Operands, double) -> Slopes { return {1, -1}; })
      .Case("arith.mulf", [](Operands x, double) -> Slopes { return {x[1], x[0]}; })
      .Case("arith.divf",
            [](Operands x, double) -> Slopes { return {1 / x[1], -x[0] / (x[1] * x[1])}; })
      .Case("arith.negf", [](Operands, double) -> Slopes { return {-1}; })
      .Cases({"arith.maximumf", "arith.maxnumf"},
             [](Operands x, double) -> Slopes {
               return x[0] >= x[1] ? Slopes{1, 0} : Slopes{0, 1};
             })
      .Cases({"arith.minimumf", "arith.minnumf"},
             [](Operands x, double) -> Slopes {
               return x[0] <= x[1] ? Slopes{1, 0} : Slopes{0, 1};
             })
      .Case("arith.select",
            [](Operands x, double) -> Slopes {
              return x[0] != 0 ? Slopes{0, 1, 0} : Slopes{0, 0, 1};
            })
      .Cases({"arith.extf", "arith.truncf"}, [](Operands, double) -> Slopes { return {1}; })
      .Cases({"math.floor", "math.ceil", "math.trunc", "math.round", "math.roundeven"},
             [](Operands, double) -> Slopes { return {0}; })
      .Case("math.fma", [](Operands x, double) -> Slopes { return {x[1], x[0], 1}; })
      .Case("math.absf", [](Operands x, double) -> Slopes { return {signOf(x[0])}; })
      .Case("math.copysign",
            [](Operands x, double) -> Slopes {
              return {std::copysign(1.0, x[0]) * std::copysign(1.0, x[1]), 0};
            })
      .Case("math.exp", [](Operands x, double) -> Slopes { return {boundedExponential(x[0])}; })
      .Case("math.exp2",
            [](Operands x, double) -> Slopes { return {boundedExponential(x[0] * std::numbers::ln2) * std::numbers::ln2}; })
      .Case("math.expm1", [](Operands x, double) -> Slopes { return {boundedExponential(x[0])}; })
      .Case("math.log", [](Operands x, double) -> Slopes { return {1 / x[0]}; })
      .Case("math.log2",
            [](Operands x, double) -> Slopes { return {std::numbers::log2e / x[0]}; })
      .Case("math.log10",
            [](Operands x, double) -> Slopes { return {std::numbers::log10e / x[0]}; })
      .Case("math.log1p", [](Operands x, double) -> Slopes { return {1 / (1 + x[0])}; })
      .Case("math.powf",
            [](Operands x, double result) -> Slopes {
              return {x[1] * std::pow(x[0], x[1] - 1), x[0] == 0 ? 0 : result * std::log(x[0])};
            })
      .Case("math.sqrt", [](Operands x, double) -> Slopes { return {0.5 / std::sqrt(x[0])}; })
      .Case("math.rsqrt", [](Operands x, double) -> Slopes { return {-0.5 * std::pow(x[0], -1.5)}; })
      .Case("math.tanh",
            [](Operands x, double) -> Slopes {
              return {1 / (std::cosh(x[0]) * std::cosh(x[0]))};
            })
      .Case("math.erf",
            [](Operands x, double) -> Slopes {
              return {2 * std::numbers::inv_sqrtpi * std::exp(-x[0] * x[0])};
            })
      .Case("math.sin", [](Operands x, double) -> Slopes { return {std::cos(x[0])}; })
      .Case("math.cos", [](Operands x, double) -> Slopes { return {-std::sin(x[0])}; })
      .Default(nullptr);
}

double hocket::reference::tangentOf(std::string_view name, std::span<const double> operands,
                                    std::span<const double> tangents, double result) {
  bool moves = false;
  for (double tangent : tangents)
    moves |= tangent != 0;
  if (!moves)
    return 0;
  SlopeFunction function = slopesOf(name);
  if (!function)
    return std::numeric_limits<double>::quiet_NaN();
  Slopes slopes = function(operands, result);
  double sum = 0;
  // What does not move has no say, even if its slope is infinite.
  for (size_t i = 0; i != operands.size(); ++i)
    if (tangents[i] != 0)
      sum += slopes[i] * tangents[i];
  return sum;
}
