// Persistent kernels: a workgroup computes one item, which is what a workgroup of the plain kernel would compute, after
// the other.
#pragma once

#include "mlir/IR/Operation.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>

namespace hocket::tile {

/// The attribute of a kernel (i64) that makes it persistent: so many workgroups are started for each compute unit of
/// the target, or as many as there are items where those are fewer.
inline constexpr llvm::StringLiteral kPersistentAttr = "tile.persistent";
/// The most that may be asked for.
inline constexpr int64_t kMaxPersistentWorkgroups = 8;
/// The attribute (unit) of a persistent kernel whose items' pipelines join: the epilogue of one shares clusters with the
/// prologue of the next. Rings then take twice the LDS.
inline constexpr llvm::StringLiteral kJoinItemsAttr = "tile.join_items";
/// The attribute (unit) of a `tile.for_tiles` that promises that tiles behind the last change no carried value: masks hide
/// all of them.
inline constexpr llvm::StringLiteral kIdleTilesAttr = "tile.idle_tiles";
/// Items that a grid may have: their numbers, and a turn more, are 32 bits wide.
inline constexpr int64_t kMaxWorkItems = (int64_t(1) << 31) - (int64_t(1) << 16);

/// Marks of `tile-pipeline` in persistent kernels, for `tile-work-items` to know the parts of a pipeline that may join the
/// next item's: the branch that holds it, which a tile more than there are would pass without harm, and within it the
/// branch for all that stands between prologue and epilogue.
inline constexpr llvm::StringLiteral kPipelineMark = "tile.pipeline";
inline constexpr llvm::StringLiteral kMiddleMark = "tile.middle";

/// Of a `tile.store` or `tile.load` (i64): waits for fetches count its instructions, so many at least.
inline constexpr llvm::StringLiteral kCountedAttr = "tile.counted";

/// The turn (i32) that `op` is for, if it places a workgroup for one; else null.
mlir::Value turnOf(mlir::Operation *op);
/// Fails with an error where `op` is for a turn and its kernel is not persistent.
mlir::LogicalResult verifyTurn(mlir::Operation *op);

} // namespace hocket::tile
