// Which tiles of keys a workgroup visits.
#include "VisitedTiles.h"

#include "FoldedArithmetic.h"

using namespace mlir;
using namespace hocket;
using arith::CmpIPredicate;

namespace {
/// [begin, end); an empty one begins behind all others and ends at 0.
struct TileRange {
  Value begin, end;
};
} // namespace

static constexpr int64_t kBehindAll = int64_t(1) << 30;

/// Tiles [begin, end) that hold a key of `range`, in `keys` keys.
static TileRange tilesOf(ExpansionBuilder &builder, const KeyBounds &range, Value keys, int64_t kvTile) {
  Value zero = builder.constant(int64_t(0)), size = builder.constant(kvTile);
  auto within = [&](Value key) { return make<arith::MinSIOp>(builder, make<arith::MaxSIOp>(builder, key, zero), keys); };
  Value lo = range.lo ? within(range.lo) : zero;
  Value hi = range.hi ? within(range.hi) : keys;
  Value begin = make<arith::DivUIOp>(builder, lo, size);
  Value end = make<arith::DivUIOp>(builder, make<arith::AddIOp>(builder, hi, builder.constant(kvTile - 1)), size);
  Value any = compare(builder, CmpIPredicate::slt, lo, hi);
  return {choose(builder, any, begin, builder.constant(kBehindAll)), choose(builder, any, end, zero)};
}

/// By their begins; empty ones come last.
static void sortByBegin(ExpansionBuilder &builder, MutableArrayRef<TileRange> ranges) {
  for (size_t last = ranges.size(); last > 1; --last)
    for (size_t i = 0; i + 1 != last; ++i) {
      TileRange &a = ranges[i], &b = ranges[i + 1];
      Value swaps = compare(builder, CmpIPredicate::slt, b.begin, a.begin);
      TileRange front = {choose(builder, swaps, b.begin, a.begin), choose(builder, swaps, b.end, a.end)};
      b = {choose(builder, swaps, a.begin, b.begin), choose(builder, swaps, a.end, b.end)};
      a = front;
    }
}

/// A tile's number takes a comparison for each of them but the first, in each turn of the loop.
static constexpr size_t kMaxTileRanges = 4;

/// Of sorted ranges with more than these, the last ones become one.
static void joinLast(ExpansionBuilder &builder, SmallVector<TileRange> &ranges) {
  while (ranges.size() > kMaxTileRanges) {
    Value end = ranges.pop_back_val().end;
    TileRange &last = ranges[kMaxTileRanges - 1];
    last.end = make<arith::MaxSIOp>(builder, last.end, end);
  }
}

VisitedTiles hocket::visitTiles(ExpansionBuilder &builder, ArrayRef<KeyBounds> ranges, Value keys, int64_t kvTile) {
  SmallVector<TileRange> tiles;
  for (const KeyBounds &range : ranges)
    tiles.push_back(tilesOf(builder, range, keys, kvTile));
  sortByBegin(builder, tiles);
  joinLast(builder, tiles);
  Value zero = builder.constant(int64_t(0)), behind = builder.constant(kBehindAll);
  Value begin = tiles.front().begin, end = tiles.front().end, left = zero;
  VisitedTiles visited;
  for (const TileRange &next : ArrayRef(tiles).drop_front()) {
    Value isThere = compare(builder, CmpIPredicate::slt, next.begin, behind);
    Value gap = make<arith::MaxSIOp>(builder, make<arith::SubIOp>(builder, next.begin, end), zero);
    gap = choose(builder, isThere, gap, zero);
    Value before = make<arith::SubIOp>(builder, make<arith::SubIOp>(builder, end, begin), left);
    visited.jumps.push_back({before, gap});
    left = make<arith::AddIOp>(builder, left, gap);
    end = make<arith::MaxSIOp>(builder, end, next.end);
  }
  visited.first = choose(builder, compare(builder, CmpIPredicate::slt, begin, behind), begin, zero);
  Value count = make<arith::SubIOp>(builder, make<arith::SubIOp>(builder, end, begin), left);
  visited.count = make<arith::MaxSIOp>(builder, count, zero);
  return visited;
}

void VisitedTiles::skip(ExpansionBuilder &builder, Value tiles) { skipped = tiles; }

Value VisitedTiles::numberOf(ExpansionBuilder &builder, Value t) const {
  if (skipped)
    t = make<arith::AddIOp>(builder, t, skipped);
  Value number = t;
  for (const Jump &jump : jumps) {
    Value isBehind = compare(builder, CmpIPredicate::sge, t, jump.after);
    Value by = choose(builder, isBehind, jump.by, builder.constant(int64_t(0)));
    number = make<arith::AddIOp>(builder, number, by);
  }
  return number;
}
