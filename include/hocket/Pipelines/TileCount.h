// How many tiles of keys a kernel visits, and how many of them its masks cut, without compiling it.
#pragma once

#include "hocket/Attention/Kernels.h"

namespace hocket {

/// Of all workgroups of a launch.
struct TileCount {
  int64_t rows = 0, keys = 0; ///< queries of a workgroup, keys of a tile
  int64_t all = 0;            ///< of the workgroups' rows and all keys
  int64_t visited = 0;
  int64_t cut = 0; ///< of those visited that a mask is evaluated in by some wave; the others are whole
};

/// What a kernel of `entry` would do for `problem`, which it takes. Unsupported where that depends on what tensors hold
/// (lists of blocks, lengths of sequences, documents), or where rows are heads.
Result<TileCount> countTiles(const attention::ForwardProblem &problem, const attention::KernelEntry &entry,
                             std::string_view architecture);

} // namespace hocket
