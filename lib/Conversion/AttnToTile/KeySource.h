// Where the keys and values of a workgroup come from: which tensors hold them, the rings that their tiles go through, and
// the steps that fetch a tile. This one is for tensors in which a sequence's rows follow one another, of one length or
// packed; PagedKeys.cpp has the one for pages. To add a source, derive from `KeySource` and let `create` choose it.
#pragma once

#include "LoopContext.h"
#include "SequenceViews.h"
#include "TileVisit.h"
#include "WorkPartition.h"

namespace hocket {

class KeySource {
public:
  static std::unique_ptr<KeySource> create(attn::ForwardOp op, const LoopContext &loop, SequenceViews &sequences);
  KeySource(attn::ForwardOp op, const LoopContext &loop, SequenceViews &sequences);
  virtual ~KeySource() = default;

  bool hasOwnLengths() const { return sequences.hasOwnLengths(); }
  /// K and V as tensors of the kernel; and what else it takes to find them.
  void addTensors(KernelFrame &frame) const;
  virtual void addArguments(KernelFrame &frame) const {}
  void bindArguments(const KernelFrame &frame) { k = frame.argument("k"), v = frame.argument("v"); }

  /// Where sequence `batch`, which `sequences` has entered, has its keys; and from here on keys are its own.
  virtual void find(const KernelFrame &frame, mlir::Value batch) {}
  virtual void enter();
  /// The numbers of the sequence's pages; null where keys are not in pages.
  virtual mlir::Value pageTable() const { return {}; }
  /// How many there are.
  virtual mlir::Value count() const;
  /// Leaves of them those of `slice`; returns how many.
  virtual mlir::Value moveTo(const WorkPartition::Slice &slice);
  /// The rings of `kvHead`, after which nothing moves.
  void makeRings(mlir::Value batch, mlir::Value kvHead);

  /// What the loop carries of the tiles to come: before the first one, and, for the next, what the steps that fetch tile
  /// `t` of `visit` give. `ahead` is what is carried.
  virtual llvm::SmallVector<mlir::Value> first(const TileVisit &visit) { return visit.first(loop.builder); }
  virtual llvm::SmallVector<mlir::Value> fetchSteps(const TileVisit &visit, mlir::Value t, mlir::ValueRange ahead);
  /// Emitted after the loop, with what it carried last.
  virtual void leave(mlir::ValueRange ahead) {}

  // In steps: tile `t` as operands of the products.
  mlir::Value readKeys(mlir::Value t);
  virtual mlir::Value readValues(const TileVisit &visit, mlir::Value t, mlir::Value keyCount);
  /// Columns of O side by side in a lane: as many as it stores at a time, where reads of V can have them in that order.
  virtual int64_t outputRun() const;

  mlir::Value k, v; ///< views of the sequence's
  int64_t headDim, headDimV, depth, depthV; ///< elements of heads, and in whole blocks, where others are zero

protected:
  virtual Tensor tensor(const KernelFrame &frame, llvm::StringRef name) const { return sequences.tensor(frame, name); }
  virtual mlir::Value ring(mlir::Type type, mlir::Value view, mlir::ValueRange indices) const;
  mlir::Value widened(mlir::Value read) const;

  const LoopContext &loop;
  SequenceViews &sequences;
  mlir::Value keys, values; ///< rings
};

/// K and V in pages.
std::unique_ptr<KeySource> createPagedKeys(attn::ForwardOp op, const LoopContext &loop, SequenceViews &sequences);

} // namespace hocket
