// Elimination of the query from terms of inequalities.
#include "MaskBounds.h"

#include "FoldedArithmetic.h"
#include "MonotoneInverse.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

#include <limits>
#include <numeric>

using namespace mlir;
using namespace hocket;
using arith::CmpIPredicate;

static constexpr int64_t kMax32 = std::numeric_limits<int32_t>::max();
static Value add(ExpansionBuilder &builder, Value a, Value b) { return make<arith::AddIOp>(builder, a, b); }
static Value times(ExpansionBuilder &builder, Value value, int64_t factor) {
  return make<arith::MulIOp>(builder, value, builder.constant(factor));
}
static Value lesser(ExpansionBuilder &builder, Value a, Value b) { return make<arith::MinSIOp>(builder, a, b); }
static Value greater(ExpansionBuilder &builder, Value a, Value b) { return make<arith::MaxSIOp>(builder, a, b); }
static Value within(ExpansionBuilder &builder, Value value, int64_t size) {
  return greater(builder, lesser(builder, value, builder.constant(size)), builder.constant(-size));
}

/// The quotient rounded down; `divisor` is small.
static Value dividedDown(ExpansionBuilder &builder, Value value, int64_t divisor) {
  if (divisor == 1)
    return value;
  Value isNegative = compare(builder, CmpIPredicate::slt, value, builder.constant(int64_t(0)));
  Value more = choose(builder, isNegative, builder.constant(1 - divisor), builder.constant(int64_t(0)));
  return make<arith::DivSIOp>(builder, add(builder, value, more), builder.constant(divisor));
}

namespace {
/// key x K + query x i + constant >= 0, where the first two together are at most `reach` in size, and the constant at
/// most one more: beyond, it alone decides.
struct Side {
  int64_t key, query;
  Value constant;
  int64_t reach;
};
} // namespace

/// Of the queries `rows`, which are eliminated; or of the keys `rows`, and what is looked for are queries.
class MaskBounds::Elimination {
public:
  Elimination(ExpansionBuilder &builder, ArrayRef<MaskBounds *> masks, QueryRange rows)
      : builder(builder), masks(masks), rows(rows), queries(rows) {}
  Elimination(ExpansionBuilder &builder, ArrayRef<MaskBounds *> masks, QueryRange keys, QueryRange queries)
      : builder(builder), masks(masks), rows(keys), queries(queries), eliminatesKeys(true) {}

  /// The keys for which `term` holds with one of the queries; or the other way round.
  KeyBounds keysOf(const MaskTerm &term);

private:
  MaskBounds &ownerOf(Value value);
  Value extreme(Value value, bool isUpper);
  Value realLimit(const RealLimit &limit);
  std::optional<Side> sideOf(const Inequality &inequality);
  void bound(int64_t key, Value constant, int64_t divisor);
  void boundQueries(const Inequality &inequality);
  void eliminate(ArrayRef<Side> sides, int64_t divisor);

  ExpansionBuilder &builder;
  ArrayRef<MaskBounds *> masks;
  QueryRange rows;    ///< what is eliminated: divided as the term that is looked at divides keys
  QueryRange queries; ///< those that there are in any case
  bool eliminatesKeys = false;
  KeyBounds bounds;
  Value isPossible; ///< whether there are such keys; null: yes
};

/// The mask of whose region `value` is.
MaskBounds &MaskBounds::Elimination::ownerOf(Value value) {
  return **llvm::find_if(masks, [&](MaskBounds *mask) { return value.getParentBlock() == &mask->program.block(); });
}

/// The largest, or smallest, that a number which does not depend on the key is for the rows.
Value MaskBounds::Elimination::extreme(Value value, bool isUpper) {
  MaskBounds &owner = ownerOf(value);
  if (value == owner.program.query())
    return isUpper ? queries.last : queries.first;
  if (owner.program.isSameForBlock(value))
    return owner.program.number(builder, value, owner.place);
  Operation *op = value.getDefiningOp();
  Value a = extreme(op->getOperand(0), isUpper);
  if (int64_t divisor = divisorOf(op))
    return make<arith::DivSIOp>(builder, a, builder.constant(divisor));
  Value b = extreme(op->getOperand(1), isUpper != isa<arith::SubIOp>(op));
  if (isa<arith::AddIOp>(op))
    return add(builder, a, b);
  if (isa<arith::SubIOp>(op))
    return make<arith::SubIOp>(builder, a, b);
  if (isa<arith::MulIOp>(op))
    return make<arith::MulIOp>(builder, a, b);
  return isa<arith::MinSIOp>(op) ? lesser(builder, a, b) : greater(builder, a, b);
}

Value MaskBounds::Elimination::realLimit(const RealLimit &limit) {
  MaskBounds &owner = limit.summands.empty() ? *masks.front() : ownerOf(limit.summands.front().first);
  return limitOf(
      builder, owner.program, limit, [&](Value value, bool isUpper) { return extreme(value, isUpper); },
      [&](Value value) { return owner.program.number(builder, value, owner.place); });
}

std::optional<Side> MaskBounds::Elimination::sideOf(const Inequality &inequality) {
  int64_t most = 0, least = 0;
  for (int64_t factor : {inequality.key, inequality.query}) {
    most += std::max<int64_t>(factor, 0) * kMaxPosition;
    least += std::min<int64_t>(factor, 0) * kMaxPosition;
  }
  int64_t reach = std::max(most, -least);
  int64_t size = std::abs(inequality.constant);
  if (reach > kBeyond - 2 || size > kBeyond)
    return std::nullopt;
  Value sum = builder.constant(inequality.constant);
  bool isCutOff = inequality.limit.has_value();
  if (inequality.limit)
    sum = (inequality.limit->isUpper ? add(builder, sum, realLimit(*inequality.limit))
                                     : make<arith::SubIOp>(builder, sum, realLimit(*inequality.limit)));
  for (auto [value, factor] : inequality.others) {
    std::optional<NumberRange> range = rangeOf(ownerOf(value).program, value);
    if (!range)
      return std::nullopt;
    Value number = extreme(value, factor > 0);
    int64_t largest = std::max(std::abs(range->min), std::abs(range->max));
    if (largest > kBeyond) {
      // Of any size, and so the whole sum: cut to where it still lies beyond what positions reach.
      if (isCutOff || std::abs(factor) != 1)
        return std::nullopt;
      number = within(builder, number, kBeyond);
      isCutOff = true;
    } else {
      size += std::abs(factor) * largest;
    }
    if (size > kMax32)
      return std::nullopt;
    sum = add(builder, sum, times(builder, number, factor));
  }
  if (isCutOff && size + reach >= kBeyond)
    return std::nullopt;
  if (isCutOff || size > reach + 1)
    sum = within(builder, sum, reach + 1);
  if (eliminatesKeys)
    return Side{inequality.query, inequality.key, sum, reach};
  return Side{inequality.key, inequality.query, sum, reach};
}

/// Takes in that key x K + constant >= 0.
void MaskBounds::Elimination::bound(int64_t key, Value constant, int64_t divisor) {
  if (key == 0) {
    Value holds = compare(builder, CmpIPredicate::sge, constant, builder.constant(int64_t(0)));
    isPossible = isPossible ? make<arith::AndIOp>(builder, isPossible, holds) : holds;
    return;
  }
  Value quotient = dividedDown(builder, constant, std::abs(key));
  auto ofKeys = [&](Value number) {
    return divisor == 1 ? number : times(builder, within(builder, number, kMaxPosition / divisor + 2), divisor);
  };
  if (key > 0) {
    Value lo = ofKeys(make<arith::SubIOp>(builder, builder.constant(int64_t(0)), quotient));
    bounds.lo = bounds.lo ? greater(builder, bounds.lo, lo) : lo;
    return;
  }
  Value hi = ofKeys(add(builder, quotient, builder.constant(int64_t(1))));
  bounds.hi = bounds.hi ? lesser(builder, bounds.hi, hi) : hi;
}

/// Fourier and Motzkin's elimination: each inequality by which a query is at least something with each by which it is
/// at most something, and with the ends of the rows. Exact where one of the two has a factor of 1 in size.
void MaskBounds::Elimination::eliminate(ArrayRef<Side> sides, int64_t divisor) {
  for (const Side &side : sides) {
    Value constant = side.constant;
    if (side.query != 0)
      constant = add(builder, constant, times(builder, side.query > 0 ? rows.last : rows.first, side.query));
    bound(side.key, constant, divisor);
  }
  for (const Side &least : sides)
    for (const Side &most : sides) {
      if (least.query <= 0 || most.query >= 0)
        continue;
      int64_t common = std::gcd(least.query, -most.query);
      int64_t ofLeast = -most.query / common, ofMost = least.query / common;
      if (ofLeast * (least.reach + 1) + ofMost * (most.reach + 1) > kMax32)
        continue;
      Value sum = add(builder, times(builder, least.constant, ofLeast), times(builder, most.constant, ofMost));
      bound(ofLeast * least.key + ofMost * most.key, sum, divisor);
    }
}

/// What is looked for are queries: takes in where a number that rises or falls with them, and is no sum of them (one
/// divided, the lesser or greater of two), lets `inequality` hold for one of the keys.
void MaskBounds::Elimination::boundQueries(const Inequality &inequality) {
  auto isOfQuery = [&](const std::pair<Value, int64_t> &other) {
    return !ownerOf(other.first).program.isSameForBlock(other.first);
  };
  if (inequality.query != 0 || inequality.limit || llvm::count_if(inequality.others, isOfQuery) != 1)
    return;
  Inequality rest = inequality;
  auto *found = llvm::find_if(rest.others, isOfQuery);
  auto [number, factor] = *found;
  rest.others.erase(found);
  std::optional<Side> side = std::abs(factor) == 1 ? sideOf(rest) : std::nullopt;
  if (!side)
    return;
  Value most = side->constant;
  if (side->query != 0)
    most = add(builder, most, times(builder, side->query > 0 ? rows.last : rows.first, side->query));
  bool isLeast = factor > 0;
  MaskBounds &owner = ownerOf(number);
  MonotoneInverse inverse(builder, owner.program, owner.place);
  std::optional<QueriesBeyond> queries = inverse.of(number, isLeast ? times(builder, most, -1) : most, isLeast);
  if (!queries)
    return;
  Value &end = queries->isFirst ? bounds.lo : bounds.hi;
  if (!end)
    end = queries->bound;
  else
    end = queries->isFirst ? greater(builder, end, queries->bound) : lesser(builder, end, queries->bound);
}

KeyBounds MaskBounds::Elimination::keysOf(const MaskTerm &term) {
  bounds = KeyBounds(), isPossible = Value();
  llvm::SmallVector<int64_t, 2> divisors;
  for (const Inequality &inequality : term)
    if (inequality.key != 0 && !llvm::is_contained(divisors, inequality.divisor))
      divisors.push_back(inequality.divisor);
  if (divisors.empty())
    divisors.push_back(1);
  const QueryRange whole = rows;
  for (int64_t divisor : divisors) {
    if (eliminatesKeys)
      rows = {dividedDown(builder, whole.first, divisor), dividedDown(builder, whole.last, divisor)};
    SmallVector<Side> sides;
    for (const Inequality &inequality : term)
      if (inequality.key == 0 || inequality.divisor == divisor)
        if (std::optional<Side> side = sideOf(inequality))
          sides.push_back(*side);
    if (eliminatesKeys)
      for (const Inequality &inequality : term)
        if (inequality.key == 0 || inequality.divisor == divisor)
          boundQueries(inequality);
    eliminate(sides, eliminatesKeys ? 1 : divisor);
  }
  rows = whole;
  if (bounds.lo && bounds.hi) {
    Value any = compare(builder, CmpIPredicate::slt, bounds.lo, bounds.hi);
    isPossible = isPossible ? make<arith::AndIOp>(builder, isPossible, any) : any;
  }
  if (!isPossible)
    return bounds;
  Value beyond = builder.constant(kBeyond);
  if (bounds.lo && !bounds.hi)
    bounds.lo = choose(builder, isPossible, bounds.lo, beyond);
  else
    bounds.hi = choose(builder, isPossible, bounds.hi ? bounds.hi : beyond, builder.constant(int64_t(0)));
  return bounds;
}

/// Makes a range that has no keys, none from 0 on, one that adds none to another.
static void leaveNothingOfNone(ExpansionBuilder &builder, KeyBounds &range) {
  if (!range.lo || !range.hi)
    return;
  Value first = greater(builder, range.lo, builder.constant(int64_t(0)));
  Value any = compare(builder, CmpIPredicate::slt, first, range.hi);
  range.lo = choose(builder, any, range.lo, builder.constant(kBeyond));
  range.hi = choose(builder, any, range.hi, builder.constant(-kBeyond));
}

/// The same keys, and as few ranges as is known without the numbers; at most kMaxKeyRanges.
static SmallVector<KeyBounds> joined(ExpansionBuilder &builder, ArrayRef<KeyBounds> ranges) {
  auto join = [&](KeyBounds &into, const KeyBounds &other) {
    into.lo = into.lo && other.lo ? lesser(builder, into.lo, other.lo) : Value();
    into.hi = into.hi && other.hi ? greater(builder, into.hi, other.hi) : Value();
  };
  SmallVector<KeyBounds> result;
  for (const KeyBounds &range : ranges) {
    if (!range.lo && !range.hi)
      return {KeyBounds()};
    // Those without a bound on the same side overlap.
    auto *same = llvm::find_if(result, [&](const KeyBounds &other) {
      return (!range.lo && !other.lo) || (!range.hi && !other.hi);
    });
    if (same != result.end())
      join(*same, range);
    else
      result.push_back(range);
  }
  while (result.size() > kMaxKeyRanges) {
    KeyBounds last = result.pop_back_val();
    for (KeyBounds *range : {&last, &result.back()})
      leaveNothingOfNone(builder, *range);
    join(result.back(), last);
  }
  return result;
}

/// Of a mask with more parts than these, all are evaluated together.
static constexpr size_t kMaxParts = 3;

/// The predicates that must all hold for `predicate` to.
static SmallVector<Value> conjuncts(Value predicate) {
  auto both = predicate.getDefiningOp<arith::AndIOp>();
  if (!both)
    return {predicate};
  SmallVector<Value> result = conjuncts(both.getLhs());
  llvm::append_range(result, conjuncts(both.getRhs()));
  return result;
}

/// Whether all keys from some distance to the query on are meant.
static bool isBehindDiagonal(ArrayRef<MaskTerm> terms) {
  if (terms.size() != 1 || terms.front().size() != 1)
    return false;
  const Inequality &only = terms.front().front();
  return only.key == 1 && only.query == -1 && only.divisor == 1 && !only.limit;
}

void MaskBounds::prepareCuts(ExpansionBuilder &builder, QueryRange rows) {
  MaskBounds *self = this;
  Elimination elimination(builder, self, rows);
  auto add = [&](Value predicate) {
    SmallVector<KeyBounds> ranges;
    SmallVector<MaskTerm> terms = termsOf(program, predicate, /*isNegated=*/true);
    for (const MaskTerm &term : terms)
      ranges.push_back(elimination.keysOf(term));
    parts.push_back({predicate, joined(builder, ranges), isBehindDiagonal(terms)});
    return llvm::all_of(parts.back().hidden, [](const KeyBounds &range) { return range.lo || range.hi; });
  };
  parts.clear();
  SmallVector<Value> predicates = {program.yielded()};
  if (!isTooLarge(program.yielded()))
    predicates = conjuncts(program.yielded());
  if (predicates.size() <= kMaxParts && llvm::all_of(predicates, add))
    return;
  // Of what hides no one knows where, nothing is gained by taking it apart.
  parts.clear();
  add(program.yielded());
}

void MaskBounds::leaveTo(ExpansionBuilder &builder, const MaskBounds &other) {
  for (Part &part : parts)
    for (const Part &of : other.parts) {
      if (!part.isBehindDiagonal || !of.isBehindDiagonal)
        continue;
      // Distances are the same for all queries: the first hidden key of one row says which is less.
      Value &lo = part.hidden.front().lo;
      Value isHidden = compare(builder, CmpIPredicate::sle, of.hidden.front().lo, lo);
      lo = choose(builder, isHidden, builder.constant(kBeyond), lo);
    }
}

Value MaskBounds::isCut(ExpansionBuilder &builder, Value first, Value last) const {
  Value cut = arith::ConstantOp::create(builder, builder.getBoolAttr(false));
  for (const Part &part : parts)
    cut = make<arith::OrIOp>(builder, isCut(builder, part, first, last), cut);
  return cut;
}

Value MaskBounds::hide(ExpansionBuilder &builder, Value scores, const ScorePlace &here, Value last,
                       Value counts) const {
  auto where = [&](Value cut) { return counts ? arith::AndIOp::create(builder, counts, cut).getResult() : cut; };
  if (parts.size() == 1)
    return program.hide(builder, scores, parts.front().predicate, where(isCut(builder, here.key, last)), here);
  // Most tiles are whole, and of those that are cut most are by one of the parts: a branch around branches.
  SmallVector<Value> cuts;
  Value any = arith::ConstantOp::create(builder, builder.getBoolAttr(false));
  for (const Part &part : parts) {
    cuts.push_back(isCut(builder, part, here.key, last));
    any = make<arith::OrIOp>(builder, cuts.back(), any);
  }
  auto branch = scf::IfOp::create(builder, scores.getType(), where(any), /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(builder, scores);
  builder.setInsertionPointToStart(branch.thenBlock());
  for (auto [part, cut] : llvm::zip_equal(parts, cuts))
    scores = program.hide(builder, scores, part.predicate, cut, here);
  scf::YieldOp::create(builder, scores);
  return branch.getResult(0);
}

Value MaskBounds::isCut(ExpansionBuilder &builder, const Part &part, Value first, Value last) const {
  Value cut = arith::ConstantOp::create(builder, builder.getBoolAttr(false));
  for (const KeyBounds &range : part.hidden) {
    Value meets = arith::ConstantOp::create(builder, builder.getBoolAttr(true));
    if (range.lo)
      meets = make<arith::AndIOp>(builder, compare(builder, CmpIPredicate::sle, range.lo, last), meets);
    if (range.hi)
      meets = make<arith::AndIOp>(builder, compare(builder, CmpIPredicate::sgt, range.hi, first), meets);
    cut = make<arith::OrIOp>(builder, meets, cut);
  }
  return cut;
}

SmallVector<KeyBounds> MaskBounds::visible(ExpansionBuilder &builder, ArrayRef<MaskBounds *> masks, QueryRange rows) {
  return visible(builder, masks, Elimination(builder, masks, rows));
}

SmallVector<KeyBounds> MaskBounds::visibleQueries(ExpansionBuilder &builder, ArrayRef<MaskBounds *> masks,
                                                  QueryRange keys, QueryRange queries) {
  return visible(builder, masks, Elimination(builder, masks, keys, queries));
}

SmallVector<KeyBounds> MaskBounds::visible(ExpansionBuilder &builder, ArrayRef<MaskBounds *> masks,
                                           Elimination elimination) {
  SmallVector<MaskTerm> terms = {MaskTerm()};
  for (MaskBounds *mask : masks)
    terms = bothOf(terms, termsOf(mask->program, mask->program.yielded(), /*isNegated=*/false));
  SmallVector<KeyBounds> ranges;
  for (const MaskTerm &term : terms)
    ranges.push_back(elimination.keysOf(term));
  if (ranges.empty())
    return {{Value(), builder.constant(int64_t(0))}};
  return joined(builder, ranges);
}
