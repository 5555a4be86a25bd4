// What may stand in the region of a tile.map, and in regions like it.
#pragma once

#include "Tile/IR/Tile.h"

namespace hocket::tile {

/// An error unless `op` is one of those that regions of elements may contain (docs/Values.md), on
/// types that they may use, and defined for all inputs.
mlir::LogicalResult verifyElementOp(mlir::Operation *op);

/// The element type of a fragment, of row or column values, or a number's own type.
mlir::Type elementTypeOf(mlir::Type type);

/// Whether a value of `type` has a number for each element of `places` (of a map's result): it lies in the
/// same places, or is broadcast.
bool reaches(mlir::Type type, mlir::Type places);
/// What a value like `type` would have to be to do so.
mlir::Type reaching(mlir::Type type, mlir::Type places);

} // namespace hocket::tile
