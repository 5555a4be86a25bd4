// Where in a kernel the first tiles of a loop are asked for: in front of everything that waits for
// memory, so that they are under way while it does.
#pragma once

#include "Tile/IR/Tile.h"

namespace hocket::tile {

/// Places in front of a loop, in its block. `atLoop` is always there; the others are null where
/// something in front of the loop touches LDS, or where nothing is loaded there.
struct EntryPlaces {
  /// In front of the first load: for what the loop waits for first.
  mlir::Operation *beforeLoads = nullptr;
  /// Behind the last load: for what may arrive later than that brings.
  mlir::Operation *behindLoads = nullptr;
};

/// `steps` are those of the loop that would stand there.
EntryPlaces findEntryPlaces(ForTilesOp loop, llvm::ArrayRef<StepOp> steps);

/// Whether nothing behind the loop touches LDS, so that waves need not meet there any more.
bool endsLds(ForTilesOp loop);

} // namespace hocket::tile
