// The tiles of keys that masks leave, in ranges.
#include "KeyVisit.h"
#include "VisitedTiles.h"

using namespace mlir;
using namespace hocket;

namespace {
class RangesVisit : public KeyVisit {
public:
  using KeyVisit::KeyVisit;

  void find(const WorkPartition &work, Value q) override;
  Value count(const WorkPartition &work, Value) override {
    scores.masks.range.prepareMasks(loop.builder, work.row);
    return found;
  }
  SmallVector<Value> seen() const override { return ofWave; }

private:
  VisitedTiles visit(ArrayRef<KeyBounds> seen, Value end, Value keys);

  Value found;
  SmallVector<Value> ofWave;
};
} // namespace

/// The tiles of the keys `seen` that lie in front of `end`.
VisitedTiles RangesVisit::visit(ArrayRef<KeyBounds> seen, Value end, Value keys) {
  SmallVector<KeyBounds> ranges(seen);
  for (KeyBounds &range : ranges)
    range.hi = range.hi ? arith::MinSIOp::create(loop.builder, range.hi, end).getResult() : end;
  return visitTiles(loop.builder, ranges, keys, loop.shape.kvTile);
}

void RangesVisit::find(const WorkPartition &work, Value q) {
  ExpansionBuilder &builder = loop.builder;
  Value keys = source.count();
  scores.prepare(work, q, keys);
  SmallVector<KeyBounds> ofBlock = scores.visibleTo(work);
  VisitedTiles visited = visit(ofBlock, endOfKeys(work, q), keys);
  bool isOne = visited.jumps.empty();
  if (work.isSplit() && isOne) {
    WorkPartition::Slice slice = work.sliceOf(builder, visited.first, visited.count);
    scores.moveTo(slice.firstKey);
    moveTo(slice);
    found = work.tilesUpTo(builder, scores.masks.range.keyCount());
    return;
  }
  if (work.isSplit()) {
    // A slice has some of the tiles that are visited, wherever they lie.
    WorkPartition::Slice slice = work.sliceOf(builder, Value(), visited.count);
    visited.skip(builder, slice.firstTile);
    visited.count = slice.tiles;
  }
  // Where the block's range is one, so is the wave's.
  if (isOne && scores.masks.any()) {
    SmallVector<KeyBounds> seen = scores.visibleToWave();
    VisitedTiles own = visit(seen, endOfKeys(work, q), keys);
    Value first = arith::SubIOp::create(builder, own.first, visited.first);
    ofWave = {first, arith::AddIOp::create(builder, first, own.count)};
  }
  Value firstKey = arith::MulIOp::create(builder, visited.first, builder.constant(loop.shape.kvTile));
  scores.moveTo(firstKey);
  moveTo({visited.first, firstKey, keys});
  found = visited.count;
  order = std::make_unique<RangedTiles>(visited);
}

std::unique_ptr<KeyVisit> hocket::createRangesVisit(attn::ForwardOp op, const LoopContext &loop, ForwardScores &scores,
                                                    KeySource &source) {
  return std::make_unique<RangesVisit>(op, loop, scores, source);
}
