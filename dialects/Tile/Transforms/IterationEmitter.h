// One iteration of a pipelined loop: a copy of every step that has a tile, cluster by cluster, each
// with its tile, its ring slots and what it waits for (PipelineTiles.cpp says which iterations there
// are). Values that cross iterations are found from the steps' uses: an entry (value, tile) is
// carried as long as a step that uses it is still to come.
#pragma once

#include "Tile/IR/Tile.h"
#include "Tile/Transforms/ScheduleModel.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/MapVector.h"

#include <functional>
#include <optional>

namespace hocket::tile {
using mlir::ImplicitLocOpBuilder;
using mlir::SmallVector;
using mlir::Value;

/// A value of the loop body (a step's result or a carried argument) for one tile, counted from the
/// tile at which the current iteration stands.
using Version = std::pair<Value, int64_t>;
using Versions = llvm::MapVector<Version, Value>;

/// Steps in clusters, as an iteration runs them.
struct PlacedStep {
  StepOp op;
  int64_t offset = 0;
};
using Clusters = SmallVector<SmallVector<PlacedStep>>;

/// Who meets at the end of a cluster.
enum class Meeting { All, FirstGroup, Nobody };

/// How one copy of an iteration is written.
struct IterationCopy {
  /// The tile of a step with this offset.
  std::function<Value(ImplicitLocOpBuilder &, int64_t offset)> tile;
  /// The tile's number modulo the ring's depth, if it is known: a constant slot.
  std::function<std::optional<int64_t>(int64_t offset, int64_t depth)> slot;
  /// Whether a step with this offset has a tile.
  std::function<bool(int64_t offset)> valid;
  /// How many tiles come before and after that of a step with this offset, at least.
  std::function<int64_t(int64_t offset)> tilesBefore, tilesAfter;
  /// Whether the copy stands in a loop in which masks that reach some tiles from one end leave most tiles whole.
  bool isMostlyWhole = false;
  /// What may stay in flight at the end of a cluster.
  std::function<AllowedInFlight(int64_t cluster)> allowed;
  /// Whether the copy has this cluster.
  std::function<bool(int64_t cluster)> has = [](int64_t) { return true; };
  std::function<Meeting(int64_t cluster)> meeting = [](int64_t) { return Meeting::All; };
};

/// Every step in the cluster, and with the offset, of the schedule.
Clusters scheduledClusters(const ScheduleModel &model);

/// What brings tiles to LDS, then everything else as it is written; what waves compute and put into
/// a ring ends a cluster in between. Legal for every algorithm.
Clusters plainClusters(ForTilesOp loop);

/// Waits for fetches, but for those that are `allowed` to stay in flight (none: for no fetches), and for `reads`.
void emitAwait(mlir::ImplicitLocOpBuilder &builder, const AllowedInFlight &allowed, bool reads);

class IterationEmitter {
public:
  IterationEmitter(ForTilesOp loop, const ScheduleModel &model) : loop(loop), model(model) {
    yield = mlir::cast<YieldOp>(loop.getBody().front().getTerminator());
  }

  /// Before iteration `firstIteration`: only the initial values of tile 0 exist.
  void start(int64_t firstIteration);
  /// On to the next iteration: every tile is one nearer.
  void advance(bool prune);
  /// Back by so many.
  void rewind(int64_t count);
  /// Writes one; `scheduled` is whether the clusters are those of the schedule, with their
  /// priorities and order.
  void emit(ImplicitLocOpBuilder &builder, const Clusters &clusters, const IterationCopy &copy,
            bool scheduled = true);
  /// Writes one as a single cluster, for waves that meet nowhere in it: products are issued while what others of them need
  /// is read and computed. What rescales comes as early as it can, since nothing is interleaved across its branch.
  void emitJoined(ImplicitLocOpBuilder &builder, const Clusters &clusters, const IterationCopy &copy);
  /// Writes one step of it alone.
  void emitStep(ImplicitLocOpBuilder &builder, const PlacedStep &step, const IterationCopy &copy);

  static Value constant(ImplicitLocOpBuilder &builder, int64_t value);

  /// What the steps so far have left, relative to the iteration that comes next.
  Versions versions;

private:
  void dropIdleMasks(StepOp clone, Value tile, int64_t before, int64_t after);
  void markRareMasks(StepOp clone);
  void assignSlots(ImplicitLocOpBuilder &builder, StepOp clone, const PlacedStep &step,
                   const IterationCopy &copy);
  int64_t stepsOfTile(llvm::ArrayRef<PlacedStep> steps);
  void emitSteps(ImplicitLocOpBuilder &builder, llvm::ArrayRef<PlacedStep> steps, const IterationCopy &copy, bool inOrder);
  void emitWhereSeen(ImplicitLocOpBuilder &builder, llvm::ArrayRef<PlacedStep> steps, const IterationCopy &copy,
                     bool inOrder);
  void emitPartBegin(ImplicitLocOpBuilder &builder, ClusterOp part);
  void emitPart(ImplicitLocOpBuilder &builder, llvm::ArrayRef<PlacedStep> steps, const IterationCopy &copy, bool inOrder);
  void emitClusterEnd(ImplicitLocOpBuilder &builder, const Clusters &clusters, int64_t cluster,
                      const IterationCopy &copy);
  bool isLive(const Version &version);
  bool isReady(const PlacedStep &step);

  ForTilesOp loop;
  const ScheduleModel &model;
  YieldOp yield;
};
} // namespace hocket::tile
