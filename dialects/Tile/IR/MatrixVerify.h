// Checks that verifiers of several files share. Private to the dialect.
#pragma once

#include "Tile/IR/Tile.h"

namespace hocket::tile {

/// Whether views, fragments and their rows and columns may be of `type`; "bf16, f16, i8, ..., f32 or i32".
bool isElement(mlir::Type type);
/// Whether operands hold it and memory does in bytes, several in each: f4E2M1FN.
bool isPacked(mlir::Type type);
/// Whether it is a scale of blocks of operands: f8E8M0FNU.
bool isBlockScale(mlir::Type type);
/// Whether it is an element, a float of 8 bits.
bool isSmallFloat(mlir::Type type);
std::string elementNames();

/// An error unless `view` is a matrix: of rank 2.
mlir::LogicalResult requireMatrix(mlir::Operation *op, ViewType view);

/// An error unless `part` is absent or a result of a `tile.wave_grid`.
mlir::LogicalResult requireWavePart(mlir::Operation *op, mlir::Value part);

} // namespace hocket::tile
