// Between the attribute that a ring carries and the layout library's data.
#pragma once

#include "Tile/IR/Tile.h"
#include "Layout/LdsTile.h"

namespace hocket::tile {

/// The layout that `attr` gives a tile of type `ring`. An error if the two do not fit together or
/// the layout is not a bijection of the tile's bytes.
Result<LdsTileLayout> toLdsTileLayout(LdsLayoutAttr attr, RingType ring);

/// The same of a ring, which has a layout.
Result<LdsTileLayout> toLdsTileLayout(RingOp ring);

/// Whether the ring's tiles pass through registers: something is put into it.
bool passesRegisters(RingOp ring);

/// Loads of one wave that come with each fetch into `ring`: those of look-ups, which stand in the same steps. An error
/// if they stand in some of them only.
mlir::FailureOr<int64_t> lookUpsOfFetch(RingOp ring);

/// The attribute that says what `layout` says.
LdsLayoutAttr toAttr(mlir::MLIRContext *context, const LdsTileLayout &layout);

} // namespace hocket::tile
