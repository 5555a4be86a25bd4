// Interval analysis of masks.
#include "MaskBounds.h"

#include "mlir/IR/Matchers.h"

#include <limits>

using namespace mlir;
using namespace hocket;
using arith::CmpIPredicate;

static constexpr int64_t kMin32 = std::numeric_limits<int32_t>::min();
static constexpr int64_t kMax32 = std::numeric_limits<int32_t>::max();
/// Numbers of any size are cut to this when they bound keys: far beyond every key.
static constexpr int64_t kBeyond = int64_t(1) << 29;

template <typename Op> static Value make(ExpansionBuilder &builder, Value a, Value b) {
  return builder.createOrFold<Op>(a, b);
}
static Value add(ExpansionBuilder &builder, Value a, Value b) {
  return make<arith::AddIOp>(builder, a, b);
}
static Value subtract(ExpansionBuilder &builder, Value a, Value b) {
  return make<arith::SubIOp>(builder, a, b);
}
static Value lesser(ExpansionBuilder &builder, Value a, Value b) {
  return make<arith::MinSIOp>(builder, a, b);
}
static Value greater(ExpansionBuilder &builder, Value a, Value b) {
  return make<arith::MaxSIOp>(builder, a, b);
}
static Value compare(ExpansionBuilder &builder, CmpIPredicate predicate, Value a, Value b) {
  return builder.createOrFold<arith::CmpIOp>(predicate, a, b);
}
static Value truth(ExpansionBuilder &builder, bool value) {
  return arith::ConstantOp::create(builder, builder.getBoolAttr(value));
}

static std::optional<int64_t> constantOf(Value value) {
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant)))
    return constant.getSExtValue();
  return std::nullopt;
}

/// The divisor of a division of signed or non-negative numbers that rounds down, or 0.
static int64_t divisorOf(Operation *op) {
  if (!op || op->getNumOperands() != 2)
    return 0;
  std::optional<int64_t> by = constantOf(op->getOperand(1));
  if (!by)
    return 0;
  if (isa<arith::DivSIOp, arith::DivUIOp>(op))
    return std::max<int64_t>(*by, 0);
  if (isa<arith::ShRSIOp, arith::ShRUIOp>(op))
    return *by >= 0 && *by < 31 ? int64_t(1) << *by : 0;
  return 0;
}

namespace {
/// A sum: constant + coefficient x (key or key / divisor) + the others, which do not depend on the key.
struct Sum {
  int64_t constant = 0;
  int64_t keyCoefficient = 0, keyDivisor = 1;
  SmallVector<std::pair<Value, int64_t>> others;
};

/// What is known of an i1.
struct Truth {
  Value may, must;
};
} // namespace

class MaskBounds::Analysis {
public:
  Analysis(MaskBounds &bounds, ExpansionBuilder &builder, const PositionBox &box)
      : program(bounds.program), numbers(bounds.numbers), builder(builder), box(box) {}

  Interval interval(Value value) {
    auto known = intervals.find(value);
    if (known != intervals.end())
      return known->second;
    Interval found = compute(value);
    if (found.isKnown() && (found.min < kMin32 || found.max > kMax32))
      found = Interval();
    intervals[value] = found;
    return found;
  }

  Truth truthOf(Value value) {
    auto known = truths.find(value);
    if (known != truths.end())
      return known->second;
    Truth found = computeTruth(value);
    truths[value] = found;
    return found;
  }

  /// Where `value`, or its opposite, can be true.
  SmallVector<KeyBounds, 2> visible(Value value, bool isNegated);

private:
  Interval compute(Value value);
  Interval divided(Interval of, int64_t divisor);
  Truth computeTruth(Value value);
  Truth compared(arith::CmpIOp op);
  Truth unknown() { return {truth(builder, true), truth(builder, false)}; }
  bool collect(Value value, int64_t factor, Sum &sum);
  SmallVector<KeyBounds, 2> solve(arith::CmpIOp op, bool isNegated);

  ModificationProgram &program;
  DenseMap<Value, Value> &numbers;
  ExpansionBuilder &builder;
  PositionBox box;
  DenseMap<Value, Interval> intervals;
  DenseMap<Value, Truth> truths;
};

Interval MaskBounds::Analysis::divided(Interval of, int64_t divisor) {
  Value by = builder.constant(divisor);
  return {make<arith::DivSIOp>(builder, of.lo, by), make<arith::DivSIOp>(builder, of.hi, by),
          of.min / divisor, of.max / divisor};
}

Interval MaskBounds::Analysis::compute(Value value) {
  if (!value.getType().isInteger(32))
    return {};
  if (value == program.query())
    return {box.firstQuery, box.lastQuery, 0, kMaxPosition};
  if (value == program.key())
    return box.firstKey ? Interval{box.firstKey, box.lastKey, 0, kMaxPosition} : Interval();
  if (std::optional<int64_t> constant = constantOf(value)) {
    Value number = builder.constant(*constant);
    return {number, number, *constant, *constant};
  }
  if (program.isSameForBlock(value)) {
    Value number = numbers.lookup(value);
    if (!number)
      return {};
    bool isArgument = isa<BlockArgument>(value);
    return {number, number, isArgument ? -kMaxPosition : kMin32, isArgument ? kMaxPosition : kMax32};
  }
  Operation *op = value.getDefiningOp();
  if (!op || op->getNumOperands() < 2)
    return {};
  if (int64_t divisor = divisorOf(op)) {
    Interval of = interval(op->getOperand(0));
    // Rounding towards zero and down are the same from 0 on; both rise with the number.
    bool agrees = isa<arith::DivSIOp>(op) || of.min >= 0;
    return of.isKnown() && agrees ? divided(of, divisor) : Interval();
  }
  Interval a = interval(op->getOperand(0)), b = interval(op->getOperand(1));
  if (!a.isKnown() || !b.isKnown())
    return {};
  if (isa<arith::AddIOp>(op))
    return {add(builder, a.lo, b.lo), add(builder, a.hi, b.hi), a.min + b.min, a.max + b.max};
  if (isa<arith::SubIOp>(op))
    return {subtract(builder, a.lo, b.hi), subtract(builder, a.hi, b.lo), a.min - b.max,
            a.max - b.min};
  if (isa<arith::MinSIOp>(op))
    return {lesser(builder, a.lo, b.lo), lesser(builder, a.hi, b.hi), std::min(a.min, b.min),
            std::min(a.max, b.max)};
  if (isa<arith::MaxSIOp>(op))
    return {greater(builder, a.lo, b.lo), greater(builder, a.hi, b.hi), std::max(a.min, b.min),
            std::max(a.max, b.max)};
  if (isa<arith::MulIOp>(op) && b.min == b.max && b.min >= 0)
    return {make<arith::MulIOp>(builder, a.lo, b.lo), make<arith::MulIOp>(builder, a.hi, b.lo),
            a.min * b.min, a.max * b.min};
  return {};
}

Truth MaskBounds::Analysis::compared(arith::CmpIOp op) {
  Interval a = interval(op.getLhs()), b = interval(op.getRhs());
  if (!a.isKnown() || !b.isKnown())
    return unknown();
  auto holds = [&](CmpIPredicate predicate, Value x, Value y) {
    return compare(builder, predicate, x, y);
  };
  auto both = [&](Value x, Value y) { return make<arith::AndIOp>(builder, x, y); };
  bool unsignedAlike = a.min >= 0 && b.min >= 0;
  switch (op.getPredicate()) {
  case CmpIPredicate::ult:
    if (!unsignedAlike)
      return unknown();
    [[fallthrough]];
  case CmpIPredicate::slt:
    return {holds(CmpIPredicate::slt, a.lo, b.hi), holds(CmpIPredicate::slt, a.hi, b.lo)};
  case CmpIPredicate::ule:
    if (!unsignedAlike)
      return unknown();
    [[fallthrough]];
  case CmpIPredicate::sle:
    return {holds(CmpIPredicate::sle, a.lo, b.hi), holds(CmpIPredicate::sle, a.hi, b.lo)};
  case CmpIPredicate::ugt:
    if (!unsignedAlike)
      return unknown();
    [[fallthrough]];
  case CmpIPredicate::sgt:
    return {holds(CmpIPredicate::sgt, a.hi, b.lo), holds(CmpIPredicate::sgt, a.lo, b.hi)};
  case CmpIPredicate::uge:
    if (!unsignedAlike)
      return unknown();
    [[fallthrough]];
  case CmpIPredicate::sge:
    return {holds(CmpIPredicate::sge, a.hi, b.lo), holds(CmpIPredicate::sge, a.lo, b.hi)};
  case CmpIPredicate::eq:
  case CmpIPredicate::ne: {
    Value mayEqual = both(holds(CmpIPredicate::sle, a.lo, b.hi), holds(CmpIPredicate::sle, b.lo, a.hi));
    Value mustEqual = both(both(holds(CmpIPredicate::eq, a.lo, a.hi), holds(CmpIPredicate::eq, b.lo, b.hi)),
                           holds(CmpIPredicate::eq, a.lo, b.lo));
    if (op.getPredicate() == CmpIPredicate::eq)
      return {mayEqual, mustEqual};
    Value yes = truth(builder, true);
    return {make<arith::XOrIOp>(builder, mustEqual, yes), make<arith::XOrIOp>(builder, mayEqual, yes)};
  }
  }
  llvm_unreachable("all predicates are handled");
}

/// Of `xori`, the operand that is negated; null if it is no negation.
static Value negated(Operation *op) {
  if (!isa_and_nonnull<arith::XOrIOp>(op))
    return {};
  for (unsigned index : {0u, 1u})
    if (std::optional<int64_t> constant = constantOf(op->getOperand(1 - index));
        constant && *constant != 0)
      return op->getOperand(index);
  return {};
}

Truth MaskBounds::Analysis::computeTruth(Value value) {
  Operation *op = value.getDefiningOp();
  if (std::optional<int64_t> constant = constantOf(value))
    return {truth(builder, *constant != 0), truth(builder, *constant != 0)};
  if (auto comparison = dyn_cast_or_null<arith::CmpIOp>(op))
    return compared(comparison);
  if (Value of = negated(op)) {
    Truth inner = truthOf(of);
    Value yes = truth(builder, true);
    return {make<arith::XOrIOp>(builder, inner.must, yes), make<arith::XOrIOp>(builder, inner.may, yes)};
  }
  if (isa_and_nonnull<arith::AndIOp, arith::OrIOp>(op)) {
    Truth a = truthOf(op->getOperand(0)), b = truthOf(op->getOperand(1));
    if (isa<arith::AndIOp>(op))
      return {make<arith::AndIOp>(builder, a.may, b.may), make<arith::AndIOp>(builder, a.must, b.must)};
    return {make<arith::OrIOp>(builder, a.may, b.may), make<arith::OrIOp>(builder, a.must, b.must)};
  }
  if (auto select = dyn_cast_or_null<arith::SelectOp>(op)) {
    Truth a = truthOf(select.getTrueValue()), b = truthOf(select.getFalseValue());
    return {make<arith::OrIOp>(builder, a.may, b.may), make<arith::AndIOp>(builder, a.must, b.must)};
  }
  return unknown();
}

/// Adds `factor` x `value` to `sum`, if it is one.
bool MaskBounds::Analysis::collect(Value value, int64_t factor, Sum &sum) {
  if (std::abs(factor) > kMaxPosition)
    return false;
  if (std::optional<int64_t> constant = constantOf(value)) {
    sum.constant += factor * *constant;
    return true;
  }
  Operation *op = value.getDefiningOp();
  bool isKeyed = (static_cast<unsigned>(program.spanOf(value)) & static_cast<unsigned>(Span::Keys)) != 0;
  if (isa_and_nonnull<arith::AddIOp, arith::SubIOp>(op)) {
    // The region's own sum must not wrap.
    int64_t second = isa<arith::AddIOp>(op) ? factor : -factor;
    return collect(op->getOperand(0), factor, sum) && collect(op->getOperand(1), second, sum);
  }
  if (isa_and_nonnull<arith::MulIOp>(op))
    if (std::optional<int64_t> by = constantOf(op->getOperand(1)); by && std::abs(*by) <= kMaxPosition)
      return collect(op->getOperand(0), factor * *by, sum);
  if (!isKeyed) {
    if (!interval(value).isKnown())
      return false;
    for (auto &[other, coefficient] : sum.others)
      if (other == value) {
        coefficient += factor;
        return true;
      }
    sum.others.push_back({value, factor});
    return true;
  }
  int64_t divisor = 1;
  if (value != program.key()) {
    divisor = divisorOf(op);
    if (divisor == 0 || op->getOperand(0) != program.key())
      return false;
  }
  if (sum.keyCoefficient != 0 && sum.keyDivisor != divisor)
    return false;
  sum.keyDivisor = divisor;
  sum.keyCoefficient += factor;
  return true;
}

SmallVector<KeyBounds, 2> MaskBounds::Analysis::solve(arith::CmpIOp op, bool isNegated) {
  SmallVector<KeyBounds, 2> everywhere = {KeyBounds()};
  CmpIPredicate predicate = isNegated ? arith::invertPredicate(op.getPredicate()) : op.getPredicate();
  // With the whole range of keys the sides' own intervals tell whether one of their sums may wrap.
  Interval left = interval(op.getLhs()), right = interval(op.getRhs());
  if (!left.isKnown() || !right.isKnown())
    return everywhere;
  bool isUnsigned = predicate == CmpIPredicate::ult || predicate == CmpIPredicate::ule ||
                    predicate == CmpIPredicate::ugt || predicate == CmpIPredicate::uge;
  if (isUnsigned && (left.min < 0 || right.min < 0))
    return everywhere;
  // lhs - rhs = c K + rest, compared with 0.
  Sum sum;
  if (!collect(op.getLhs(), 1, sum) || !collect(op.getRhs(), -1, sum))
    return everywhere;
  if (std::abs(sum.keyCoefficient) != 1) {
    if (sum.keyCoefficient != 0)
      return everywhere;
    Truth holds = truthOf(op.getResult());
    Value yes = truth(builder, true);
    Value may = isNegated ? make<arith::XOrIOp>(builder, holds.must, yes) : holds.may;
    // Nowhere, if it cannot hold.
    Value none = builder.constant(int64_t(0)), all = builder.constant(kBeyond);
    return {{Value(), builder.createOrFold<arith::SelectOp>(may, all, none)}};
  }
  // K pred rest, with the key on the left and a positive sign.
  bool isPositive = sum.keyCoefficient == 1;
  int64_t sign = isPositive ? -1 : 1;
  Value lo = builder.constant(sign * sum.constant), hi = lo;
  int64_t size = std::abs(sum.constant);
  bool isCutOff = false;
  for (auto [value, coefficient] : sum.others) {
    int64_t factor = sign * coefficient;
    Interval of = interval(value);
    int64_t largest = std::max(std::abs(of.min), std::abs(of.max));
    if (largest > kMaxPosition) {
      // Of any size, and so the whole side: cut to where it still lies beyond all keys.
      if (std::abs(factor) != 1)
        return everywhere;
      Value below = builder.constant(-kBeyond), above = builder.constant(kBeyond);
      of.lo = greater(builder, lesser(builder, of.lo, above), below);
      of.hi = greater(builder, lesser(builder, of.hi, above), below);
      isCutOff = true;
    } else {
      size += std::abs(factor) * largest;
    }
    // What is cut off must stay beyond all keys, whatever else is added.
    if (size > (isCutOff ? kBeyond - kMaxPosition : kMax32 / 2))
      return everywhere;
    Value by = builder.constant(factor);
    Value a = make<arith::MulIOp>(builder, of.lo, by), b = make<arith::MulIOp>(builder, of.hi, by);
    lo = add(builder, lo, factor >= 0 ? a : b);
    hi = add(builder, hi, factor >= 0 ? b : a);
  }
  if (!isPositive)
    switch (predicate) {
    case CmpIPredicate::slt:
    case CmpIPredicate::ult:
      predicate = CmpIPredicate::sgt;
      break;
    case CmpIPredicate::sle:
    case CmpIPredicate::ule:
      predicate = CmpIPredicate::sge;
      break;
    case CmpIPredicate::sgt:
    case CmpIPredicate::ugt:
      predicate = CmpIPredicate::slt;
      break;
    case CmpIPredicate::sge:
    case CmpIPredicate::uge:
      predicate = CmpIPredicate::sle;
      break;
    default:
      break;
    }
  // Bounds of K as a quotient, then of the key itself.
  Value divisor = builder.constant(sum.keyDivisor), one = builder.constant(int64_t(1));
  int64_t limit = kBeyond / sum.keyDivisor;
  auto scaled = [&](Value quotient) {
    Value within = greater(builder, lesser(builder, quotient, builder.constant(limit)),
                           builder.constant(-limit));
    return make<arith::MulIOp>(builder, within, divisor);
  };
  KeyBounds bounds;
  switch (predicate) {
  case CmpIPredicate::slt:
  case CmpIPredicate::ult:
    bounds.hi = scaled(hi);
    break;
  case CmpIPredicate::sle:
  case CmpIPredicate::ule:
    bounds.hi = scaled(add(builder, hi, one));
    break;
  case CmpIPredicate::sgt:
  case CmpIPredicate::ugt:
    bounds.lo = scaled(add(builder, lo, one));
    break;
  case CmpIPredicate::sge:
  case CmpIPredicate::uge:
    bounds.lo = scaled(lo);
    break;
  case CmpIPredicate::eq:
    bounds.lo = scaled(lo);
    bounds.hi = scaled(add(builder, hi, one));
    break;
  case CmpIPredicate::ne:
    break;
  }
  return {bounds};
}

SmallVector<KeyBounds, 2> MaskBounds::Analysis::visible(Value value, bool isNegated) {
  Operation *op = value.getDefiningOp();
  if (std::optional<int64_t> constant = constantOf(value)) {
    if ((*constant != 0) != isNegated)
      return {KeyBounds()};
    return {{Value(), builder.constant(int64_t(0))}};
  }
  if (auto comparison = dyn_cast_or_null<arith::CmpIOp>(op))
    return solve(comparison, isNegated);
  if (Value of = negated(op))
    return visible(of, !isNegated);
  if (isa_and_nonnull<arith::AndIOp, arith::OrIOp>(op)) {
    SmallVector<KeyBounds, 2> a = visible(op->getOperand(0), isNegated);
    SmallVector<KeyBounds, 2> b = visible(op->getOperand(1), isNegated);
    return isa<arith::AndIOp>(op) != isNegated ? intersect(builder, a, b) : unite(builder, a, b);
  }
  if (auto select = dyn_cast_or_null<arith::SelectOp>(op))
    return unite(builder, visible(select.getTrueValue(), isNegated),
                 visible(select.getFalseValue(), isNegated));
  return {KeyBounds()};
}

SmallVector<KeyBounds, 2> hocket::intersect(ExpansionBuilder &builder, ArrayRef<KeyBounds> a,
                                            ArrayRef<KeyBounds> b) {
  SmallVector<KeyBounds, 2> result;
  for (const KeyBounds &x : a)
    for (const KeyBounds &y : b) {
      KeyBounds both = x;
      if (y.lo)
        both.lo = x.lo ? greater(builder, x.lo, y.lo) : y.lo;
      if (y.hi)
        both.hi = x.hi ? lesser(builder, x.hi, y.hi) : y.hi;
      result = result.empty() ? SmallVector<KeyBounds, 2>{both} : unite(builder, result, both);
    }
  return result;
}

SmallVector<KeyBounds, 2> hocket::unite(ExpansionBuilder &builder, ArrayRef<KeyBounds> a,
                                        ArrayRef<KeyBounds> b) {
  SmallVector<KeyBounds, 2> result(a);
  llvm::append_range(result, b);
  for (const KeyBounds &range : result)
    if (!range.lo && !range.hi)
      return {KeyBounds()};
  while (result.size() > 2) {
    KeyBounds last = result.pop_back_val();
    KeyBounds &into = result.back();
    into.lo = into.lo && last.lo ? lesser(builder, into.lo, last.lo) : Value();
    into.hi = into.hi && last.hi ? greater(builder, into.hi, last.hi) : Value();
  }
  return result;
}

void MaskBounds::prepare(ExpansionBuilder &builder, const ScorePlace &place) {
  auto note = [&](Value value) {
    if (value.getType().isInteger(32) && program.isSameForBlock(value) && !constantOf(value))
      numbers[value] = program.number(builder, value, place);
  };
  for (BlockArgument argument : program.block().getArguments())
    note(argument);
  for (Operation &op : program.block().without_terminator())
    for (Value result : op.getResults())
      note(result);
}

SmallVector<KeyBounds, 2> MaskBounds::visible(ExpansionBuilder &builder, const PositionBox &box) {
  return Analysis(*this, builder, box).visible(program.yielded(), /*isNegated=*/false);
}

Value MaskBounds::isCut(ExpansionBuilder &builder, const PositionBox &box) {
  Value must = Analysis(*this, builder, box).truthOf(program.yielded()).must;
  return make<arith::XOrIOp>(builder, must, truth(builder, true));
}
