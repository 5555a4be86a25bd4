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
// The entry is what the kernel asks for first: the fetches of the first tiles, and what it loads for itself before waves
// meet. Where it cannot be moved, it stays where it is. Stores must not be issued between the entry and the wait for it,
// since what is in flight completes in order: so that wait stands in front of the stores, and not in the turn.
#include "WorkItemParts.h"

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

namespace {
/// One persistent kernel.
class ItemLoop {
public:
  explicit ItemLoop(KernelOp kernel)
      : kernel(kernel), block(kernel.getBody().front()), builder(kernel.getLoc(), kernel.getContext()) {}

  LogicalResult emit();

private:
  scf::ForOp wrap(Value turns, Operation *begin, Operation *place, ValueRange inits);
  void emitPlain(Operation *place);
  void emitOverlapped(Operation *place);
  /// What the entry follows from once more, for the item of a turn, and the entry itself.
  void cloneSources(Value turn, IRMapping &mapping);
  SmallVector<Value> emitEntry(Value isThere, IRMapping &mapping);
  void meet();
  Value constant(int64_t value) {
    return arith::ConstantOp::create(builder, builder.getI32IntegerAttr(value));
  }

  KernelOp kernel;
  Block &block;
  ImplicitLocOpBuilder builder;
  ItemEntry entry;
};
} // namespace

void ItemLoop::cloneSources(Value turn, IRMapping &mapping) {
  for (Operation *source : entry.sources) {
    Operation *clone = builder.clone(*source, mapping);
    if (placesWorkgroup(clone))
      setTurn(clone, turn);
  }
}

/// `op` or the first one behind it that writes memory, or the end of the block.
static Operation *firstWrite(Block::iterator op) {
  while (std::next(op) != op->getBlock()->end() &&
         !holds(&*op, [](Operation *inner) { return hasEffect<MemoryEffects::Write>(inner); }))
    ++op;
  return &*op;
}

/// What waits for fetches first, on every way through `block`.
static void findFirstWaits(Block &block, SmallVectorImpl<WaitOp> &waits) {
  for (Operation &op : block) {
    auto wait = dyn_cast<WaitOp>(op);
    if (wait && wait.getVm())
      waits.push_back(wait);
    else if (!touchesRings(&op))
      continue;
    else if (auto branch = dyn_cast<scf::IfOp>(op))
      for (Region &region : branch->getRegions())
        if (!region.empty())
          findFirstWaits(region.front(), waits);
    return;
  }
}

/// How many loads the waits leave in flight that leave most. Those are taken out; who leaves fewer stays.
static int64_t takeLoosest(ArrayRef<WaitOp> waits) {
  int64_t most = 0;
  for (WaitOp wait : waits)
    most = std::max(most, static_cast<int64_t>(*wait.getVm()));
  for (WaitOp wait : waits) {
    if (static_cast<int64_t>(*wait.getVm()) != most)
      continue;
    wait.removeVmAttr();
    if (!wait.getLgkm())
      wait.erase();
  }
  return most;
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
  if (turnOf(places.front()))
    return places.front()->emitOpError("is of a turn, and the kernel has no 'tile.item_turns'; leave 'turn' out: "
                                       "'tile-work-items' writes both");
  entry = findItemEntry(block);
  if (kernel->hasAttr(kJoinItemsAttr))
    return emitJoinedItems(kernel, places.front(), entry);
  if (entry.ops.empty())
    emitPlain(places.front());
  else
    emitOverlapped(places.front());
  return success();
}

/// A loop around all of the block's ops behind `turns`, `place` for the item of a turn.
scf::ForOp ItemLoop::wrap(Value turns, Operation *begin, Operation *place, ValueRange inits) {
  auto loop = scf::ForOp::create(builder, constant(0), turns, constant(1), inits);
  Block *body = loop.getBody();
  if (!body->empty())
    body->back().erase();
  body->getOperations().splice(body->end(), block.getOperations(), begin->getIterator(),
                               block.getTerminator()->getIterator());
  setTurn(place, loop.getInductionVar());
  builder.setInsertionPointToEnd(body);
  return loop;
}

void ItemLoop::emitPlain(Operation *place) {
  Operation *begin = &block.front();
  builder.setInsertionPointToStart(&block);
  bool usesLds = entry.lastAccess || llvm::any_of(block, [](Operation &op) { return usesScratch(&op); });
  Value turns = ItemTurnsOp::create(builder);
  wrap(turns, begin, place, ValueRange());
  if (usesLds)
    meet();
  scf::YieldOp::create(builder);
}

/// The entry, of the item that `mapping` has the sources of: fetches if `isThere`, loads in any case.
SmallVector<Value> ItemLoop::emitEntry(Value isThere, IRMapping &mapping) {
  scf::IfOp branch;
  for (Operation *op : entry.ops) {
    OpBuilder::InsertionGuard guard(builder);
    if (isa<LoadOp>(op)) {
      branch = nullptr;
    } else {
      branch = branch ? branch : scf::IfOp::create(builder, isThere, /*withElseRegion=*/false);
      builder.setInsertionPoint(branch.thenBlock()->getTerminator());
    }
    FenceOp::create(builder);
    builder.clone(*op, mapping);
  }
  return llvm::map_to_vector(entry.loaded, [&](Value value) { return mapping.lookup(value); });
}

void ItemLoop::emitOverlapped(Operation *place) {
  Operation *begin = &block.front();
  builder.setInsertionPointToStart(&block);
  Value turns = ItemTurnsOp::create(builder), zero = constant(0), one = constant(1);
  IRMapping first, following;
  cloneSources(zero, first);
  // There always is a first item; tile-verify-clusters does not know that.
  Value any = arith::CmpIOp::create(builder, arith::CmpIPredicate::sgt, turns, zero);
  SmallVector<Value> inits = emitEntry(any, first);
  scf::ForOp loop = wrap(turns, begin, place, inits);
  for (Operation *op : entry.ops)
    op->remove();
  SmallVector<WaitOp> waits;
  findFirstWaits(*loop.getBody(), waits);
  IntegerAttr inFlight = builder.getI64IntegerAttr(takeLoosest(waits));
  builder.setInsertionPoint(loop);
  WaitOp::create(builder, inFlight, IntegerAttr());

  builder.setInsertionPointAfter(entry.lastAccess);
  meet();
  Value next = arith::AddIOp::create(builder, loop.getInductionVar(), one);
  Value isThere = arith::CmpIOp::create(builder, arith::CmpIPredicate::slt, next, turns);
  cloneSources(arith::SelectOp::create(builder, isThere, next, loop.getInductionVar()), following);
  SmallVector<Value> carried = emitEntry(isThere, following);
  builder.setInsertionPoint(firstWrite(builder.getInsertionPoint()));
  WaitOp::create(builder, inFlight, IntegerAttr());
  builder.setInsertionPointToEnd(loop.getBody());
  scf::YieldOp::create(builder, carried);

  for (Operation *source : entry.sources)
    if (auto ring = dyn_cast<RingOp>(source)) {
      Value firstRing = first.lookup(ring.getRing());
      continueRing(ring, firstRing);
      continueRing(following.lookup(ring.getRing()).getDefiningOp<RingOp>(), firstRing);
    }
  for (auto [value, argument] : llvm::zip_equal(entry.loaded, loop.getRegionIterArgs()))
    value.replaceAllUsesWith(argument);
  for (Operation *op : entry.ops)
    op->destroy();
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
