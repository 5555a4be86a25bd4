// Dropout: which weights meet V.
#pragma once

#include "ExpansionBuilder.h"
#include "KernelFrame.h"

namespace hocket {

/// What a kernel with dropout takes: "dropout_threshold", "dropout_keep", "dropout_seed", "dropout_offset" and the
/// tensor "dropout_state".
void addDropoutArguments(KernelFrame &frame);

class Dropout {
public:
  /// With the arguments of the kernel that `frame` has created.
  explicit Dropout(const KernelFrame &frame);

  /// In front of the loop: the seed, and the offset of a head of `q`.
  void prepare(ExpansionBuilder &builder, mlir::Value q, mlir::Value batch, mlir::Value head);
  /// `weights`, a fragment (f32) whose first element is that of query `row` and key `key`, multiples of 32, with
  /// those that are dropped zero.
  mlir::Value keep(ExpansionBuilder &builder, mlir::Value weights, mlir::Value row, mlir::Value key) const;
  /// The same twice, where queries are the fragment's rows or, `transposed`, its columns: with those that are dropped
  /// zero, and with those that are dropped negative.
  std::pair<mlir::Value, mlir::Value> keepAndMark(ExpansionBuilder &builder, mlir::Value weights, mlir::Value query,
                                                  mlir::Value key, bool transposed) const;
  /// `sum` (rows) times the share of the weights that is kept.
  mlir::Value shareOf(ExpansionBuilder &builder, mlir::Value sum) const;

private:
  /// What `element` makes of whether a weight is kept, and of the weight.
  using Element = llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value kept, mlir::Value weight)>;
  mlir::ResultRange map(ExpansionBuilder &builder, mlir::Value weights, mlir::Value query, mlir::Value key,
                        bool transposed, unsigned results, Element element) const;

  mlir::Value threshold, share, seed, offset, state;
};

} // namespace hocket
