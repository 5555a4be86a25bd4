// Predicates as terms of inequalities.
#include "MaskTerms.h"

#include "mlir/IR/Matchers.h"

#include <limits>

using namespace mlir;
using namespace hocket;
using arith::CmpIPredicate;
using Terms = SmallVector<MaskTerm>;

static constexpr int64_t kMinInt = std::numeric_limits<int32_t>::min();
static constexpr int64_t kMaxInt = std::numeric_limits<int32_t>::max();
/// Of more terms than these, half is forgotten: conditions of one side of an `and`, or all of an `or`.
static constexpr size_t kMaxTerms = 16;
/// A value of more operations than these is not understood; one that two others use counts twice, as it is looked at
/// twice.
static constexpr int64_t kMaxOperations = 512;
/// Of the lesser and the greater of two in a comparison no more than these are looked at as two numbers.
static constexpr int64_t kMaxChoices = 64;

static int64_t countOperations(Value value, llvm::DenseMap<Value, int64_t> &known, int64_t depth = 0) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return 1;
  if (depth > kMaxOperations)
    return depth;
  if (auto found = known.find(value); found != known.end())
    return found->second;
  int64_t count = 1;
  for (Value operand : op->getOperands())
    count = std::min(count + countOperations(operand, known, depth + 1), kMaxOperations + 1);
  known[value] = count;
  return count;
}

bool hocket::isTooLarge(Value value) {
  llvm::DenseMap<Value, int64_t> known;
  return countOperations(value, known) > kMaxOperations;
}

static std::optional<int64_t> constantOf(Value value) {
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant)))
    return constant.getSExtValue();
  return std::nullopt;
}

int64_t hocket::divisorOf(Operation *op) {
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

static bool hasKey(const ModificationProgram &program, Value value) {
  return (static_cast<unsigned>(program.spanOf(value)) & static_cast<unsigned>(Span::Keys)) != 0;
}

/// Of the operands' ranges that of `op`'s result; nothing for an op that is not understood.
static std::optional<NumberRange> combine(Operation *op, NumberRange a, NumberRange b) {
  if (isa<arith::AddIOp>(op))
    return NumberRange{a.min + b.min, a.max + b.max};
  if (isa<arith::SubIOp>(op))
    return NumberRange{a.min - b.max, a.max - b.min};
  if (isa<arith::MinSIOp>(op))
    return NumberRange{std::min(a.min, b.min), std::min(a.max, b.max)};
  if (isa<arith::MaxSIOp>(op))
    return NumberRange{std::max(a.min, b.min), std::max(a.max, b.max)};
  if (isa<arith::MulIOp>(op)) {
    auto [least, most] = std::minmax({a.min * b.min, a.min * b.max, a.max * b.min, a.max * b.max});
    return NumberRange{least, most};
  }
  return std::nullopt;
}

/// `rangeOf` of a value that is not too large.
static std::optional<NumberRange> rangeOfSmall(const ModificationProgram &program, Value value) {
  if (!value.getType().isInteger(32))
    return std::nullopt;
  if (value == program.query() || value == program.key())
    return NumberRange{0, kMaxPosition};
  if (std::optional<int64_t> constant = constantOf(value))
    return NumberRange{*constant, *constant};
  Operation *op = value.getDefiningOp();
  std::optional<NumberRange> found;
  if (op && op->getNumOperands() == 2) {
    std::optional<NumberRange> a = rangeOfSmall(program, op->getOperand(0));
    if (int64_t divisor = divisorOf(op)) {
      // Rounding towards zero and down are the same from 0 on; both rise with the number.
      if (a && (isa<arith::DivSIOp>(op) || a->min >= 0))
        found = NumberRange{a->min / divisor, a->max / divisor};
    } else if (std::optional<NumberRange> b = rangeOfSmall(program, op->getOperand(1)); a && b) {
      found = combine(op, *a, *b);
    }
  }
  if (found && found->min >= kMinInt && found->max <= kMaxInt)
    return found;
  if (!program.isSameForBlock(value))
    return std::nullopt;
  if (isa<BlockArgument>(value))
    return NumberRange{-kMaxPosition, kMaxPosition};
  return NumberRange{kMinInt, kMaxInt};
}

std::optional<NumberRange> hocket::rangeOf(const ModificationProgram &program, Value value) {
  return isTooLarge(value) ? std::nullopt : rangeOfSmall(program, value);
}

/// Whether a number that differs from query to query rises or falls with them as far as that is known: made of
/// positions, and numbers of the workgroup, by what `rangeOf` understands.
static bool isOfQueries(const ModificationProgram &program, Value value) {
  if (value == program.query() || program.isSameForBlock(value))
    return true;
  Operation *op = value.getDefiningOp();
  if (!op || op->getNumOperands() != 2 || hasKey(program, value))
    return false;
  if (divisorOf(op) != 0)
    return isOfQueries(program, op->getOperand(0));
  if (isa<arith::MulIOp>(op))
    return constantOf(op->getOperand(1)).value_or(-1) >= 0 && isOfQueries(program, op->getOperand(0));
  return isa<arith::AddIOp, arith::SubIOp, arith::MinSIOp, arith::MaxSIOp>(op) &&
         isOfQueries(program, op->getOperand(0)) && isOfQueries(program, op->getOperand(1));
}

/// Adds `factor` x `value` to `sum`, if it is a sum that an inequality has.
static bool collect(const ModificationProgram &program, Value value, int64_t factor, Inequality &sum) {
  if (std::abs(factor) > kMaxPosition)
    return false;
  if (std::optional<int64_t> constant = constantOf(value)) {
    sum.constant += factor * *constant;
    return true;
  }
  if (value == program.query()) {
    sum.query += factor;
    return true;
  }
  auto addOther = [&] {
    for (auto &[other, coefficient] : sum.others)
      if (other == value) {
        coefficient += factor;
        return true;
      }
    sum.others.push_back({value, factor});
    return true;
  };
  // Taken as a whole: its own parts may wrap.
  if (program.isSameForBlock(value))
    return addOther();
  Operation *op = value.getDefiningOp();
  if (isa_and_nonnull<arith::AddIOp, arith::SubIOp>(op))
    return collect(program, op->getOperand(0), factor, sum) &&
           collect(program, op->getOperand(1), isa<arith::AddIOp>(op) ? factor : -factor, sum);
  if (isa_and_nonnull<arith::MulIOp>(op))
    for (unsigned side : {1u, 0u})
      if (std::optional<int64_t> by = constantOf(op->getOperand(side)); by && std::abs(*by) <= kMaxPosition)
        return collect(program, op->getOperand(1 - side), factor * *by, sum);
  if (!hasKey(program, value))
    return isOfQueries(program, value) && addOther();
  int64_t divisor = 1;
  if (value != program.key()) {
    divisor = divisorOf(op);
    if (divisor == 0 || op->getOperand(0) != program.key())
      return false;
  }
  if (sum.key != 0 && sum.divisor != divisor)
    return false;
  sum.divisor = divisor;
  sum.key += factor;
  return true;
}

static Terms either(Terms a, const Terms &b) {
  llvm::append_range(a, b);
  return a.size() > kMaxTerms ? Terms{MaskTerm()} : a;
}

SmallVector<MaskTerm> hocket::bothOf(ArrayRef<MaskTerm> a, ArrayRef<MaskTerm> b) {
  if (a.size() * b.size() > kMaxTerms)
    return Terms(a.size() <= b.size() ? a : b);
  Terms result;
  for (const MaskTerm &x : a)
    for (const MaskTerm &y : b) {
      result.push_back(x);
      llvm::append_range(result.back(), y);
    }
  return result;
}

/// A summand, and its factor.
using Summand = std::pair<Value, int64_t>;

/// Where the sum of `summands` and `constant` is 0 or more; of them those from `next` on may be sums, or the lesser or
/// greater of two, of which so many more are taken apart. What is the same for a workgroup stays whole.
static Terms atLeastZero(const ModificationProgram &program, SmallVector<Summand> summands, int64_t constant,
                         int64_t &choices, size_t next = 0) {
  while (next != summands.size()) {
    auto [value, factor] = summands[next];
    Operation *op = value.getDefiningOp();
    bool isChoice = isa_and_nonnull<arith::MinSIOp, arith::MaxSIOp>(op) && choices != 0;
    bool isSum = isa_and_nonnull<arith::AddIOp, arith::SubIOp>(op);
    if (program.isSameForBlock(value) || (!isChoice && !isSum)) {
      ++next;
      continue;
    }
    if (isSum) {
      summands[next].first = op->getOperand(0);
      Summand second = {op->getOperand(1), isa<arith::AddIOp>(op) ? factor : -factor};
      summands.insert(summands.begin() + static_cast<ptrdiff_t>(next) + 1, second);
      continue;
    }
    // The greater of two, and the lesser, are one of them.
    --choices;
    Terms parts[2];
    for (unsigned side : {0u, 1u}) {
      summands[next].first = op->getOperand(side);
      parts[side] = atLeastZero(program, summands, constant, choices, next);
    }
    bool isEither = isa<arith::MaxSIOp>(op) == (factor > 0);
    return isEither ? either(parts[0], parts[1]) : bothOf(parts[0], parts[1]);
  }
  Inequality sum;
  sum.constant = constant;
  for (auto [value, factor] : summands)
    if (!collect(program, value, factor, sum))
      return {MaskTerm()};
  return {MaskTerm{sum}};
}

/// Where a >= b + more.
static Terms atLeast(const ModificationProgram &program, Value a, Value b, int64_t more) {
  int64_t choices = kMaxChoices;
  return atLeastZero(program, {{a, 1}, {b, -1}}, -more, choices);
}

static Terms termsOfComparison(const ModificationProgram &program, arith::CmpIOp op, bool isNegated) {
  CmpIPredicate predicate = isNegated ? arith::invertPredicate(op.getPredicate()) : op.getPredicate();
  Value a = op.getLhs(), b = op.getRhs();
  std::optional<NumberRange> left = rangeOfSmall(program, a), right = rangeOfSmall(program, b);
  if (!left || !right)
    return {MaskTerm()};
  bool isSigned = left->min >= 0 && right->min >= 0;
  switch (predicate) {
  case CmpIPredicate::eq:
    return bothOf(atLeast(program, a, b, 0), atLeast(program, b, a, 0));
  case CmpIPredicate::ne:
    return either(atLeast(program, a, b, 1), atLeast(program, b, a, 1));
  case CmpIPredicate::ult:
  case CmpIPredicate::ule:
  case CmpIPredicate::ugt:
  case CmpIPredicate::uge:
    if (!isSigned)
      return {MaskTerm()};
    break;
  default:
    break;
  }
  switch (predicate) {
  case CmpIPredicate::sge:
  case CmpIPredicate::uge:
    return atLeast(program, a, b, 0);
  case CmpIPredicate::sgt:
  case CmpIPredicate::ugt:
    return atLeast(program, a, b, 1);
  case CmpIPredicate::sle:
  case CmpIPredicate::ule:
    return atLeast(program, b, a, 0);
  default:
    return atLeast(program, b, a, 1);
  }
}

/// Of `xori`, the operand that is negated; null if it is no negation.
static Value negated(Operation *op) {
  if (!isa_and_nonnull<arith::XOrIOp>(op))
    return {};
  for (unsigned index : {0u, 1u})
    if (std::optional<int64_t> constant = constantOf(op->getOperand(1 - index)); constant && *constant != 0)
      return op->getOperand(index);
  return {};
}

static Terms termsOfSmall(const ModificationProgram &program, Value value, bool isNegated) {
  Operation *op = value.getDefiningOp();
  if (std::optional<int64_t> constant = constantOf(value))
    return (*constant != 0) != isNegated ? Terms{MaskTerm()} : Terms();
  if (auto comparison = dyn_cast_or_null<arith::CmpIOp>(op))
    return termsOfComparison(program, comparison, isNegated);
  if (Value of = negated(op))
    return termsOfSmall(program, of, !isNegated);
  auto operand = [&](unsigned index, bool opposite) {
    return termsOfSmall(program, op->getOperand(index), isNegated != opposite);
  };
  if (isa_and_nonnull<arith::AndIOp, arith::OrIOp>(op))
    return isa<arith::AndIOp>(op) != isNegated ? bothOf(operand(0, false), operand(1, false))
                                               : either(operand(0, false), operand(1, false));
  if (isa_and_nonnull<arith::SelectOp>(op)) {
    Value condition = op->getOperand(0);
    Terms chosen = termsOfSmall(program, condition, false), other = termsOfSmall(program, condition, true);
    return either(bothOf(chosen, operand(1, false)), bothOf(other, operand(2, false)));
  }
  return {MaskTerm()};
}

SmallVector<MaskTerm> hocket::termsOf(const ModificationProgram &program, Value predicate, bool isNegated) {
  return isTooLarge(predicate) ? Terms{MaskTerm()} : termsOfSmall(program, predicate, isNegated);
}

std::optional<Inequality> hocket::sumOf(const ModificationProgram &program, Value value) {
  Inequality sum;
  if (!rangeOf(program, value) || !collect(program, value, 1, sum) || sum.divisor != 1)
    return std::nullopt;
  bool isOfPositions =
      llvm::all_of(sum.others, [&](const auto &other) { return program.isSameForBlock(other.first); });
  return isOfPositions ? std::optional(sum) : std::nullopt;
}
