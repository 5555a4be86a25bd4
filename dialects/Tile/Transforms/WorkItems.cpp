// tile-work-items: a loop over items around all that a persistent kernel does.
//
//   entry of the first item
//   for each turn
//     what places the item
//     waits, loop over tiles, ...
//     all waves meet
//     if there is another turn: entry of the next item
//     what follows the last access to LDS: stores
//
// The entry is what the pipeline asks for first. Where it cannot be moved, it stays where it is.
#include "Tile/IR/Tile.h"
#include "Tile/IR/WorkItems.h"
#include "Tile/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"

namespace hocket::tile {
#define GEN_PASS_DEF_WORKITEMSPASS
#include "Tile/Transforms/Passes.h.inc"
} // namespace hocket::tile

using namespace mlir;
using namespace hocket;
using namespace hocket::tile;

static bool holds(Operation *op, function_ref<bool(Operation *)> is) {
  return op
      ->walk([&](Operation *inner) { return is(inner) ? WalkResult::interrupt() : WalkResult::advance(); })
      .wasInterrupted();
}

static bool usesScratch(Operation *op) {
  return holds(op, [](Operation *inner) {
    auto scratch = dyn_cast<LdsScratchOpInterface>(inner);
    return scratch && scratch.getScratchBytes() != 0;
  });
}

static bool touchesRings(Operation *op) {
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

static bool placesWorkgroup(Operation *op) { return isa<GridOpInterface, WorkgroupIdOp>(op); }

/// Of which turn's item it is.
static void setTurn(Operation *op, Value turn) {
  llvm::TypeSwitch<Operation *>(op).Case<BlockIdOp, BlockTileOp, WorkgroupIdOp>(
      [&](auto place) { place.getTurnMutable().assign(turn); });
}

namespace {
/// One persistent kernel.
class ItemLoop {
public:
  explicit ItemLoop(KernelOp kernel)
      : kernel(kernel), block(kernel.getBody().front()), builder(kernel.getLoc(), kernel.getContext()) {}

  LogicalResult emit();

private:
  void findEntry();
  bool collectSources();
  /// What the entry follows from once more, for the item of a turn, and the entry itself.
  void cloneSources(Value turn, IRMapping &mapping);
  void cloneEntry(IRMapping &mapping);
  void meet();
  Value constant(int64_t value) {
    return arith::ConstantOp::create(builder, builder.getI32IntegerAttr(value));
  }

  KernelOp kernel;
  Block &block;
  ImplicitLocOpBuilder builder;
  SmallVector<Operation *> entry;         ///< steps, in order; empty: it stays where it is
  llvm::SetVector<Operation *> sources;   ///< what they follow from, in order
  Operation *lastAccess = nullptr;        ///< of the block: to LDS, of a ring
};
} // namespace

/// The steps in front of the first wait or barrier, if LDS is free for those of the next item behind the last access.
void ItemLoop::findEntry() {
  bool meets = false;
  for (Operation &op : block) {
    if (lastAccess && usesScratch(&op) && !touchesRings(&op)) {
      entry.clear();
      return;
    }
    if (!touchesRings(&op))
      continue;
    meets |= !onlyFetches(&op);
    if (!meets)
      entry.push_back(&op);
    lastAccess = &op;
  }
  if (!meets || usesScratch(lastAccess) || !collectSources())
    entry.clear();
}

/// Whether all that the entry uses can be computed for another item.
bool ItemLoop::collectSources() {
  SmallVector<Operation *> worklist(entry);
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
      sources.insert(&op);
  return true;
}

void ItemLoop::cloneSources(Value turn, IRMapping &mapping) {
  for (Operation *source : sources) {
    Operation *clone = builder.clone(*source, mapping);
    if (placesWorkgroup(clone))
      setTurn(clone, turn);
  }
}

void ItemLoop::cloneEntry(IRMapping &mapping) {
  for (Operation *step : entry) {
    FenceOp::create(builder);
    builder.clone(*step, mapping);
  }
}

/// `ring` has the LDS of `first`.
static void continueRing(RingOp ring, Value first) { ring.getContinuedMutable().assign(first); }

/// All waves have read what they read of LDS.
void ItemLoop::meet() {
  WaitOp::create(builder, builder.getLoc(), IntegerAttr(), builder.getI64IntegerAttr(0));
  BarrierOp::create(builder, IntegerAttr());
}

LogicalResult ItemLoop::emit() {
  SmallVector<Operation *> places;
  kernel.walk([&](Operation *op) {
    if (placesWorkgroup(op))
      places.push_back(op);
  });
  if (places.size() != 1 || places.front()->getBlock() != &block)
    return kernel.emitOpError() << "is persistent and has " << places.size()
                                << " ops that place a workgroup, or one that is not in the kernel's own block; the "
                                   "items follow from one 'tile.workgroup_id', 'tile.block_id' or 'tile.block_tile'";
  findEntry();
  bool usesLds = lastAccess || llvm::any_of(block, [](Operation &op) { return usesScratch(&op); });
  builder.setInsertionPointToStart(&block);
  Operation *begin = &block.front(), *end = block.getTerminator();
  Value turns = ItemTurnsOp::create(builder), zero = constant(0), one = constant(1);
  IRMapping first;
  if (!entry.empty()) {
    cloneSources(zero, first);
    Value any = arith::CmpIOp::create(builder, arith::CmpIPredicate::sgt, turns, zero);
    auto branch = scf::IfOp::create(builder, any, /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(branch.thenBlock());
    cloneEntry(first);
  }
  auto loop = scf::ForOp::create(builder, zero, turns, one);
  Block *body = loop.getBody();
  body->getOperations().splice(std::prev(body->end()), block.getOperations(), begin->getIterator(),
                               end->getIterator());
  setTurn(places.front(), loop.getInductionVar());
  builder.setInsertionPoint(body->getTerminator());
  if (entry.empty()) {
    if (usesLds)
      meet();
    return success();
  }
  builder.setInsertionPointAfter(lastAccess);
  meet();
  Value next = arith::AddIOp::create(builder, loop.getInductionVar(), one);
  Value isThere = arith::CmpIOp::create(builder, arith::CmpIPredicate::slt, next, turns);
  auto branch = scf::IfOp::create(builder, isThere, /*withElseRegion=*/false);
  builder.setInsertionPointToStart(branch.thenBlock());
  IRMapping following;
  cloneSources(next, following);
  cloneEntry(following);
  for (Operation *source : sources)
    if (auto ring = dyn_cast<RingOp>(source)) {
      Value firstRing = first.lookup(ring.getRing());
      continueRing(ring, firstRing);
      continueRing(following.lookup(ring.getRing()).getDefiningOp<RingOp>(), firstRing);
    }
  for (Operation *step : entry)
    step->erase();
  return success();
}

namespace {
struct WorkItemsPass : hocket::tile::impl::WorkItemsPassBase<WorkItemsPass> {
  void runOnOperation() override {
    for (KernelOp kernel : getOperation().getOps<KernelOp>()) {
      bool isDone = false;
      kernel.walk([&](ItemTurnsOp) { isDone = true; });
      if (kernel->hasAttr(kPersistentAttr) && !isDone && failed(ItemLoop(kernel).emit()))
        return signalPassFailure();
    }
  }
};
} // namespace
