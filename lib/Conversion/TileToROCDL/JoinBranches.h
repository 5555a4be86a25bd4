// Two branches on one condition, with computation in between, become one.
#pragma once

#include "mlir/IR/Operation.h"

namespace hocket::lowering {

/// Joins each `scf.if` below `root` with an earlier one of its block that has the same condition, where nothing that it
/// needs is computed in between, and nothing there holds instructions in their places.
void joinBranches(mlir::Operation *root);

} // namespace hocket::lowering
