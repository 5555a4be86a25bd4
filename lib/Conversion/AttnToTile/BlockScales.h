// Scales of blocks of Q, K and V of 4 bits (`mx`): a power of two for each 32 elements of a row, which the matrix instruction
// multiplies by.
//
// In memory a row has words of four scales, "q_scale" is (batch, heads, seq_q, words), "k_scale" (batch, kv_heads, seq_kv,
// words): lanes, which have rows of Q or keys, load neighbours, and four scales at once. Those of Q are loaded once, those of
// a tile's keys to registers while the tile before is worked on. "v_scale" is (batch, kv_heads, ceil(seq_kv / 128), head_dim_v):
// of an element of V's heads a word has the scales of four blocks of 32 keys.
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
  /// A step that loads those of a tile's keys from `firstKey` on; nothing where there are none.
  llvm::SmallVector<mlir::Value> loadStep(llvm::function_ref<mlir::Value()> firstKey) const;
  /// Of what that loaded, what `tile.mma` multiplies keys and queries by.
  llvm::SmallVector<mlir::Value> ofProduct(mlir::ValueRange loaded) const;

  /// The same of V, one for each 32 keys of an element of its heads.
  llvm::SmallVector<mlir::Value> loadValuesStep(llvm::function_ref<mlir::Value()> firstKey) const;
  /// Of what that loaded, what `tile.mma` multiplies values by.
  mlir::Value ofValues(mlir::ValueRange loaded) const;

private:
  bool areOfValues() const;
  mlir::Value ofHead(mlir::Value view, mlir::Value batch, mlir::Value head) const;
  llvm::SmallVector<mlir::Value> load(mlir::Value view, int64_t rows, mlir::Value row) const;
  mlir::Value scalesOf(mlir::ValueRange words, int64_t rows, int64_t columns, tile::FragLayout layout) const;
  int64_t blocks() const;

  mutable attn::ForwardOp op;
  const LoopContext &loop;
  const SequenceViews &sequences;
  mlir::Value q, k, v; ///< the tensors; then the wave's scales, and those of the head of K and V
};

} // namespace hocket
