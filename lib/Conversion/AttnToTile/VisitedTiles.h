// Which tiles of keys a workgroup visits: some ranges of them, one behind the other.
#pragma once

#include "MaskBounds.h"
#include "TileVisit.h"

namespace hocket {

struct VisitedTiles {
  /// From the tile on that is visited as number `after`, tiles lie `by` further down.
  struct Jump {
    mlir::Value after, by;
  };
  mlir::Value first; ///< number of the first tile
  mlir::Value count; ///< of all that are visited
  llvm::SmallVector<Jump> jumps;

  /// Leaves out the first `tiles` of them; `first` stays, from which `numberOf` counts, and `count`.
  void skip(ExpansionBuilder &builder, mlir::Value tiles);
  /// How many tiles lie between the first one and that which is visited as number `t`.
  mlir::Value numberOf(ExpansionBuilder &builder, mlir::Value t) const;

private:
  mlir::Value skipped; ///< null: none
};

/// The tiles of `kvTile` keys that hold one of the `keys` keys of `ranges`.
VisitedTiles visitTiles(ExpansionBuilder &builder, llvm::ArrayRef<KeyBounds> ranges, mlir::Value keys, int64_t kvTile);

/// The tiles of some ranges.
class RangedTiles : public TileVisit {
public:
  explicit RangedTiles(VisitedTiles tiles) : tiles(std::move(tiles)) {}
  mlir::Value number(ExpansionBuilder &builder, mlir::Value t) const override { return tiles.numberOf(builder, t); }
  bool isInOrder() const override { return tiles.jumps.empty(); }
  bool hasGaps() const override { return !tiles.jumps.empty(); }

private:
  VisitedTiles tiles;
};

} // namespace hocket
