// In which order a loop visits the tiles of its views, and what is known of each: as they lie, in ranges
// (VisitedTiles.h), or as lists name them (BlockLists.h). To add an order, derive from `TileVisit`.
#pragma once

#include "ExpansionBuilder.h"

namespace hocket {

class TileVisit {
public:
  virtual ~TileVisit() = default;

  /// The number, in the views, of the tile that is visited as number `t`; for use in a step.
  virtual mlir::Value number(ExpansionBuilder &builder, mlir::Value t) const { return t; }
  /// Whether that is `t`.
  virtual bool isInOrder() const { return true; }
  /// What the loop carries of the tiles to come: before the first one, and after the fetch of tile `t`. `enter` is given
  /// what is carried, at the start of the body.
  virtual llvm::SmallVector<mlir::Value> first(ExpansionBuilder &builder) const { return {}; }
  virtual llvm::SmallVector<mlir::Value> next(ExpansionBuilder &builder, mlir::Value t) const { return {}; }
  virtual void enter(mlir::ValueRange carried) {}

  /// Whether tiles come in any order, masks of the user count in some of them alone, and keys end in any.
  virtual bool isListed() const { return false; }
  /// Of those: whether (i1) the user's masks count in tile `t`, and whether keys may end in it.
  virtual mlir::Value countsMasks(ExpansionBuilder &builder, mlir::Value t) const { return {}; }
  virtual mlir::Value mayEnd(ExpansionBuilder &builder) const { return {}; }
  /// Whether tiles are left out between others.
  virtual bool hasGaps() const { return false; }
};

} // namespace hocket
