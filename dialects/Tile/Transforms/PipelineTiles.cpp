// tile-pipeline: from "which step in which cluster, for which tile" to code in which every step of
// every iteration has its place.
//
// The form depends on the schedule alone. If no step runs ahead and nothing is unrolled, it is one
// loop. Otherwise, for loops with enough tiles:
//
//   prologue    iterations in which some steps have no tile yet; straight-line
//   steady      the loop, unrolled; slots are constants where the unrolling allows
//   remainder   the iterations that are left over from unrolling; a loop, or a branch where one is
//               left at most; slots at run time
//   epilogue    iterations in which some steps have run out of tiles; straight-line
//
// and a plain loop without overlap, or a single tile, for shorter ones. One iteration of any of them
// is written by IterationEmitter.
#include "IterationEmitter.h"

#include "Tile/IR/Tile.h"
#include "Tile/Transforms/Passes.h"
#include "Tile/Transforms/ScheduleModel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

#include <deque>

namespace hocket::tile {
#define GEN_PASS_DEF_PIPELINETILESPASS
#include "Tile/Transforms/Passes.h.inc"
} // namespace hocket::tile

#define DEBUG_TYPE "tile-pipeline"

using namespace mlir;
using namespace hocket::tile;

namespace {
class LoopEmitter {
public:
  LoopEmitter(ForTilesOp loop, const ScheduleModel &model)
      : loop(loop), model(model), iterations(loop, model) {}

  void emit();

private:
  SmallVector<Value> emitPlain(ImplicitLocOpBuilder &builder);
  SmallVector<Value> emitAtMostOne(ImplicitLocOpBuilder &builder);
  SmallVector<Value> emitFewTiles(ImplicitLocOpBuilder &builder);
  SmallVector<Value> emitPlainTile(ImplicitLocOpBuilder &builder, Value number,
                                   ValueRange carriedIn);
  SmallVector<Value> emitOverlapped(ImplicitLocOpBuilder &builder);
  void emitPrologue(ImplicitLocOpBuilder &builder);
  void emitSteadyCopies(ImplicitLocOpBuilder &builder, Value induction, int64_t unroll);
  void emitSteady(ImplicitLocOpBuilder &builder, Value end, int64_t unroll);
  void emitSteadyIfAny(ImplicitLocOpBuilder &builder, Value end, int64_t unroll);
  void emitRemainder(ImplicitLocOpBuilder &builder, Value first, Value end);
  Operation *emitLastOfPair(ImplicitLocOpBuilder &builder, Value first, Value end,
                            ArrayRef<Version> carried, ValueRange inits);
  Operation *emitRest(ImplicitLocOpBuilder &builder, Value first, Value end,
                      ArrayRef<Version> carried, ValueRange inits);
  void yieldVersions(ImplicitLocOpBuilder &builder, ArrayRef<Version> carried);
  void emitEpilogue(ImplicitLocOpBuilder &builder);


  AllowedInFlight steadyAllowed(int64_t cluster) const;

  static Value constant(ImplicitLocOpBuilder &builder, int64_t value) {
    return IterationEmitter::constant(builder, value);
  }
  static Value addConstant(ImplicitLocOpBuilder &builder, Value value, int64_t summand) {
    return summand == 0 ? value : arith::AddIOp::create(builder, value, constant(builder, summand));
  }

  ForTilesOp loop;
  const ScheduleModel &model;
  IterationEmitter iterations;
};
} // namespace

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
    return cluster == 0 && model.fetches() ? AllowedInFlight(SmallVector<Value>()) : std::nullopt;
  };
  iterations.emit(builder, clusters, copy, scheduled);
  SmallVector<Value> next;
  for (Value carried : loop.getCarried())
    next.push_back(iterations.versions.find({carried, 1})->second);
  return next;
}

void LoopEmitter::emitPrologue(ImplicitLocOpBuilder &builder) {
  Clusters clusters = scheduledClusters(model);
  for (int64_t iteration = -model.lastOffset(); iteration < -model.firstOffset(); ++iteration) {
    IterationCopy copy;
    copy.tile = [&](ImplicitLocOpBuilder &b, int64_t offset) {
      return constant(b, iteration + offset);
    };
    copy.slot = [&](int64_t offset, int64_t depth) {
      return std::optional((iteration + offset) % depth);
    };
    copy.valid = [&](int64_t offset) { return iteration + offset >= 0; };
    copy.tilesBefore = [&](int64_t offset) { return iteration + offset; };
    copy.tilesAfter = [&](int64_t offset) {
      return model.minimumTiles() - 1 - (iteration + offset);
    };
    copy.allowed = [&](int64_t cluster) {
      return model.allowedInFlight(/*tiles=*/model.minimumTiles(), iteration, cluster);
    };
    iterations.emit(builder, clusters, copy);
    iterations.advance(/*prune=*/true);
  }
}

/// The same in all steady iterations; where the first ones differ, the strictest holds for all.
AllowedInFlight LoopEmitter::steadyAllowed(int64_t cluster) const {
  int64_t first = -model.firstOffset();
  AllowedInFlight strictest;
  for (int64_t iteration = first; iteration <= first + model.stages() + model.unroll();
       ++iteration) {
    int64_t tiles = iteration + model.lastOffset() + 1;
    AllowedInFlight allowed = model.allowedInFlight(tiles, iteration, cluster);
    if (allowed && (!strictest || allowed->size() < strictest->size()))
      strictest = allowed;
  }
  return strictest;
}

/// The copies of one pass through a steady loop whose first iteration is `induction`, counted from
/// the first steady one.
void LoopEmitter::emitSteadyCopies(ImplicitLocOpBuilder &builder, Value induction, int64_t unroll) {
  Clusters clusters = scheduledClusters(model);
  for (int64_t copyIndex = 0; copyIndex != unroll; ++copyIndex) {
    int64_t base = copyIndex - model.firstOffset();
    IterationCopy copy;
    copy.tile = [&](ImplicitLocOpBuilder &b, int64_t offset) {
      return addConstant(b, induction, base + offset);
    };
    copy.slot = [&](int64_t offset, int64_t depth) -> std::optional<int64_t> {
      if (unroll % depth != 0)
        return std::nullopt;
      return (base + offset) % depth;
    };
    copy.valid = [](int64_t) { return true; };
    copy.tilesBefore = [&](int64_t offset) { return base + offset; };
    copy.tilesAfter = [&](int64_t offset) {
      return model.lastOffset() - offset + unroll - 1 - copyIndex;
    };
    copy.allowed = [&](int64_t cluster) { return steadyAllowed(cluster); };
    iterations.emit(builder, clusters, copy);
    iterations.advance(/*prune=*/true);
  }
}

/// Iterations 0 to `end`, of which there is at least one, `unroll` at a time: a loop that tests at
/// its end, so that nothing is copied on the way in and out.
void LoopEmitter::emitSteady(ImplicitLocOpBuilder &builder, Value end, int64_t unroll) {
  SmallVector<Version> carried;
  SmallVector<Value> inits = {constant(builder, 0)};
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
  emitSteadyCopies(builder, induction, unroll);
  SmallVector<Value> next = {addConstant(builder, induction, unroll)};
  for (const Version &version : carried)
    next.push_back(iterations.versions.find(version)->second);
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

/// The same where there may be none: as many tiles as the prologue and the epilogue need are enough
/// to overlap, so that no more of them take the loop without overlap than must.
void LoopEmitter::emitSteadyIfAny(ImplicitLocOpBuilder &builder, Value end, int64_t unroll) {
  SmallVector<Version> carried;
  SmallVector<Value> inits;
  for (auto &[version, value] : iterations.versions) {
    carried.push_back(version);
    inits.push_back(value);
  }
  OpBuilder::InsertionGuard guard(builder);
  Value any = arith::CmpIOp::create(builder, arith::CmpIPredicate::sgt, end, constant(builder, 0));
  auto branch =
      scf::IfOp::create(builder, ValueRange(inits).getTypes(), any, /*withElse=*/true);
  enter(builder, branch.elseBlock());
  yieldVersions(builder, carried);
  enter(builder, branch.thenBlock());
  emitSteady(builder, end, unroll);
  yieldVersions(builder, carried);
  iterations.versions.clear();
  for (auto [version, value] : llvm::zip_equal(carried, branch.getResults()))
    iterations.versions[version] = value;
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
  Operation *emitted = model.unroll() == 2 ? emitLastOfPair(builder, first, end, carried, inits)
                                           : emitRest(builder, first, end, carried, inits);
  iterations.versions.clear();
  for (auto [version, value] : llvm::zip_equal(carried, emitted->getResults()))
    iterations.versions[version] = value;
}

void LoopEmitter::yieldVersions(ImplicitLocOpBuilder &builder, ArrayRef<Version> carried) {
  SmallVector<Value> next;
  for (const Version &version : carried)
    next.push_back(iterations.versions.find(version)->second);
  scf::YieldOp::create(builder, next);
}

/// What is left over from pairs is one at most: a branch, for a loop would count for turns that
/// never come.
Operation *LoopEmitter::emitLastOfPair(ImplicitLocOpBuilder &builder, Value first, Value end,
                                       ArrayRef<Version> carried, ValueRange inits) {
  Value left = arith::CmpIOp::create(builder, arith::CmpIPredicate::slt, first, end);
  auto branch = scf::IfOp::create(builder, inits.getTypes(), left, /*withElse=*/true);
  enter(builder, branch.elseBlock());
  yieldVersions(builder, carried);
  enter(builder, branch.thenBlock());
  emitSteadyCopies(builder, first, /*unroll=*/1);
  yieldVersions(builder, carried);
  return branch;
}

Operation *LoopEmitter::emitRest(ImplicitLocOpBuilder &builder, Value first, Value end,
                                 ArrayRef<Version> carried, ValueRange inits) {
  auto loop = scf::ForOp::create(builder, first, end, constant(builder, 1), inits);
  enter(builder, loop.getBody());
  for (auto [version, value] : llvm::zip_equal(carried, loop.getRegionIterArgs()))
    iterations.versions[version] = value;
  emitSteadyCopies(builder, loop.getInductionVar(), /*unroll=*/1);
  yieldVersions(builder, carried);
  return loop;
}

void LoopEmitter::emitEpilogue(ImplicitLocOpBuilder &builder) {
  Clusters clusters = scheduledClusters(model);
  // Counted from the number of tiles; any large number serves to compute waits.
  int64_t tiles = model.stages() + model.minimumTiles() + 1;
  for (int64_t ahead = -model.lastOffset(); ahead < -model.firstOffset(); ++ahead) {
    IterationCopy copy;
    copy.tile = [&](ImplicitLocOpBuilder &b, int64_t offset) {
      return addConstant(b, loop.getCount(), ahead + offset);
    };
    copy.slot = [](int64_t, int64_t) { return std::nullopt; };
    copy.valid = [&](int64_t offset) { return ahead + offset < 0; };
    copy.tilesBefore = [&](int64_t offset) { return model.minimumTiles() + ahead + offset; };
    copy.tilesAfter = [&](int64_t offset) { return -1 - (ahead + offset); };
    copy.allowed = [&](int64_t cluster) {
      return model.allowedInFlight(tiles, tiles + ahead, cluster);
    };
    iterations.emit(builder, clusters, copy);
    iterations.advance(/*prune=*/false);
  }
}

SmallVector<Value> LoopEmitter::emitOverlapped(ImplicitLocOpBuilder &builder) {
  iterations.start(-model.lastOffset());
  if (model.groups() == 2)
    BarrierOp::create(builder, builder.getI64IntegerAttr(1));
  emitPrologue(builder);
  Value turns = addConstant(builder, loop.getCount(), -model.stages());
  Value unrolled = turns;
  if (model.unroll() > 1) {
    Value rest = arith::RemUIOp::create(builder, turns, constant(builder, model.unroll()));
    unrolled = arith::SubIOp::create(builder, turns, rest);
  }
  if (model.unroll() > 1) {
    emitSteadyIfAny(builder, unrolled, model.unroll());
    emitRemainder(builder, unrolled, turns);
  } else {
    emitSteady(builder, unrolled, /*unroll=*/1);
  }
  emitEpilogue(builder);
  if (model.groups() == 2)
    BarrierOp::create(builder, builder.getI64IntegerAttr(0));
  SmallVector<Value> results;
  for (Value carried : loop.getCarried())
    results.push_back(iterations.versions.find({carried, model.firstOffset()})->second);
  return results;
}

/// What too few tiles to overlap take.
SmallVector<Value> LoopEmitter::emitFewTiles(ImplicitLocOpBuilder &builder) {
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
    Value enough = arith::CmpIOp::create(builder, arith::CmpIPredicate::sge, loop.getCount(),
                                         constant(builder, model.minimumTiles()));
    auto branch = scf::IfOp::create(builder, loop.getResultTypes(), enough, /*withElse=*/true);
    OpBuilder::InsertionGuard guard(builder);
    // A branch without results comes with its yields.
    for (Block *block : {branch.thenBlock(), branch.elseBlock()})
      if (!block->empty())
        block->back().erase();
    builder.setInsertionPointToStart(branch.thenBlock());
    SmallVector<Value> overlapped = emitOverlapped(builder);
    scf::YieldOp::create(builder, overlapped);
    builder.setInsertionPointToStart(branch.elseBlock());
    SmallVector<Value> plain = emitFewTiles(builder);
    scf::YieldOp::create(builder, plain);
    results = llvm::to_vector_of<Value>(branch.getResults());
  }
  loop.replaceAllUsesWith(results);
  loop.erase();
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
    for (auto [loop, model] : llvm::zip_equal(loops, models))
      LoopEmitter(loop, model).emit();
  }
};
} // namespace
