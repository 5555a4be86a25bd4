// What convert-tile-to-rocdl leaves for schedule-clusters: discardable attributes of a
// `rocdl.sched.barrier` that stands where a cluster begins.
#pragma once

namespace hocket {

/// The cluster's kind: "memory" or "compute".
inline constexpr const char *kClusterMark = "tile.cluster";
/// The schedule's interleave pattern, if it has one.
inline constexpr const char *kInterleaveMark = "tile.interleave";

} // namespace hocket
