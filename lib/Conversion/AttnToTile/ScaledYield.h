// What a region yields, times a number.
#pragma once

#include "mlir/IR/Block.h"

namespace hocket {

/// Makes `body`, the region of an `attn.score_mod` without branches, yield `factor` (positive) times as much. The factor
/// goes into numbers that the region multiplies with or adds, where that leaves as many operations a score as before;
/// else what is yielded is multiplied. With `asksOfScore`, where it would go into the score, the score is left to come
/// times the factor; returns whether that is so.
bool scaleYield(mlir::Block &body, float factor, bool asksOfScore);

} // namespace hocket
