// Combining what lanes hold.
#pragma once

#include "Lowering.h"

namespace hocket::lowering {

/// `value` (f32 or i32) of each lane combined with those of all lanes whose numbers differ in bits
/// of `lanes` (of 6 bits): every one of them gets the same result, for which `combine` need only be
/// commutative. Neighbours are combined first.
mlir::Value combineLanes(Emitter &emit, const KernelValues &kernel, mlir::Value value,
                         uint64_t lanes,
                         llvm::function_ref<mlir::Value(mlir::Value, mlir::Value)> combine);

/// In each lane the sum of `value` (i32) over all lanes up to this one.
mlir::Value sumUpToLane(Emitter &emit, mlir::Value value);

} // namespace hocket::lowering
