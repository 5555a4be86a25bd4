// What the producer and the combine kernel of split KV have in common: where partial results lie.
//
// The workspace holds O of every slice, f32, as [batch, slice, head, row, element], then the LSE of
// every slice as [batch, slice, head, row]. Batch and slice are one dimension of the views.
#pragma once

#include "KernelFrame.h"

#include "Attn/IR/Attn.h"

namespace hocket {

/// Bytes of the workspace, a manifest expression.
inline constexpr llvm::StringLiteral kPartialBytes =
    "4 * batch * num_splits * heads * seq_q * (head_dim_v + 1)";

/// O of the slices, (batch and slice, row, head, element), and their LSE, (batch and slice, head,
/// row).
Tensor partialTensor();
Tensor partialLseTensor();

/// Replaces `op` by a kernel.
mlir::LogicalResult expandCombine(attn::CombineOp op, llvm::StringRef target);

} // namespace hocket
