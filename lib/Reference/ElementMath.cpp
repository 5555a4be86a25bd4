// The math dialect, each function with the accuracy that docs/Values.md promises.
#include "ElementOps.h"

#include "llvm/ADT/StringSwitch.h"

#include <cmath>

using namespace hocket;
using namespace hocket::reference;

namespace {
/// How far a function of f32 may be off: units in the last place of the result, and absolutely.
struct Accuracy {
  double ulps = 0, absolute = 0;
};
} // namespace

/// Below this f32 is subnormal, which some instructions take or give as 0.
static constexpr double kLeastNormal = 0x1p-126;

/// `exact` at `x`: computed in f32, rounded to the result's type.
template <double (*exact)(double)>
static Number function(const Number &x, ElementType to, Accuracy accuracy) {
  double value = exact(x.value), error = 0;
  if (x.error != 0)
    error = std::max(std::fabs(exact(x.value + x.error) - value),
                     std::fabs(exact(x.value - x.error) - value));
  if (std::isfinite(value))
    error += accuracy.ulps * ulpOf(ElementType::F32, value) + accuracy.absolute;
  Number wide = rounded(ElementType::F32, value, error);
  return rounded(to, wide.value, wide.error);
}

static double powerOfTwo(double x) { return std::exp2(x); }
static double exponential(double x) { return std::exp(x); }
static double logarithm(double x) { return std::log(x); }
static double binaryLogarithm(double x) { return std::log2(x); }
static double decimalLogarithm(double x) { return std::log10(x); }
static double logarithmOfOnePlus(double x) { return std::log1p(x); }
static double exponentialMinusOne(double x) { return std::expm1(x); }
static double root(double x) { return std::sqrt(x); }
static double reciprocalRoot(double x) { return 1 / std::sqrt(x); }
static double hyperbolicTangent(double x) { return std::tanh(x); }
static double errorFunction(double x) { return std::erf(x); }
static double sine(double x) { return std::sin(x); }
static double cosine(double x) { return std::cos(x); }

static Number exp2(const Number *x, ElementType, ElementType to, int64_t) {
  return function<powerOfTwo>(x[0], to, {1.5, kLeastNormal});
}
static Number exp(const Number *x, ElementType, ElementType to, int64_t) {
  return function<exponential>(x[0], to, {3, kLeastNormal});
}
static Number log(const Number *x, ElementType, ElementType to, int64_t) {
  return function<logarithm>(x[0], to, {3, 0});
}
static Number log2(const Number *x, ElementType, ElementType to, int64_t) {
  return function<binaryLogarithm>(x[0], to, {3, 0});
}
static Number log10(const Number *x, ElementType, ElementType to, int64_t) {
  return function<decimalLogarithm>(x[0], to, {3, 0});
}
static Number log1p(const Number *x, ElementType, ElementType to, int64_t) {
  return function<logarithmOfOnePlus>(x[0], to, {5, 0});
}
static Number expm1(const Number *x, ElementType, ElementType to, int64_t) {
  return function<exponentialMinusOne>(x[0], to, {4, 0});
}

/// Monotone in both numbers where the first is positive; elsewhere nothing is known of inexact ones.
static Number power(const Number *x, ElementType, ElementType to, int64_t) {
  constexpr double kUlps = 2;
  double value = std::pow(x[0].value, x[1].value), error = 0;
  if (x[0].error != 0 || x[1].error != 0) {
    if (!(x[0].value - x[0].error > 0) || !std::isfinite(x[1].value))
      return {value, kAnything};
    for (double a : {x[0].value - x[0].error, x[0].value + x[0].error})
      for (double b : {x[1].value - x[1].error, x[1].value + x[1].error})
        error = std::max(error, std::fabs(std::pow(a, b) - value));
  }
  if (std::isfinite(value))
    error += kUlps * ulpOf(ElementType::F32, value);
  Number wide = rounded(ElementType::F32, value, error);
  return rounded(to, wide.value, wide.error);
}

static Number sqrt(const Number *x, ElementType, ElementType to, int64_t) {
  return function<root>(x[0], to, {});
}
static Number rsqrt(const Number *x, ElementType, ElementType to, int64_t) {
  Number result = function<reciprocalRoot>(x[0], to, {1.5, 0});
  if (std::fabs(x[0].value) - x[0].error < kLeastNormal && x[0].value != 0)
    result.error = kAnything;
  return result;
}
static Number tanh(const Number *x, ElementType, ElementType to, int64_t) {
  return function<hyperbolicTangent>(x[0], to, {4, 0});
}
static Number erf(const Number *x, ElementType, ElementType to, int64_t) {
  return function<errorFunction>(x[0], to, {4, 0});
}

/// Up to 2^22; NaN beyond.
static Number periodic(const Number &x, Number inRange) {
  constexpr double kRange = 0x1p22;
  if (std::fabs(x.value) + x.error <= kRange)
    return inRange;
  bool beyond = !(std::fabs(x.value) - x.error <= kRange);
  return {std::nan(""), beyond && std::isfinite(x.error) ? 0 : kAnything};
}
/// Not monotone: the distance of results is at most that of arguments.
template <double (*exact)(double)> static Number wave(const Number &x, ElementType to) {
  Number at = {x.value, 0};
  Number result = function<exact>(at, to, {1, 0x1p-22});
  if (x.error != 0)
    result.error += std::min(2.0, x.error) + ulpOf(to, 1);
  return periodic(x, result);
}
static Number sin(const Number *x, ElementType, ElementType to, int64_t) {
  return wave<sine>(x[0], to);
}
static Number cos(const Number *x, ElementType, ElementType to, int64_t) {
  return wave<cosine>(x[0], to);
}

static Number absolute(const Number *x, ElementType, ElementType, int64_t) {
  return {std::fabs(x[0].value), x[0].error};
}
static Number copySign(const Number *x, ElementType, ElementType, int64_t) {
  // Nobody promises the sign of a zero or a NaN.
  bool open = !(std::fabs(x[1].value) > x[1].error);
  double value = std::copysign(x[0].value, x[1].value);
  return {value, open ? 2 * std::fabs(value) + x[0].error : x[0].error};
}
/// In f32, whatever the type; float64 rounds the sum once before.
static Number fma(const Number *x, ElementType, ElementType to, int64_t) {
  double value = std::fma(x[0].value, x[1].value, x[2].value);
  double error = std::fabs(x[0].value) * x[1].error + std::fabs(x[1].value) * x[0].error +
                 x[0].error * x[1].error + x[2].error;
  if (x[0].error == 0 && x[1].error == 0)
    error = x[2].error;
  Number wide = rounded(ElementType::F32, value, error);
  return rounded(to, wide.value, wide.error);
}

template <double (*exact)(double)>
static Number whole(const Number *x, ElementType, ElementType to, int64_t) {
  double value = exact(x[0].value), error = 0;
  if (x[0].error != 0)
    error = exact(x[0].value + x[0].error) - exact(x[0].value - x[0].error);
  return error == 0 ? Number{roundTo(to, value), 0} : rounded(to, value, error);
}
static double upwards(double x) { return std::ceil(x); }
static double downwards(double x) { return std::floor(x); }
static double towardsZero(double x) { return std::trunc(x); }
static double awayFromZero(double x) { return std::round(x); }
static double toEven(double x) { return std::nearbyint(x); }

ElementFunction hocket::reference::mathFunction(std::string_view name) {
  return llvm::StringSwitch<ElementFunction>(llvm::StringRef(name))
      .Case("math.exp2", exp2)
      .Case("math.exp", exp)
      .Case("math.log", log)
      .Case("math.log2", log2)
      .Case("math.log10", log10)
      .Case("math.log1p", log1p)
      .Case("math.expm1", expm1)
      .Case("math.powf", power)
      .Case("math.sqrt", sqrt)
      .Case("math.rsqrt", rsqrt)
      .Case("math.tanh", tanh)
      .Case("math.erf", erf)
      .Case("math.sin", sin)
      .Case("math.cos", cos)
      .Case("math.absf", absolute)
      .Case("math.copysign", copySign)
      .Case("math.fma", fma)
      .Case("math.ceil", whole<upwards>)
      .Case("math.floor", whole<downwards>)
      .Case("math.trunc", whole<towardsZero>)
      .Case("math.round", whole<awayFromZero>)
      .Case("math.roundeven", whole<toEven>)
      .Default(nullptr);
}
