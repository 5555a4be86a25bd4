// Where the tiles of a ring lie in global memory: what fetches and loads of parts ask.
//
// A ring's op says what follows from tile to tile (TileSourceOpInterface). Here that becomes code:
// the ring's first element, and for each tile a descriptor that ends with what exists of it. A new
// kind of source is a new case here; accesses do not know which kind they have.
#pragma once

#include "Lowering.h"
#include "RowBounds.h"

namespace hocket::lowering {

/// A tile as an access in global memory sees it: element (row, byte) is at `row` * `stride` + byte.
struct SourceTile {
  mlir::Value resource; ///< the descriptor: begins with the tile, ends with what exists of it
  mlir::Value stride;   ///< bytes from row to row (i32)
  RowBounds bounds;     ///< the bytes of a row that exist, where the descriptor does not say
};

/// The values that a ring op becomes, in the order of RingValues.
llvm::SmallVector<mlir::Value> ringValues(Emitter &emit, tile::RingOp ring, const ViewValues &view,
                                          llvm::ArrayRef<mlir::Value> indices, mlir::Value lds);

/// Tile number `tile` (i32, not negative) of the ring that `ring` makes; with `from` (i32, else null) it is that tile of
/// the view, nothing but zeros if there is no such.
SourceTile sourceTile(Emitter &emit, mlir::Value ring, const RingValues &values, mlir::Value tile,
                      mlir::Value from);
/// The operand `from` of what brings tiles, or null.
template <typename Adaptor> mlir::Value fromOf(Adaptor adaptor) {
  return adaptor.getFrom().empty() ? mlir::Value() : adaptor.getFrom().front();
}
/// The number of the tile that is brought, counted in what the ring's tiles come from.
template <typename Adaptor> mlir::Value tileNumberOf(Adaptor adaptor) {
  mlir::Value from = fromOf(adaptor);
  return from ? from : adaptor.getTile().front();
}

} // namespace hocket::lowering
