// attn.work_list -> tile: a kernel that makes lists of work from lengths in device memory.
#pragma once

#include "Attn/IR/Attn.h"

namespace hocket {

/// Replaces `op` by a kernel.
mlir::LogicalResult expandWorkList(attn::WorkListOp op, llvm::StringRef target);

} // namespace hocket
