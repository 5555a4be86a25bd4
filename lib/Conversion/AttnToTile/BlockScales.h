// Scales of blocks of Q and K (`mx_scales`): a power of two for each 32 elements of a row, which the matrix instruction
// multiplies by.
//
// In memory a head has a row of scales for each block of 32, so that lanes, which have rows of Q or keys, load neighbours:
// "q_scale" is (batch, heads, head_dim / 32, seq_q), "k_scale" (batch, kv_heads, head_dim / 32, seq_kv). Those of Q are
// loaded once, those of a tile's keys to registers while the tile before is worked on. Beyond the last key they may be any:
// its numbers are zero and its score is hidden.
#pragma once

#include "KernelFrame.h"
#include "LoopContext.h"
#include "SequenceViews.h"
#include "WorkPartition.h"

namespace hocket {

class BlockScales {
public:
  BlockScales(attn::ForwardOp op, const LoopContext &loop, const SequenceViews &sequences)
      : op(op), loop(loop), sequences(sequences) {}

  void addTensors(KernelFrame &frame) const;
  void bindArguments(const KernelFrame &frame);
  /// From here on rows are those of the workgroup's sequence.
  void enter();
  /// Loads those of the wave's rows of Q.
  void find(const WorkPartition &work, mlir::Value kvHead);
  /// In a step, loads those of a tile's keys from `firstKey` on. Returns what `tile.mma` multiplies keys and queries by;
  /// nothing where there are none.
  llvm::SmallVector<mlir::Value> steps(llvm::function_ref<mlir::Value()> firstKey) const;

private:
  mlir::Value load(mlir::Type type, mlir::Value view, mlir::Value batch, mlir::Value head, mlir::Value row) const;
  mlir::Type fragment(int64_t rows, int64_t columns, tile::FragLayout layout) const;
  int64_t blocks() const;

  mutable attn::ForwardOp op;
  const LoopContext &loop;
  const SequenceViews &sequences;
  mlir::Value q, k;        ///< the tensors; `q`, then the wave's
  mlir::Value batch, head; ///< of K
};

} // namespace hocket
