// What the kernels of a backward have in common: their tensors, and where the workspace lies.
//
// The workspace holds two numbers for each row, f32 (batch, heads, 2, seq_q): LSE in log2 units, +inf of rows that saw
// nothing, so that all their weights are zero, and delta = rowsum(dO * O).
#pragma once

#include "KernelFrame.h"
#include "Visibility.h"

#include "Attn/IR/Attn.h"

namespace hocket {

class BackwardFrame {
public:
  explicit BackwardFrame(attn::BackwardOp op) : op(op), frame(op.getContext()) {}

  /// Tensors of rows of heads: "q", "o", "do", "dq" on the side of queries, "k", "v", "dk", "dv" on that of keys.
  void addTensors(llvm::ArrayRef<llvm::StringRef> names);
  /// LSE as it is given.
  void addLse();
  /// What the first kernel leaves in the workspace.
  void addRowStatistics();
  /// What all parts ask of a problem.
  void addRequirements();
  /// What they are called, and where each is along their third dimension.
  static constexpr llvm::StringLiteral kStatistics = "row_statistics";
  static constexpr int64_t kLogSum = 0, kDelta = 1;

  KernelFrame &kernelFrame() { return frame; }

private:
  attn::BackwardOp op;
  KernelFrame frame;
};

/// The kernel of the part `delta`.
mlir::FailureOr<tile::KernelOp> buildBackwardRows(attn::BackwardOp op, const ArchInfo &arch);

} // namespace hocket
