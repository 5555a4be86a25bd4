// What the kernels of a backward have in common: their tensors, and where the workspace lies.
//
// The workspace holds two numbers for each row, f32 (batch, heads, seq_q) each: delta = rowsum(dO * O), and LSE in log2
// units, +inf of rows that saw nothing, so that all their weights are zero.
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
  /// "delta", "log_sum": names of the row statistics.
  static constexpr llvm::StringLiteral kDelta = "delta", kLogSum = "log_sum";

  KernelFrame &kernelFrame() { return frame; }

private:
  attn::BackwardOp op;
  KernelFrame frame;
};

/// The kernel of the part `delta`.
mlir::FailureOr<tile::KernelOp> buildBackwardRows(attn::BackwardOp op, const ArchInfo &arch);

} // namespace hocket
