// Two branches on one condition, with computation in between, become one.
#pragma once

#include "mlir/IR/Operation.h"

namespace hocket::lowering {

/// Joins each `scf.if` below `root` with an earlier one of its block that has the same condition, where exponents stand in
/// between, nothing that it needs, and nothing that holds instructions in their places.
void joinBranches(mlir::Operation *root);

} // namespace hocket::lowering
