// tile-verify-clusters: whether the waits, barriers and slots that stand in the IR are enough.
//
// The second opinion on every pipeline: nothing here knows a schedule or how the IR came about. For
// each number of tiles that the IR distinguishes, the kernel's trace (ClusterTrace.h) is replayed
// for both wave groups with a model of LDS (ClusterReplay.h).
#include "Tile/Transforms/ClusterReplay.h"
#include "Tile/Transforms/Passes.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringExtras.h"

namespace hocket::tile {
#define GEN_PASS_DEF_VERIFYCLUSTERSPASS
#include "Tile/Transforms/Passes.h.inc"
} // namespace hocket::tile

#define DEBUG_TYPE "tile-verify-clusters"

using namespace mlir;
using namespace hocket;
using namespace hocket::tile;

/// The number of tiles by which all code must have run.
static constexpr int64_t kMaxTiles = 256;

namespace {
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
  FailureOr<int64_t> replay(ArrayRef<int64_t> counts);
  Operation *firstNotReached();

  KernelOp kernel;
  const ClusterProgram &program;
  const RingInfos &rings;
  int64_t groups = 1;
  llvm::DenseSet<Operation *> reached;
};
} // namespace

/// Replays one run; how often its busiest loop ran.
FailureOr<int64_t> KernelVerifier::replay(ArrayRef<int64_t> counts) {
  ++runs;
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
  return trace->mostPasses;
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

/// Counts 0, 1, ... until all code has run, its loops have then run twice more than at that point,
/// and what is left over from unrolling has taken every number: prologue + epilogue + 2 x unroll
/// or beyond.
LogicalResult KernelVerifier::run() {
  if (program.counts().empty())
    return failure(failed(replay({})));
  int64_t wantedPasses = 0, last = 0, previousPasses = 0, previousStep = 0;
  for (int64_t tiles = 0; last == 0 || tiles <= last; ++tiles) {
    FailureOr<int64_t> passes = replay(SmallVector<int64_t>(program.counts().size(), tiles));
    if (failed(passes))
      return failure();
    for (size_t i = 0; program.counts().size() > 1 && i != program.counts().size(); ++i) {
      SmallVector<int64_t> counts(program.counts().size(), 0);
      counts[i] = tiles;
      if (failed(replay(counts)))
        return failure();
    }
    if (last != 0)
      continue;
    if (static_cast<int64_t>(reached.size()) == program.eventOps() && wantedPasses == 0)
      wantedPasses = *passes + 2, previousPasses = *passes, previousStep = tiles;
    if (*passes > previousPasses) {
      int64_t unroll = tiles - previousStep;
      previousPasses = *passes, previousStep = tiles;
      if (wantedPasses != 0 && *passes >= wantedPasses)
        last = tiles + unroll - 1;
    }
    if (tiles < kMaxTiles || last != 0)
      continue;
    Operation *missed = firstNotReached();
    if (!missed)
      return success();
    return missed->emitOpError() << "is not reached with 0 to " << kMaxTiles
                                 << " tiles, so it cannot be verified; remove it or let it run "
                                    "for fewer tiles";
  }
  return success();
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
