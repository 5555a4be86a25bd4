// Places in front of and behind a loop; Entry.h says what for.
#include "Entry.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace hocket::tile;

/// Whether `op`, or something in it, uses LDS or waits for who does.
static bool touchesLds(Operation *op) {
  return op
      ->walk([](Operation *inner) {
        bool touches =
            isa<RingAccessOpInterface, LdsScratchOpInterface, BarrierOp, AwaitOp, WaitOp>(inner);
        return touches ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

static bool loads(Operation *op) {
  return op
      ->walk([](Operation *inner) {
        return hasEffect<MemoryEffects::Read>(inner) ? WalkResult::interrupt()
                                                     : WalkResult::advance();
      })
      .wasInterrupted();
}

/// The last op of the block that makes something that one of `steps` uses.
static Operation *lastSource(Block *block, ArrayRef<StepOp> steps) {
  Operation *last = nullptr;
  for (StepOp step : steps)
    StepOp(step).walk([&](Operation *op) {
      for (Value operand : op->getOperands())
        if (Operation *source = operand.getDefiningOp(); source && source->getBlock() == block)
          last = last && source->isBeforeInBlock(last) ? last : source;
    });
  return last;
}

EntryPlaces hocket::tile::findEntryPlaces(ForTilesOp loop, ArrayRef<StepOp> steps) {
  if (!isa<KernelOp>(loop->getParentOp()))
    return {};
  Operation *firstLoad = nullptr, *lastLoad = nullptr;
  for (Operation &op : *loop->getBlock()) {
    if (&op == loop)
      break;
    if (touchesLds(&op))
      return {};
    if (!loads(&op))
      continue;
    firstLoad = firstLoad ? firstLoad : &op;
    lastLoad = &op;
  }
  if (!firstLoad)
    return {};
  EntryPlaces places{firstLoad, lastLoad->getNextNode()};
  Operation *source = lastSource(loop->getBlock(), steps);
  if (source && !source->isBeforeInBlock(places.beforeLoads))
    places.beforeLoads = source->getNextNode();
  if (places.behindLoads->isBeforeInBlock(places.beforeLoads))
    places.behindLoads = places.beforeLoads;
  return places;
}

bool hocket::tile::endsLds(ForTilesOp loop) {
  if (!isa<KernelOp>(loop->getParentOp()))
    return false;
  for (Operation *op = loop->getNextNode(); op; op = op->getNextNode())
    if (touchesLds(op))
      return false;
  return true;
}
