// What the numbers of Q, K and V count, where that is said beside them (`descale`): f32, one for a KV head of each, or one for
// some rows of Q, some keys, each key or value, or an element of V's heads. And what a number of O is to count
// (`output_scale`).
//
// A wave's rows have one number, which scales its scores as the user's scale does, and so has K's if it is that of a KV head;
// then no number is touched for it in the loop. Blocks of keys, and keys, have theirs multiplied into a tile's scores, values
// into their weights. The output is multiplied by V's, and divided by O's.
#pragma once

#include "KernelFrame.h"
#include "KeySource.h"
#include "LoopContext.h"
#include "WorkPartition.h"

namespace hocket {

class Descales {
public:
  Descales(attn::ForwardOp op, const LoopContext &loop, const SequenceViews &sequences, const KeySource &source)
      : op(op), loop(loop), sequences(sequences), source(source) {}

  void addTensors(KernelFrame &frame) const;
  void bindArguments(const KernelFrame &frame);
  /// From here on keys are those of the workgroup's sequence.
  void enter();
  /// Loads those of the wave's rows and its KV head.
  void find(const WorkPartition &work, mlir::Value kvHead);
  /// `scale`, of the products of numbers as they are stored.
  mlir::Value ofScores(mlir::Value scale) const;
  /// Whether scores of a tile have factors of their own.
  bool areOfKeys() const { return op.getDescaleKeys().has_value(); }
  /// Whether weights of a tile have.
  bool areOfValues() const { return op.getDescaleValues().has_value(); }
  /// Factors of equal parts of a tile's keys: a number of each, or columns of one for each key.
  struct Factors {
    llvm::SmallVector<mlir::Value> scores, weights;
  };
  /// A step that loads the factors of a tile from key `firstKey` on; nothing where there are none.
  Factors loadStep(llvm::function_ref<mlir::Value()> firstKey) const;
  /// The output, of the means of values as they are stored.
  mlir::Value ofOutput(mlir::Value means) const;

private:
  mlir::Value load(mlir::Value view, mlir::ValueRange indices) const;
  mlir::Value ofHead(mlir::Value view) const;
  llvm::SmallVector<mlir::Value> ofBlocks(mlir::Value view, mlir::Value first) const;
  llvm::SmallVector<mlir::Value> ofEachKey(mlir::Value view, mlir::Value first) const;
  mlir::Value inPages(mlir::Value view, tile::FragType part, mlir::Value first) const;

  mutable attn::ForwardOp op;
  const LoopContext &loop;
  const SequenceViews &sequences;
  const KeySource &source;
  mlir::Value q, k, v; ///< the tensors, then the numbers, where there is one of each
  mlir::Value output; ///< the tensor of what a number of O counts
  mlir::Value batch, head; ///< of K and V
};

} // namespace hocket
