// The tiles of keys that lists name.
#include "BlockLists.h"
#include "KeyVisit.h"

using namespace mlir;
using namespace hocket;

namespace {
class ListedVisit : public KeyVisit {
public:
  ListedVisit(attn::ForwardOp op, FlatSymbolRefAttr schedule, const LoopContext &loop, ForwardScores &scores,
              KeySource &source)
      : KeyVisit(op, loop, scores, source), schedule(schedule),
        lists(*op.getQueryBlock(), *op.getKeyBlock(), loop.shape.kvTile) {
    order = std::make_unique<ListedTiles>(lists);
  }

  void addArguments(KernelFrame &frame) const override { lists.addArguments(frame); }
  void bindArguments(const KernelFrame &frame) override { lists.bindArguments(frame); }
  bool ordersRows() const override;
  void takeRow(WorkPartition &work) const override;
  void find(const WorkPartition &work, Value q) override {
    Value keys = source.count();
    scores.prepare(work, q, keys);
    found = lists.prepare(loop.builder, work.batch, work.head, work.blockRow, keys);
    if (!work.isSplit())
      return;
    // A slice has some of the tiles that lists name, wherever they lie.
    WorkPartition::Slice slice = work.sliceOf(loop.builder, Value(), found);
    lists.skip(slice.firstTile);
    found = slice.tiles;
  }
  Value count(const WorkPartition &, Value) override { return found; }
  /// Any tile may be cut.
  SmallVector<tile::TileCut> cuts() const override { return {}; }

private:
  int64_t rows() const { return WorkPartition::queriesOfBlock(loop.shape.waves, /*groupRows=*/false); }

  FlatSymbolRefAttr schedule;
  BlockLists lists;
  Value found;
};
} // namespace

/// Where each block of rows has a workgroup.
bool ListedVisit::ordersRows() const {
  attn::ForwardOp of = op;
  return of.getBlockOrder() != attn::BlockOrder::Linear && static_cast<int64_t>(*of.getQueryBlock()) == rows();
}

void ListedVisit::takeRow(WorkPartition &work) const {
  attn::ForwardOp of = op;
  auto found = SymbolTable::lookupNearestSymbolFrom<tile::ScheduleOp>(of, schedule);
  int64_t ofUnit = of.getWorkgroups().value_or(found ? found.getWorkgroups().value_or(1) : 1);
  int64_t resident = static_cast<int64_t>(loop.arch.chip.computeUnits) * ofUnit;
  ListedOrder order(lists.blockCounts(loop.builder), rows(), resident);
  work.moveToRow(loop.builder, order.rowInstead(loop.builder, work.batch, work.head, work.blockRow));
}

std::unique_ptr<KeyVisit> hocket::createListedVisit(attn::ForwardOp op, FlatSymbolRefAttr schedule,
                                                    const LoopContext &loop, ForwardScores &scores, KeySource &source) {
  return std::make_unique<ListedVisit>(op, schedule, loop, scores, source);
}
