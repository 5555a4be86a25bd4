// All tiles of keys up to the last one that a row sees.
#include "KeyVisit.h"

using namespace mlir;
using namespace hocket;

Value KeyVisit::endOfKeys(const WorkPartition &work, Value q) {
  Value end = scores.masks.range.end(loop.builder, work.blockRow);
  if (!source.hasOwnLengths() && !op.getWorkList())
    return end;
  return work.unlessBehind(loop.builder, tile::DimOp::create(loop.builder, q, 1), end);
}

void KeyVisit::moveTo(const WorkPartition::Slice &slice) {
  scores.masks.range.moveTo(loop.builder, slice.firstKey, source.moveTo(slice));
}

namespace {
class RangeVisit : public KeyVisit {
public:
  using KeyVisit::KeyVisit;

  void find(const WorkPartition &work, Value q) override {
    if (!work.isSplit())
      return;
    scores.masks.range.measure(loop.builder, q, source.count());
    moveTo(work.sliceOf(loop.builder, Value(), work.tilesUpTo(loop.builder, endOfKeys(work, q))));
  }

  Value count(const WorkPartition &work, Value q) override {
    if (!work.isSplit())
      scores.masks.range.measure(loop.builder, q, source.count());
    scores.masks.range.prepareMasks(loop.builder, work.row);
    return work.tilesUpTo(loop.builder, endOfKeys(work, q));
  }
};
} // namespace

std::unique_ptr<KeyVisit> KeyVisit::create(attn::ForwardOp op, FlatSymbolRefAttr schedule, const LoopContext &loop,
                                           ForwardScores &scores, KeySource &source) {
  if (op.getKeyBlock())
    return createListedVisit(op, schedule, loop, scores, source);
  if (scores.areModified())
    return createRangesVisit(op, loop, scores, source);
  return std::make_unique<RangeVisit>(op, loop, scores, source);
}
