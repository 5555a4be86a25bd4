// The sink: one more score for each row, without a value.
#pragma once

#include "ExpansionBuilder.h"

namespace hocket {

/// `sum`, of weights against `reference` (log2 units, rows), with that of the sink (a number, natural units): what
/// O is divided by. Infinite where the sink outweighs everything, so that O is zero.
mlir::Value sumWithSink(ExpansionBuilder &builder, mlir::Value sum, mlir::Value reference,
                        mlir::Value sink);

/// The log-sum-exp of the same, finite wherever it is.
mlir::Value logSumWithSink(ExpansionBuilder &builder, mlir::Value sum, mlir::Value reference,
                           mlir::Value sink);

} // namespace hocket
