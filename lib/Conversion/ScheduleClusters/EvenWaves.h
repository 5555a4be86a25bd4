// Waves of a SIMD that run the same cluster at the same time.
#pragma once

#include "mlir/IR/Operation.h"

namespace hocket::scheduling {

/// Issue prefers the oldest wave (docs/Hardware.md, 4.2), which so is done with a cluster long before the other one of
/// its SIMD, and waits at the barrier while that one has nobody to multiply beneath what it waits for. Lets the wave's
/// priority fall with each quarter of the matrix instructions from `first` to `end`, in one block: who is behind goes
/// first. It ends at 0, as where nothing is said; fewer than four matrix instructions change nothing.
void keepEven(mlir::Operation *first, mlir::Operation *end);

} // namespace hocket::scheduling
