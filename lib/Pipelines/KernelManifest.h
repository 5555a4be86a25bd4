// The launch manifest of a kernel, read off its tile-level form.
#pragma once

#include "Tile/IR/Tile.h"
#include "hocket/Manifest/Manifest.h"

namespace hocket {

/// Arguments, grid and block of `kernel` as expressions over the problem, from its arguments'
/// `tile.bind` and its `tile.block_id`. Errors: an argument without a binding, more than one
/// `tile.block_id`, a name or expression that a manifest cannot hold.
Result<manifest::Manifest> makeManifest(tile::KernelOp kernel);

} // namespace hocket
