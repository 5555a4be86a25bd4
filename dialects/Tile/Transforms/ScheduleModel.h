// A schedule applied to an algorithm: where every step of every tile stands in time, and whether
// that is legal. Pure arithmetic; no IR is changed here.
//
// Time. With C clusters, an iteration that stands at tile i runs cluster c at *position* i * C + c.
// A place `s(o)` runs step s of tile t in iteration t - o, so at position (t - o) * C + c. Every
// cluster ends in a barrier (what is joined to one is part of it), so positions are counted in barriers: two waves that have passed the
// same number of them are at the same *epoch*. With two wave groups the second starts one barrier
// later: what the first does at position p, the second does at epoch p + 1.
//
// The rules, for `lag` = wave groups - 1:
//  - values: a step runs after the steps whose results it uses;
//  - read after write: LDS DMA is complete for all once its issuers have waited and then all have
//    met at a barrier. A read at position r relies on waits at the end of position r - 1 - lag or
//    before, and the fetch must stand at or before that. What waves put is held to the same: each
//    waits for its LDS accesses at the end of the cluster. A ring that is filled in front of the loop
//    is read as it is, at any time;
//  - write after read: a fetch at position f into a slot may overwrite what was last read at
//    position r if f > r + lag. (Reads complete by the wait that ends their cluster.)
//
// Loads into registers (`tile.begin_load`) are waited for by whoever uses them. A wait for a fetch lets those pass that
// began in a later cluster: within one, the compiler may have swapped them.
#pragma once

#include "Tile/Transforms/StepDependences.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"

namespace hocket::tile {

/// Where a step stands.
struct Placement {
  StepOp step;
  ClusterOp cluster;
  int64_t clusterIndex = 0;
  int64_t offset = 0; ///< tiles ahead
  int64_t order = 0;  ///< among all places of the schedule, as written
  /// Whether it only moves tiles, for others to use: a tile that does not exist does no harm then.
  bool moves = false;
  /// Whether it does nothing but bring tiles nearer, and so needs nobody.
  bool brings = false;
  int64_t loads = 0; ///< into registers, that it begins, at least
};

/// A ring's users: one step fetches into it (or puts), others read it.
struct RingUse {
  mlir::Value ring;
  const Placement *fetch = nullptr; ///< null: what is in it stays as the loop finds it
  bool put = false; ///< what `fetch` writes is complete with the wave's LDS accesses
  llvm::SmallVector<const Placement *> reads;
  int64_t depth = 1;
};

/// What is on its way from memory: a tile of a ring, or, of no ring, so many loads into registers, at least.
struct InFlight {
  mlir::Value ring;
  int64_t loads = 0;
  bool operator==(const InFlight &) const = default;
};

/// What may stay in flight at the end of a cluster: the newest fetches, oldest first, and the loads among them;
/// or nothing, if nothing has to be waited for.
using AllowedInFlight = std::optional<llvm::SmallVector<InFlight>>;

/// What both allow.
AllowedInFlight strictest(const AllowedInFlight &a, const AllowedInFlight &b);

class ScheduleModel {
public:
  /// Matches steps and places and proves the rules; emits an error and fails where one is broken.
  /// With `skipRingHazards` rings may be read and overwritten too early: for tests of what finds
  /// that later.
  static mlir::FailureOr<ScheduleModel> create(ForTilesOp loop, ScheduleOp schedule,
                                               bool skipRingHazards = false);

  int64_t clusters() const { return clusterCount; }
  int64_t unroll() const { return unrollFactor; }
  /// Whether tiles that masks may cut have loops of their own.
  bool masksApart() const { return apart; }
  int64_t lag() const { return waveGroups - 1; }
  int64_t groups() const { return waveGroups; }
  /// The smallest and largest tile offset of any place.
  int64_t firstOffset() const { return minOffset; }
  int64_t lastOffset() const { return maxOffset; }
  /// Iterations before all steps have a tile, and after the first step has run out of them.
  int64_t stages() const { return maxOffset - minOffset; }
  /// The largest offset of a step that must have a tile: others may run past the last.
  int64_t lastNeeded() const { return neededOffset; }
  /// Steady iterations stand at most so far in front of the number of tiles that a step of this
  /// offset has one. One behind the needed ones: the last tile then stands in a copy of its own,
  /// which alone has the masks that cut it, and at most what is fetched furthest ahead runs past it.
  int64_t endOffset() const { return std::min(neededOffset + 1, maxOffset); }
  /// The smallest number of tiles for which the overlapped form holds.
  int64_t minimumTiles() const { return neededOffset - minOffset + peeled; }
  /// As many tiles as let every iteration up to the second steady one have all that it can have.
  int64_t manyTiles() const { return 2 * stages() + 2 * unroll() + 4; }
  /// The first iteration that is no prologue.
  int64_t firstSteady() const { return -minOffset + peeled; }
  /// Iterations that are like steady ones and stand in the prologue, where others may share their clusters.
  int64_t peeledIterations() const { return peeled; }
  void peel(int64_t iterations) { peeled = iterations; }
  /// Whether a step runs in an iteration, where there are so many tiles.
  bool runs(const Placement &place, int64_t iteration, int64_t tiles) const {
    int64_t tile = iteration + place.offset;
    bool mayPass = iteration < firstSteady() || iteration < tiles - endOffset();
    return tile >= 0 && (tile < tiles || (place.moves && mayPass));
  }
  /// The first position (iteration * clusters + cluster) at which something else than `brings` runs,
  /// or of the steady loop: what stands before it is the entry, in which nobody waits for anybody.
  int64_t entryEnd() const;

  llvm::ArrayRef<Placement> places() const { return placements; }
  llvm::ArrayRef<RingUse> rings() const { return ringUses; }
  const Placement &of(llvm::StringRef step) const;
  const RingUse *ringOf(mlir::Value ring) const;
  /// What the cluster consists of: those that are joined to the first of them have no barrier in front.
  llvm::ArrayRef<ClusterOp> partsOf(int64_t cluster) const { return clusterOps[cluster]; }
  /// The part that a wave comes from when it enters `part`, around the loop.
  ClusterOp partBefore(ClusterOp part) const;

  /// What may stay in flight at the end of cluster `cluster` of iteration `iteration`, for a loop
  /// over `tiles` tiles, from a simulation of one wave's fetches in order.
  AllowedInFlight allowedInFlight(int64_t tiles, int64_t iteration, int64_t cluster) const;
  /// The same at the end of the entry.
  AllowedInFlight allowedAfterEntry() const;
  /// The same at the end of iteration `iteration`, if behind it nobody waits for fetches any more.
  AllowedInFlight allowedForGood(int64_t tiles, int64_t iteration) const;
  /// Whether all fetches that are read behind the last steady iterations are issued in them, so that
  /// one wait at their end completes them.
  bool endsInOneWait() const;
  /// Whether a loop over any number of tiles ends with fetches that nothing has waited for.
  bool leavesFetches() const;
  /// Whether the loop fetches: there are waits for it.
  bool fetches() const {
    return llvm::any_of(ringUses, [](const RingUse &use) { return use.fetch && !use.put; });
  }
  /// Whether LDS reads must be complete at the end of this cluster: it reads a ring.
  bool readsRings(int64_t cluster) const;

private:
  /// A tile that a wave has begun to bring, at a position: into a ring, or into registers in so many loads.
  struct Fetched {
    const RingUse *use;
    int64_t tile, loads, position;
  };
  void findMoves(ForTilesOp loop);
  std::vector<Fetched> fetchesUpTo(int64_t tiles, int64_t iteration, int64_t cluster) const;
  AllowedInFlight newerThanRead(llvm::ArrayRef<Fetched> fetches, int64_t tiles,
                                llvm::function_ref<bool(int64_t)> readsAt) const;
  mlir::LogicalResult place(ForTilesOp loop, ScheduleOp schedule);
  int64_t latestPut(StepOp step) const;
  void placePuts(ForTilesOp loop, llvm::StringMap<StepOp> &steps);
  void placeStarts(ForTilesOp loop, llvm::StringMap<StepOp> &steps);
  void placeLoads(ForTilesOp loop, llvm::StringMap<StepOp> &steps);
  void insert(size_t at, Placement place, llvm::StringMap<StepOp> &steps);
  mlir::LogicalResult verifyValues(ForTilesOp loop) const;
  mlir::LogicalResult verifyValue(const Placement &user, const ValueDependence &dependence) const;
  mlir::LogicalResult collectRings();
  mlir::LogicalResult verifyRing(RingUse &use) const;
  std::string wayOut(const Placement &first, llvm::StringRef firstWay, const Placement &second,
                     llvm::StringRef secondWay, int64_t distance) const;
  int64_t position(const Placement &place, int64_t tile) const {
    return (tile - place.offset) * clusterCount + place.clusterIndex;
  }

  std::vector<Placement> placements;
  std::vector<llvm::SmallVector<ClusterOp>> clusterOps; ///< by cluster: its parts
  llvm::SmallVector<RingUse> ringUses;
  bool skipRingHazards = false;
  int64_t clusterCount = 0, unrollFactor = 1, waveGroups = 1, minOffset = 0, maxOffset = 0;
  bool apart = false;
  int64_t neededOffset = 0, peeled = 0;
};

/// What a ring is called in messages: the binding of its view.
std::string ringName(mlir::Value ring);

} // namespace hocket::tile
