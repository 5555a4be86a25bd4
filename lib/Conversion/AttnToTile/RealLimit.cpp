// Interval arithmetic on f32, emitted.
#include "RealLimit.h"

#include "FoldedArithmetic.h"
#include "MonotoneInverse.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"

#include <cmath>

using namespace mlir;
using namespace hocket;
using arith::CmpFPredicate;

/// f32 has integers up to 2 to the power of this.
static constexpr int kIntegerBits = 24;
/// Half of the last place of a number of size 1, twice: what is left out is of the second order.
static constexpr double kRounding = 0x1p-23;
/// A division is right to two and a half units in the last place.
static constexpr double kRoundingsOfDivision = 6;
/// Roundings of what is made of a limit's parts here: the sum, the quotient, the slack.
static constexpr double kOwnRoundings = 8;
/// And what is lost where numbers too small for f32's exponents are 0.
static constexpr double kTiny = 0x1p-100;

static std::optional<double> realConstant(Value value) {
  APFloat constant(0.0f);
  if (matchPattern(value, m_ConstantFloat(&constant)))
    return constant.convertToDouble();
  return std::nullopt;
}

double hocket::roundingsOf(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op || !value.getType().isF32())
    return 0;
  double count = isa<arith::DivFOp>(op) ? kRoundingsOfDivision : 1;
  for (Value operand : op->getOperands())
    count += roundingsOf(operand);
  return count;
}

/// No more than this in size; nothing where that is not known.
static std::optional<double> sizeOf(Value value) {
  if (std::optional<double> constant = realConstant(value))
    return std::abs(*constant);
  Operation *op = value.getDefiningOp();
  if (isa_and_nonnull<arith::SIToFPOp>(op))
    return 0x1p63;
  if (!isa_and_nonnull<arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::DivFOp, arith::NegFOp, arith::MaximumFOp,
                       arith::MinimumFOp, math::AbsFOp>(op))
    return std::nullopt;
  std::optional<double> a = sizeOf(op->getOperand(0));
  if (!a || op->getNumOperands() == 1)
    return a;
  std::optional<double> b = sizeOf(op->getOperand(1));
  if (!b)
    return std::nullopt;
  if (isa<arith::DivFOp>(op)) {
    std::optional<double> by = realConstant(op->getOperand(1));
    return by && *by != 0 ? std::optional(*a / std::abs(*by)) : std::nullopt;
  }
  return isa<arith::MulFOp>(op) ? *a * *b : *a + *b;
}

bool hocket::isFinite(Value value) {
  constexpr double most = 0x1p126;
  std::optional<double> size = sizeOf(value);
  return size && *size < most;
}

/// Of an operation with one factor that is the same for all rows, the other one; the number of the operand.
static std::optional<unsigned> factorSide(const ModificationProgram &program, Operation *op) {
  if (program.isSameForBlock(op->getOperand(1)))
    return 0;
  if (isa<arith::MulFOp>(op) && program.isSameForBlock(op->getOperand(0)))
    return 1;
  return std::nullopt;
}

bool hocket::isUnderstoodReal(const ModificationProgram &program, Value value, function_ref<bool(Value)> isNumber) {
  if (!value.getType().isF32())
    return false;
  if (program.isSameForBlock(value))
    return true;
  Operation *op = value.getDefiningOp();
  if (!op)
    return false;
  if (isa<arith::SIToFPOp>(op))
    return isNumber(op->getOperand(0));
  auto isOperand = [&](Value operand) { return isUnderstoodReal(program, operand, isNumber); };
  if (isa<arith::MulFOp, arith::DivFOp>(op)) {
    std::optional<unsigned> side = factorSide(program, op);
    return side && isOperand(op->getOperand(*side));
  }
  return isa<arith::AddFOp, arith::SubFOp, arith::NegFOp, arith::MaximumFOp, arith::MinimumFOp>(op) &&
         llvm::all_of(op->getOperands(), isOperand);
}

namespace {
/// What a number lies in, and how large what it is made of is.
struct Interval {
  Value lo, hi, size;
};

class RealBuilder {
public:
  RealBuilder(ExpansionBuilder &builder, const ModificationProgram &program, function_ref<Value(Value, bool)> extreme,
              function_ref<Value(Value)> number)
      : builder(builder), program(program), extreme(extreme), number(number) {}

  Interval of(Value value);
  Interval scaled(Interval interval, double factor);
  Interval sum(const Interval &a, const Interval &b);
  Value constant(double value) { return builder.constant(static_cast<float>(value)); }
  Value abs(Value value) { return arith::MaximumFOp::create(builder, value, negative(value)); }
  Value add(Value a, Value b) { return arith::AddFOp::create(builder, a, b); }
  Value times(Value a, Value b) { return arith::MulFOp::create(builder, a, b); }
  Value negative(Value value) { return arith::NegFOp::create(builder, value); }
  Value lesser(Value a, Value b) { return arith::MinimumFOp::create(builder, a, b); }
  Value greater(Value a, Value b) { return arith::MaximumFOp::create(builder, a, b); }

private:
  Interval ofProduct(Operation *op);

  ExpansionBuilder &builder;
  const ModificationProgram &program;
  function_ref<Value(Value, bool)> extreme;
  function_ref<Value(Value)> number;
};
} // namespace

Interval RealBuilder::sum(const Interval &a, const Interval &b) {
  return {add(a.lo, b.lo), add(a.hi, b.hi), add(a.size, b.size)};
}

Interval RealBuilder::scaled(Interval interval, double factor) {
  if (factor == 1)
    return interval;
  Value by = constant(factor);
  Value lo = times(interval.lo, by), hi = times(interval.hi, by);
  if (factor < 0)
    std::swap(lo, hi);
  return {lo, hi, times(interval.size, constant(std::abs(factor)))};
}

/// Times a number that is the same for all rows, or divided by it; its sign may not be known.
Interval RealBuilder::ofProduct(Operation *op) {
  unsigned side = *factorSide(program, op);
  Interval a = of(op->getOperand(side));
  Value same = op->getOperand(1 - side);
  std::optional<double> known = realConstant(same);
  if (known && isa<arith::MulFOp>(op))
    return scaled(a, *known);
  Value by = known ? constant(*known) : number(same);
  auto combined = [&](Value value) {
    return isa<arith::MulFOp>(op) ? times(value, by) : arith::DivFOp::create(builder, value, by).getResult();
  };
  Value first = combined(a.lo), second = combined(a.hi);
  return {lesser(first, second), greater(first, second), abs(combined(a.size))};
}

Interval RealBuilder::of(Value value) {
  if (program.isSameForBlock(value)) {
    std::optional<double> known = realConstant(value);
    Value same = known ? constant(*known) : number(value);
    return {same, same, abs(same)};
  }
  Operation *op = value.getDefiningOp();
  if (isa<arith::SIToFPOp>(op)) {
    auto end = [&](bool isUpper) -> Value {
      return arith::SIToFPOp::create(builder, builder.getF32Type(), extreme(op->getOperand(0), isUpper));
    };
    Value lo = end(false), hi = end(true);
    return {lo, hi, greater(abs(lo), abs(hi))};
  }
  if (isa<arith::MulFOp, arith::DivFOp>(op))
    return ofProduct(op);
  Interval a = of(op->getOperand(0));
  if (isa<arith::NegFOp>(op))
    return scaled(a, -1);
  Interval b = of(op->getOperand(1));
  if (isa<arith::SubFOp>(op))
    return sum(a, scaled(b, -1));
  if (isa<arith::AddFOp>(op))
    return sum(a, b);
  auto chosen = [&](Value x, Value y) { return isa<arith::MaximumFOp>(op) ? greater(x, y) : lesser(x, y); };
  return {chosen(a.lo, b.lo), chosen(a.hi, b.hi), add(a.size, b.size)};
}

/// The last integer that is at most `value`, or the first that is at least; NaN and what lies far beyond is kBeyond.
static Value rounded(ExpansionBuilder &builder, RealBuilder &real, Value value, bool isUpper) {
  Value beyond = builder.constant(isUpper ? kBeyond : -kBeyond), opposite = builder.constant(isUpper ? -kBeyond : kBeyond);
  Value limit = real.constant(isUpper ? double(kBeyond) : -double(kBeyond));
  auto compare = [&](CmpFPredicate predicate, Value a, Value b) {
    return arith::CmpFOp::create(builder, predicate, a, b).getResult();
  };
  auto isBefore = [&](Value a, Value b) { return compare(isUpper ? CmpFPredicate::OLT : CmpFPredicate::OGT, a, b); };
  Value isInside = isBefore(value, limit), isNear = isBefore(real.negative(limit), value);
  Value safe = choose(builder, arith::AndIOp::create(builder, isInside, isNear), value, real.constant(0));
  Value towardsZero = arith::FPToSIOp::create(builder, builder.getI32Type(), safe);
  Value back = arith::SIToFPOp::create(builder, builder.getF32Type(), towardsZero);
  Value step = choose(builder, isBefore(safe, back), builder.constant(int64_t(isUpper ? -1 : 1)), builder.constant(int64_t(0)));
  Value number = make<arith::AddIOp>(builder, towardsZero, step);
  // Of large positions, neighbours are the same number.
  Value size = make<arith::MaxSIOp>(builder, number, make<arith::SubIOp>(builder, builder.constant(int64_t(0)), number));
  Value apart = make<arith::DivSIOp>(builder, size, builder.constant(int64_t(1) << (kIntegerBits - 1)));
  number = isUpper ? make<arith::AddIOp>(builder, number, apart) : make<arith::SubIOp>(builder, number, apart);
  return choose(builder, isInside, choose(builder, isNear, number, opposite), beyond);
}

/// Whether the limit is a sum of converted integers, which nothing rounds as long as it is small.
static bool isWhole(const RealLimit &limit) {
  auto isOne = [](double factor) { return std::abs(factor) == 1; };
  auto isInteger = [&](const std::pair<Value, double> &summand) {
    return isOne(summand.second) && summand.first.getDefiningOp<arith::SIToFPOp>();
  };
  return isOne(limit.divisor) && limit.constant == std::floor(limit.constant) && llvm::all_of(limit.summands, isInteger);
}

Value hocket::limitOf(ExpansionBuilder &builder, const ModificationProgram &program, const RealLimit &limit,
                      function_ref<Value(Value, bool)> extreme, function_ref<Value(Value)> number) {
  RealBuilder real(builder, program, extreme, number);
  Value constant = real.constant(limit.constant);
  Interval all = {constant, constant, real.constant(limit.size)};
  for (auto [value, factor] : limit.summands)
    all = real.sum(all, real.scaled(real.of(value), factor));
  Interval quotient = real.scaled(all, -1 / limit.divisor);
  // Of the comparison's own roundings each is of all that is summed up: of a key at the limit, too, which is at most twice
  // the size of the rest. And each is made once more here.
  const double roundings = 4 * limit.roundings + kOwnRoundings + static_cast<double>(limit.summands.size());
  Value slack = real.add(real.times(quotient.size, real.constant(roundings * kRounding)), real.constant(kTiny));
  Value end = limit.isUpper ? real.add(quotient.hi, slack) : real.add(quotient.lo, real.negative(slack));
  Value bound = rounded(builder, real, end, limit.isUpper);
  if (!limit.isStrict || !isWhole(limit))
    return bound;
  Value isExact = arith::CmpFOp::create(builder, CmpFPredicate::OLT, quotient.size,
                                        real.constant(int64_t(1) << (kIntegerBits - 1)));
  Value step = choose(builder, isExact, builder.constant(int64_t(limit.isUpper ? -1 : 1)), builder.constant(int64_t(0)));
  return make<arith::AddIOp>(builder, bound, step);
}
