// How many tiles of keys a kernel visits, and how many of them its masks cut, without compiling it.
#pragma once

#include "hocket/Attention/BlockLists.h"
#include "hocket/Attention/Kernels.h"

namespace hocket {

/// Of all workgroups of a launch.
struct TileCount {
  int64_t rows = 0, keys = 0; ///< queries of a workgroup, keys of a tile
  int64_t all = 0;            ///< of the workgroups' rows and all keys
  int64_t visited = 0;
  int64_t cut = 0; ///< of those visited that a mask is evaluated in by some wave; the others are whole
};

/// Queries of a workgroup and keys of a tile.
struct TileSizes {
  int64_t rows = 0, keys = 0;
};

/// Keys of a tile that a kernel of `entry` is compiled with for heads of `dims`: those that the entry says, or more
/// where heads leave panels so narrow (docs/HeadSizes.md) that its waves would not all have a part of each to fetch.
/// None: as the schedule and the heads want. An error is an unknown architecture.
Result<std::optional<int64_t>> tileKeysOf(const attention::KernelEntry &entry, attention::HeadDims dims,
                                          std::string_view architecture);

/// What a kernel whose workgroups and tiles have `sizes`, 32 queries to a wave, does for `problem`. A problem with
/// lists of blocks needs `lists`, which must be valid for it. Unsupported where that depends on what other tensors hold
/// (lengths of sequences): masks that read some (documents) visit and cut what they may.
Result<TileCount> countTiles(const attention::ForwardProblem &problem, TileSizes sizes,
                             const attention::BlockLists *lists = nullptr);

/// The same of a kernel of `entry`, which takes `problem`. Unsupported for lists, and where rows are heads.
Result<TileCount> countTiles(const attention::ForwardProblem &problem, const attention::KernelEntry &entry,
                             std::string_view architecture);

} // namespace hocket
