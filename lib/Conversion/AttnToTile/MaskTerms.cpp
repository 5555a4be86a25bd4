// Predicates as terms of inequalities.
#include "MaskTerms.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"

#include <cmath>
#include <limits>
#include <map>

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

/// Real factors beyond these, and below their inverse, are not looked at.
static constexpr double kMaxFactor = 1 << 20;

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
  if (isa_and_nonnull<math::AbsIOp>(op)) {
    if (std::optional<NumberRange> of = rangeOfSmall(program, op->getOperand(0)))
      found = NumberRange{std::max<int64_t>({of->min, -of->max, 0}), std::max(-of->min, of->max)};
  } else if (op && op->getNumOperands() == 2) {
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

namespace {
/// The greater, or the lesser, of two numbers, integers or f32, each with 1 or -1 as a factor.
struct Choice {
  Summand parts[2];
  bool isGreater = true;
};
} // namespace

/// |x| is the greater of x and -x.
static std::optional<Choice> choiceOf(Operation *op) {
  if (isa_and_nonnull<arith::MinSIOp, arith::MaxSIOp, arith::MinimumFOp, arith::MaximumFOp>(op))
    return Choice{{{op->getOperand(0), 1}, {op->getOperand(1), 1}}, isa<arith::MaxSIOp, arith::MaximumFOp>(op)};
  if (isa_and_nonnull<math::AbsIOp, math::AbsFOp>(op))
    return Choice{{{op->getOperand(0), 1}, {op->getOperand(0), -1}}};
  return std::nullopt;
}

/// Where the sum of `summands` and `rest` is 0 or more; of them those from `next` on may be sums, or the lesser or
/// greater of two, of which so many more are taken apart. What is the same for a workgroup stays whole.
static Terms atLeastZero(const ModificationProgram &program, SmallVector<Summand> summands, const Inequality &rest,
                         int64_t &choices, size_t next = 0) {
  while (next != summands.size()) {
    auto [value, factor] = summands[next];
    Operation *op = value.getDefiningOp();
    std::optional<Choice> choice = choices != 0 ? choiceOf(op) : std::nullopt;
    bool isSum = isa_and_nonnull<arith::AddIOp, arith::SubIOp>(op);
    if (program.isSameForBlock(value) || (!choice && !isSum)) {
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
      auto [part, sign] = choice->parts[side];
      summands[next] = {part, factor * sign};
      parts[side] = atLeastZero(program, summands, rest, choices, next);
    }
    bool isEither = choice->isGreater == (factor > 0);
    return isEither ? either(parts[0], parts[1]) : bothOf(parts[0], parts[1]);
  }
  Inequality sum = rest;
  for (auto [value, factor] : summands)
    if (!collect(program, value, factor, sum))
      return {MaskTerm()};
  return {MaskTerm{sum}};
}

/// Where a >= b + more.
static Terms atLeast(const ModificationProgram &program, Value a, Value b, int64_t more) {
  int64_t choices = kMaxChoices;
  Inequality rest;
  rest.constant = -more;
  return atLeastZero(program, {{a, 1}, {b, -1}}, rest, choices);
}

/// A real summand, and its factor.
using RealSummand = std::pair<Value, double>;

static std::optional<double> realConstantOf(Value value) {
  APFloat constant(0.0f);
  if (matchPattern(value, m_ConstantFloat(&constant)))
    return constant.convertToDouble();
  return std::nullopt;
}

/// What `op` is a sum of; empty for another op.
static SmallVector<RealSummand, 2> realSummandsOf(Operation *op) {
  Value first = op->getOperand(0);
  if (isa<arith::NegFOp>(op))
    return {{first, -1}};
  if (isa<arith::AddFOp, arith::SubFOp>(op))
    return {{first, 1}, {op->getOperand(1), isa<arith::AddFOp>(op) ? 1 : -1}};
  if (!isa<arith::MulFOp, arith::DivFOp>(op))
    return {};
  std::optional<double> by = realConstantOf(op->getOperand(1));
  if (std::optional<double> left = isa<arith::MulFOp>(op) && !by ? realConstantOf(first) : std::nullopt)
    return {{op->getOperand(1), *left}};
  if (by && isa<arith::MulFOp>(op))
    return {{first, *by}};
  return by && *by != 0 ? SmallVector<RealSummand, 2>{{first, 1 / *by}} : SmallVector<RealSummand, 2>();
}

/// Where `summands` and `limit` add up to 0 or less, or, if `orNaN`, to no number. At most one of the summands is a
/// converted sum of positions with the key, in the end; those from `next` on may be sums, or the lesser or greater of two.
static Terms atMostZero(const ModificationProgram &program, SmallVector<RealSummand> summands, RealLimit limit, bool orNaN,
                        int64_t &choices, size_t next = 0) {
  Value positions;
  while (next != summands.size()) {
    auto [value, factor] = summands[next];
    if (!std::isfinite(factor) || std::abs(factor) > kMaxFactor || std::abs(factor) < 1 / kMaxFactor)
      return {MaskTerm()};
    if (std::optional<double> constant = realConstantOf(value)) {
      limit.constant += factor * *constant;
      limit.size += std::abs(factor * *constant);
      summands.erase(summands.begin() + static_cast<ptrdiff_t>(next));
      continue;
    }
    if (!hasKey(program, value)) {
      limit.summands.push_back(summands[next]);
      summands.erase(summands.begin() + static_cast<ptrdiff_t>(next));
      continue;
    }
    Operation *op = value.getDefiningOp();
    if (isa_and_nonnull<arith::SIToFPOp>(op)) {
      if (positions)
        return {MaskTerm()};
      positions = op->getOperand(0), limit.divisor = factor;
      ++next;
      continue;
    }
    if (!op || choices-- <= 0)
      return {MaskTerm()};
    if (std::optional<Choice> choice = choiceOf(op)) {
      // The one says nothing of the other, which may be no number.
      if (orNaN && !llvm::all_of(choice->parts, [](const Summand &part) { return isFinite(part.first); }))
        return {MaskTerm()};
      Terms parts[2];
      for (unsigned side : {0u, 1u}) {
        auto [part, sign] = choice->parts[side];
        summands[next] = {part, factor * static_cast<double>(sign)};
        // From the first on: what has been found belongs to both.
        parts[side] = atMostZero(program, summands, limit, orNaN, choices);
      }
      return choice->isGreater == (factor < 0) ? either(parts[0], parts[1]) : bothOf(parts[0], parts[1]);
    }
    SmallVector<RealSummand, 2> parts = realSummandsOf(op);
    if (parts.empty())
      return {MaskTerm()};
    // Products round.
    limit.isStrict &= !isa<arith::MulFOp, arith::DivFOp>(op);
    summands[next] = {parts[0].first, factor * parts[0].second};
    for (const RealSummand &part : llvm::drop_begin(parts))
      summands.insert(summands.begin() + static_cast<ptrdiff_t>(next) + 1, {part.first, factor * part.second});
  }
  auto isUnderstood = [&](const RealSummand &summand) {
    return isUnderstoodReal(program, summand.first, [&](Value number) {
      return rangeOfSmall(program, number) && isOfQueries(program, number);
    });
  };
  if ((positions && !rangeOfSmall(program, positions)) || !llvm::all_of(limit.summands, isUnderstood))
    return {MaskTerm()};
  limit.isUpper = limit.divisor > 0;
  SmallVector<Summand> sum;
  if (positions)
    sum.push_back({positions, limit.isUpper ? -1 : 1});
  Inequality rest;
  rest.limit = std::move(limit);
  return atLeastZero(program, sum, rest, choices);
}

/// Where a <= b, or less; if `orNaN`, also where one is no number.
static Terms atMost(const ModificationProgram &program, Value a, Value b, bool isStrict, bool orNaN) {
  int64_t choices = kMaxChoices;
  RealLimit limit;
  limit.isStrict = isStrict;
  limit.roundings = roundingsOf(a) + roundingsOf(b);
  return atMostZero(program, {{a, 1}, {b, -1}}, limit, orNaN, choices);
}

/// What holds where `predicate` does not: less where it is more or equal, or no number.
static arith::CmpFPredicate opposite(arith::CmpFPredicate predicate) {
  using Predicate = arith::CmpFPredicate;
  constexpr std::pair<Predicate, Predicate> opposites[] = {
      {Predicate::OLT, Predicate::UGE}, {Predicate::OLE, Predicate::UGT}, {Predicate::OGT, Predicate::ULE},
      {Predicate::OGE, Predicate::ULT}, {Predicate::OEQ, Predicate::UNE}, {Predicate::ONE, Predicate::UEQ},
      {Predicate::ORD, Predicate::UNO}, {Predicate::AlwaysTrue, Predicate::AlwaysFalse}};
  for (auto [a, b] : opposites) {
    if (predicate == a)
      return b;
    if (predicate == b)
      return a;
  }
  return predicate;
}

static Terms termsOfRealComparison(const ModificationProgram &program, arith::CmpFOp op, bool isNegated) {
  using Predicate = arith::CmpFPredicate;
  Value a = op.getLhs(), b = op.getRhs();
  if (!a.getType().isF32())
    return {MaskTerm()};
  Predicate predicate = isNegated ? opposite(op.getPredicate()) : op.getPredicate();
  auto less = [&](bool orNaN) { return atMost(program, a, b, true, orNaN); };
  auto more = [&](bool orNaN) { return atMost(program, b, a, true, orNaN); };
  auto notMore = [&](bool orNaN) { return atMost(program, a, b, false, orNaN); };
  auto notLess = [&](bool orNaN) { return atMost(program, b, a, false, orNaN); };
  switch (predicate) {
  case Predicate::OLT:
  case Predicate::ULT:
    return less(predicate == Predicate::ULT);
  case Predicate::OLE:
  case Predicate::ULE:
    return notMore(predicate == Predicate::ULE);
  case Predicate::OGT:
  case Predicate::UGT:
    return more(predicate == Predicate::UGT);
  case Predicate::OGE:
  case Predicate::UGE:
    return notLess(predicate == Predicate::UGE);
  case Predicate::OEQ:
  case Predicate::UEQ:
    return bothOf(notMore(predicate == Predicate::UEQ), notLess(predicate == Predicate::UEQ));
  case Predicate::ONE:
  case Predicate::UNE:
    return either(less(predicate == Predicate::UNE), more(predicate == Predicate::UNE));
  default:
    return {MaskTerm()};
  }
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

namespace {
/// Terms of a predicate, found once for each of its parts and once for each part's opposite.
class TermFinder {
public:
  explicit TermFinder(const ModificationProgram &program) : program(program) {}
  Terms termsOf(Value value, bool isNegated);

private:
  Terms find(Value value, bool isNegated);
  Terms whereOneHolds(Value a, Value b, bool isNegated);

  const ModificationProgram &program;
  std::map<std::pair<void *, bool>, Terms> known;
};
} // namespace

Terms TermFinder::termsOf(Value value, bool isNegated) {
  std::pair<void *, bool> key = {value.getAsOpaquePointer(), isNegated};
  auto found = known.find(key);
  return found != known.end() ? found->second : known[key] = find(value, isNegated);
}

/// Where one of the two predicates holds and the other does not; or, negated, both or neither.
Terms TermFinder::whereOneHolds(Value a, Value b, bool isNegated) {
  return either(bothOf(termsOf(a, false), termsOf(b, !isNegated)), bothOf(termsOf(a, true), termsOf(b, isNegated)));
}

Terms TermFinder::find(Value value, bool isNegated) {
  Operation *op = value.getDefiningOp();
  if (std::optional<int64_t> constant = constantOf(value))
    return (*constant != 0) != isNegated ? Terms{MaskTerm()} : Terms();
  if (auto comparison = dyn_cast_or_null<arith::CmpIOp>(op); comparison && comparison.getLhs().getType().isInteger(1)) {
    bool isEqual = comparison.getPredicate() == CmpIPredicate::eq;
    if (!isEqual && comparison.getPredicate() != CmpIPredicate::ne)
      return {MaskTerm()};
    return whereOneHolds(comparison.getLhs(), comparison.getRhs(), isNegated != isEqual);
  }
  if (auto comparison = dyn_cast_or_null<arith::CmpIOp>(op))
    return termsOfComparison(program, comparison, isNegated);
  if (auto comparison = dyn_cast_or_null<arith::CmpFOp>(op))
    return termsOfRealComparison(program, comparison, isNegated);
  if (Value of = negated(op))
    return termsOf(of, !isNegated);
  if (isa_and_nonnull<arith::XOrIOp>(op))
    return whereOneHolds(op->getOperand(0), op->getOperand(1), isNegated);
  auto operand = [&](unsigned index) { return termsOf(op->getOperand(index), isNegated); };
  if (isa_and_nonnull<arith::AndIOp, arith::OrIOp>(op))
    return isa<arith::AndIOp>(op) != isNegated ? bothOf(operand(0), operand(1)) : either(operand(0), operand(1));
  if (isa_and_nonnull<arith::SelectOp>(op)) {
    Value condition = op->getOperand(0);
    return either(bothOf(termsOf(condition, false), operand(1)), bothOf(termsOf(condition, true), operand(2)));
  }
  return {MaskTerm()};
}

SmallVector<MaskTerm> hocket::termsOf(const ModificationProgram &program, Value predicate, bool isNegated) {
  return isTooLarge(predicate) ? Terms{MaskTerm()} : TermFinder(program).termsOf(predicate, isNegated);
}

std::optional<Inequality> hocket::sumOf(const ModificationProgram &program, Value value) {
  Inequality sum;
  if (!rangeOf(program, value) || !collect(program, value, 1, sum) || sum.divisor != 1)
    return std::nullopt;
  bool isOfPositions =
      llvm::all_of(sum.others, [&](const auto &other) { return program.isSameForBlock(other.first); });
  return isOfPositions ? std::optional(sum) : std::nullopt;
}
