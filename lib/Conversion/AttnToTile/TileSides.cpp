// On which side of 0 sums lie, and whether they lie within extents.
#include "TileSides.h"

#include "MaskTerms.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace hocket;
using arith::CmpIPredicate;

/// The sum (i32) whose absolute value `op` takes, as it is or converted to f32; null if it does something else.
static Value absoluteOf(Operation &op) {
  if (auto absolute = dyn_cast<math::AbsIOp>(op))
    return absolute.getOperand();
  auto absolute = dyn_cast<math::AbsFOp>(op);
  auto converted = absolute ? absolute.getOperand().getDefiningOp<arith::SIToFPOp>() : arith::SIToFPOp();
  return converted && absolute.getType().isF32() ? converted.getIn() : Value();
}

namespace {
/// The least and the most that a sum is on a tile.
struct Reach {
  Value least, most;
};
} // namespace

static Value plus(ExpansionBuilder &builder, Value sum, Value value, int64_t factor) {
  Value product = builder.createOrFold<arith::MulIOp>(value, builder.constant(factor));
  return builder.createOrFold<arith::AddIOp>(sum, product);
}

static Reach reachOf(ExpansionBuilder &builder, ModificationProgram &program, const Inequality &sum,
                     const ScorePlace &place, const TileExtent &extent) {
  Value common = builder.constant(sum.constant);
  for (auto [value, factor] : sum.others)
    common = plus(builder, common, program.number(builder, value, place), factor);
  auto extreme = [&](bool isMost) {
    Value withQuery = plus(builder, common, (sum.query > 0) == isMost ? extent.lastQuery : extent.firstQuery, sum.query);
    return plus(builder, withQuery, (sum.key > 0) == isMost ? extent.lastKey : extent.firstKey, sum.key);
  };
  return {extreme(false), extreme(true)};
}

std::optional<TileSides> hocket::sidesOf(ExpansionBuilder &builder, ModificationProgram &program,
                                         const ScorePlace &place, const TileExtent &extent) {
  TileSides sides;
  for (Operation &op : program.block()) {
    Value of = absoluteOf(op);
    std::optional<Inequality> sum = of ? sumOf(program, of) : std::nullopt;
    if (!sum || sum->key == 0)
      continue;
    Reach reach = reachOf(builder, program, *sum, place, extent);
    Value zero = builder.constant(int64_t(0));
    Value isPositive = arith::CmpIOp::create(builder, CmpIPredicate::sge, reach.least, zero);
    Value isNegative = arith::CmpIOp::create(builder, CmpIPredicate::sle, reach.most, zero);
    Value isKnown = arith::OrIOp::create(builder, isPositive, isNegative);
    sides.areKnown = sides.areKnown ? arith::AndIOp::create(builder, sides.areKnown, isKnown).getResult() : isKnown;
    bool isInteger = op.getResult(0).getType().isInteger();
    Value one = isInteger ? builder.constant(int64_t(1)) : builder.constant(1.0f);
    Value opposite = isInteger ? builder.constant(int64_t(-1)) : builder.constant(-1.0f);
    sides.signs[&op] = arith::SelectOp::create(builder, isPositive, one, opposite);
  }
  return sides.areKnown ? std::optional(std::move(sides)) : std::nullopt;
}

namespace {
/// Whether anything is found on a tile, of what a value is made of.
class Finding {
public:
  Finding(ExpansionBuilder &builder, ModificationProgram &program, const ScorePlace &place, const TileExtent &extent)
      : builder(builder), program(program), place(place), extent(extent) {}

  /// Whether `value` is zero where nothing is found; if so, asks for what it reads.
  bool vanishes(Value value);
  Value mayFind; ///< i1; null: nothing was asked for

private:
  bool asksFor(attn::ReadOp op);
  void either(Value isWithin) {
    mayFind = mayFind ? arith::OrIOp::create(builder, mayFind, isWithin).getResult() : isWithin;
  }

  ExpansionBuilder &builder;
  ModificationProgram &program;
  const ScorePlace &place;
  const TileExtent &extent;
};
} // namespace

bool Finding::asksFor(attn::ReadOp op) {
  Value isWithin, view = program.tensorOf(op);
  for (auto [dimension, index] : llvm::enumerate(op.getIndices())) {
    std::optional<Inequality> sum = sumOf(program, index);
    if (!sum || sum->divisor != 1 || (sum->query == 0 && sum->key == 0))
      continue;
    if (llvm::any_of(sum->others, [&](const auto &other) { return program.spanOf(other.first) != Span::Uniform; }))
      continue;
    Reach reach = reachOf(builder, program, *sum, place, extent);
    Value size = tile::DimOp::create(builder, view, dimension);
    Value begins = arith::CmpIOp::create(builder, CmpIPredicate::slt, reach.least, size);
    Value ends = arith::CmpIOp::create(builder, CmpIPredicate::sge, reach.most, builder.constant(int64_t(0)));
    Value both = arith::AndIOp::create(builder, begins, ends);
    isWithin = isWithin ? arith::AndIOp::create(builder, isWithin, both).getResult() : both;
  }
  if (isWithin)
    either(isWithin);
  return isWithin != nullptr;
}

bool Finding::vanishes(Value value) {
  Operation *op = value.getDefiningOp();
  if (auto read = dyn_cast_or_null<attn::ReadOp>(op))
    return program.isGathered(read) && asksFor(read);
  if (isa_and_nonnull<arith::AddFOp, arith::SubFOp>(op))
    return vanishes(op->getOperand(0)) && vanishes(op->getOperand(1));
  return isa_and_nonnull<arith::NegFOp, arith::ExtFOp>(op) && vanishes(op->getOperand(0));
}

Value hocket::mayBeFound(ExpansionBuilder &builder, ModificationProgram &program, ArrayRef<Value> values,
                         const ScorePlace &place, const TileExtent &extent) {
  Finding finding(builder, program, place, extent);
  bool allVanish = llvm::all_of(values, [&](Value value) { return finding.vanishes(value); });
  return allVanish ? finding.mayFind : Value();
}
