// What the waits of the stage `clusters` rely on, for the check of the final code (Target/AMDGPU/CountedAccesses.h).
#pragma once

#include "Target/AMDGPU/CountedAccesses.h"

#include "mlir/IR/BuiltinOps.h"

namespace hocket {

/// The loads to LDS, the other accesses that waits count, the waits and the barriers of each kernel of `module`, which is
/// of the stage `clusters`. Kernels that the conversion refuses are left out: whose rings have no layout, say.
std::vector<amdgpu::CountedPlan> readCountedPlans(mlir::ModuleOp module);

} // namespace hocket
