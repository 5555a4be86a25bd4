// The functions of the math dialect in f32, without calls: on a number or on a vector of them.
//
// Accuracy and range are promises (docs/Values.md), which test/unit/Values/ElementaryTest.cpp holds
// against float64.
#pragma once

#include "Lowering.h"

namespace hocket::lowering {

/// What `op` of the math dialect computes, with `operands` in its place: f32, numbers or vectors.
/// Null if it is not one that a tile.map may contain.
mlir::Value elementary(Emitter &emit, mlir::Operation *op, mlir::ValueRange operands);

/// 1 / `x` by the hardware's instruction, of f32.
mlir::Value reciprocal(Emitter &emit, mlir::Value x);

/// x to the power y, f32, numbers or vectors.
mlir::Value power(Emitter &emit, mlir::Value x, mlir::Value y);

} // namespace hocket::lowering
