// Which cluster of its schedule a wave is in, from the barriers that it has passed.
//
// Machine code does not say where a cluster begins, and LLVM may rotate a loop, so that a turn as
// it is executed begins anywhere in the schedule. But every cluster ends in one barrier, and they
// are executed in order, so counting them from the wave's start says it all.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace hocket::sim {

/// What is known of a kernel's schedule (a manifest's `clusters`).
struct ClusterNumbers {
  std::string kernel;  ///< the numbers are this kernel's
  unsigned count = 0;  ///< clusters of the schedule; 0: nothing is known
  unsigned unroll = 1; ///< iterations of a turn: each has one tile
  /// Barriers that waves pass before the first cluster, for each wave group.
  std::vector<uint32_t> barriersBefore;

  /// The cluster that wave `wave` of `waves` is in after `barriers` barriers, in its schedule.
  std::optional<unsigned> at(unsigned wave, unsigned waves, uint64_t barriers) const {
    if (count == 0 || barriersBefore.empty())
      return std::nullopt;
    const size_t groups = barriersBefore.size();
    const size_t group = std::min(groups - 1, wave * groups / std::max(waves, 1u));
    const uint64_t before = barriersBefore[group];
    if (barriers < before)
      return std::nullopt;
    return static_cast<unsigned>((barriers - before) % count);
  }
  /// A turn of the hot loop has been cut at its barriers into `pieces` pieces, the first of which
  /// begins after `barriers` barriers of wave `wave` of `waves`: the piece that is cluster 0. None
  /// where the turn is not the schedule's loop or nothing is known.
  std::optional<size_t> firstPiece(unsigned wave, unsigned waves, uint64_t barriers,
                                   size_t pieces) const {
    const std::optional<unsigned> cluster = at(wave, waves, barriers);
    if (!cluster || pieces != size_t(count) * unroll)
      return std::nullopt;
    return (count - *cluster) % count;
  }
};

/// What piece `piece` of a turn is called in tables: the schedule's cluster, if it is known to have
/// `scheduled`, with the tile of the turn before it where there are several; else its number.
inline std::string clusterLabel(size_t piece, unsigned scheduled, size_t pieces) {
  if (scheduled == 0 || scheduled == pieces)
    return std::to_string(piece);
  return std::to_string(piece / scheduled) + "." + std::to_string(piece % scheduled);
}

} // namespace hocket::sim
