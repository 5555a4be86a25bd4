// Items of a persistent kernel whose pipelines join: the epilogue of one and the prologue of the next share clusters.
//
//   first item: its entry, what its prologue needs, its prologue
//   the second item's first tiles are asked for, into the other half of LDS
//   for each turn
//     steady loop and last iteration; what the next item loads is asked for beneath the last product that uses this one's
//     if there is another item: epilogue and stores, and its prologue, cluster by cluster; the first tiles of the one
//     behind it are asked for
//   epilogue and stores of the last item
//
// Iteration n + a of an item with n tiles is iteration a of the next, so both have the schedule's clusters. The prologue
// goes on for some iterations longer: the stores stand in their memory clusters, beneath which another wave group
// multiplies. The epilogue waits for no fetches; the waits and meetings are those of the prologue, which count the
// stores. What the prologue leaves is carried from turn to turn, and behind the last what steady loop and last iteration
// have left: the last epilogue stands behind the loop, since what the next item has loaded would be in registers in it.
#include "PipelineParts.h"
#include "SharedLines.h"

#include "Tile/Transforms/ClusterReplay.h"

#include "Tile/IR/MemoryAccess.h"
#include "Tile/IR/WaveExchange.h"
#include "Tile/IR/WorkItems.h"
#include "Target/Arch/ArchInfo.h"
#include "Target/Arch/Occupancy.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace hocket;
using namespace hocket::tile;

/// Places of the second half of LDS are multiples of this many bytes behind the first's.
static constexpr int64_t kHalfAlignment = 1024;

namespace {
/// What a wave issues in a cluster and waits count, in instructions: the prologue's fetches, then stores and fetches of
/// the item after.
struct ClusterIssue {
  int64_t fetches = 0, stores = 0;
};

class JoinedItems {
public:
  JoinedItems(KernelOp kernel, Operation *place, const ItemEntry &entry, PipelineParts parts, RingInfos rings,
              int64_t apart)
      : kernel(kernel), place(place), entry(entry), parts(std::move(parts)), rings(std::move(rings)), apart(apart),
        shared(hasGroups() ? findSharedPart(kernel, entry.loaded, 2 * apart) : std::nullopt),
        builder(kernel.getLoc(), kernel.getContext()) {}

  void emit();

private:
  /// An item: what its values are, and the number by which its half of LDS is known.
  struct Item {
    IRMapping values;
    Value number;
  };

  void clone(Operation *op, Item &item);
  void cloneAll(ArrayRef<Operation *> ops, Item &item);
  void cloneNeeded(ArrayRef<Operation *> users, Item &item);
  void clonePlace(Item &item, Value turn);
  void forgetPlace(Item &item) const;
  Value valueOf(Value value, Item &item);
  void emitFetches(Item &item, Value isThere);
  /// What brings an item into LDS: the operations of its entry other than the reads.
  Ops entryFetches() const {
    return llvm::filter_to_vector(entry.ops, [](Operation *op) { return !isa<LoadOp>(op); });
  }
  void emitApart(ArrayRef<Operation *> ops, Item &item);
  void emitFirst();
  void emitSecond(Value turns);
  void emitTurn(scf::ForOp loop);
  void emitMiddle(Item &item, Item &next);
  Type loadedType(Value value) const;
  SmallVector<Value> emitLoads(ArrayRef<Operation *> loads, Item item);
  void loadAhead(scf::IfOp middle, Item &item, Item &next);
  scf::IfOp emitEnd(Item &item, Item &next, Value turn, Value turns, Value isThere);
  void emitPiece(ArrayRef<Operation *> piece, Item &item);
  void emitClusterEnd(const PipelineCluster *begins, const PipelineCluster *ends);
  void mapResults(Item &item);
  int64_t fetchesOf(ArrayRef<Operation *> steps) const;
  int64_t withStores(int64_t fetches) const;
  void emitJoined(Item &item, Item &next, Item &after);
  void emitSteps(ArrayRef<Operation *> ends, Item &item, ArrayRef<Operation *> begins, Item &next, bool isOfMemory);
  Value ofLastItem(Value value, size_t index, Item &item);
  void emitLast(scf::ForOp loop);
  void collectCarried();
  Ops loadedUsers() const;
  bool isPartOfTurn(Operation *op);
  bool hasGroups() const {
    return llvm::any_of(parts.head, [](Operation *op) { return isa<BarrierOp>(op) && cast<BarrierOp>(op).getGroup(); });
  }
  Value constant(int64_t value) {
    return arith::ConstantOp::create(builder, builder.getI32IntegerAttr(value));
  }

  KernelOp kernel;
  Operation *place;
  const ItemEntry &entry;
  PipelineParts parts;
  RingInfos rings;
  int64_t apart;
  std::optional<SharedPart> shared;
  ImplicitLocOpBuilder builder;
  Item first;
  SmallVector<Value> carried;   ///< from turn to turn
  SmallVector<size_t> ofMiddle; ///< which of them are the results of the middle, in their order
  SmallVector<Value> ofPlace;   ///< carried out of the loop behind them: the last item's place and number of tiles
  llvm::StringMap<size_t> stepOrder;  ///< of steady iterations
  SmallVector<ClusterIssue> inFlight; ///< of the clusters that items share, so far
};
} // namespace

/// The bytes from one half of LDS to the other, if a workgroup may have both.
static std::optional<int64_t> findHalves(KernelOp kernel) {
  Result<const ArchInfo *> arch = findArch(kernel.getTarget().str());
  auto persistent = kernel->getAttrOfType<IntegerAttr>(kPersistentAttr);
  if (!arch || !persistent)
    return std::nullopt;
  int64_t bytes = llvm::alignTo(ldsEnd(kernel), kHalfAlignment);
  int64_t available = std::min<int64_t>((*arch)->lds.bytesPerWorkgroup, maxLdsFor(**arch, persistent.getInt()));
  return 2 * bytes <= available ? std::optional(bytes) : std::nullopt;
}

// Writing

/// Of a ring, the clone lies in the item's half of LDS; at least the least number of tiles is computed.
void JoinedItems::clone(Operation *op, Item &item) {
  Operation *made = builder.clone(*op, item.values);
  if (auto ring = dyn_cast<RingOp>(made)) {
    if (&item != &first)
      ring.getContinuedMutable().assign(first.values.lookup(cast<RingOp>(op).getRing()));
    ring.getAlternateMutable().assign(item.number);
    ring.setApartAttr(builder.getI64IntegerAttr(apart));
  }
  if (op == parts.count.getDefiningOp())
    item.values.map(parts.count, arith::MaxSIOp::create(builder, made->getResult(0), constant(parts.fewest)));
}

void JoinedItems::cloneAll(ArrayRef<Operation *> ops, Item &item) {
  for (Operation *op : ops)
    clone(op, item);
}

/// Whether `op` computes a number from arguments alone.
static bool isOfArguments(Operation *op) {
  return isa<arith::ArithDialect>(op->getDialect()) && llvm::all_of(op->getOperands(), [](Value operand) {
           return isa<BlockArgument>(operand) || isOfArguments(operand.getDefiningOp());
         });
}

/// Whether the first item's number is that of all, and in the registers of vectors, where their loops have it anyway.
static bool isOfAllItems(Operation *op) {
  return op->getNumResults() == 1 && op->getResult(0).getType().isF32() && isOfArguments(op);
}

/// What stands in front of the pipeline and `users` use, as far as the item has not got it.
void JoinedItems::cloneNeeded(ArrayRef<Operation *> users, Item &item) {
  llvm::DenseSet<Operation *> needed;
  Ops worklist(users);
  while (!worklist.empty())
    worklist.pop_back_val()->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands()) {
        Operation *source = operand.getDefiningOp();
        if (!source || item.values.contains(operand) || !llvm::is_contained(parts.before, source))
          continue;
        if (isOfAllItems(source) && first.values.contains(operand))
          item.values.map(operand, first.values.lookup(operand));
        else if (needed.insert(source).second)
          worklist.push_back(source);
      }
    });
  for (Operation *op : parts.before)
    if (needed.contains(op))
      clone(op, item);
}

void JoinedItems::clonePlace(Item &item, Value turn) {
  cloneNeeded(place, item);
  setTurn(builder.clone(*place, item.values), turn);
}

/// What follows from where the item is, is found anew where it is used next: kept, it would take registers. Not how many
/// tiles it has, of which there is one number.
void JoinedItems::forgetPlace(Item &item) const {
  llvm::DenseSet<Value> follows;
  auto forget = [&](Operation *op) {
    for (Value value : op->getResults()) {
      follows.insert(value);
      item.values.erase(value);
    }
  };
  forget(place);
  llvm::DenseSet<Value> kept(carried.begin(), carried.end());
  for (Operation *op : parts.before)
    if (llvm::any_of(op->getOperands(), [&](Value operand) { return follows.contains(operand); }) &&
        llvm::none_of(op->getResults(), [&](Value value) { return kept.contains(value) || value == parts.count; }))
      forget(op);
}

/// What `value` is of the item, computed here where it stands in front of the pipeline or is a constant.
Value JoinedItems::valueOf(Value value, Item &item) {
  Operation *op = value.getDefiningOp();
  bool canBeMade = op && (llvm::is_contained(parts.before, op) || op->hasTrait<OpTrait::ConstantLike>());
  if (!item.values.contains(value) && canBeMade) {
    Ops made = {op};
    cloneNeeded(made, item);
    clone(op, item);
  }
  return item.values.lookupOrDefault(value);
}

/// The fetches of the entry, if the item is there.
void JoinedItems::emitFetches(Item &item, Value isThere) {
  Ops fetches = entryFetches();
  cloneNeeded(fetches, item);
  auto branch = scf::IfOp::create(builder, isThere, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(branch.thenBlock()->getTerminator());
  emitApart(fetches, item);
}

/// Each behind a fence.
void JoinedItems::emitApart(ArrayRef<Operation *> ops, Item &item) {
  for (Operation *op : ops) {
    FenceOp::create(builder);
    clone(op, item);
  }
  FenceOp::create(builder);
}

/// Whether `op` is of what each turn computes of its own item.
bool JoinedItems::isPartOfTurn(Operation *op) {
  auto isIn = [&](const Ops &ops) { return llvm::any_of(ops, [&](Operation *one) { return one->isAncestor(op); }); };
  return parts.middle->isAncestor(op) || op == parts.pipeline.thenYield() || isIn(parts.between) ||
         isIn(parts.epilogue) || isIn(parts.after);
}

/// What stands in front of the pipeline and follows from loads.
Ops JoinedItems::loadedUsers() const {
  llvm::DenseSet<Value> ofLoads(entry.loaded.begin(), entry.loaded.end());
  return llvm::filter_to_vector(parts.before, [&](Operation *op) {
    bool follows = llvm::any_of(op->getOperands(), [&](Value operand) { return ofLoads.contains(operand); });
    if (follows)
      ofLoads.insert(op->result_begin(), op->result_end());
    return follows;
  });
}

/// What the prologue leaves, and what follows from loads.
void JoinedItems::collectCarried() {
  auto carry = [&](Value value) {
    bool isUsed = llvm::any_of(value.getUsers(), [&](Operation *user) { return isPartOfTurn(user); });
    if (isUsed)
      carried.push_back(value);
  };
  for (Value value : entry.loaded)
    carry(value);
  for (Operation *op : loadedUsers())
    for (Value value : op->getResults())
      carry(value);
  for (Operation *op : parts.prologue)
    if (!op->hasTrait<OpTrait::ConstantLike>())
      for (Value value : op->getResults())
        carry(value);
  llvm::append_range(ofPlace, place->getResults());
  ofPlace.push_back(parts.count);
  // Without a middle the prologue leaves what the middle leaves, some of it twice.
  for (Value value : parts.middle.elseYield().getResults()) {
    size_t index = llvm::find(carried, value) - carried.begin();
    if (index == carried.size() || llvm::is_contained(ofMiddle, index)) {
      index = carried.size();
      carried.push_back(value);
    }
    ofMiddle.push_back(index);
  }
}

void JoinedItems::emitFirst() {
  builder.setInsertionPointToStart(&kernel.getBody().front());
  first.number = constant(0);
  clonePlace(first, first.number);
  Ops rings = llvm::filter_to_vector(parts.before, llvm::IsaPred<RingOp>);
  Ops fetches = entryFetches();
  cloneNeeded(fetches, first);
  for (Operation *op : entry.ops) {
    cloneNeeded(op, first);
    FenceOp::create(builder);
    clone(op, first);
  }
  FenceOp::create(builder);
  cloneNeeded(rings, first);
  for (Operation *ring : rings)
    if (!first.values.contains(ring->getResult(0)))
      clone(ring, first);
  for (const Ops &ops : {parts.head, parts.prologue}) {
    cloneNeeded(ops, first);
    cloneAll(ops, first);
  }
}

/// The first tiles of the second item; of later ones they are asked for two items ahead.
void JoinedItems::emitSecond(Value turns) {
  Item second;
  second.number = constant(1);
  Value isThere = arith::CmpIOp::create(builder, arith::CmpIPredicate::slt, second.number, turns);
  clonePlace(second, arith::SelectOp::create(builder, isThere, second.number, first.number));
  emitFetches(second, isThere);
}

/// In which type the next item's value is there until it begins.
Type JoinedItems::loadedType(Value value) const {
  return shared && isLoadedOperand(value) ? linesOf(cast<FragType>(value.getType())) : value.getType();
}

/// What `item` loads for itself, where `builder` is: beneath products, if there are any. Waits behind, which are for
/// fetches in front, count it.
SmallVector<Value> JoinedItems::emitLoads(ArrayRef<Operation *> loads, Item item) {
  cloneNeeded(loads, item);
  int64_t counted = 0;
  bool isBeneathProducts = isInCompute(&*builder.getInsertionPoint());
  for (Operation *load : loads) {
    if (!isBeneathProducts)
      FenceOp::create(builder);
    clone(load, item);
    Operation *made = item.values.lookup(load->getResult(0)).getDefiningOp();
    if (shared && isLoadedOperand(load->getResult(0))) {
      made->getResult(0).setType(loadedType(load->getResult(0)));
      made->setAttr(kWholeRows, builder.getUnitAttr());
    }
    counted += markCounted(made);
  }
  if (!isBeneathProducts)
    FenceOp::create(builder);
  for (Operation &op : llvm::make_range(builder.getInsertionPoint(), builder.getInsertionBlock()->end()))
    if (auto wait = dyn_cast<WaitOp>(op); wait && wait.getVm())
      wait.setVm(*wait.getVm() + counted);
  return llvm::map_to_vector(entry.loaded, [&](Value value) { return item.values.lookup(value); });
}

/// Adds to the middle what the next item loads for itself, behind the last op that uses what this one has loaded.
void JoinedItems::loadAhead(scf::IfOp middle, Item &item, Item &next) {
  Ops loads = llvm::filter_to_vector(entry.ops, llvm::IsaPred<LoadOp>);
  SmallVector<Value> ofLoads(entry.loaded);
  for (Operation *op : loadedUsers())
    llvm::append_range(ofLoads, op->getResults());
  llvm::DenseSet<Value> used;
  for (Value value : ofLoads)
    if (Value mapped = item.values.lookupOrNull(value))
      used.insert(mapped);
  SmallVector<Type> types = llvm::to_vector(middle.getResultTypes());
  for (Value value : entry.loaded)
    types.push_back(loadedType(value));
  builder.setInsertionPoint(middle);
  auto made = scf::IfOp::create(builder, types, middle.getCondition(), /*withElseRegion=*/true);
  made.getThenRegion().takeBody(middle.getThenRegion());
  made.getElseRegion().takeBody(middle.getElseRegion());
  for (Block *block : {made.thenBlock(), made.elseBlock()}) {
    builder.setInsertionPoint(behindUsers(*block, used));
    SmallVector<Value> loaded = emitLoads(loads, next);
    // LLVM's branches lead from here to the steady loop, too, and it would wait there.
    if (shared && block == made.elseBlock())
      WaitOp::create(builder, builder.getI64IntegerAttr(0), IntegerAttr());
    block->getTerminator()->insertOperands(middle.getNumResults(), loaded);
  }
  ResultRange results = made.getResults();
  for (auto [value, result] : llvm::zip(parts.middle.getResults(), results))
    item.values.map(value, result);
  for (auto [value, result] : llvm::zip_equal(entry.loaded, results.take_back(entry.loaded.size())))
    next.values.map(value, result);
  middle.replaceAllUsesWith(results.drop_back(entry.loaded.size()));
  middle.erase();
  builder.setInsertionPointAfter(made);
}

/// Where there is nothing between prologue and epilogue, what the next item has asked for is waited for here.
void JoinedItems::emitMiddle(Item &item, Item &next) {
  cloneNeeded(parts.between, item);
  cloneAll(parts.between, item);
  Ops middle = {parts.middle};
  cloneNeeded(middle, item);
  clone(parts.middle, item);
  auto branch = item.values.lookup(parts.middle->getResult(0)).getDefiningOp<scf::IfOp>();
  branch->removeAttr(kMiddleMark);
  builder.setInsertionPointToStart(branch.elseBlock());
  WaitOp::create(builder, builder.getI64IntegerAttr(0), IntegerAttr());
  // Of two groups, the second passes here one meeting later than the first.
  BarrierOp::create(builder, IntegerAttr());
  if (hasGroups())
    BarrierOp::create(builder, IntegerAttr());
  loadAhead(branch, item, next);
}

/// A piece, between fences: waits behind it count its stores.
void JoinedItems::emitPiece(ArrayRef<Operation *> piece, Item &item) {
  FenceOp::create(builder);
  for (Operation *op : piece) {
    clone(op, item);
    if (isa<StoreOp, StoreRowsOp>(op))
      inFlight.back().stores += markCounted(&builder.getInsertionBlock()->back());
  }
  FenceOp::create(builder);
}

/// How many accesses a wait leaves that leaves `fetches` of them alone: stores behind the one that it completes are
/// newer, if a meeting lies between.
int64_t JoinedItems::withStores(int64_t fetches) const {
  int64_t left = fetches, stores = 0, ofThis = 0;
  for (const ClusterIssue &cluster : llvm::reverse(inFlight)) {
    stores += ofThis;
    ofThis = cluster.stores;
    left -= cluster.fetches;
    if (left < 0)
      return fetches + stores;
  }
  return fetches + stores + ofThis;
}

/// What some steps fetch, in instructions of a wave.
int64_t JoinedItems::fetchesOf(ArrayRef<Operation *> steps) const {
  int64_t count = 0;
  for (Operation *step : steps)
    step->walk([&](RingAccessOpInterface access) {
      if (access.writesSlot() && access.isAsynchronous())
        count += rings.find(access.getRing().getDefiningOp<RingOp>().getFirst())->second.fetchInstructions;
    });
  return count;
}

/// The waits and meetings at the end of a cluster: the prologue's, and for what the epilogue reads.
void JoinedItems::emitClusterEnd(const PipelineCluster *begins, const PipelineCluster *ends) {
  IntegerAttr fetches, reads;
  for (const PipelineCluster *cluster : {ends, begins})
    for (Operation *op : cluster ? cluster->ends : Ops())
      if (auto wait = dyn_cast<WaitOp>(op)) {
        reads = wait.getLgkmAttr() ? wait.getLgkmAttr() : reads;
        if (cluster == begins && wait.getVm())
          fetches = builder.getI64IntegerAttr(withStores(static_cast<int64_t>(*wait.getVm())));
      }
  if (fetches || reads)
    WaitOp::create(builder, fetches, reads);
  for (Operation *op : begins ? begins->ends : Ops())
    if (isa<BarrierOp>(op))
      builder.clone(*op);
}

/// The steps of two items in one cluster, in the order in which steady iterations have them; behind fences in clusters of
/// memory.
void JoinedItems::emitSteps(ArrayRef<Operation *> ends, Item &item, ArrayRef<Operation *> begins, Item &next,
                            bool isOfMemory) {
  auto place = [&](const Ops &step) {
    auto op = dyn_cast<StepOp>(step.back());
    return op ? stepOrder.lookup(op.getSymName()) : stepOrder.size();
  };
  SmallVector<Ops> old = stepsOf(ends), made = stepsOf(begins);
  for (size_t a = 0, b = 0; a + b != old.size() + made.size();) {
    if (a + b != 0 && isOfMemory)
      FenceOp::create(builder);
    bool isOld = b == made.size() || (a != old.size() && place(old[a]) <= place(made[b]));
    isOld ? cloneAll(old[a++], item) : cloneAll(made[b++], next);
  }
}

/// The epilogue of an item and what follows it, and the prologue of the next. Beneath the products of that, the first
/// tiles of the one after it are asked for.
void JoinedItems::emitJoined(Item &item, Item &next, Item &after) {
  SmallVector<PipelineCluster> old = clustersOf(parts.epilogue), made = clustersOf(parts.prologue);
  SmallVector<Ops> pieces = piecesOf(parts.after);
  ArrayRef<Ops> left = pieces;
  Ops fetches = entryFetches();
  ArrayRef<Operation *> ahead = fetches;
  int64_t all = static_cast<int64_t>(made.size()), end = all - static_cast<int64_t>(parts.peeled);
  int64_t firstOld = end - static_cast<int64_t>(old.size());
  for (int64_t i = std::min<int64_t>(0, firstOld); i != all; ++i) {
    int64_t ofOld = i - firstOld;
    const PipelineCluster *ends = ofOld >= 0 && i < end ? &old[ofOld] : nullptr;
    const PipelineCluster *begins = i >= 0 ? &made[i] : nullptr;
    Operation *enter = (begins ? begins : ends)->enter;
    bool isOfMemory = cast<EnterOp>(enter).getKind() == ClusterKind::Memory;
    builder.clone(*enter);
    inFlight.push_back({});
    if (begins) {
      cloneNeeded(begins->steps, next);
      inFlight.back().fetches = fetchesOf(begins->steps);
    }
    emitSteps(ends ? ends->steps : Ops(), item, begins ? begins->steps : Ops(), next, isOfMemory);
    if (i == end)
      mapResults(item);
    bool isLast = i + 1 == all;
    while (i >= end && !left.empty() && (isOfMemory || isLast)) {
      cloneNeeded(left.front(), item);
      emitPiece(left.front(), item);
      left = left.drop_front();
    }
    while (i > end && !ahead.empty() && (!isOfMemory || isLast)) {
      cloneNeeded(ahead.front(), after);
      clone(ahead.front(), after);
      inFlight.back().stores += fetchesOf(ahead.front());
      ahead = ahead.drop_front();
      if (!isLast)
        break;
    }
    emitClusterEnd(begins, ends);
  }
}

/// What the pipeline has made of the item.
void JoinedItems::mapResults(Item &item) {
  Operation *yield = parts.pipeline.thenYield();
  for (auto [result, yielded] : llvm::zip_equal(parts.pipeline.getResults(), yield->getOperands()))
    item.values.map(result, item.values.lookupOrDefault(yielded));
}

/// What is carried behind the last item's middle: what that has left. Registers of their own for others would have to be
/// kept.
Value JoinedItems::ofLastItem(Value value, size_t index, Item &item) {
  if (const size_t *result = llvm::find(ofMiddle, index); result != ofMiddle.end())
    return item.values.lookup(parts.middle.getResult(result - ofMiddle.begin()));
  if (isa<FragType, RowsType>(value.getType()))
    return FillOp::create(builder, value.getType(), builder.getF32FloatAttr(0.0f));
  return valueOf(value, item);
}

/// What ends the item beside what begins the next one, if that is there. What is carried on is then the next item's.
scf::IfOp JoinedItems::emitEnd(Item &item, Item &next, Value turn, Value turns, Value isThere) {
  Value following = turnOf(next.values.lookup(place->getResult(0)).getDefiningOp());
  forgetPlace(item);
  forgetPlace(next);
  clonePlace(item, turn);
  clonePlace(next, following);
  SmallVector<Type> types = llvm::to_vector(ValueRange(carried).getTypes());
  llvm::append_range(types, ValueRange(ofPlace).getTypes());
  auto branch = scf::IfOp::create(builder, types, isThere, /*withElseRegion=*/true);
  auto enter = [&](Block *block) {
    if (!block->empty())
      block->back().erase();
    builder.setInsertionPointToEnd(block);
  };
  OpBuilder::InsertionGuard guard(builder);
  enter(branch.thenBlock());
  Item joined = item;
  Ops ends = parts.epilogue;
  ends.push_back(parts.pipeline.thenYield());
  cloneNeeded(ends, joined);
  // In front of the clusters: branches would cut them.
  Ops users = loadedUsers();
  cloneNeeded(users, next);
  cloneAll(users, next);
  FenceOp::create(builder);
  Item after;
  after.number = arith::AddIOp::create(builder, turn, constant(2));
  Value follows = arith::CmpIOp::create(builder, arith::CmpIPredicate::slt, after.number, turns);
  clonePlace(after, arith::SelectOp::create(builder, follows, after.number, turn));
  emitJoined(joined, next, after);
  SmallVector<Value> begun = llvm::map_to_vector(carried, [&](Value value) { return valueOf(value, next); });
  begun.append(ofPlace.size(), constant(0));
  scf::YieldOp::create(builder, begun);

  enter(branch.elseBlock());
  if (shared)
    WaitOp::create(builder, IntegerAttr(), builder.getI64IntegerAttr(0));
  SmallVector<Value> left;
  for (auto [index, value] : llvm::enumerate(carried))
    left.push_back(ofLastItem(value, index, item));
  for (Value value : ofPlace)
    left.push_back(valueOf(value, item));
  scf::YieldOp::create(builder, left);
  return branch;
}

/// Behind the loop.
void JoinedItems::emitLast(scf::ForOp loop) {
  Item last;
  last.number = arith::SubIOp::create(builder, loop.getUpperBound(), constant(1));
  for (auto [value, result] : llvm::zip_equal(ofPlace, loop.getResults().take_back(ofPlace.size())))
    last.values.map(value, result);
  for (auto [result, index] : llvm::zip_equal(parts.middle.getResults(), ofMiddle))
    last.values.map(result, loop.getResult(index));
  for (Operation *op : parts.prologue)
    if (op->hasTrait<OpTrait::ConstantLike>())
      clone(op, last);
  cloneNeeded(parts.between, last);
  cloneAll(parts.between, last);
  cloneNeeded(parts.epilogue, last);
  cloneAll(parts.epilogue, last);
  Ops ends = {parts.pipeline.thenYield()};
  cloneNeeded(ends, last);
  mapResults(last);
  cloneNeeded(parts.after, last);
  cloneAll(parts.after, last);
}

void JoinedItems::emitTurn(scf::ForOp loop) {
  Value turn = loop.getInductionVar(), turns = loop.getUpperBound();
  Item item, next;
  item.number = turn;
  for (auto [value, argument] : llvm::zip(carried, loop.getRegionIterArgs()))
    item.values.map(value, argument);
  clonePlace(item, turn);
  next.number = arith::AddIOp::create(builder, turn, constant(1));
  Value isThere = arith::CmpIOp::create(builder, arith::CmpIPredicate::slt, next.number, turns);
  clonePlace(next, arith::SelectOp::create(builder, isThere, next.number, turn));
  for (Operation *op : parts.prologue)
    if (op->hasTrait<OpTrait::ConstantLike>())
      clone(op, item);
  emitMiddle(item, next);
  // Of the last item, too: LLVM would wait at each turn's begin for loads that are not used where another branch leads.
  for (Value value : entry.loaded)
    if (Value loaded = next.values.lookup(value); loaded.getType() != value.getType())
      next.values.map(value, convertThrough(builder, *shared, loaded, cast<FragType>(value.getType())));
  scf::IfOp end = emitEnd(item, next, turn, turns, isThere);
  scf::YieldOp::create(builder, end.getResults());
}

void JoinedItems::emit() {
  Block &block = kernel.getBody().front();
  Ops originals = llvm::map_to_vector(block.without_terminator(), [](Operation &op) { return &op; });
  parts.middle->walk([&](StepOp step) { stepOrder.try_emplace(step.getSymName(), stepOrder.size()); });
  collectCarried();
  emitFirst();
  Value turns = ItemTurnsOp::create(builder);
  emitSecond(turns);
  SmallVector<Value> inits = llvm::map_to_vector(carried, [&](Value value) { return valueOf(value, first); });
  inits.append(ofPlace.size(), constant(0));
  auto loop = scf::ForOp::create(builder, constant(0), turns, constant(1), inits);
  if (!loop.getBody()->empty())
    loop.getBody()->back().erase();
  builder.setInsertionPointToEnd(loop.getBody());
  emitTurn(loop);
  builder.setInsertionPointAfter(loop);
  emitLast(loop);
  WaitOp::create(builder, builder.getI64IntegerAttr(0), IntegerAttr());
  for (Operation *op : llvm::reverse(originals))
    op->erase();
}

LogicalResult hocket::tile::emitJoinedItems(KernelOp kernel, Operation *place, const ItemEntry &entry) {
  if (entry.ops.empty())
    return kernel.emitOpError() << "has items that cannot join ('" << kJoinItemsAttr
                                << "'): the first tiles of the next one cannot be asked for ahead (they follow from more "
                                   "than arguments and the item, or LDS is used behind the last tile); leave the "
                                   "attribute out";
  std::optional<PipelineParts> parts = findPipelineParts(kernel.getBody().front(), place, entry);
  std::optional<int64_t> halves = findHalves(kernel);
  if (!parts || !halves)
    return kernel.emitOpError() << "has items that cannot join ('" << kJoinItemsAttr
                                << "'): that takes one loop over tiles that are cut at their end ('cut_right'), to which a "
                                   "tile more than there are adds nothing ('"
                                << kIdleTilesAttr
                                << "'), a schedule that fetches nothing behind its last steady iteration, and twice the "
                                << ldsEnd(kernel)
                                << " bytes of LDS of the kernel's rings; use such a schedule (dual_wave), smaller tiles, or "
                                   "leave the attribute out";
  FailureOr<RingInfos> rings = readRings(kernel);
  if (failed(rings))
    return failure();
  JoinedItems(kernel, place, entry, std::move(*parts), std::move(*rings), *halves).emit();
  return success();
}
