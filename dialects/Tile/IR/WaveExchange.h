// What waves of a workgroup hand one another through LDS beside rings.
#pragma once

#include "Tile/IR/Tile.h"

namespace hocket::tile {

/// What LDS accesses of 16 bytes want; nothing beside rings needs more.
inline constexpr int64_t kScratchAlignment = 16;

/// The first byte behind all that ops of `kernel` have in LDS; those that have no place yet are
/// left out.
int64_t ldsEnd(KernelOp kernel);

/// An error unless all waves of the workgroup execute `op`, as often as the others do.
mlir::LogicalResult verifyMeetsAllWaves(mlir::Operation *op);

/// How many times waves exchange registers in it: they meet in between, and before the reads of each.
int64_t exchangesOf(ReduceWavesOp reduction);

} // namespace hocket::tile
