// Floating-point ops of the arith dialect, comparisons and conversions.
#include "ElementOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/StringSwitch.h"

#include <bit>
#include <cmath>

using namespace hocket;
using namespace hocket::reference;

/// The ops on two numbers of one type, whose exact result float64 holds or rounds innocuously.
template <double (*exact)(double, double), double (*bound)(const Number &, const Number &)>
static Number binary(const Number *x, ElementType, ElementType to, int64_t) {
  return rounded(to, exact(x[0].value, x[1].value), bound(x[0], x[1]));
}

static double sum(double a, double b) { return a + b; }
static double difference(double a, double b) { return a - b; }
static double product(double a, double b) { return a * b; }
static double quotient(double a, double b) { return a / b; }

static double errorOfSum(const Number &a, const Number &b) { return a.error + b.error; }
static double errorOfProduct(const Number &a, const Number &b) {
  if (a.error == 0 && b.error == 0)
    return 0;
  return std::fabs(a.value) * b.error + std::fabs(b.value) * a.error + a.error * b.error;
}
/// Nobody promises the sign of a zero, and with it that of an infinite quotient.
static double errorOfQuotient(const Number &a, const Number &b) {
  if (b.value == 0)
    return kAnything;
  if (a.error == 0 && b.error == 0)
    return 0;
  if (!(std::fabs(b.value) > b.error))
    return kAnything;
  return (a.error + std::fabs(a.value / b.value) * b.error) / (std::fabs(b.value) - b.error);
}
static double larger(double a, double b) {
  if (std::isnan(a) || std::isnan(b))
    return std::nan("");
  return std::max(a, b);
}
static double smaller(double a, double b) {
  if (std::isnan(a) || std::isnan(b))
    return std::nan("");
  return std::min(a, b);
}
static double largerNumber(double a, double b) { return std::fmax(a, b); }
static double smallerNumber(double a, double b) { return std::fmin(a, b); }
static double errorOfChoice(const Number &a, const Number &b) { return std::max(a.error, b.error); }

static Number negate(const Number *x, ElementType, ElementType, int64_t) {
  return {-x[0].value, x[0].error};
}

static Number choose(const Number *x, ElementType, ElementType, int64_t) {
  const Number &a = x[1], &b = x[2];
  if (x[0].error == 0)
    return x[0].value != 0 ? a : b;
  if (a.value == b.value)
    return {a.value, std::max(a.error, b.error)};
  return {a.value, std::fabs(a.value - b.value) + std::max(a.error, b.error)};
}

static bool compares(mlir::arith::CmpFPredicate predicate, double a, double b) {
  using P = mlir::arith::CmpFPredicate;
  bool unordered = std::isnan(a) || std::isnan(b);
  switch (predicate) {
  case P::AlwaysFalse:
    return false;
  case P::OEQ:
    return a == b;
  case P::OGT:
    return a > b;
  case P::OGE:
    return a >= b;
  case P::OLT:
    return a < b;
  case P::OLE:
    return a <= b;
  case P::ONE:
    return !unordered && a != b;
  case P::ORD:
    return !unordered;
  case P::UEQ:
    return unordered || a == b;
  case P::UGT:
    return unordered || a > b;
  case P::UGE:
    return unordered || a >= b;
  case P::ULT:
    return unordered || a < b;
  case P::ULE:
    return unordered || a <= b;
  case P::UNE:
    return unordered || a != b;
  case P::UNO:
    return unordered;
  case P::AlwaysTrue:
    return true;
  }
  return false;
}

static Number compare(const Number *x, ElementType, ElementType, int64_t predicate) {
  double error = x[0].error + x[1].error;
  bool result = compares(static_cast<mlir::arith::CmpFPredicate>(predicate), x[0].value, x[1].value);
  bool open = error > 0 && !(std::fabs(x[0].value - x[1].value) > error);
  return {result ? -1.0 : 0.0, open ? 1.0 : 0.0};
}

static Number convertFloat(const Number *x, ElementType, ElementType to, int64_t) {
  return rounded(to, x[0].value, x[0].error);
}

/// By way of f32, as docs/Values.md says.
static Number fromInteger(double value, double error, ElementType to) {
  Number wide = rounded(ElementType::F32, value, error);
  return rounded(to, wide.value, wide.error);
}
static Number fromSigned(const Number *x, ElementType, ElementType to, int64_t) {
  return fromInteger(x[0].value, x[0].error, to);
}
static Number fromUnsigned(const Number *x, ElementType from, ElementType to, int64_t) {
  double value = x[0].value < 0 ? x[0].value + std::ldexp(1.0, widthOf(from)) : x[0].value;
  return fromInteger(value, x[0].error == 0 ? 0 : kAnything, to);
}

/// Saturates; NaN is 0.
static double truncated(double value, double least, double greatest) {
  if (std::isnan(value))
    return 0;
  return std::min(std::max(std::trunc(value), least), greatest);
}

static Number toInteger(const Number &x, double least, double greatest, double modulus) {
  double result = truncated(x.value, least, greatest), error = 0;
  if (x.error != 0)
    error = std::isfinite(x.error) ? truncated(x.value + x.error, least, greatest) -
                                         truncated(x.value - x.error, least, greatest)
                                   : kAnything;
  // As the signed value of the bits.
  if (result >= modulus / 2)
    result -= modulus;
  return {result, error};
}
static Number toSigned(const Number *x, ElementType, ElementType to, int64_t) {
  double modulus = std::ldexp(1.0, widthOf(to));
  return toInteger(x[0], -modulus / 2, modulus / 2 - 1, modulus);
}
static Number toUnsigned(const Number *x, ElementType, ElementType to, int64_t) {
  double modulus = std::ldexp(1.0, widthOf(to));
  return toInteger(x[0], 0, modulus - 1, modulus);
}

static Number bitcast(const Number *x, ElementType from, ElementType to, int64_t) {
  if (isFloat(from) == isFloat(to))
    return from == to ? x[0] : Number{x[0].value, kAnything};
  // Which NaN or zero it is nobody promises.
  bool exact = x[0].error == 0 && !std::isnan(x[0].value) && x[0].value != 0;
  double error = exact || (x[0].error == 0 && !isFloat(from)) ? 0 : kAnything;
  if (isFloat(from)) {
    auto bits = static_cast<uint32_t>(encode(from, x[0].value));
    double value = widthOf(from) == 32 ? double(int32_t(bits)) : double(int16_t(bits));
    return {value, error};
  }
  uint32_t mask = widthOf(from) == 32 ? ~0u : 0xffffu;
  return {decode(to, static_cast<uint32_t>(static_cast<int64_t>(x[0].value)) & mask), error};
}

ElementFunction hocket::reference::arithmeticFunction(std::string_view name) {
  return llvm::StringSwitch<ElementFunction>(llvm::StringRef(name))
      .Case("arith.addf", binary<sum, errorOfSum>)
      .Case("arith.subf", binary<difference, errorOfSum>)
      .Case("arith.mulf", binary<product, errorOfProduct>)
      .Case("arith.divf", binary<quotient, errorOfQuotient>)
      .Case("arith.maximumf", binary<larger, errorOfChoice>)
      .Case("arith.minimumf", binary<smaller, errorOfChoice>)
      .Case("arith.maxnumf", binary<largerNumber, errorOfChoice>)
      .Case("arith.minnumf", binary<smallerNumber, errorOfChoice>)
      .Case("arith.negf", negate)
      .Case("arith.select", choose)
      .Case("arith.cmpf", compare)
      .Cases({"arith.extf", "arith.truncf"}, convertFloat)
      .Case("arith.sitofp", fromSigned)
      .Case("arith.uitofp", fromUnsigned)
      .Case("arith.fptosi", toSigned)
      .Case("arith.fptoui", toUnsigned)
      .Case("arith.bitcast", bitcast)
      .Default(nullptr);
}
