#include "MonotoneInverse.h"

#include "FoldedArithmetic.h"

#include "mlir/IR/Matchers.h"

#include <limits>

using namespace mlir;
using namespace hocket;
using arith::CmpIPredicate;

static constexpr int64_t kLargestNumber = std::numeric_limits<int32_t>::max();

static int64_t sizeOf(NumberRange range) { return std::max(std::abs(range.min), std::abs(range.max)); }

Value MonotoneInverse::sum(Value a, Value b) { return make<arith::AddIOp>(builder, a, b); }

std::optional<unsigned> MonotoneInverse::sideOfQuery(Operation *op) const {
  bool isSame[] = {program.isSameForBlock(op->getOperand(0)), program.isSameForBlock(op->getOperand(1))};
  if (isSame[0] == isSame[1])
    return std::nullopt;
  return isSame[0] ? 1 : 0;
}

std::optional<QueriesBeyond> MonotoneInverse::of(Value number, Value limit, bool isLeast) {
  std::optional<NumberRange> range = rangeOf(program, number);
  if (!range || sizeOf(*range) >= kBeyond)
    return std::nullopt;
  // What lies beyond all that the number can be says as much as the next one beyond.
  Value size = builder.constant(sizeOf(*range) + 1);
  limit = make<arith::MinSIOp>(builder, limit, size);
  limit = make<arith::MaxSIOp>(builder, limit, builder.constant(-(sizeOf(*range) + 1)));
  if (number == program.query())
    return QueriesBeyond{isLeast ? limit : sum(limit, builder.constant(int64_t(1))), isLeast};
  Operation *op = number.getDefiningOp();
  if (!op || op->getNumOperands() != 2)
    return std::nullopt;
  if (int64_t divisor = divisorOf(op))
    return ofQuotient(op, divisor, limit, isLeast);
  if (isa<arith::AddIOp, arith::SubIOp>(op))
    return ofSum(op, limit, isLeast);
  if (isa<arith::MinSIOp, arith::MaxSIOp>(op))
    return ofChoice(op, limit, isLeast);
  return isa<arith::MulIOp>(op) ? ofProduct(op, limit, isLeast) : std::nullopt;
}

std::optional<QueriesBeyond> MonotoneInverse::ofSum(Operation *op, Value limit, bool isLeast) {
  std::optional<unsigned> side = sideOfQuery(op);
  if (!side)
    return std::nullopt;
  Value same = op->getOperand(1 - *side);
  std::optional<NumberRange> range = rangeOf(program, same);
  if (!range || sizeOf(*range) >= kBeyond)
    return std::nullopt;
  Value number = program.number(builder, same, place), of = op->getOperand(*side);
  if (isa<arith::AddIOp>(op))
    return this->of(of, make<arith::SubIOp>(builder, limit, number), isLeast);
  if (*side == 0)
    return this->of(of, sum(limit, number), isLeast);
  return this->of(of, make<arith::SubIOp>(builder, number, limit), !isLeast);
}

/// Where the other one decides, all queries are such, or none.
std::optional<QueriesBeyond> MonotoneInverse::ofChoice(Operation *op, Value limit, bool isLeast) {
  std::optional<unsigned> side = sideOfQuery(op);
  if (!side)
    return std::nullopt;
  std::optional<QueriesBeyond> queries = of(op->getOperand(*side), limit, isLeast);
  if (!queries)
    return std::nullopt;
  Value other = program.number(builder, op->getOperand(1 - *side), place);
  Value holds = compare(builder, isLeast ? CmpIPredicate::sge : CmpIPredicate::sle, other, limit);
  bool isEither = isa<arith::MaxSIOp>(op) == isLeast;
  // All: from far below on, or before what is far beyond.
  Value decided = builder.constant(queries->isFirst == isEither ? -kBeyond : kBeyond);
  Value own = queries->bound;
  queries->bound = isEither ? choose(builder, holds, decided, own) : choose(builder, holds, own, decided);
  return queries;
}

/// Rounded towards zero: up to `divisor` - 1 more, or less, have the same quotient.
std::optional<QueriesBeyond> MonotoneInverse::ofQuotient(Operation *op, int64_t divisor, Value limit, bool isLeast) {
  std::optional<NumberRange> range = rangeOf(program, op->getResult(0));
  if (!range || (sizeOf(*range) + 2) * divisor > kLargestNumber)
    return std::nullopt;
  Value zero = builder.constant(int64_t(0)), none = zero, rest = builder.constant(isLeast ? 1 - divisor : divisor - 1);
  Value rounds = compare(builder, isLeast ? CmpIPredicate::sle : CmpIPredicate::sge, limit, zero);
  Value product = make<arith::MulIOp>(builder, limit, builder.constant(divisor));
  return of(op->getOperand(0), sum(product, choose(builder, rounds, rest, none)), isLeast);
}

std::optional<QueriesBeyond> MonotoneInverse::ofProduct(Operation *op, Value limit, bool isLeast) {
  APInt factor;
  if (!matchPattern(op->getOperand(1), m_ConstantInt(&factor)) || !factor.isStrictlyPositive())
    return std::nullopt;
  int64_t by = factor.getSExtValue();
  if (by > kBeyond)
    return std::nullopt;
  // At least: the quotient rounded up; at most: rounded down.
  Value divisor = builder.constant(by), zero = builder.constant(int64_t(0));
  Value rounds = compare(builder, isLeast ? CmpIPredicate::sgt : CmpIPredicate::slt, limit, zero);
  Value more = choose(builder, rounds, builder.constant(isLeast ? by - 1 : 1 - by), zero);
  return of(op->getOperand(0), make<arith::DivSIOp>(builder, sum(limit, more), divisor), isLeast);
}
