// What a drawing of a pipeline shows, as data: clusters in order and the lives of ring slots. All
// of it is read off an executed trace of the clusters stage; the schedule only gives names.
#pragma once

#include "Tile/IR/Tile.h"

#include <optional>
#include <string>
#include <vector>

namespace hocket {

enum class Phase { Prologue, Steady, Remainder, Epilogue };

/// A step as it runs in a cluster.
struct TimelineStep {
  std::string name;
  int64_t tile = 0;
  int64_t offset = 0; ///< from the tile at which the iteration stands
  std::optional<size_t> ring;
  bool fetches = false; ///< into `ring`; else it reads it
};

struct TimelineCluster {
  Phase phase = Phase::Prologue;
  tile::ClusterKind kind = tile::ClusterKind::Memory;
  int64_t iteration = 0, cluster = 0;
  std::vector<TimelineStep> steps;
  std::optional<int64_t> vm, lgkm;
  /// Barriers that wave group 0 and 1 have passed when they come here.
  int64_t epoch[2] = {0, 0};
};

/// A tile in a slot, by indices of clusters: fetched in one, complete at the end of another, last
/// read in a third.
struct SlotLife {
  size_t ring = 0;
  int64_t slot = 0, tile = 0;
  size_t fetched = 0, complete = 0, lastRead = 0;
};

struct TimelineRing {
  std::string name;
  int64_t depth = 0;
};

struct Timeline {
  std::string kernel, schedule;
  std::vector<std::string> scheduleText; ///< a line for each cluster
  int64_t tiles = 0, groups = 1, epochs = 0;
  std::vector<TimelineRing> rings;
  std::vector<TimelineCluster> clusters;
  std::vector<SlotLife> lives;
};

/// Emits an error and fails where `module` has not one kernel with one number of tiles and one
/// schedule, or is of another stage.
mlir::FailureOr<Timeline> readTimeline(mlir::ModuleOp module);

} // namespace hocket
