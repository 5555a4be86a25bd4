// What the numbers of Q, K and V count, where that is said beside them (`descale`): f32 (batch, kv_heads) of each.
//
// Scores are scaled by the product of two of them, the output by the third: no number is touched for it in the loop.
#pragma once

#include "ExpansionBuilder.h"
#include "KernelFrame.h"

namespace hocket {

class Descales {
public:
  explicit Descales(bool areThere) : areThere(areThere) {}

  void addTensors(KernelFrame &frame) const;
  void bindArguments(const KernelFrame &frame);
  /// Loads those of a KV head of a sequence.
  void find(ExpansionBuilder &builder, mlir::Value batch, mlir::Value kvHead);
  /// `scale`, of the products of numbers as they are stored.
  mlir::Value ofScores(ExpansionBuilder &builder, mlir::Value scale) const;
  /// The output, of the means of values as they are stored.
  mlir::Value ofOutput(ExpansionBuilder &builder, mlir::Value means) const;

private:
  bool areThere;
  mlir::Value q, k, v; ///< the tensors, then the numbers
};

} // namespace hocket
