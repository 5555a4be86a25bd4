// tile-synchronize: exact waits in front of barriers.
//
// LDS DMA completes for the wave that issued it when that wave has waited; other waves may rely on
// it only after a barrier that follows the wait. So a wait belongs in front of the last barrier
// before the tile is read, and must cover exactly the fetches of that tile: those issued later may
// stay in flight. Fetches complete in order, hence the count is the number of instructions issued
// after the last one that is needed.
#include "Tile/IR/LdsLayout.h"
#include "Tile/IR/Tile.h"
#include "Tile/Transforms/Passes.h"

#include "hocket/Layout/LdsDma.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"

namespace hocket::tile {
#define GEN_PASS_DEF_SYNCHRONIZEPASS
#include "Tile/Transforms/Passes.h.inc"
} // namespace hocket::tile

#define DEBUG_TYPE "tile-synchronize"

using namespace mlir;
using namespace hocket;
using namespace hocket::tile;

static constexpr int64_t kMostInFlight = 63;

namespace {
/// What happens between two barriers, as far as rings are concerned.
struct Epoch {
  SmallVector<FetchOp> fetches;
  llvm::SmallPtrSet<void *, 4> reads; ///< rings, as opaque pointers of their values
  BarrierOp end;

  bool readsRing(Value ring) const { return reads.contains(ring.getAsOpaquePointer()); }
};
} // namespace

/// Waits are counted, so every fetch and read must run exactly as often as the block it is seen from.
static LogicalResult verifyStraight(Block &block) {
  for (Operation &top : block) {
    WalkResult walk = top.walk([&](Operation *op) {
      Operation *parent = op->getParentOp();
      bool straight = parent == block.getParentOp() || isa<StepOp>(parent);
      if (straight || !isa<FetchOp, ReadOp, ReadTransposedOp, BarrierOp>(op))
        return WalkResult::advance();
      op->emitOpError() << "stands in '" << parent->getName()
                        << "', where waits cannot be counted; put it directly into a step or the loop";
      return WalkResult::interrupt();
    });
    if (walk.wasInterrupted())
      return failure();
  }
  return success();
}

static SmallVector<Epoch> collectEpochs(Block &block) {
  SmallVector<Epoch> epochs(1);
  for (Operation &op : block) {
    if (auto barrier = dyn_cast<BarrierOp>(op)) {
      epochs.back().end = barrier;
      epochs.emplace_back();
      continue;
    }
    op.walk([&](Operation *inner) {
      if (auto fetch = dyn_cast<FetchOp>(inner))
        epochs.back().fetches.push_back(fetch);
      if (isa<ReadOp, ReadTransposedOp>(inner))
        epochs.back().reads.insert(inner->getOperand(0).getAsOpaquePointer());
    });
  }
  return epochs;
}

/// Instructions of one wave for one fetch.
static FailureOr<int64_t> fetchInstructions(FetchOp fetch, int64_t waves) {
  auto ring = fetch.getRing().getDefiningOp<RingOp>();
  if (!ring || !ring.getLayout())
    return fetch.emitOpError("needs a ring with a layout; run 'tile-allocate-lds' first");
  Result<LdsTileLayout> layout = toLdsTileLayout(*ring.getLayout(), ring.getRing().getType());
  if (!layout)
    return fetch.emitOpError() << layout.error().message;
  Result<LdsDmaPlan> plan = planLdsDma(*layout, waves);
  if (!plan)
    return fetch.emitOpError() << "cannot be split over the waves: " << plan.error().message;
  return static_cast<int64_t>(plan->instructions) * layout->panels();
}

/// The fetches in flight, oldest first, with the instructions that each takes.
using InFlight = SmallVector<std::pair<Value, int64_t>>;

/// How many instructions may stay in flight so that every ring that `next` reads is complete; nothing
/// if none of them is in flight.
static std::optional<int64_t> allowedInFlight(const InFlight &inFlight, const Epoch &next) {
  int64_t after = 0;
  for (auto [ring, count] : llvm::reverse(inFlight)) {
    if (next.readsRing(ring))
      return after;
    after += count;
  }
  return std::nullopt;
}

static void retire(InFlight &inFlight, int64_t allowed) {
  int64_t total = 0;
  for (auto entry : inFlight)
    total += entry.second;
  while (!inFlight.empty() && total > allowed) {
    total -= inFlight.front().second;
    inFlight.erase(inFlight.begin());
  }
}

/// Inserts the waits of one loop body, seen from an iteration that starts with nothing in flight: a
/// schedule whose fetches reach into the next iteration is not this pass's business yet, and refused.
static LogicalResult synchronize(Block &body, int64_t waves) {
  SmallVector<Epoch> epochs = collectEpochs(body);
  if (epochs.size() < 2)
    return success();
  if (failed(verifyStraight(body)))
    return failure();
  // What stands behind the last barrier belongs to the first epoch of the next iteration.
  Epoch &tail = epochs.back();
  if (!tail.fetches.empty() || !tail.reads.empty())
    return epochs[epochs.size() - 2].end.emitOpError(
        "is not the end of the loop body: rings are used behind it; end every cluster in a barrier");
  epochs.pop_back();

  InFlight inFlight;
  for (auto [index, epoch] : llvm::enumerate(epochs)) {
    const Epoch &next = epochs[(index + 1) % epochs.size()];
    for (FetchOp fetch : epoch.fetches) {
      FailureOr<int64_t> count = fetchInstructions(fetch, waves);
      if (failed(count))
        return failure();
      inFlight.emplace_back(fetch.getRing(), *count);
    }
    std::optional<int64_t> vm = allowedInFlight(inFlight, next);
    if (vm && *vm > kMostInFlight)
      return epoch.end.emitOpError() << "would have to leave " << *vm << " loads in flight, a wait can "
                                     << "leave " << kMostInFlight << "; read the tile later";
    bool overwrites = llvm::any_of(next.fetches, [&](FetchOp fetch) { return epoch.readsRing(fetch.getRing()); });
    if (vm)
      retire(inFlight, *vm);
    if (!vm && !overwrites)
      continue;
    OpBuilder builder(epoch.end);
    IntegerAttr vmAttr = vm ? builder.getI64IntegerAttr(*vm) : IntegerAttr();
    IntegerAttr lgkmAttr = overwrites ? builder.getI64IntegerAttr(0) : IntegerAttr();
    WaitOp::create(builder, epoch.end.getLoc(), vmAttr, lgkmAttr);
  }
  if (!inFlight.empty())
    return epochs.back().end.emitOpError("leaves fetches in flight at the end of an iteration; overlapping "
                                         "iterations is not supported yet");
  return success();
}

namespace {
struct SynchronizePass : hocket::tile::impl::SynchronizePassBase<SynchronizePass> {
  void runOnOperation() override {
    WalkResult walk = getOperation().walk([&](scf::ForOp loop) {
      auto kernel = loop->getParentOfType<KernelOp>();
      return kernel && failed(synchronize(*loop.getBody(), kernel.getWaves())) ? WalkResult::interrupt()
                                                                               : WalkResult::advance();
    });
    if (walk.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace
