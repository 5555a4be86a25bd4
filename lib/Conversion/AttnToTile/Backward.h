// The backward of attention as kernels on tiles, one for each part.
#pragma once

#include "TileShape.h"

#include "Attn/IR/Attn.h"
#include "Tile/IR/Tile.h"
#include "Target/Arch/ArchInfo.h"

namespace hocket {

/// What follows from the head where nobody says: waves of a workgroup, and rows of a tile of what is looped over.
TileShape backwardShape(attn::BackwardOp op, const ArchInfo &arch);

/// Writes the kernel of `op` in front of it, a loop in `shape` that follows `schedule`; `delta` has neither. Fails,
/// with a diagnostic, where modifications contradict one another.
mlir::FailureOr<tile::KernelOp> buildBackward(attn::BackwardOp op,
                                              mlir::FlatSymbolRefAttr schedule,
                                              const ArchInfo &arch, TileShape shape);

/// The same of the part `captured`, which has no schedule.
mlir::FailureOr<tile::KernelOp> buildCapturedGradient(attn::BackwardOp op, const ArchInfo &arch);

} // namespace hocket
