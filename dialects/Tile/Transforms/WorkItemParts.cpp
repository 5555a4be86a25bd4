// The ops of a persistent kernel, and what of them may be asked for ahead.
#include "WorkItemParts.h"

#include "Tile/IR/WorkItems.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace hocket;
using namespace hocket::tile;

bool hocket::tile::holds(Operation *op, function_ref<bool(Operation *)> is) {
  return op
      ->walk([&](Operation *inner) { return is(inner) ? WalkResult::interrupt() : WalkResult::advance(); })
      .wasInterrupted();
}

bool hocket::tile::usesScratch(Operation *op) {
  return holds(op, [](Operation *inner) {
    auto scratch = dyn_cast<LdsScratchOpInterface>(inner);
    return scratch && scratch.getScratchBytes() != 0;
  });
}

bool hocket::tile::touchesRings(Operation *op) {
  return holds(op, [](Operation *inner) { return isa<RingAccessOpInterface, WaitOp, BarrierOp>(inner); });
}

/// A step that does nothing but fetch, and hands nothing on.
static bool onlyFetches(Operation *op) {
  auto step = dyn_cast<StepOp>(op);
  if (!step || step.getNumResults() != 0)
    return false;
  bool fetches = false;
  for (Operation &inner : step.getBody().front()) {
    auto fetch = dyn_cast<FetchOp>(inner);
    fetches |= bool(fetch);
    if ((!fetch || fetch.getPages()) && !isMemoryEffectFree(&inner))
      return false;
  }
  return fetches;
}

/// A load whose source no op of the kernel writes.
static bool onlyLoads(Operation *op) {
  auto load = dyn_cast<LoadOp>(op);
  if (!load)
    return false;
  Value whole = wholeView(load.getView());
  auto kernel = op->getParentOfType<KernelOp>();
  return isa<BlockArgument>(whole) && !holds(kernel, [&](Operation *inner) {
    return hasEffect<MemoryEffects::Write>(inner) && llvm::any_of(inner->getOperands(), [&](Value operand) {
             return isa<ViewType>(operand.getType()) && wholeView(operand) == whole;
           });
  });
}

bool hocket::tile::placesWorkgroup(Operation *op) { return isa<GridOpInterface, WorkgroupIdOp>(op); }

void hocket::tile::setTurn(Operation *place, Value turn) {
  llvm::TypeSwitch<Operation *>(place).Case<BlockIdOp, BlockTileOp, WorkgroupIdOp>(
      [&](auto op) { op.getTurnMutable().assign(turn); });
}

/// Whether all that the entry uses can be computed for another item; collects it.
static bool collectSources(Block &block, ItemEntry &entry) {
  SmallVector<Operation *> worklist(entry.ops);
  llvm::DenseSet<Operation *> found;
  while (!worklist.empty()) {
    SmallVector<Value> operands;
    worklist.pop_back_val()->walk([&](Operation *inner) { llvm::append_range(operands, inner->getOperands()); });
    for (Value operand : operands) {
      Operation *source = operand.getDefiningOp();
      if (!source || source->getBlock() != &block || !found.insert(source).second)
        continue;
      bool isPure = isMemoryEffectFree(source) && source->getNumRegions() == 0;
      if (!isPure && !placesWorkgroup(source) && !isa<RingOp>(source))
        return false;
      worklist.push_back(source);
    }
  }
  for (Operation &op : block)
    if (found.contains(&op))
      entry.sources.insert(&op);
  return true;
}

/// The steps in front of the first wait or barrier, if LDS is free for those of the next item behind the last access.
ItemEntry hocket::tile::findItemEntry(Block &block) {
  ItemEntry entry;
  bool meets = false;
  for (Operation &op : block) {
    if (entry.lastAccess && usesScratch(&op) && !touchesRings(&op)) {
      entry.ops.clear();
      return entry;
    }
    if (!meets && onlyLoads(&op)) {
      entry.ops.push_back(&op);
      llvm::append_range(entry.loaded, op.getResults());
    }
    if (!touchesRings(&op))
      continue;
    meets |= !onlyFetches(&op);
    if (!meets)
      entry.ops.push_back(&op);
    entry.lastAccess = &op;
  }
  bool fetches = entry.ops.size() != entry.loaded.size();
  if (!meets || !fetches || usesScratch(entry.lastAccess) || !collectSources(block, entry))
    entry.ops.clear();
  return entry;
}
