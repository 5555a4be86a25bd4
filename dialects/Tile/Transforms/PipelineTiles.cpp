// tile-pipeline: from "which step in which cluster" to a loop in which every step has its place.
//
// The steps carry their dependences as values, so placing them is moving them; what has to be
// proven first is that the order of the schedule respects those values and the rings.
#include "Tile/IR/Tile.h"
#include "Tile/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/TypeSwitch.h"

namespace hocket::tile {
#define GEN_PASS_DEF_PIPELINETILESPASS
#include "Tile/Transforms/Passes.h.inc"
} // namespace hocket::tile

#define DEBUG_TYPE "tile-pipeline"

using namespace mlir;
using namespace hocket::tile;

namespace {
/// Where a step stands: its cluster, and its place in the order of all steps.
struct Placement {
  StepOp step;
  ClusterOp cluster;
  unsigned clusterIndex = 0;
  unsigned order = 0;
};
using Placements = llvm::MapVector<StringRef, Placement>;
} // namespace

/// What a ring is called in messages: the binding of its view.
static std::string ringName(Value ring) {
  auto op = ring.getDefiningOp<RingOp>();
  auto argument = op ? dyn_cast<BlockArgument>(op.getView()) : BlockArgument();
  if (!argument)
    return "ring";
  auto kernel = cast<KernelOp>(argument.getOwner()->getParentOp());
  StringRef binding = kernel.getBinding(argument.getArgNumber());
  return binding.empty() ? ("argument " + std::to_string(argument.getArgNumber())) : binding.str();
}

/// Matches the loop's steps with the schedule's places; each must occur in both, once.
static FailureOr<Placements> placeSteps(ForTilesOp loop, ScheduleOp schedule) {
  llvm::StringMap<StepOp> steps;
  for (StepOp step : loop.getBody().getOps<StepOp>())
    steps[step.getSymName()] = step;

  Placements placements;
  unsigned clusterIndex = 0;
  for (ClusterOp cluster : schedule.getBody().getOps<ClusterOp>()) {
    for (PlaceAttr place : cluster.getPlaces().getAsRange<PlaceAttr>()) {
      StringRef name = place.getStep().getValue();
      auto found = steps.find(name);
      if (found == steps.end()) {
        auto diagnostic = cluster.emitOpError() << "places step '" << name << "', which the loop "
                                                << "that follows schedule '"
                                                << schedule.getSymName() << "' does not have";
        diagnostic.attachNote(loop.getLoc()) << "the loop is here; remove the place or add the step";
        return failure();
      }
      if (place.getOffset() != 0)
        return cluster.emitOpError()
               << "places step '" << name << "' " << place.getOffset()
               << " tiles away; overlapping iterations is not supported yet, use offset 0";
      placements[found->first()] = {found->second, cluster, clusterIndex,
                                    static_cast<unsigned>(placements.size())};
    }
    ++clusterIndex;
  }
  for (StepOp step : loop.getBody().getOps<StepOp>()) {
    if (placements.contains(step.getSymName()))
      continue;
    auto diagnostic = step.emitOpError() << "step '" << step.getSymName() << "' is not placed by schedule '"
                                         << schedule.getSymName() << "'";
    diagnostic.attachNote(schedule.getLoc()) << "add '" << step.getSymName() << "(0)' to one of its clusters";
    return failure();
  }
  return placements;
}

/// A step may use only what steps before it have produced.
static LogicalResult verifyValues(const Placements &placements) {
  for (const auto &entry : placements) {
    const Placement &user = entry.second;
    WalkResult walk = StepOp(user.step).walk([&](Operation *op) {
      for (Value operand : op->getOperands()) {
        auto producer = operand.getDefiningOp<StepOp>();
        if (!producer || producer->getParentOp() != StepOp(user.step)->getParentOp())
          continue;
        const Placement &source = placements.find(producer.getSymName())->second;
        if (source.order < user.order)
          continue;
        ClusterOp cluster = user.cluster;
        cluster.emitOpError() << "runs step '" << entry.first << "' before step '"
                              << producer.getSymName() << "', whose result it uses"
                              << "; place '" << producer.getSymName() << "' before it";
        return WalkResult::interrupt();
      }
      return WalkResult::advance();
    });
    if (walk.wasInterrupted())
      return failure();
  }
  return success();
}

/// A tile is complete only after its fetches were waited for and a barrier was passed: a read must
/// stand in a later cluster than the fetch of its tile.
static LogicalResult verifyRings(const Placements &placements) {
  llvm::MapVector<Value, const Placement *> fetches;
  for (const auto &entry : placements)
    StepOp(entry.second.step).walk([&](FetchOp fetch) { fetches[fetch.getRing()] = &entry.second; });

  for (const auto &entry : placements) {
    const Placement &reader = entry.second;
    WalkResult walk = StepOp(reader.step).walk([&](Operation *op) {
      if (!isa<ReadOp, ReadTransposedOp>(op))
        return WalkResult::advance();
      Value ring = op->getOperand(0);
      const Placement *fetch = fetches.lookup(ring);
      ClusterOp cluster = reader.cluster;
      if (!fetch) {
        cluster.emitOpError() << "reads ring '" << ringName(ring) << "' in step '" << entry.first
                              << "', but no step fetches into it; add a step with 'tile.fetch'";
        return WalkResult::interrupt();
      }
      if (fetch->clusterIndex < reader.clusterIndex)
        return WalkResult::advance();
      cluster.emitOpError() << "reads ring '" << ringName(ring) << "' in step '" << entry.first
                            << "' (cluster " << reader.clusterIndex << "), but step '"
                            << StepOp(fetch->step).getSymName() << "' fetches that tile in cluster "
                            << fetch->clusterIndex << "; a tile is complete only after the barrier that "
                            << "ends its fetch's cluster, so place '" << entry.first
                            << "' in a later cluster";
      return WalkResult::interrupt();
    });
    if (walk.wasInterrupted())
      return failure();
  }
  return success();
}

/// Gives each fetch and read its slot, and each ring the depth that this takes.
static void assignSlots(const Placements &placements, Value zero) {
  OpBuilder builder(zero.getContext());
  auto assign = [&](auto op) {
    if (op.getSlot())
      return;
    op.getSlotMutable().assign(zero);
    if (auto ring = op.getRing().template getDefiningOp<RingOp>())
      ring.setDepthAttr(builder.getI64IntegerAttr(1));
  };
  for (const auto &entry : placements)
    StepOp(entry.second.step).walk([&](Operation *op) {
      llvm::TypeSwitch<Operation *, void>(op).Case<FetchOp, ReadOp, ReadTransposedOp>(assign);
    });
}

static void rewriteLoop(ForTilesOp loop, const Placements &placements, unsigned clusterCount) {
  ImplicitLocOpBuilder builder(loop.getLoc(), loop);
  Value zero = arith::ConstantOp::create(builder, builder.getI32IntegerAttr(0));
  Value one = arith::ConstantOp::create(builder, builder.getI32IntegerAttr(1));
  assignSlots(placements, zero);

  auto forOp = scf::ForOp::create(builder, zero, loop.getCount(), one, loop.getInits());
  if (!forOp.getBody()->empty())
    forOp.getBody()->back().erase();
  Block *source = &loop.getBody().front();
  auto yield = cast<YieldOp>(source->getTerminator());
  for (auto [from, to] : llvm::zip_equal(source->getArguments(), forOp.getBody()->getArguments()))
    from.replaceAllUsesWith(to);

  builder.setInsertionPointToEnd(forOp.getBody());
  auto next = placements.begin();
  for (unsigned cluster = 0; cluster != clusterCount; ++cluster) {
    for (; next != placements.end() && next->second.clusterIndex == cluster; ++next)
      StepOp(next->second.step)->moveBefore(forOp.getBody(), forOp.getBody()->end());
    builder.setInsertionPointToEnd(forOp.getBody());
    BarrierOp::create(builder);
  }
  scf::YieldOp::create(builder, yield.getValues());
  yield.erase();
  loop.replaceAllUsesWith(forOp.getResults());
  loop.erase();
}

static LogicalResult pipelineLoop(ForTilesOp loop) {
  if (auto step = loop->getParentOfType<StepOp>())
    return loop.emitOpError() << "stands in step '" << step.getSymName()
                              << "'; a schedule places whole steps, so put the loop outside of it";
  auto schedule = SymbolTable::lookupNearestSymbolFrom<ScheduleOp>(loop, loop.getScheduleAttr());
  if (!schedule)
    return loop.emitOpError() << "follows schedule '" << loop.getSchedule()
                              << "', which the module does not have; add a 'tile.schedule' or choose "
                                 "one with --schedule";
  if (schedule.getUnroll() != 1 || schedule.getWaveGroups() != 1)
    return schedule.emitOpError() << "schedule '" << schedule.getSymName() << "' asks for unroll("
                                  << schedule.getUnroll() << ") and wave_groups("
                                  << schedule.getWaveGroups() << "), only 1 of each is supported yet";
  FailureOr<Placements> placements = placeSteps(loop, schedule);
  if (failed(placements) || failed(verifyValues(*placements)) || failed(verifyRings(*placements)))
    return failure();
  rewriteLoop(loop, *placements, llvm::range_size(schedule.getBody().getOps<ClusterOp>()));
  return success();
}

namespace {
struct PipelineTilesPass : hocket::tile::impl::PipelineTilesPassBase<PipelineTilesPass> {
  void runOnOperation() override {
    SmallVector<ForTilesOp> loops;
    getOperation().walk([&](ForTilesOp loop) { loops.push_back(loop); });
    for (ForTilesOp loop : loops)
      if (failed(pipelineLoop(loop)))
        return signalPassFailure();
  }
};
} // namespace
