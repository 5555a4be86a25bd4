// A picture of a pipeline: the clusters of both wave groups over time.
#pragma once

#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace hocket {

/// An SVG of the one kernel in `module`, which is at the `clusters` stage and still has the one
/// schedule that it followed: for the smallest number of tiles with which the steady loop runs,
/// what each wave group does between barriers, and for how long each ring slot is being filled and
/// read. The same module gives the same text. Emits an error and fails for other modules.
mlir::FailureOr<std::string> drawSchedule(mlir::ModuleOp module);

} // namespace hocket
