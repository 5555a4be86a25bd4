// What the waves of a kernel do to LDS at the `clusters` stage, in program order, for one number of
// tiles.
//
// The kernel is executed abstractly: `scf` control flow is followed, integer arithmetic that it and
// the slots depend on is folded, everything else is opaque. The number of tiles is the one run-time
// value on which all control flow and all slots depend; it is found in the IR, not handed in, so
// that the trace owes nothing to the schedule or to the passes that wrote the IR.
#pragma once

#include "Tile/IR/Tile.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"

namespace hocket::tile {

/// One thing that a wave does: a fetch, a part loaded or put, a load begun, a read, a wait or a barrier - or, on
/// request, a landmark: the beginning of a step or of a cluster.
struct ClusterEvent {
  mlir::Operation *op = nullptr;
  RingOp ring;      ///< of a fetch, put or read
  int64_t slot = 0; ///< of a fetch, put or read
  int64_t half = 0; ///< of a ring that alternates: 0 or 1
  int64_t tile = 0; ///< of a fetch, put, read or load

  /// The access, or null if it is something else.
  RingAccessOpInterface access() const {
    return mlir::dyn_cast<RingAccessOpInterface>(op);
  }
  /// Whether it brings a tile into a slot synchronously: a put.
  bool isPut() const {
    RingAccessOpInterface ringAccess = access();
    return ringAccess && ringAccess.writesSlot() && !ringAccess.isAsynchronous();
  }
};

struct ClusterTrace {
  std::vector<ClusterEvent> events;
  /// How often the body of the loop ran that ran most often, in each op of the kernel's own block.
  llvm::MapVector<mlir::Operation *, int64_t> passes;

  int64_t mostPasses() const {
    int64_t most = 0;
    for (auto [unit, count] : passes)
      most = std::max(most, count);
    return most;
  }
};

class ClusterProgram {
public:
  /// Finds the kernel's tile counts. Emits an error and fails if the IR is of another stage, or if
  /// control flow with events depends on what cannot be followed.
  static mlir::FailureOr<ClusterProgram> create(KernelOp kernel);

  /// The run-time values on which control flow depends: one for each piece of it (a loop over
  /// tiles, with what surrounds it), or, where loops stand in a loop, one for each of them; without repetition, but one
  /// that each turn of a loop makes anew is there twice: that of even turns, and of odd ones.
  llvm::ArrayRef<mlir::Value> counts() const { return tileCounts; }
  /// Whether it is only how often a loop around others turns.
  bool isOfOuterLoop(mlir::Value count) const { return outerCounts.contains(count); }
  /// The ops of the kernel's own block whose control flow depends on one of `counts()`.
  llvm::ArrayRef<mlir::Operation *> unitsWithCounts() const { return countedUnits; }
  /// Fetches, reads, waits and barriers as written.
  int64_t eventOps() const { return static_cast<int64_t>(events.size()); }
  /// The events of a run in which each of `counts()` has the value given. Emits an error and fails
  /// where control flow, a tile or a slot is not a number, or the run does not end.
  mlir::FailureOr<ClusterTrace> run(llvm::ArrayRef<int64_t> values, bool landmarks = false) const;
  /// Whether `op` or something in its regions is an event.
  bool hasEvents(mlir::Operation *op) const { return withEvents.contains(op); }
  /// Whether control flow or a slot depends on this value.
  bool isNeeded(mlir::Value value) const { return slice.contains(value); }

private:
  explicit ClusterProgram(KernelOp kernel) : kernel(kernel) {}
  mlir::LogicalResult collectEvents();
  mlir::LogicalResult findCount(mlir::Operation *unit);
  mlir::LogicalResult findCounts(mlir::Operation *unit, mlir::Operation *op,
                                 llvm::SmallVectorImpl<mlir::Value> &found);
  mlir::Value countOf(mlir::Operation *unit, llvm::ArrayRef<mlir::Value> demands,
                      llvm::ArrayRef<mlir::Value> known);
  mlir::Value countOfTurn(mlir::Operation *inner, llvm::ArrayRef<mlir::Value> demands,
                          llvm::ArrayRef<mlir::Value> known);
  mlir::Value lastCut(llvm::ArrayRef<mlir::Value> candidates, llvm::ArrayRef<mlir::Value> demands,
                      llvm::ArrayRef<mlir::Value> known);
  llvm::SmallVector<mlir::Value> allDemands(mlir::Operation *op) const;
  void addToSlice(llvm::ArrayRef<mlir::Value> demands);

  KernelOp kernel;
  llvm::SmallVector<mlir::Value> tileCounts;
  llvm::SmallVector<mlir::Operation *> countedUnits;
  llvm::DenseSet<mlir::Value> outerCounts;
  llvm::DenseSet<mlir::Operation *> events, withEvents;
  llvm::DenseSet<mlir::Value> slice;
};

} // namespace hocket::tile
