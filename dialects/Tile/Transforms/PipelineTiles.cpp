// tile-pipeline: from "which step in which cluster, for which tile" to code in which every step of
// every iteration has its place.
//
// The form depends on the schedule alone. If no step runs ahead and nothing is unrolled, it is one
// loop. Otherwise, for loops with enough tiles:
//
//   entry       what brings the first tiles, with nothing between; one wait, one barrier
//   prologue    iterations in which some steps have no tile yet; straight-line
//   steady      the loop, unrolled; slots are constants where the unrolling allows. With `masks_apart` up to three, one
//               behind the other: for the tiles that masks may cut at the begin, for those between, without masks, and
//               for those at the end
//   remainder   the iterations that are left over from unrolling; a loop with slots at run time, or branches where two
//               are left at most (in persistent kernels one)
//   last        the iteration in which the last tile is needed first; straight-line, in one branch
//               with steady and remainder, since the prologue may have done it
//   epilogue    iterations in which some steps have run out of tiles; straight-line, each one cluster where nobody meets
//
// and a plain loop without overlap, or a single tile, for shorter ones. Steps that only bring tiles
// run past the last of them, where there is nothing to bring. One iteration of any of them is
// written by IterationEmitter, where the entry stands is decided by Entry.h.
#include "Entry.h"
#include "IterationEmitter.h"

#include "Tile/IR/Interleave.h"
#include "Tile/IR/Tile.h"
#include "Tile/IR/WorkItems.h"
#include "Tile/Transforms/Passes.h"
#include "Tile/Transforms/ScheduleModel.h"

#include "Target/Arch/ArchInfo.h"
#include "Target/Arch/Occupancy.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

#include <deque>

namespace hocket::tile {
#define GEN_PASS_DEF_PIPELINETILESPASS
#include "Tile/Transforms/Passes.h.inc"
} // namespace hocket::tile

using namespace mlir;
using namespace hocket;
using namespace hocket::tile;

/// Iterations that may have loops of their own for their masks' sake.
static constexpr int64_t kMostCutTurns = 64;

namespace {
/// Some of the steady iterations, in a loop of their own or not.
struct SteadyPart {
  TileMargins further;        ///< how many others come before and after, at least
  bool isMostlyWhole = false; ///< whether masks that reach only some tiles from one end cut few of them
  /// Of one iteration by itself: how many are behind the last whole pass through the unrolled loop, where that is known.
  std::optional<int64_t> behindPass = {};
};

class LoopEmitter {
public:
  LoopEmitter(ForTilesOp loop, const ScheduleModel &model)
      : loop(loop), model(model), iterations(loop, model),
        endsFreely(model.endsInOneWait() && endsLds(loop)), joinsItems(model.peeledIterations() != 0) {}

  void emit();

private:
  SmallVector<Value> emitPlain(ImplicitLocOpBuilder &builder);
  SmallVector<Value> emitAtMostOne(ImplicitLocOpBuilder &builder);
  SmallVector<Value> emitFewTiles(ImplicitLocOpBuilder &builder);
  SmallVector<Value> emitPlainTile(ImplicitLocOpBuilder &builder, Value number,
                                   ValueRange carriedIn);
  SmallVector<Value> emitOverlapped(ImplicitLocOpBuilder &builder);
  void collectEntry();
  void emitEarlyEntry();
  void emitEntry(ImplicitLocOpBuilder &builder);
  IterationCopy prologueCopy(int64_t iteration) const;
  void emitPrologue(ImplicitLocOpBuilder &builder);
  void emitSteadyCopies(ImplicitLocOpBuilder &builder, Value induction, int64_t unroll, const SteadyPart &part = {});
  void emitSteady(ImplicitLocOpBuilder &builder, Value begin, Value end, int64_t unroll, const SteadyPart &part = {});
  void emitSteadyIfAny(ImplicitLocOpBuilder &builder, Value turns, Value end, int64_t unroll);
  TileMargins cutTurns() const;
  void emitSteadyApart(ImplicitLocOpBuilder &builder, Value turns, Value end, int64_t unroll, TileMargins cut);
  void emitRemainder(ImplicitLocOpBuilder &builder, Value first, Value end);
  Operation *emitFewIterations(ImplicitLocOpBuilder &builder, Value first, Value end,
                               ArrayRef<Version> carried, ValueRange inits, int64_t behindPass);
  Operation *emitRest(ImplicitLocOpBuilder &builder, Value first, Value end,
                      ArrayRef<Version> carried, ValueRange inits);
  SmallVector<Value> valuesOf(ArrayRef<Version> carried) const {
    return llvm::map_to_vector(carried, [&](const Version &each) { return iterations.versions.find(each)->second; });
  }
  scf::IfOp emitBranch(
      ImplicitLocOpBuilder &builder, Value condition, function_ref<void()> emitThen,
      function_ref<bool(const Version &)> isNeeded = [](const Version &) { return true; });
  void emitLongerLoop(ImplicitLocOpBuilder &builder);
  void emitMiddle(ImplicitLocOpBuilder &builder);
  SmallVector<Value> emitEither(ImplicitLocOpBuilder &builder);
  SmallVector<int64_t> accesses(int64_t ahead) const;
  IterationCopy endCopy(int64_t ahead, int64_t fewest) const;
  void emitLast(ImplicitLocOpBuilder &builder);
  bool joinsEpilogue() const;
  void emitEpilogue(ImplicitLocOpBuilder &builder);

  AllowedInFlight steadyAllowed(int64_t cluster) const;
  AllowedInFlight endAllowed(int64_t ahead, int64_t cluster, int64_t fewest) const;

  static Value constant(ImplicitLocOpBuilder &builder, int64_t value) {
    return IterationEmitter::constant(builder, value);
  }
  static Value addConstant(ImplicitLocOpBuilder &builder, Value value, int64_t summand) {
    return summand == 0 ? value : arith::AddIOp::create(builder, value, constant(builder, summand));
  }

  /// A step of the entry, and the place in front of which it stands (null: at the loop).
  struct EntryStep {
    int64_t iteration;
    PlacedStep step;
    Operation *place = nullptr;
  };

  ForTilesOp loop;
  const ScheduleModel &model;
  IterationEmitter iterations;
  /// Whether in the epilogue nobody waits for fetches and nobody overwrites anything.
  bool endsFreely;
  /// Whether it is the pipeline of an item that the next one's may join: its least number of tiles is computed where
  /// there are fewer.
  bool joinsItems;
  SmallVector<EntryStep> entry;
};
} // namespace

/// Of tiles that are perhaps not there, none follows for sure.
static int64_t noneForSure(int64_t) { return 0; }

/// One loop, tile by tile, with nothing in flight from one to the next.
SmallVector<Value> LoopEmitter::emitPlain(ImplicitLocOpBuilder &builder) {
  Value zero = constant(builder, 0), one = constant(builder, 1);
  auto forOp = scf::ForOp::create(builder, zero, loop.getCount(), one, loop.getInits());
  if (!forOp.getBody()->empty())
    forOp.getBody()->back().erase();
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(forOp.getBody());
  SmallVector<Value> next =
      emitPlainTile(builder, forOp.getInductionVar(), forOp.getRegionIterArgs());
  scf::YieldOp::create(builder, next);
  return llvm::to_vector_of<Value>(forOp.getResults());
}

/// The same where there is one tile or none.
SmallVector<Value> LoopEmitter::emitAtMostOne(ImplicitLocOpBuilder &builder) {
  Value zero = constant(builder, 0);
  Value any =
      arith::CmpIOp::create(builder, arith::CmpIPredicate::sgt, loop.getCount(), zero).getResult();
  auto branch = scf::IfOp::create(builder, loop.getResultTypes(), any, /*withElse=*/true);
  OpBuilder::InsertionGuard guard(builder);
  for (Block *block : {branch.thenBlock(), branch.elseBlock()})
    if (!block->empty())
      block->back().erase();
  builder.setInsertionPointToStart(branch.thenBlock());
  SmallVector<Value> next = emitPlainTile(builder, zero, loop.getInits());
  scf::YieldOp::create(builder, next);
  builder.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(builder, loop.getInits());
  return llvm::to_vector_of<Value>(branch.getResults());
}

/// Tile `number` after what is carried into it; returns what it carries on.
SmallVector<Value> LoopEmitter::emitPlainTile(ImplicitLocOpBuilder &builder, Value number,
                                              ValueRange carriedIn) {
  bool scheduled = model.stages() == 0;
  Clusters clusters = scheduled ? scheduledClusters(model) : plainClusters(loop);
  iterations.versions.clear();
  for (auto [carried, value] : llvm::zip_equal(loop.getCarried(), carriedIn))
    iterations.versions[{carried, 0}] = value;

  IterationCopy copy;
  copy.tile = [&](ImplicitLocOpBuilder &, int64_t) { return number; };
  copy.slot = [](int64_t, int64_t) { return std::optional<int64_t>(0); };
  copy.valid = [](int64_t) { return true; };
  copy.tilesBefore = copy.tilesAfter = [](int64_t) { return 0; };
  copy.allowed = [&](int64_t cluster) -> AllowedInFlight {
    if (scheduled)
      return model.allowedInFlight(/*tiles=*/1, /*iteration=*/-model.firstOffset(), cluster);
    return cluster == 0 && model.fetches() ? AllowedInFlight(SmallVector<InFlight>()) : std::nullopt;
  };
  iterations.emit(builder, clusters, copy, scheduled);
  SmallVector<Value> next;
  for (Value carried : loop.getCarried())
    next.push_back(iterations.versions.find({carried, 1})->second);
  return next;
}

IterationCopy LoopEmitter::prologueCopy(int64_t iteration) const {
  IterationCopy copy;
  copy.tile = [=](ImplicitLocOpBuilder &b, int64_t offset) {
    return constant(b, iteration + offset);
  };
  copy.slot = [=](int64_t offset, int64_t depth) {
    return std::optional((iteration + offset) % depth);
  };
  copy.valid = [=](int64_t offset) { return iteration + offset >= 0; };
  copy.tilesBefore = [=](int64_t offset) { return iteration + offset; };
  copy.tilesAfter = [=, this](int64_t offset) {
    return model.minimumTiles() - 1 - (iteration + offset);
  };
  if (joinsItems)
    copy.tilesAfter = noneForSure;
  copy.allowed = [=, this](int64_t cluster) {
    // Where there is nothing else, the epilogue follows; of items that join, what waits for all.
    bool isLast = iteration + 1 == model.firstSteady() && cluster + 1 == model.clusters();
    AllowedInFlight allowed = model.allowedInFlight(model.manyTiles(), iteration, cluster);
    return isLast && endsFreely && !joinsItems
               ? strictest(allowed, model.allowedForGood(model.minimumTiles(), iteration))
               : allowed;
  };
  copy.has = [=, this](int64_t cluster) {
    return iteration * model.clusters() + cluster >= model.entryEnd();
  };
  return copy;
}

/// How many fetches a step issues that a wait for fetches completes.
static size_t fetchesOf(StepOp step) {
  size_t count = 0;
  step.walk([&](RingAccessOpInterface access) {
    count += access.writesSlot() && access.isAsynchronous();
  });
  return count;
}

static bool puts(StepOp step) {
  return step
      .walk([](RingAccessOpInterface access) {
        return access.writesSlot() && !access.isAsynchronous() ? WalkResult::interrupt()
                                                               : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Finds what stands before `entryEnd`, and where: what the loop waits for first in front of
/// whatever the kernel loads before it, and behind that what may still be in flight then. Puts wait
/// for what they put, so they stay at the loop.
void LoopEmitter::collectEntry() {
  Clusters clusters = scheduledClusters(model);
  for (int64_t iteration = -model.lastOffset(); iteration < model.firstSteady(); ++iteration)
    for (int64_t cluster = 0; cluster != model.clusters(); ++cluster)
      for (const PlacedStep &step : clusters[cluster])
        if (iteration * model.clusters() + cluster < model.entryEnd() &&
            iteration + step.offset >= 0)
          entry.push_back({iteration, step});
  SmallVector<StepOp> steps;
  for (const EntryStep &early : entry)
    if (!puts(early.step.op))
      steps.push_back(early.step.op);
  EntryPlaces places = findEntryPlaces(loop, steps);
  AllowedInFlight allowed = model.allowedAfterEntry();
  size_t mayStay = allowed ? allowed->size() : 0;
  for (EntryStep &early : llvm::reverse(entry)) {
    if (puts(early.step.op))
      continue;
    size_t fetches = fetchesOf(early.step.op);
    bool stays = fetches != 0 && fetches <= mayStay;
    mayStay = stays ? mayStay - fetches : fetches ? 0 : mayStay;
    early.place = stays ? places.behindLoads : places.beforeLoads;
  }
}

/// What of the entry stands in front of the loop.
void LoopEmitter::emitEarlyEntry() {
  iterations.start(-model.lastOffset());
  collectEntry();
  int64_t iteration = -model.lastOffset();
  for (const EntryStep &early : entry) {
    for (; iteration != early.iteration; ++iteration)
      iterations.advance(/*prune=*/false);
    if (!early.place)
      continue;
    ImplicitLocOpBuilder builder(loop.getLoc(), early.place);
    FenceOp::create(builder);
    iterations.emitStep(builder, early.step, prologueCopy(iteration));
    builder.setInsertionPoint(early.place);
    FenceOp::create(builder);
  }
  iterations.rewind(iteration + model.lastOffset());
}

/// The rest of it, and where all waves meet behind it.
void LoopEmitter::emitEntry(ImplicitLocOpBuilder &builder) {
  if (entry.empty())
    return;
  bool anyPuts = false;
  int64_t iteration = -model.lastOffset();
  for (const EntryStep &late : entry) {
    for (; iteration != late.iteration; ++iteration)
      iterations.advance(/*prune=*/false);
    anyPuts |= puts(late.step.op);
    if (late.place)
      continue;
    FenceOp::create(builder);
    iterations.emitStep(builder, late.step, prologueCopy(iteration));
  }
  iterations.rewind(iteration + model.lastOffset());
  AllowedInFlight allowed = model.allowedAfterEntry();
  if (allowed || anyPuts)
    emitAwait(builder, allowed, anyPuts);
  BarrierOp::create(builder, IntegerAttr());
}

void LoopEmitter::emitPrologue(ImplicitLocOpBuilder &builder) {
  Clusters clusters = scheduledClusters(model);
  for (int64_t iteration = -model.lastOffset(); iteration < model.firstSteady(); ++iteration) {
    iterations.emit(builder, clusters, prologueCopy(iteration));
    iterations.advance(/*prune=*/true);
  }
}

/// The same in all steady iterations; where the first ones differ, the strictest holds for all.
AllowedInFlight LoopEmitter::steadyAllowed(int64_t cluster) const {
  int64_t first = model.firstSteady();
  AllowedInFlight allowed;
  for (int64_t iteration = first; iteration <= first + model.stages() + model.unroll();
       ++iteration) {
    int64_t tiles = iteration + model.manyTiles();
    allowed = strictest(allowed, model.allowedInFlight(tiles, iteration, cluster));
  }
  return allowed;
}

/// The same in the iteration that stands at the number of tiles + `ahead`, for all numbers from
/// `fewest` on.
AllowedInFlight LoopEmitter::endAllowed(int64_t ahead, int64_t cluster, int64_t fewest) const {
  AllowedInFlight allowed;
  for (int64_t tiles = fewest; tiles <= fewest + 2 * model.stages() + 2; ++tiles)
    allowed = strictest(allowed, model.allowedInFlight(tiles, tiles + ahead, cluster));
  return allowed;
}

/// The copies of one pass through a steady loop whose first iteration is `induction`, counted from
/// the first steady one.
void LoopEmitter::emitSteadyCopies(ImplicitLocOpBuilder &builder, Value induction, int64_t unroll, const SteadyPart &part) {
  Clusters clusters = scheduledClusters(model);
  for (int64_t copyIndex = 0; copyIndex != unroll; ++copyIndex) {
    int64_t base = copyIndex + model.firstSteady();
    IterationCopy copy;
    copy.tile = [&](ImplicitLocOpBuilder &b, int64_t offset) {
      return addConstant(b, induction, base + offset);
    };
    copy.slot = [&](int64_t offset, int64_t depth) -> std::optional<int64_t> {
      if (unroll % depth == 0)
        return (base + offset) % depth;
      if (part.behindPass && model.unroll() % depth == 0)
        return (base + offset + *part.behindPass) % depth;
      return std::nullopt;
    };
    copy.valid = [](int64_t) { return true; };
    copy.tilesBefore = [&](int64_t offset) { return base + offset + part.further.before; };
    copy.tilesAfter = [&](int64_t offset) {
      return model.endOffset() - offset + unroll - 1 - copyIndex + part.further.after;
    };
    copy.isMostlyWhole = part.isMostlyWhole;
    copy.allowed = [&](int64_t cluster) { return steadyAllowed(cluster); };
    iterations.emit(builder, clusters, copy);
    iterations.advance(/*prune=*/true);
  }
}

/// Iterations `begin` to `end`, of which there is at least one, `unroll` at a time: a loop that tests at
/// its end, so that nothing is copied on the way in and out.
void LoopEmitter::emitSteady(ImplicitLocOpBuilder &builder, Value begin, Value end, int64_t unroll, const SteadyPart &part) {
  SmallVector<Version> carried;
  SmallVector<Value> inits = {begin};
  for (auto &[version, value] : iterations.versions) {
    carried.push_back(version);
    inits.push_back(value);
  }
  SmallVector<Type> types = llvm::to_vector(ValueRange(inits).getTypes());
  SmallVector<Location> locations(types.size(), loop.getLoc());
  auto whileOp = scf::WhileOp::create(builder, types, inits);
  OpBuilder::InsertionGuard guard(builder);
  Block *body = builder.createBlock(&whileOp.getBefore(), {}, types, locations);
  Value induction = body->getArgument(0);
  for (auto [version, value] : llvm::zip_equal(carried, body->getArguments().drop_front()))
    iterations.versions[version] = value;
  emitSteadyCopies(builder, induction, unroll, part);
  SmallVector<Value> next = {addConstant(builder, induction, unroll)};
  llvm::append_range(next, valuesOf(carried));
  Value more = arith::CmpIOp::create(builder, arith::CmpIPredicate::slt, next.front(), end);
  scf::ConditionOp::create(builder, more, next);
  Block *forward = builder.createBlock(&whileOp.getAfter(), {}, types, locations);
  scf::YieldOp::create(builder, forward->getArguments());
  iterations.versions.clear();
  for (auto [version, value] : llvm::zip_equal(carried, whileOp.getResults().drop_front()))
    iterations.versions[version] = value;
}

/// Goes on in a block of a loop or branch; those without results come with terminators.
static void enter(ImplicitLocOpBuilder &builder, Block *block) {
  if (!block->empty())
    block->back().erase();
  builder.setInsertionPointToEnd(block);
}

/// What `emitThen` writes, in a branch; otherwise everything stays as it is. Of what there is, only
/// what `isNeeded` is there behind it.
scf::IfOp LoopEmitter::emitBranch(ImplicitLocOpBuilder &builder, Value condition,
                             function_ref<void()> emitThen,
                             function_ref<bool(const Version &)> isNeeded) {
  SmallVector<Version> carried;
  SmallVector<Value> inits;
  for (auto &[version, value] : iterations.versions) {
    if (!isNeeded(version))
      continue;
    carried.push_back(version);
    inits.push_back(value);
  }
  OpBuilder::InsertionGuard guard(builder);
  auto branch =
      scf::IfOp::create(builder, ValueRange(inits).getTypes(), condition, /*withElse=*/true);
  enter(builder, branch.elseBlock());
  scf::YieldOp::create(builder, valuesOf(carried));
  enter(builder, branch.thenBlock());
  emitThen();
  scf::YieldOp::create(builder, valuesOf(carried));
  iterations.versions.clear();
  for (auto [version, value] : llvm::zip_equal(carried, branch.getResults()))
    iterations.versions[version] = value;
  return branch;
}

/// The same where there may be none: as many tiles as the prologue and the epilogue need are enough
/// to overlap, so that no more of them take the loop without overlap than must.
void LoopEmitter::emitSteadyIfAny(ImplicitLocOpBuilder &builder, Value turns, Value end,
                                  int64_t unroll) {
  Value any =
      arith::CmpIOp::create(builder, arith::CmpIPredicate::sge, turns, constant(builder, unroll));
  emitBranch(builder, any, [&] { emitSteady(builder, constant(builder, 0), end, unroll, {{}, /*isMostlyWhole=*/true}); });
}

/// How many of the steady iterations, from the first on and up to the last, have tiles that masks may cut, of masks that
/// leave others whole.
TileMargins LoopEmitter::cutTurns() const {
  TileMargins cut;
  for (const Placement &place : model.places())
    StepOp(place.step).walk([&](MaskOpInterface mask) {
      std::optional<TileMargins> margins = ForTilesOp(loop).wholeWithin(mask.getTileBounds(), mask.getTileExtent());
      if (!margins)
        return;
      cut.before = std::max(cut.before, margins->before + model.firstOffset() - place.offset);
      cut.after = std::max(cut.after, margins->after + place.offset - model.endOffset());
    });
  // Where masks reach that far, hardly anything lies between; and every loop must be reached with few tiles.
  return cut.before + cut.after > kMostCutTurns ? TileMargins() : cut;
}

/// The steady iterations in up to three loops: the first and last of them, as many as `cut` says, have masks.
void LoopEmitter::emitSteadyApart(ImplicitLocOpBuilder &builder, Value turns, Value end, int64_t unroll, TileMargins cut) {
  Value zero = constant(builder, 0);
  auto emitPart = [&](Value begin, Value end, const SteadyPart &part) {
    Value any = arith::CmpIOp::create(builder, arith::CmpIPredicate::slt, begin, end);
    emitBranch(builder, any, [&] { emitSteady(builder, begin, end, unroll, part); });
  };
  // Whole turns of the unrolled loop.
  int64_t before = llvm::alignTo(cut.before, unroll);
  Value first = before == 0 ? zero : Value(arith::MinSIOp::create(builder, constant(builder, before), end));
  Value last = end;
  if (cut.after != 0) {
    Value left = arith::MaxSIOp::create(builder, addConstant(builder, turns, -cut.after), zero);
    if (unroll > 1) {
      Value rest = arith::RemUIOp::create(builder, left, constant(builder, unroll));
      left = arith::SubIOp::create(builder, left, rest);
    }
    last = arith::MaxSIOp::create(builder, first, left);
  }
  if (before != 0)
    emitPart(zero, first, {});
  emitPart(first, last, {{before, cut.after}, /*isMostlyWhole=*/true});
  if (cut.after != 0)
    emitPart(last, end, {});
}

/// Iterations `first` to `end`, possibly none, one at a time.
void LoopEmitter::emitRemainder(ImplicitLocOpBuilder &builder, Value first, Value end) {
  SmallVector<Version> carried;
  SmallVector<Value> inits;
  for (auto &[version, value] : iterations.versions) {
    carried.push_back(version);
    inits.push_back(value);
  }
  OpBuilder::InsertionGuard guard(builder);
  // The second branch wants a register or two, which persistent kernels have use for themselves.
  bool isPersistent = loop->getParentOfType<KernelOp>()->hasAttr(kPersistentAttr);
  Operation *emitted = model.unroll() <= (isPersistent ? 2 : 3)
                           ? emitFewIterations(builder, first, end, carried, inits, 0)
                           : emitRest(builder, first, end, carried, inits);
  iterations.versions.clear();
  for (auto [version, value] : llvm::zip_equal(carried, emitted->getResults()))
    iterations.versions[version] = value;
}

/// What is left over from pairs is one at most, two from threes: branches, for a loop would count for turns that never
/// come, and look for slots that are known.
Operation *LoopEmitter::emitFewIterations(ImplicitLocOpBuilder &builder, Value first, Value end,
                                          ArrayRef<Version> carried, ValueRange inits, int64_t behindPass) {
  Value left = arith::CmpIOp::create(builder, arith::CmpIPredicate::slt, first, end);
  auto branch = scf::IfOp::create(builder, inits.getTypes(), left, /*withElse=*/true);
  enter(builder, branch.elseBlock());
  scf::YieldOp::create(builder, valuesOf(carried));
  enter(builder, branch.thenBlock());
  SteadyPart part;
  // Of pairs it is known as well: nothing is said of it so that their kernels stay what they are.
  if (model.unroll() > 2)
    part.behindPass = behindPass;
  emitSteadyCopies(builder, first, /*unroll=*/1, part);
  if (behindPass + 2 < model.unroll()) {
    OpBuilder::InsertionGuard guard(builder);
    Value second = addConstant(builder, first, 1);
    Operation *further = emitFewIterations(builder, second, end, carried, valuesOf(carried), behindPass + 1);
    for (auto [version, value] : llvm::zip_equal(carried, further->getResults()))
      iterations.versions[version] = value;
  }
  scf::YieldOp::create(builder, valuesOf(carried));
  return branch;
}

Operation *LoopEmitter::emitRest(ImplicitLocOpBuilder &builder, Value first, Value end,
                                 ArrayRef<Version> carried, ValueRange inits) {
  auto loop = scf::ForOp::create(builder, first, end, constant(builder, 1), inits);
  enter(builder, loop.getBody());
  for (auto [version, value] : llvm::zip_equal(carried, loop.getRegionIterArgs()))
    iterations.versions[version] = value;
  emitSteadyCopies(builder, loop.getInductionVar(), /*unroll=*/1);
  scf::YieldOp::create(builder, valuesOf(carried));
  return loop;
}

/// One iteration that stands at the number of tiles + `ahead`, of which there are at least `fewest`.
IterationCopy LoopEmitter::endCopy(int64_t ahead, int64_t fewest) const {
  IterationCopy copy;
  copy.tile = [=, this](ImplicitLocOpBuilder &b, int64_t offset) {
    return addConstant(b, ForTilesOp(loop).getCount(), ahead + offset);
  };
  copy.slot = [](int64_t, int64_t) { return std::nullopt; };
  copy.valid = [=](int64_t offset) { return ahead + offset < 0; };
  copy.tilesBefore = [=](int64_t offset) { return fewest + ahead + offset; };
  copy.tilesAfter = [=](int64_t offset) { return -1 - (ahead + offset); };
  copy.allowed = [=, this](int64_t cluster) { return endAllowed(ahead, cluster, fewest); };
  return copy;
}

/// The iteration in which the last tile is needed first.
void LoopEmitter::emitLast(ImplicitLocOpBuilder &builder) {
  int64_t ahead = -model.endOffset(), fewest = model.minimumTiles() + 1;
  IterationCopy copy = endCopy(ahead, fewest);
  if (endsFreely)
    copy.allowed = [=, this](int64_t cluster) {
      AllowedInFlight allowed = endAllowed(ahead, cluster, fewest);
      for (int64_t tiles = fewest;
           cluster + 1 == model.clusters() && tiles <= fewest + 2 * model.stages() + 2; ++tiles)
        allowed = strictest(allowed, model.allowedForGood(tiles, tiles + ahead));
      return allowed;
    };
  // Without an epilogue nobody waits for anybody behind its last access.
  if (model.minimumTiles() == 0 && model.groups() == 1 && endsLds(loop))
    copy.meeting = [last = accesses(ahead)](int64_t cluster) {
      return last.empty() || cluster >= last.back() ? Meeting::Nobody : Meeting::All;
    };
  iterations.emit(builder, scheduledClusters(model), copy);
  iterations.advance(/*prune=*/false);
}

/// The clusters of an iteration that stands at the number of tiles + `ahead` in which slots are
/// touched, in order.
SmallVector<int64_t> LoopEmitter::accesses(int64_t ahead) const {
  SmallVector<int64_t> clusters;
  for (const Placement &place : model.places()) {
    bool touches = StepOp(place.step)
                       .walk([](RingAccessOpInterface access) {
                         return access.touchesSlot() ? WalkResult::interrupt()
                                                     : WalkResult::advance();
                       })
                       .wasInterrupted();
    if (touches && ahead + place.offset < 0)
      clusters.push_back(place.clusterIndex);
  }
  llvm::sort(clusters);
  return clusters;
}

/// Whether an iteration of the epilogue is one cluster. Not where a wave may leave out what it sees nothing of, or LLVM
/// is to order a cluster.
bool LoopEmitter::joinsEpilogue() const {
  if (!endsFreely || joinsItems || model.groups() != 1 || !ForTilesOp(loop).getSeen().empty())
    return false;
  for (int64_t cluster = 0; cluster != model.clusters(); ++cluster)
    for (ClusterOp part : model.partsOf(cluster))
      if (Interleave::of(part.getInterleave().value_or(StringRef())).none)
        return false;
  return true;
}

/// Iterations in which some steps have run out of tiles. Where all tiles are in LDS when they begin,
/// nobody waits for anybody in them, but that the first of two groups must not read before the second,
/// which is one barrier late, has waited for what it fetched.
void LoopEmitter::emitEpilogue(ImplicitLocOpBuilder &builder) {
  Clusters clusters = scheduledClusters(model);
  bool isOwed = model.groups() == 2, isJoined = joinsEpilogue();
  for (int64_t ahead = -model.lastNeeded(); ahead < -model.firstOffset(); ++ahead) {
    IterationCopy copy = endCopy(ahead, model.minimumTiles());
    if (joinsItems)
      copy.tilesAfter = noneForSure;
    SmallVector<int64_t> touching = accesses(ahead);
    if (endsFreely) {
      copy.allowed = [](int64_t) { return std::nullopt; };
      copy.meeting = [&](int64_t cluster) {
        bool meets = isOwed && !touching.empty() && cluster + 1 == touching.front();
        return meets ? Meeting::FirstGroup : Meeting::Nobody;
      };
      if (isOwed && !touching.empty() && touching.front() == 0)
        BarrierOp::create(builder, builder.getI64IntegerAttr(0));
    }
    if (isJoined)
      iterations.emitJoined(builder, clusters, copy);
    else
      iterations.emit(builder, clusters, copy);
    iterations.advance(/*prune=*/false);
    isOwed &= !endsFreely || touching.empty();
  }
  if (model.leavesFetches())
    AwaitOp::create(builder, /*fetches=*/true, ValueRange(), /*reads=*/false);
  if (isOwed)
    BarrierOp::create(builder, builder.getI64IntegerAttr(0));
  else if (model.leavesFetches() && !endsLds(loop))
    BarrierOp::create(builder, IntegerAttr());
}

/// What more tiles than prologue and epilogue need take: steady loop, remainder and the iteration in
/// which the last tile is needed first. Behind it everything is as if the prologue had done it.
void LoopEmitter::emitLongerLoop(ImplicitLocOpBuilder &builder) {
  Value turns = addConstant(builder, loop.getCount(), -model.endOffset() - model.firstSteady());
  Value unrolled = turns;
  if (model.unroll() > 1) {
    Value rest = arith::RemUIOp::create(builder, turns, constant(builder, model.unroll()));
    unrolled = arith::SubIOp::create(builder, turns, rest);
  }
  TileMargins cut = model.masksApart() ? cutTurns() : TileMargins();
  if (cut.before != 0 || cut.after != 0)
    emitSteadyApart(builder, turns, unrolled, model.unroll(), cut);
  else
    emitSteadyIfAny(builder, turns, unrolled, model.unroll());
  if (model.unroll() > 1)
    emitRemainder(builder, unrolled, turns);
  if (model.endOffset() != model.lastNeeded())
    emitLast(builder);
}

void LoopEmitter::emitMiddle(ImplicitLocOpBuilder &builder) {
  if (model.endOffset() == model.lastNeeded())
    return emitLongerLoop(builder);
  // Tiles behind the last, to which steps that move tiles may have come, nobody needs.
  auto isNeeded = [&](const Version &version) {
    auto step = version.first.getDefiningOp<StepOp>();
    return !step || version.second < model.lastNeeded() || !model.of(step.getSymName()).moves;
  };
  Value isLonger = arith::CmpIOp::create(builder, arith::CmpIPredicate::sgt, loop.getCount(),
                                         constant(builder, model.minimumTiles()));
  scf::IfOp branch = emitBranch(builder, isLonger, [&] { emitLongerLoop(builder); }, isNeeded);
  if (joinsItems)
    branch->setAttr(kMiddleMark, builder.getI64IntegerAttr(model.peeledIterations() * model.clusters()));
}

SmallVector<Value> LoopEmitter::emitOverlapped(ImplicitLocOpBuilder &builder) {
  emitEntry(builder);
  if (model.groups() == 2)
    BarrierOp::create(builder, builder.getI64IntegerAttr(1));
  emitPrologue(builder);
  emitMiddle(builder);
  emitEpilogue(builder);
  SmallVector<Value> results;
  for (Value carried : loop.getCarried())
    results.push_back(iterations.versions.find({carried, model.firstOffset()})->second);
  return results;
}

/// What too few tiles to overlap take.
SmallVector<Value> LoopEmitter::emitFewTiles(ImplicitLocOpBuilder &builder) {
  bool isUnderWay = llvm::any_of(
      entry, [](const EntryStep &early) { return early.place && fetchesOf(early.step.op); });
  if (isUnderWay)
    AwaitOp::create(builder, /*fetches=*/true, ValueRange(), /*reads=*/false);
  if (model.minimumTiles() <= 1)
    return loop.getInits();
  return model.minimumTiles() == 2 ? emitAtMostOne(builder) : emitPlain(builder);
}

void LoopEmitter::emit() {
  ImplicitLocOpBuilder builder(loop.getLoc(), loop);
  for (const RingUse &use : model.rings())
    if (auto ring = use.ring.getDefiningOp<RingOp>())
      ring.setDepthAttr(
          builder.getI64IntegerAttr(std::max<int64_t>(use.depth, ring.getDepth().value_or(1))));

  SmallVector<Value> results;
  if (model.stages() == 0 && model.unroll() == 1 && model.groups() == 1) {
    results = emitPlain(builder);
  } else {
    emitEarlyEntry();
    results = model.minimumTiles() == 0 ? emitOverlapped(builder) : emitEither(builder);
  }
  loop.replaceAllUsesWith(results);
  loop.erase();
}

SmallVector<Value> LoopEmitter::emitEither(ImplicitLocOpBuilder &builder) {
  Value enough = arith::CmpIOp::create(builder, arith::CmpIPredicate::sge, loop.getCount(),
                                       constant(builder, model.minimumTiles()));
  auto branch = scf::IfOp::create(builder, loop.getResultTypes(), enough, /*withElse=*/true);
  if (joinsItems)
    branch->setAttr(kPipelineMark, builder.getUnitAttr());
  OpBuilder::InsertionGuard guard(builder);
  enter(builder, branch.thenBlock());
  Versions beforeLoop = iterations.versions;
  SmallVector<Value> overlapped = emitOverlapped(builder);
  scf::YieldOp::create(builder, overlapped);
  enter(builder, branch.elseBlock());
  iterations.versions = std::move(beforeLoop);
  SmallVector<Value> plain = emitFewTiles(builder);
  scf::YieldOp::create(builder, plain);
  return llvm::to_vector_of<Value>(branch.getResults());
}

/// Whether LDS has room for the rings of two items, one part in 16 for padding.
static bool haveRoomTwice(const ScheduleModel &model, KernelOp kernel) {
  Result<const ArchInfo *> arch = findArch(kernel.getTarget().str());
  auto persistent = kernel->getAttrOfType<IntegerAttr>(kPersistentAttr);
  if (!arch || !persistent || persistent.getInt() < 1)
    return false;
  int64_t bytes = 0;
  for (const RingUse &use : model.rings()) {
    auto type = cast<RingType>(use.ring.getType());
    bytes += use.depth * type.getShape()[0] * type.getShape()[1] * type.getElementType().getIntOrFloatBitWidth() / 8;
  }
  return 2 * (bytes + bytes / 16) <= static_cast<int64_t>(maxLdsFor(**arch, persistent.getInt()));
}

/// Whether an item's epilogue may share clusters with the prologue of the next: nobody waits for fetches in it, and the
/// least number of tiles may be computed where there are fewer.
static bool mayJoinItems(ForTilesOp loop, const ScheduleModel &model) {
  auto kernel = loop->getParentOfType<KernelOp>();
  return kernel && kernel->hasAttr(kJoinItemsAttr) && model.endsInOneWait() && endsLds(loop) && loop.getSeen().empty() &&
         !loop.getRightBounds().empty() && loop->hasAttr(kIdleTilesAttr) && haveRoomTwice(model, kernel);
}

static FailureOr<ScheduleModel> modelOf(ForTilesOp loop, bool skipRingHazards) {
  if (auto step = loop->getParentOfType<StepOp>())
    return loop.emitOpError() << "stands in step '" << step.getSymName()
                              << "'; a schedule places whole steps, so put the loop outside of it";
  auto schedule = SymbolTable::lookupNearestSymbolFrom<ScheduleOp>(loop, loop.getScheduleAttr());
  if (!schedule)
    return loop.emitOpError()
           << "follows schedule '" << loop.getSchedule()
           << "', which the module does not have; add a 'tile.schedule' or choose "
              "one with --schedule";
  auto kernel = loop->getParentOfType<KernelOp>();
  if (schedule.getWaveGroups() == 2 && kernel && kernel.getWaves() % 2 != 0)
    return loop.emitOpError() << "follows schedule '" << schedule.getSymName()
                              << "' with two wave groups, but the "
                              << "kernel has " << kernel.getWaves()
                              << " waves; an even number is needed";
  if (IntegerAttr each = schedule.getPolynomialsAttr())
    loop.walk([&](Exp2Op power) { power.setPolynomialsAttr(each); });
  return ScheduleModel::create(loop, schedule, skipRingHazards);
}

namespace {
struct PipelineTilesPass : hocket::tile::impl::PipelineTilesPassBase<PipelineTilesPass> {
  using Base::Base;
  void runOnOperation() override {
    SmallVector<ForTilesOp> loops;
    getOperation().walk([&](ForTilesOp loop) { loops.push_back(loop); });
    // All before any is written out: that gives rings their depths, which another loop must not
    // take for depths that were asked for.
    std::deque<ScheduleModel> models; // which point into themselves
    for (ForTilesOp loop : loops) {
      FailureOr<ScheduleModel> model = modelOf(loop, skipRingHazards);
      if (failed(model))
        return signalPassFailure();
      models.push_back(*std::move(model));
    }
    // The stores of an item stand in an iteration of the next.
    if (loops.size() == 1 && mayJoinItems(loops.front(), models.front()))
      models.front().peel(1);
    for (auto [loop, model] : llvm::zip_equal(loops, models))
      LoopEmitter(loop, model).emit();
  }
};
} // namespace
