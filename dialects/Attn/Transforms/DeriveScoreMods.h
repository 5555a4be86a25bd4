// Derivatives of modifications of scores.
#pragma once

#include "Attn/IR/Attn.h"

#include "mlir/IR/OwningOpRef.h"

namespace hocket::attn {

/// A modification "NAME_derivative" of the same arguments, in no module, that yields the derivative of what `op`
/// yields by the score. Fails, with a diagnostic, at an op that has none.
mlir::FailureOr<mlir::OwningOpRef<ScoreModOp>> deriveScoreMod(ScoreModOp op);

/// The same by what `op` reads of the captured tensor `tensor`, which it must (`readsOf`), at one place for each score.
mlir::FailureOr<mlir::OwningOpRef<ScoreModOp>> deriveByTensor(ScoreModOp op, llvm::StringRef tensor);

/// What `op` reads of the captured tensor `tensor`.
llvm::SmallVector<ReadOp> readsOf(ScoreModOp op, llvm::StringRef tensor);

/// A modification "NAME_index" of the same arguments, in no module, that yields `index`, a number (i32) of `op`'s region,
/// as a number in f32: exact up to 2^24 in size, and beyond not less.
mlir::OwningOpRef<ScoreModOp> yieldIndex(ScoreModOp op, mlir::Value index);

/// Whether `op` yields 1 whatever its arguments.
bool yieldsOne(ScoreModOp op);

} // namespace hocket::attn
