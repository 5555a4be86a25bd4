// What a cluster's branches leave without a matrix instruction above it.
#pragma once

#include "Tile/IR/Interleave.h"

#include "mlir/IR/Operation.h"

#include "llvm/ADT/SmallVector.h"

namespace hocket::scheduling {

/// A cluster's branches, rare as most are, cut it into stretches that are scheduled each by itself: row maxima in front
/// of the branch on whether they moved would issue while the matrix unit has nothing to do. Moves matrix instructions
/// that need nothing of the branches in front of them, in their order, so that each stretch has its share by what else
/// it issues. `ops` are a cluster's, in order, of which `how` says what is movable; both the block and the list are
/// changed.
void fillBeforeBranches(llvm::SmallVectorImpl<mlir::Operation *> &ops, const tile::Interleave &how);

} // namespace hocket::scheduling
