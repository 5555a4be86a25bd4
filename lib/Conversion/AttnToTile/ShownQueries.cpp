// The queries that see keys of a workgroup.
#include "ShownQueries.h"

#include "Tile/IR/MemoryAccess.h"

using namespace mlir;
using namespace hocket;

/// `range`, up to behind its last, without those that no mask shows to a key of the workgroup.
QueryRange ShownQueries::narrowed(const LoopContext &loop, Masks &masks, QueryRange range, const Keys &keys, Value queries,
                                  Value keyCount) const {
  ExpansionBuilder &builder = loop.builder;
  Value zero = builder.constant(int64_t(0)), one = builder.constant(int64_t(1));
  Value lastOfBlock = arith::AddIOp::create(builder, keys.block, builder.constant(loop.shape.waves * kWaveRows - 1));
  Value lastOfKeys = arith::SubIOp::create(builder, keyCount, one);
  Value lastKey = arith::MinSIOp::create(builder, lastOfBlock, lastOfKeys);
  Value lastQuery = arith::SubIOp::create(builder, queries, one);
  Value first = queries, behind = zero;
  for (const KeyBounds &part : masks.visibleQueries(builder, {keys.block, lastKey}, {zero, lastQuery})) {
    Value lo = part.lo ? arith::MaxSIOp::create(builder, part.lo, range.first).getResult() : range.first;
    Value hi = part.hi ? arith::MinSIOp::create(builder, part.hi, range.last).getResult() : range.last;
    Value any = arith::CmpIOp::create(builder, arith::CmpIPredicate::slt, lo, hi);
    first = arith::MinSIOp::create(builder, first, arith::SelectOp::create(builder, any, lo, queries));
    behind = arith::MaxSIOp::create(builder, behind, arith::SelectOp::create(builder, any, hi, zero));
  }
  return {first, behind};
}

/// Slices are of whole iterations of any loop, but for the last one.
static constexpr int64_t kTilesOfSlice = 2;

/// Leaves of the queries from the first to behind the last of `range` those of the slice.
void ShownQueries::narrowToSlice(const LoopContext &loop, QueryRange &range) {
  ExpansionBuilder &builder = loop.builder;
  Value zero = builder.constant(int64_t(0)), one = builder.constant(int64_t(1));
  Value unit = builder.constant(loop.shape.kvTile * kTilesOfSlice);
  auto divideUp = [&](Value dividend, Value divisor) -> Value {
    Value sum = arith::AddIOp::create(builder, dividend, arith::SubIOp::create(builder, divisor, one));
    return tile::DivModOp::create(builder, sum, divisor).getQuotient();
  };
  Value count = arith::MaxSIOp::create(builder, arith::SubIOp::create(builder, range.last, firstQuery), zero);
  Value ofSlice = arith::MulIOp::create(builder, divideUp(divideUp(count, unit), slices), unit);
  Value before = arith::MulIOp::create(builder, slice, ofSlice);
  firstQuery = arith::AddIOp::create(builder, firstQuery, before);
  range.last = arith::MinSIOp::create(builder, range.last, arith::AddIOp::create(builder, firstQuery, ofSlice));
}

void ShownQueries::measure(const LoopContext &loop, Masks &masks, const Keys &keys) {
  ExpansionBuilder &builder = loop.builder;
  Value zero = builder.constant(int64_t(0));
  Value queries = tile::DimOp::create(builder, keys.q, 1);
  firstQuery = zero, queryCount = queries;
  if (!areNarrowed(masks))
    return;
  // Query i stands beside key i + shift.
  Value keyCount = tile::DimOp::create(builder, keys.k, 1);
  Value shift = arith::SubIOp::create(builder, keyCount, queries);
  auto beside = [&](Value key, int64_t further) -> Value {
    Value query = arith::SubIOp::create(builder, key, shift);
    return arith::AddIOp::create(builder, query, builder.constant(further));
  };
  QueryRange range{zero, queries}; // up to behind its last
  std::optional<int64_t> right = window.getRight(), left = window.getLeft();
  if (right)
    range.first = arith::MaxSIOp::create(builder, beside(keys.block, -*right), zero);
  if (left)
    range.last = arith::MinSIOp::create(builder, beside(keys.block, loop.shape.waves * kWaveRows + *left), queries);
  if (masks.any())
    range = narrowed(loop, masks, range, keys, queries, keyCount);
  if (right || masks.any()) {
    Value size = builder.constant(loop.shape.kvTile);
    firstQuery = arith::MulIOp::create(builder, arith::DivUIOp::create(builder, range.first, size), size);
  }
  if (slices)
    narrowToSlice(loop, range);
  if (right)
    above = arith::SubIOp::create(builder, beside(keys.wave, -*right), firstQuery);
  if (left)
    diagonal = arith::SubIOp::create(builder, beside(keys.wave, *left), firstQuery);
  Value count = arith::SubIOp::create(builder, range.last, firstQuery);
  queryCount = arith::MaxSIOp::create(builder, count, zero);
}

Value ShownQueries::mask(ExpansionBuilder &builder, Value scaled, Value t) const {
  auto mask = tile::MaskOp::create(builder, scaled, t, queryCount, diagonal, above);
  if (inPlace)
    mask->setAttr(tile::kFoundInPlace, builder.getUnitAttr());
  return mask;
}

SmallVector<tile::TileCut> ShownQueries::cuts(int64_t rows, bool hasEnd) const {
  // They are counted to the last, and begin with the tile of the first that sees a key of the workgroup, whose last one
  // is seen as many queries later as it has keys, less one.
  SmallVector<tile::TileCut> cuts;
  if (areCut() || hasEnd)
    cuts.push_back({{queryCount, tile::TileSide::Right}, /*within=*/0});
  if (above)
    cuts.push_back({{above, tile::TileSide::Left}, rows - 1});
  return cuts;
}
