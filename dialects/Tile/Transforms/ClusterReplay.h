// Replays what the waves of a kernel do to LDS and finds what is unsafe in it.
//
// Time is counted in *epochs*: the barriers that a wave group has passed. What one wave does in
// epoch e is known to have happened for every other in epoch e + 1, not before. A slot of a ring is
// a range of bytes, so rings that share LDS are held to the same rules. A wave's loads complete in
// order; how many instructions a fetch takes follows from the ring's layout.
#pragma once

#include "Tile/Transforms/ClusterTrace.h"

#include "llvm/ADT/MapVector.h"

namespace hocket::tile {

/// What a ring's attributes say.
struct RingInfo {
  std::string name;
  int64_t begin = 0, slotBytes = 0, depth = 0;
  int64_t apart = 0;             ///< from one half to the other of a ring that alternates
  int64_t fetchInstructions = 0; ///< of each wave, for one tile; 0 if tiles pass through registers
};
using RingInfos = llvm::MapVector<mlir::Operation *, RingInfo>;

/// The rings of `kernel`, from their attributes alone. Emits an error and fails if one has no
/// depth, place or layout.
mlir::FailureOr<RingInfos> readRings(KernelOp kernel);

/// Emits an error and fails at the first thing in `trace` that is unsafe for `groups` (1 or 2) wave
/// groups. `tiles` says in messages for how many tiles the trace is.
mlir::LogicalResult replayClusters(const ClusterTrace &trace, const RingInfos &rings,
                                   int64_t groups, llvm::StringRef tiles);

} // namespace hocket::tile
