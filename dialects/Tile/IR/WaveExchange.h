// What waves of a workgroup hand one another through LDS beside rings.
#pragma once

#include "Tile/IR/Tile.h"

namespace hocket::tile {

/// Bytes of LDS that `op` needs for itself: every number of every lane of all waves.
int64_t ldsBytes(ReduceWavesOp op);

/// The first byte behind all that ops of `kernel` have in LDS; those that have no place yet are
/// left out.
int64_t ldsEnd(KernelOp kernel);

/// An error unless all waves of the workgroup execute `op`, as often as the others do.
mlir::LogicalResult verifyMeetsAllWaves(mlir::Operation *op);

} // namespace hocket::tile
