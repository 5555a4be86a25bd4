#include "Tile/Transforms/StepDependences.h"

using namespace mlir;
using namespace hocket::tile;

SmallVector<ValueDependence> hocket::tile::valueDependences(ForTilesOp loop) {
  SmallVector<ValueDependence> result;
  auto yield = cast<YieldOp>(loop.getBody().front().getTerminator());
  for (StepOp user : loop.getBody().getOps<StepOp>())
    user.walk([&](Operation *op) {
      for (Value operand : op->getOperands()) {
        int64_t tiles = 0;
        Value source = operand;
        if (auto carried = dyn_cast<BlockArgument>(operand);
            carried && carried.getOwner() == &loop.getBody().front() && carried != loop.getTile()) {
          source = yield.getValues()[carried.getArgNumber() - 1];
          tiles = 1;
        }
        auto producer = source.getDefiningOp<StepOp>();
        if (producer && producer != user && producer->getParentOp() == loop)
          result.push_back({producer, user, tiles});
      }
    });
  return result;
}
