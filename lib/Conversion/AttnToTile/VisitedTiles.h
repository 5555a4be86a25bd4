// Which tiles of keys a workgroup visits: some ranges of them, one behind the other.
#pragma once

#include "MaskBounds.h"

namespace hocket {

struct VisitedTiles {
  /// From the tile on that is visited as number `after`, tiles lie `by` further down.
  struct Jump {
    mlir::Value after, by;
  };
  mlir::Value first; ///< number of the first tile
  mlir::Value count; ///< of all that are visited
  llvm::SmallVector<Jump> jumps;

  /// How many tiles lie between the first one and that which is visited as number `t`.
  mlir::Value numberOf(ExpansionBuilder &builder, mlir::Value t) const;
};

/// The tiles of `kvTile` keys that hold one of the `keys` keys of `ranges`. `isSingle`: and all between them.
VisitedTiles visitTiles(ExpansionBuilder &builder, llvm::ArrayRef<KeyBounds> ranges,
                        mlir::Value keys, int64_t kvTile, bool isSingle);

} // namespace hocket
