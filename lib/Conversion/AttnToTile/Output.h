// Where the results of a forward go: whole rows of O and LSE, a slice's part to the workspace, or whichever of the two an
// entry of a work list says. To add a place, derive from `Output` and let `create` choose it.
#pragma once

#include "SequenceViews.h"
#include "WorkPartition.h"

namespace hocket {

class Output {
public:
  static std::unique_ptr<Output> create(attn::ForwardOp op);
  virtual ~Output() = default;

  virtual void addArguments(KernelFrame &frame, const SequenceViews &sequences) const = 0;
  virtual void bindArguments(const KernelFrame &frame) = 0;
  /// From here on views are of the sequence that `sequences` has entered.
  virtual void enter(ExpansionBuilder &builder, const SequenceViews &sequences) {}
  /// A view with a batch for each place in the grid that results have; null: that of Q.
  virtual mlir::Value grid() const { return {}; }
  /// Stores the rows of `output`; `logSum` emits their log-sum-exp.
  virtual void store(ExpansionBuilder &builder, const WorkPartition &work, mlir::Value output,
                     llvm::function_ref<mlir::Value()> logSum) const = 0;
};

} // namespace hocket
