// Which tiles of keys a workgroup of a forward visits: all up to the last key that a row sees, those that masks leave, or
// those that lists name. To add a way, derive from `KeyVisit` and let `create` choose it.
#pragma once

#include "ForwardScores.h"
#include "KeySource.h"
#include "TileVisit.h"
#include "WorkPartition.h"

namespace hocket {

class KeyVisit {
public:
  static std::unique_ptr<KeyVisit> create(attn::ForwardOp op, mlir::FlatSymbolRefAttr schedule, const LoopContext &loop,
                                          ForwardScores &scores, KeySource &source);
  KeyVisit(attn::ForwardOp op, const LoopContext &loop, ForwardScores &scores, KeySource &source)
      : op(op), loop(loop), scores(scores), source(source), order(std::make_unique<TileVisit>()) {}
  virtual ~KeyVisit() = default;

  virtual void addArguments(KernelFrame &frame) const {}
  virtual void bindArguments(const KernelFrame &frame) {}
  /// Whether it says which block of rows starts first, and moves `work` to the block that comes next.
  virtual bool ordersRows() const { return false; }
  virtual void takeRow(WorkPartition &work) const {}

  /// Emits what narrows the keys to those that are visited. From here on those of the source begin with the first.
  virtual void find(const WorkPartition &work, mlir::Value q) = 0;
  /// How many tiles are visited; emitted after the load of Q.
  virtual mlir::Value count(const WorkPartition &work, mlir::Value q) = 0;
  /// What the loop knows of the tiles in which masks cut.
  virtual llvm::SmallVector<tile::TileCut> cuts() const { return scores.masks.range.cuts(); }
  /// Of what is visited, the first tile that the wave sees, and behind the last; empty: not known.
  virtual llvm::SmallVector<mlir::Value> seen() const { return {}; }

  TileVisit &tiles() { return *order; }

protected:
  /// Behind the last key that some row of the workgroup sees; 0 where its sequence has no such rows.
  mlir::Value endOfKeys(const WorkPartition &work, mlir::Value q);
  /// Leaves of the keys those of `slice`.
  void moveTo(const WorkPartition::Slice &slice);

  attn::ForwardOp op;
  const LoopContext &loop;
  ForwardScores &scores;
  KeySource &source;
  std::unique_ptr<TileVisit> order;
};

/// The tiles that masks leave, in ranges; positions count.
std::unique_ptr<KeyVisit> createRangesVisit(attn::ForwardOp op, const LoopContext &loop, ForwardScores &scores,
                                            KeySource &source);
/// The tiles that lists name.
std::unique_ptr<KeyVisit> createListedVisit(attn::ForwardOp op, mlir::FlatSymbolRefAttr schedule, const LoopContext &loop,
                                            ForwardScores &scores, KeySource &source);

} // namespace hocket
