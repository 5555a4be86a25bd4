// What passes ask of operations, so that they need not know them by name; see TileInterfaces.td.
#pragma once

#include "hocket/Layout/LdsSearch.h"
#include "hocket/Target/Arch/ArchInfo.h"

#include "mlir/IR/OpDefinition.h"

#include <optional>

namespace hocket::tile {

class ViewType;

/// What an op does to a slot of a ring.
enum class SlotAccess { None, Read, Write };

/// What follows from one tile of a ring to the next: the rows, or the columns, behind its own.
enum class TileAdvance { Rows, Columns };

} // namespace hocket::tile

#include "Tile/IR/TileInterfaces.h.inc"
