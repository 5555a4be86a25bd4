// tile-verify-clusters: whether the waits, barriers and slots that stand in the IR are enough.
//
// The second opinion on every pipeline: nothing here knows a schedule or how the IR came about. For
// each number of tiles that the IR distinguishes, the kernel's trace (ClusterTrace.h) is replayed
// for both wave groups with a model of LDS (ClusterReplay.h).
#include "Tile/Transforms/ClusterReplay.h"
#include "Tile/Transforms/Passes.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"

namespace hocket::tile {
#define GEN_PASS_DEF_VERIFYCLUSTERSPASS
#include "Tile/Transforms/Passes.h.inc"
} // namespace hocket::tile

using namespace mlir;
using namespace hocket;
using namespace hocket::tile;

/// The number of tiles by which all code must have run.
static constexpr int64_t kMaxTiles = 256;
/// Wanted passes of each loop beyond those at which all code has run.
static constexpr int64_t kMorePasses = 2;
/// Turns of a loop around loops with two counts by turns: each follows the other.
static constexpr int64_t kTurns = 3;

namespace {
/// How often the busiest loop of one piece of control flow runs, as the number of tiles grows.
struct UnitProgress {
  int64_t passes = 0; ///< so far
  int64_t tiles = 0;  ///< at which they last grew
  int64_t wanted = 0; ///< passes; 0: not known, since code is left that has not run
  int64_t enough = 0; ///< tiles with which all remainders have occurred; 0: not known

  /// `reachedAll`: all code has run, now for the first time.
  void ran(int64_t now, int64_t tilesNow, bool reachedAll) {
    if (reachedAll) {
      wanted = now + kMorePasses;
      passes = now, tiles = tilesNow;
    }
    if (now <= passes)
      return;
    int64_t unroll = tilesNow - tiles;
    passes = now, tiles = tilesNow;
    if (wanted != 0 && enough == 0 && now >= wanted)
      enough = tilesNow + unroll - 1;
  }
  bool isDone(int64_t tilesNow) const { return enough != 0 && tilesNow >= enough; }
};

/// All runs of one kernel.
class KernelVerifier {
public:
  KernelVerifier(KernelOp kernel, const ClusterProgram &program, const RingInfos &rings)
      : kernel(kernel), program(program), rings(rings) {
    kernel.walk([&](BarrierOp barrier) { groups = barrier.getGroup() ? 2 : groups; });
  }

  LogicalResult run();
  int64_t runs = 0;

private:
  FailureOr<ClusterTrace> replay(ArrayRef<int64_t> wanted);
  FailureOr<int64_t> replayEqualCounts();
  LogicalResult replayUnequalCounts(int64_t most);
  Operation *firstNotReached();

  KernelOp kernel;
  const ClusterProgram &program;
  const RingInfos &rings;
  int64_t groups = 1;
  llvm::DenseSet<Operation *> reached;
};
} // namespace

FailureOr<ClusterTrace> KernelVerifier::replay(ArrayRef<int64_t> wanted) {
  ++runs;
  // A workgroup of a persistent kernel has an item.
  SmallVector<int64_t> counts(wanted);
  for (auto [count, value] : llvm::zip_equal(program.counts(), counts))
    value = isa_and_nonnull<ItemTurnsOp>(count.getDefiningOp()) ? std::max<int64_t>(value, 1) : value;
  FailureOr<ClusterTrace> trace = program.run(counts);
  if (failed(trace))
    return failure();
  for (const ClusterEvent &event : trace->events)
    reached.insert(event.op);
  std::string tiles =
      llvm::join(llvm::map_range(counts, [](int64_t n) { return std::to_string(n); }), " and ");
  tiles += counts.size() == 1 && counts[0] == 1 ? " tile" : " tiles";
  if (counts.empty())
    tiles = "the tile count that is written";
  if (failed(replayClusters(*trace, rings, groups, tiles)))
    return failure();
  return trace;
}

Operation *KernelVerifier::firstNotReached() {
  Operation *first = nullptr;
  kernel.walk([&](Operation *op) {
    if (op->getNumRegions() != 0 || !program.hasEvents(op) || reached.contains(op))
      return WalkResult::advance();
    first = op;
    return WalkResult::interrupt();
  });
  return first;
}

/// Counts 0, 1, ..., the same for all loops but those around others, until all code has run, every piece of control flow
/// has then had two passes more than at that point, and what is left over from its unrolling has
/// taken every number: prologue + epilogue + 2 x unroll or beyond. The largest count tried.
FailureOr<int64_t> KernelVerifier::replayEqualCounts() {
  llvm::MapVector<Operation *, UnitProgress> units;
  for (Operation *unit : program.unitsWithCounts())
    if (unit->walk([](LoopLikeOpInterface) { return WalkResult::interrupt(); }).wasInterrupted())
      units[unit] = {};
  bool allReached = false;
  for (int64_t tiles = 0;; ++tiles) {
    FailureOr<ClusterTrace> trace = replay(llvm::map_to_vector(
        program.counts(), [&](Value count) { return program.isOfOuterLoop(count) ? kTurns : tiles; }));
    if (failed(trace))
      return failure();
    bool reachedNow = !allReached && static_cast<int64_t>(reached.size()) == program.eventOps();
    allReached |= reachedNow;
    for (auto &[unit, progress] : units)
      progress.ran(trace->passes.lookup(unit), tiles, reachedNow);
    if (allReached && llvm::all_of(units, [&](const auto &entry) { return entry.second.isDone(tiles); }))
      return tiles;
    if (tiles < kMaxTiles)
      continue;
    Operation *missed = firstNotReached();
    if (!missed)
      return tiles;
    return missed->emitOpError() << "is not reached with 0 to " << kMaxTiles
                                 << " tiles, so it cannot be verified; remove it or let it run "
                                    "for fewer tiles";
  }
}

/// Of loops with counts of their own, every two with all counts up to `most`, the others empty:
/// what one leaves behind, the next finds. So do turns of a loop that have counts of their own; there are some then.
LogicalResult KernelVerifier::replayUnequalCounts(int64_t most) {
  size_t loops = program.counts().size();
  for (size_t first = 0; first < loops; ++first)
    for (size_t second = first + 1; second < loops; ++second) {
      bool areTurns = program.counts()[first] == program.counts()[second];
      for (int64_t a = 0; a <= most; ++a)
        for (int64_t b = 0; b <= most; ++b) {
          SmallVector<int64_t> counts(loops, areTurns ? kTurns : 0);
          counts[first] = a, counts[second] = b;
          if ((a != b || loops > 2) && failed(replay(counts)))
            return failure();
        }
    }
  return success();
}

LogicalResult KernelVerifier::run() {
  if (program.counts().empty())
    return failure(failed(replay({})));
  FailureOr<int64_t> most = replayEqualCounts();
  if (failed(most))
    return failure();
  return replayUnequalCounts(*most);
}

static FailureOr<int64_t> verifyKernel(KernelOp kernel) {
  FailureOr<ClusterProgram> program = ClusterProgram::create(kernel);
  if (failed(program))
    return failure();
  if (program->eventOps() == 0)
    return 0;
  FailureOr<RingInfos> rings = readRings(kernel);
  if (failed(rings))
    return failure();
  KernelVerifier verifier(kernel, *program, *rings);
  if (failed(verifier.run()))
    return failure();
  return verifier.runs;
}

namespace {
struct VerifyClustersPass : hocket::tile::impl::VerifyClustersPassBase<VerifyClustersPass> {
  using Base::Base;
  void runOnOperation() override {
    markAllAnalysesPreserved();
    for (KernelOp kernel : getOperation().getOps<KernelOp>()) {
      FailureOr<int64_t> runs = verifyKernel(kernel);
      if (failed(runs))
        return signalPassFailure();
      if (remarks)
        kernel.emitRemark() << "verified with " << *runs << " numbers of tiles";
    }
  }
};
} // namespace
