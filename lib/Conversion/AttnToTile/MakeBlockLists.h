// attn.block_lists -> tile: a kernel that looks at every element of a mask and lists the blocks that it shows.
// attn.transposed_lists -> tile: a kernel that lists blocks of queries by what lists of blocks of keys say.
#pragma once

#include "Attn/IR/Attn.h"

namespace hocket {

/// Writes the kernel for `target` in the place of `op`.
mlir::LogicalResult expandBlockLists(attn::BlockListsOp op, llvm::StringRef target);
mlir::LogicalResult expandTransposedLists(attn::TransposedListsOp op, llvm::StringRef target);

} // namespace hocket
