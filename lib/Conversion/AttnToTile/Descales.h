// What the numbers of Q, K and V count, where that is said beside them (`descale`): f32, one for a KV head of each, or one for
// some rows of Q, some keys, or an element of V's heads.
//
// A wave's rows have one number, which scales its scores as the user's scale does, and so has K's if it is that of a KV head;
// then no number is touched for it in the loop. Blocks of keys have theirs multiplied into a tile's scores. The output is
// multiplied by V's.
#pragma once

#include "KernelFrame.h"
#include "LoopContext.h"
#include "WorkPartition.h"

namespace hocket {

class Descales {
public:
  Descales(attn::ForwardOp op, const LoopContext &loop) : op(op), loop(loop) {}

  void addTensors(KernelFrame &frame) const;
  void bindArguments(const KernelFrame &frame);
  /// Loads those of the wave's rows and its KV head.
  void find(const WorkPartition &work, mlir::Value kvHead);
  /// `scale`, of the products of numbers as they are stored.
  mlir::Value ofScores(mlir::Value scale) const;
  /// Whether scores of a tile have factors of their own.
  bool areOfKeys() const { return op.getDescaleKeys().has_value(); }
  /// Loads the factors of a tile's scores from key `first` on: of equal parts of its keys.
  llvm::SmallVector<mlir::Value> ofTile(mlir::Value first) const;
  /// The output, of the means of values as they are stored.
  mlir::Value ofOutput(mlir::Value means) const;

private:
  mlir::Value load(mlir::Value view, mlir::ValueRange indices) const;

  mutable attn::ForwardOp op;
  const LoopContext &loop;
  mlir::Value q, k, v; ///< the tensors, then the numbers, where there is one of each
  mlir::Value batch, head; ///< of K and V
};

} // namespace hocket
