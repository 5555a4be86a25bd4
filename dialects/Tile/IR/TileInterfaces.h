// What passes ask of operations, so that they need not know them by name; see TileInterfaces.td.
#pragma once

#include "Layout/LdsSearch.h"
#include "Target/Arch/ArchInfo.h"

#include "mlir/IR/OpDefinition.h"

#include <optional>

namespace hocket::tile {

class ViewType;

/// What an op does to a slot of a ring.
enum class SlotAccess { None, Read, Write };

/// What follows from one tile of a ring to the next: the rows, or the columns, behind its own.
enum class TileAdvance { Rows, Columns };

/// The blocks along one dimension of a view: its extent in blocks of `size`, rounded up.
struct GridBlocks {
  int64_t dimension = 0, size = 1;
};

/// How a grid counts the blocks of a view.
struct GridShape {
  /// Along x: all combinations of these blocks, the last dimension fastest.
  llvm::SmallVector<GridBlocks, 2> x;
  /// A dimension of which y counts the first kGridRound elements, and z rounds of as many: HIP
  /// limits both to 65535. Nothing: y and z are 1.
  std::optional<int64_t> rounds;

  /// Elements of the view in one block.
  int64_t blockSize() const {
    int64_t size = 1;
    for (const GridBlocks &blocks : x)
      size *= blocks.size;
    return size;
  }
};
inline constexpr int64_t kGridRound = 32768;

/// On which side of a bound things are hidden: before it, or behind it.
enum class TileSide { Left, Right };

/// A place (i32), counted from tile 0, that hides what lies on one side of it.
struct TileBound {
  mlir::Value value;
  TileSide side = TileSide::Right;
  bool operator==(const TileBound &other) const {
    return value == other.value && side == other.side;
  }
};

/// What a loop over tiles says of a bound: how far, in places, it may reach into the loop's tiles,
/// counted from some place in the first tile (left) or the last one (right).
struct TileCut {
  TileBound bound;
  int64_t within = 0;
};

/// Tiles that precede and follow one.
struct TileMargins {
  int64_t before = 0, after = 0;
};

} // namespace hocket::tile

#include "Tile/IR/TileInterfaces.h.inc"
