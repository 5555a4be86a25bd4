// tile-synchronize: from "which tiles may stay in flight" to instruction counts.
//
// A wave's loads complete in order, so "all but the newest fetches of these rings" is a number: the
// instructions that one wave issues for them. How many those are follows from the ring's layout. Of loads into
// registers the schedule says how many there are at least; where there are more, a wait lets fewer fetches pass.
#include "Tile/IR/LdsLayout.h"
#include "Tile/IR/Tile.h"
#include "Tile/Transforms/Passes.h"

#include "Layout/LdsDma.h"
#include "Target/Arch/ArchInfo.h"

#include "mlir/IR/BuiltinOps.h"

namespace hocket::tile {
#define GEN_PASS_DEF_SYNCHRONIZEPASS
#include "Tile/Transforms/Passes.h.inc"
} // namespace hocket::tile

using namespace mlir;
using namespace hocket;
using namespace hocket::tile;

/// Instructions of one wave for one fetch into `ring`.
static FailureOr<int64_t> fetchInstructions(Operation *op, Value ring, int64_t waves) {
  auto ringOp = ring.getDefiningOp<RingOp>();
  if (!ringOp || !ringOp.getLayout())
    return op->emitOpError("needs a ring with a layout; run 'tile-allocate-lds' first");
  Result<LdsTileLayout> layout = toLdsTileLayout(ringOp);
  if (!layout)
    return op->emitOpError() << layout.error().message;
  Result<LdsDmaPlan> plan = planLdsDma(*layout, waves);
  if (!plan)
    return op->emitOpError() << "cannot be split over the waves: " << plan.error().message;
  FailureOr<int64_t> lookUps = lookUpsOfFetch(ringOp);
  if (failed(lookUps))
    return failure();
  return static_cast<int64_t>(plan->instructions) * layout->panels() + *lookUps;
}

static LogicalResult synchronize(AwaitOp await, int64_t waves, const WaitCounterLimits &limits) {
  OpBuilder builder(await);
  IntegerAttr vm, lgkm;
  if (await.getReads())
    lgkm = builder.getI64IntegerAttr(0);
  if (await.getFetches()) {
    int64_t inFlight = await.getLoads().value_or(0);
    for (Value ring : await.getInFlight()) {
      FailureOr<int64_t> count = fetchInstructions(await, ring, waves);
      if (failed(count))
        return failure();
      inFlight += *count;
    }
    if (inFlight > static_cast<int64_t>(limits.vmcnt))
      return await.emitOpError() << "leaves " << inFlight << " loads in flight, a wait can leave "
                                 << limits.vmcnt << "; fetch less far ahead or use smaller tiles";
    vm = builder.getI64IntegerAttr(inFlight);
  }
  WaitOp::create(builder, await.getLoc(), vm, lgkm);
  await.erase();
  return success();
}

namespace {
struct SynchronizePass : hocket::tile::impl::SynchronizePassBase<SynchronizePass> {
  void runOnOperation() override {
    SmallVector<KernelOp> kernels;
    getOperation().walk([&](KernelOp kernel) { kernels.push_back(kernel); });
    for (KernelOp kernel : kernels) {
      Result<const ArchInfo *> arch = findArch(kernel.getTarget().str());
      if (!arch) {
        kernel.emitOpError() << arch.error().message;
        return signalPassFailure();
      }
      SmallVector<AwaitOp> awaits;
      kernel.walk([&](AwaitOp await) { awaits.push_back(await); });
      for (AwaitOp await : awaits)
        if (failed(synchronize(await, kernel.getWaves(), (*arch)->waits)))
          return signalPassFailure();
    }
  }
};
} // namespace
