// Checks of a kernel's body as a whole. Private to the dialect.
#pragma once

#include "Tile/IR/Tile.h"

namespace hocket::tile {

/// An error at the first upstream op that may not stand in `kernel` (docs/Memory.md
/// says which may).
mlir::LogicalResult verifyUpstreamOps(KernelOp kernel);

/// An error if waves write over one another or over another workgroup's rows or columns, or leave
/// some of their own unwritten. Places that are not the block's, a wave's within it, or a constant
/// further on are not followed.
mlir::LogicalResult verifyWrittenBlocks(KernelOp kernel);

/// What an op writes of `view` along one of its dimensions: `size` from `place` (i32) on.
struct WrittenPlace {
  mlir::Value view, place;
  int64_t dimension = 0, size = 0;
};

/// What `op` writes along the dimensions that its shape extends along; empty for ops that write no
/// view, or add to what is there.
llvm::SmallVector<WrittenPlace> writtenPlaces(mlir::Operation *op);

} // namespace hocket::tile
