// What steps are for, read off the ops that they hold.
#include "Tile/IR/StepRole.h"

#include "Tile/IR/WorkItems.h"

using namespace mlir;
using namespace hocket::tile;

StepRole hocket::tile::roleOf(StepOp step) {
  StepRole role;
  step.walk([&](Operation *op) {
    role.multiplies |= isa<MmaOp>(op);
    if (auto begin = dyn_cast<BeginLoadOp>(op))
      role.loads += begin.getPending().getType().getLeastLoads();
    if (auto counted = op->getAttrOfType<IntegerAttr>(kCountedAttr))
      role.loads += counted.getInt();
    auto access = dyn_cast<RingAccessOpInterface>(op);
    if (!access)
      return;
    SmallVector<Value> &rings = access.bringsTile() ? role.brings : role.reads;
    if (!llvm::is_contained(rings, access.getRing()))
      rings.push_back(access.getRing());
  });
  return role;
}

/// The step of `loop` that `op` stands in.
static StepOp stepOf(Operation *op, ForTilesOp loop) {
  while (op && op->getParentOp() != loop)
    op = op->getParentOp();
  return dyn_cast_or_null<StepOp>(op);
}

/// The steps that multiply with a result of `read`, as it is or in parts.
static SmallVector<StepOp> productsWith(StepOp read, ForTilesOp loop) {
  SmallVector<StepOp> products;
  SmallVector<Value> worklist(read.getResults());
  while (!worklist.empty()) {
    for (Operation *user : worklist.pop_back_val().getUsers()) {
      StepOp step = stepOf(user, loop);
      if (isa<MmaOp>(user) && step && !llvm::is_contained(products, step))
        products.push_back(step);
      if (isa<SliceDepthOp, MaskDepthOp>(user))
        llvm::append_range(worklist, user->getResults());
    }
  }
  llvm::sort(products, [](StepOp a, StepOp b) { return a->isBeforeInBlock(b); });
  return products;
}

SmallVector<OperandUse> hocket::tile::operandUses(ForTilesOp loop) {
  SmallVector<OperandUse> uses;
  for (StepOp step : loop.getBody().getOps<StepOp>()) {
    SmallVector<StepOp> products = productsWith(step, loop);
    if (products.empty())
      continue;
    for (Value ring : roleOf(step).reads)
      uses.push_back({ring, step, products});
  }
  return uses;
}
