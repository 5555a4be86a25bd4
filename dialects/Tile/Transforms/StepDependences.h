// What the steps of a loop need of each other, whatever schedule places them.
#pragma once

#include "Tile/IR/Tile.h"

namespace hocket::tile {

/// Step `to` of tile t uses a value that step `from` made of tile t - `tiles`.
struct ValueDependence {
  StepOp from, to;
  int64_t tiles = 0; ///< 1: through a value that the loop carries
};

/// All of them, in the order of the using steps and their operands; a step's own are left out.
llvm::SmallVector<ValueDependence> valueDependences(ForTilesOp loop);

} // namespace hocket::tile
