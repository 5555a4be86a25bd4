// Which tiles of keys a workgroup visits: one or two ranges of them.
#pragma once

#include "MaskBounds.h"

namespace hocket {

struct VisitedTiles {
  mlir::Value first; ///< number of the first tile
  mlir::Value count; ///< of all that are visited
  /// From tile number `jumpAfter` on (counted from the first) they lie `jump` tiles further down; null: never.
  mlir::Value jump, jumpAfter;
};

/// The tiles of `kvTile` keys that hold one of the `keys` keys of `ranges` (one or two), of two ranges those
/// between them only if they cannot be told apart. `isSingle`: all between them.
VisitedTiles visitTiles(ExpansionBuilder &builder, llvm::ArrayRef<KeyBounds> ranges,
                        mlir::Value keys, int64_t kvTile, bool isSingle);

} // namespace hocket
