// What a kernel is cut into, for reports: rows of a workgroup, waves, tiles, schedules. Read off
// its tile-level form, since the code object does not say.
#pragma once

#include "Tile/IR/Tile.h"

#include <string>

namespace hocket {

/// Lines for people, under the kernel's name; empty for a kernel that is not cut into anything.
std::string describeTiles(tile::KernelOp kernel);

} // namespace hocket
