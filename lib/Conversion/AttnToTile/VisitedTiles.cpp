// Which tiles of keys a workgroup visits.
#include "VisitedTiles.h"

using namespace mlir;
using namespace hocket;

namespace {
struct TileRange {
  Value begin, end;
};
} // namespace

static Value select(ExpansionBuilder &builder, Value condition, Value a, Value b) {
  return arith::SelectOp::create(builder, condition, a, b);
}

/// Tiles [begin, end) that hold a key of `range`; of none `end` is `begin`.
static TileRange tilesOf(ExpansionBuilder &builder, const KeyBounds &range, Value keys,
                         int64_t kvTile) {
  Value zero = builder.constant(int64_t(0)), size = builder.constant(kvTile);
  auto within = [&](Value key) {
    return arith::MinSIOp::create(builder, arith::MaxSIOp::create(builder, key, zero), keys);
  };
  Value lo = range.lo ? Value(within(range.lo)) : zero;
  Value hi = range.hi ? Value(within(range.hi)) : keys;
  Value begin = arith::DivUIOp::create(builder, lo, size);
  Value roundedUp = arith::AddIOp::create(builder, hi, builder.constant(kvTile - 1));
  Value end = arith::DivUIOp::create(builder, roundedUp, size);
  Value any = arith::CmpIOp::create(builder, arith::CmpIPredicate::slt, lo, hi);
  return {begin, select(builder, any, end, begin)};
}

VisitedTiles hocket::visitTiles(ExpansionBuilder &builder, ArrayRef<KeyBounds> ranges, Value keys,
                                int64_t kvTile, bool isSingle) {
  TileRange a = tilesOf(builder, ranges.front(), keys, kvTile);
  if (ranges.size() == 1)
    return {a.begin, arith::SubIOp::create(builder, a.end, a.begin), {}, {}};
  TileRange b = tilesOf(builder, ranges.back(), keys, kvTile);
  auto compare = [&](arith::CmpIPredicate predicate, Value x, Value y) -> Value {
    return arith::CmpIOp::create(builder, predicate, x, y);
  };
  // The one that begins first first; an empty one has no say.
  Value isEmpty = compare(arith::CmpIPredicate::eq, a.begin, a.end);
  Value otherEmpty = compare(arith::CmpIPredicate::eq, b.begin, b.end);
  Value isLater = compare(arith::CmpIPredicate::slt, b.begin, a.begin);
  Value never = arith::ConstantOp::create(builder, builder.getBoolAttr(false));
  Value swaps = arith::OrIOp::create(builder, isEmpty, select(builder, otherEmpty, never, isLater));
  TileRange front = {select(builder, swaps, b.begin, a.begin), select(builder, swaps, b.end, a.end)};
  TileRange back = {select(builder, swaps, a.begin, b.begin), select(builder, swaps, a.end, b.end)};
  Value backEmpty = compare(arith::CmpIPredicate::eq, back.begin, back.end);
  // An empty second one begins where the first ends.
  back = {select(builder, backEmpty, front.end, back.begin),
          select(builder, backEmpty, front.end, back.end)};
  Value last = arith::MaxSIOp::create(builder, front.end, back.end);
  if (isSingle)
    return {front.begin, arith::SubIOp::create(builder, last, front.begin), {}, {}};
  Value gap = arith::MaxSIOp::create(
      builder, arith::SubIOp::create(builder, back.begin, front.end), builder.constant(int64_t(0)));
  Value length = arith::SubIOp::create(builder, last, front.begin);
  return {front.begin, arith::SubIOp::create(builder, length, gap), gap,
          arith::SubIOp::create(builder, front.end, front.begin)};
}
