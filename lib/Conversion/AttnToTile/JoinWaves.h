// What waves that have the same rows and different keys have computed, put together.
#pragma once

#include "ExpansionBuilder.h"

namespace hocket {

/// Makes of the softmax's `state` of each wave, as the loop ends with it, that of all keys, and returns `output` (rows of
/// O that are not normalised yet) of all keys. Every wave gets the same.
mlir::Value joinWaves(ExpansionBuilder &builder, llvm::SmallVectorImpl<mlir::Value> &state, mlir::Value output);

} // namespace hocket
