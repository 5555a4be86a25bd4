// The forward of attention as a kernel on tiles.
#pragma once

#include "Conversion/TileShape.h"

#include "Attn/IR/Attn.h"
#include "Tile/IR/Tile.h"
#include "Target/Arch/ArchInfo.h"

namespace hocket {

/// Writes the kernel of `op` in front of it. The shape is one that `op` may have. Fails, with a diagnostic, where
/// modifications contradict one another.
mlir::FailureOr<tile::KernelOp> buildForward(attn::ForwardOp op, mlir::FlatSymbolRefAttr schedule,
                            const ArchInfo &arch, TileShape shape);

} // namespace hocket
