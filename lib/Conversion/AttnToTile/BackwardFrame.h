// What the kernels of a backward have in common: their tensors, and where the workspace lies.
//
// The workspace holds two numbers for each row, f32 (batch, heads, 2, seq_q), of packed queries (heads, 2, total_q): LSE in
// log2 units, +inf of rows that saw nothing, so that all their weights are zero, and -delta, where delta = rowsum(dO * O),
// less the gradient of LSE where there is one: what a product can begin with.
#pragma once

#include "KernelFrame.h"
#include "SequenceViews.h"
#include "Visibility.h"

#include "Attn/IR/Attn.h"

namespace hocket {

/// What dropped weights leave to be multiplied when gradients are stored, as an argument.
inline constexpr llvm::StringLiteral kOneOfKept = "1 / dropout_keep";
/// The same of dQ and dK, which are scaled, too.
inline constexpr llvm::StringLiteral kScaleOfKept = "scale / dropout_keep";

class BackwardFrame {
public:
  explicit BackwardFrame(attn::BackwardOp op) : op(op), frame(op.getContext()), ofSequences(op) {}

  /// Tensors of rows of heads: "q", "o", "do", "dq" on the side of queries, "k", "v", "dk", "dv" on that of keys.
  void addTensors(llvm::ArrayRef<llvm::StringRef> names);
  /// What parts of a group's heads make of "dk" or "dv", f32, with as many heads as there are parts of KV heads.
  void addParts(llvm::ArrayRef<llvm::StringRef> names);
  static llvm::StringRef nameOfParts(llvm::StringRef gradient) { return gradient == "dk" ? "parts_dk" : "parts_dv"; }
  /// Numbers of rows as they are given: "lse", or its gradient, "dlse".
  void addLse(llvm::StringRef name = "lse");
  /// What the first kernel leaves in the workspace.
  void addRowStatistics();
  /// Where sequences lie, if they have lengths of their own; `ofKeys`: the grid's rows are keys.
  void addSequences(bool ofKeys);
  /// What all parts ask of a problem.
  void addRequirements();

  /// Reads where sequence `batch` lies.
  void enterSequence(ExpansionBuilder &builder, mlir::Value batch);
  /// The sequence's rows of what `addTensors`, `addLse` and `addRowStatistics` asked for; null: it was not.
  mlir::Value view(ExpansionBuilder &builder, llvm::StringRef name) const;
  mlir::Value lse(ExpansionBuilder &builder, llvm::StringRef name = "lse") const;
  mlir::Value rowStatistics(ExpansionBuilder &builder) const;

  /// What they are called, and where each is along their third dimension.
  static constexpr llvm::StringLiteral kStatistics = "row_statistics";
  static constexpr int64_t kMinusLogSum = 0, kMinusDelta = 1;

  KernelFrame &kernelFrame() { return frame; }
  const SequenceViews &sequences() const { return ofSequences; }

private:
  attn::BackwardOp op;
  KernelFrame frame;
  SequenceViews ofSequences;
};

/// The kernel of the part `delta`.
tile::KernelOp buildBackwardRows(attn::BackwardOp op, const ArchInfo &arch);
/// The kernel of the part `sum`.
tile::KernelOp buildPartSums(attn::BackwardOp op, const ArchInfo &arch);
/// The kernel of the part `sink`.
tile::KernelOp buildBackwardSink(attn::BackwardOp op, const ArchInfo &arch);

} // namespace hocket
