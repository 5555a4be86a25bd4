// The launch manifest of a kernel, read off its tile-level form.
#pragma once

#include "Tile/IR/Tile.h"
#include "hocket/Manifest/Manifest.h"

namespace hocket {

/// Arguments, grid and block of `kernel` as expressions over the problem, from its arguments' names,
/// `tile.bind`, `tile.sizes` and `tile.strides`, and its `tile.block_id` or `tile.block_tile`.
/// Without attributes view %x has the sizes x_size_0, ... and the strides x_stride_0, ... Errors: an
/// argument without a name, more than one `tile.block_id`, a name or expression that a manifest
/// cannot hold.
Result<manifest::Manifest> makeManifest(tile::KernelOp kernel);

/// The clusters of `kernel`, which is at the stage `clusters` and had one loop over tiles; none
/// where `module` has not one schedule or it was not followed.
manifest::Clusters readClusters(tile::KernelOp kernel, mlir::ModuleOp module);

} // namespace hocket
