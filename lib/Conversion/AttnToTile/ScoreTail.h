// The product and the sum at the end of a region.
//
// Where a region yields `factor` x `inner` + `addend`, with numbers that all scores of a head share, exponentials can do
// both: they multiply scores and subtract the row's reference anyway, and weights do not change where all scores of a row
// are moved by the same.
#pragma once

#include "mlir/IR/Value.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <optional>

namespace hocket {

struct ScoreTail {
  mlir::Value inner;
  mlir::Value factor; ///< positive
  mlir::Value addend; ///< null: 0
};

/// The tail of `body`, the region of the `attn.score_mod` `op` (or of a copy of it) without branches; new operations stand
/// before its terminator. None where they are not known to be so small that f32 holds their product and sum within what LSE
/// may be off (docs/Accuracy.md): a reference that is multiplied is rounded. `isNumber`: whether all scores of a head share
/// a value.
std::optional<ScoreTail> findScoreTail(mlir::Operation *op, mlir::Block &body,
                                       llvm::function_ref<bool(mlir::Value)> isNumber);

} // namespace hocket
