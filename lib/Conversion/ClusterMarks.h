// What convert-tile-to-rocdl leaves for schedule-clusters: discardable attributes, most of them of a
// `rocdl.sched.barrier` that stands where a cluster begins.
#pragma once

namespace hocket {

/// The cluster's kind: "memory" or "compute".
inline constexpr const char *kClusterMark = "tile.cluster";
/// The schedule's interleave pattern, if it has one.
inline constexpr const char *kInterleaveMark = "tile.interleave";

/// Of what makes registers: if later clusters use them, it is complete where its cluster ends, so that LLVM neither
/// computes it there nor computes here what those clusters are to compute of it.
inline constexpr const char *kCompleteMark = "tile.complete";

} // namespace hocket
