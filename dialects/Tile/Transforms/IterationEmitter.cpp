// The copies of steps; IterationEmitter.h says what an iteration is.
#include "IterationEmitter.h"

#include "Tile/IR/MemoryAccess.h"
#include "Tile/IR/StepRole.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace hocket::tile;

/// Whether the step holds an access to a ring of this kind.
static bool hasAccess(StepOp step, function_ref<bool(RingAccessOpInterface)> wanted) {
  return step
      .walk([&](RingAccessOpInterface access) {
        return wanted(access) ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

void hocket::tile::emitAwait(ImplicitLocOpBuilder &builder, const AllowedInFlight &allowed, bool reads) {
  SmallVector<Value> rings;
  int64_t loads = 0;
  for (const InFlight &inFlight : allowed.value_or(SmallVector<InFlight>())) {
    loads += inFlight.loads;
    if (inFlight.ring)
      rings.push_back(inFlight.ring);
  }
  auto await = AwaitOp::create(builder, allowed.has_value(), rings, reads);
  if (loads != 0)
    await.setLoads(loads);
}

Clusters hocket::tile::scheduledClusters(const ScheduleModel &model) {
  Clusters clusters(model.clusters());
  for (const Placement &place : model.places())
    clusters[place.clusterIndex].push_back({place.step, place.offset});
  return clusters;
}

/// Steps of the same tile that `step` needs, and by how many clusters they must be earlier: 1 for
/// those that bring into a ring what it reads, 0 for those that make what it uses.
static SmallVector<std::pair<StepOp, int64_t>> needsOf(StepOp step) {
  SmallVector<std::pair<StepOp, int64_t>> needs;
  step.walk([&](Operation *op) {
    for (Value operand : op->getOperands())
      if (auto from = operand.getDefiningOp<StepOp>(); from && from != step)
        needs.emplace_back(from, 0);
    auto read = dyn_cast<RingAccessOpInterface>(op);
    if (!read || !read.readsSlot())
      return;
    for (Operation *user : read.getRing().getUsers()) {
      auto access = dyn_cast<RingAccessOpInterface>(user);
      auto writer = user->getParentOfType<StepOp>();
      if (access && access.writesSlot() && writer && writer->getParentOp() == step->getParentOp())
        needs.emplace_back(writer, 1);
    }
  });
  return needs;
}

Clusters hocket::tile::plainClusters(ForTilesOp loop) {
  llvm::MapVector<StepOp, int64_t> levels;
  for (StepOp step : loop.getBody().getOps<StepOp>()) {
    bool brings = hasAccess(step, [](RingAccessOpInterface op) { return op.bringsTile(); });
    levels[step] = brings || roleOf(step).onlyBrings() ? 0 : 1;
  }
  // No longer than the longest chain of steps.
  for (size_t round = 0; round != levels.size(); ++round)
    for (auto &[step, level] : levels)
      for (auto [from, distance] : needsOf(step))
        if (auto found = levels.find(from); found != levels.end())
          level = std::max(level, found->second + distance);
  Clusters clusters(2);
  for (auto &[step, level] : levels) {
    if (level >= static_cast<int64_t>(clusters.size()))
      clusters.resize(level + 1);
    clusters[level].push_back({step, 0});
  }
  return clusters;
}

Value IterationEmitter::constant(ImplicitLocOpBuilder &builder, int64_t value) {
  return arith::ConstantOp::create(builder, builder.getI32IntegerAttr(value));
}

void IterationEmitter::start(int64_t firstIteration) {
  versions.clear();
  for (auto [carried, init] : llvm::zip_equal(loop.getCarried(), loop.getInits()))
    versions[{carried, -firstIteration}] = init;
}

/// Whether a step that uses `version` is still to come, or the version is the newest of a result.
bool IterationEmitter::isLive(const Version &version) {
  auto [value, tile] = version;
  int64_t lastUser = std::numeric_limits<int64_t>::max();
  for (Operation *user : value.getUsers())
    for (Operation *op = user; op && op != loop; op = op->getParentOp())
      if (auto step = dyn_cast<StepOp>(op); step && step->getParentOp() == loop)
        lastUser = std::min(lastUser, model.of(step.getSymName()).offset);
  if (auto carried = dyn_cast<BlockArgument>(value)) {
    auto producer = yield.getValues()[carried.getArgNumber() - 1].getDefiningOp<StepOp>();
    lastUser = std::min(lastUser, model.of(producer.getSymName()).offset);
  }
  return tile >= lastUser;
}

void IterationEmitter::advance(bool prune) {
  Versions next;
  for (auto &[version, value] : versions) {
    Version moved = {version.first, version.second - 1};
    if (!prune || isLive(moved))
      next[moved] = value;
  }
  versions = std::move(next);
}

void IterationEmitter::rewind(int64_t count) {
  Versions before;
  for (auto &[version, value] : versions)
    before[{version.first, version.second + count}] = value;
  versions = std::move(before);
}

void IterationEmitter::assignSlots(ImplicitLocOpBuilder &builder, StepOp clone, const PlacedStep &step,
                              const IterationCopy &copy) {
  auto slotOf = [&](Value ring) -> Value {
    int64_t depth = model.ringOf(ring)->depth;
    if (depth == 1)
      return constant(builder, 0);
    if (std::optional<int64_t> known = copy.slot(step.offset, depth))
      return constant(builder, *known);
    return arith::RemUIOp::create(builder, copy.tile(builder, step.offset),
                                  constant(builder, depth));
  };
  SmallVector<RingAccessOpInterface> accesses;
  clone.walk([&](RingAccessOpInterface access) {
    if (access.touchesSlot())
      accesses.push_back(access);
  });
  for (RingAccessOpInterface access : accesses) {
    builder.setInsertionPoint(clone);
    access.setSlot(slotOf(access.getRing()));
  }
  builder.setInsertionPointAfter(clone);
}

/// Takes masks out of a copy of a step for a tile that they leave whole, since at least `before`
/// tiles precede and `after` follow it.
void IterationEmitter::dropIdleMasks(StepOp clone, Value tile, int64_t before, int64_t after) {
  SmallVector<MaskOpInterface> idle;
  clone.walk([&](MaskOpInterface mask) {
    if ((mask.getTile() == tile || mask->hasAttr(kRisesWithLoop)) &&
        loop.isWhole(mask.getTileBounds(), mask.getTileExtent(), before, after))
      idle.push_back(mask);
  });
  for (MaskOpInterface mask : idle) {
    mask->getResult(0).replaceAllUsesWith(mask.getMasked());
    mask->erase();
  }
}

/// Says of masks in a copy of a step that they rarely cut. Where they reach from both ends, as windows do, there may be
/// no tile between.
void IterationEmitter::markRareMasks(StepOp clone) {
  clone.walk([&](MaskOpInterface mask) {
    SmallVector<TileBound> bounds = mask.getTileBounds();
    bool isOneSided = llvm::all_of(bounds, [&](const TileBound &bound) { return bound.side == bounds.front().side; });
    if (isOneSided && loop.wholeWithin(bounds, mask.getTileExtent()))
      mask->setAttr(kRarelyCuts, UnitAttr::get(mask->getContext()));
  });
}

void IterationEmitter::emitStep(ImplicitLocOpBuilder &builder, const PlacedStep &step, const IterationCopy &copy) {
  IRMapping mapping;
  Value tile = copy.tile(builder, step.offset);
  mapping.map(loop.getTile(), tile);
  StepOp source = step.op;
  source.walk([&](Operation *op) {
    for (Value operand : op->getOperands())
      if (auto found = versions.find({operand, step.offset}); found != versions.end())
        mapping.map(operand, found->second);
  });
  auto clone = cast<StepOp>(builder.clone(*source, mapping));
  assignSlots(builder, clone, step, copy);
  dropIdleMasks(clone, tile, copy.tilesBefore(step.offset), copy.tilesAfter(step.offset));
  if (copy.isMostlyWhole)
    markRareMasks(clone);
  for (auto [original, result] : llvm::zip_equal(source.getResults(), clone.getResults())) {
    versions[{original, step.offset}] = result;
    for (auto [index, yielded] : llvm::enumerate(yield.getValues()))
      if (yielded == original)
        versions[{loop.getCarried()[index], step.offset + 1}] = result;
  }
}

/// How many of the first of `steps` are all steps of one tile but those that bring tiles, where a wave that sees nothing
/// of it may leave them out; 0 if they are not, or nothing is known of that.
int64_t IterationEmitter::stepsOfTile(ArrayRef<PlacedStep> steps) {
  if (loop.getSeen().empty())
    return 0;
  int64_t count = 0, offset = steps.front().offset;
  auto stays = [](StepOp step) {
    return roleOf(step).onlyBrings() || hasAccess(step, [](RingAccessOpInterface op) { return op.bringsTile(); });
  };
  while (count != static_cast<int64_t>(steps.size()) && steps[count].offset == offset && !stays(steps[count].op))
    ++count;
  int64_t all = llvm::count_if(loop.getBody().getOps<StepOp>(), [&](StepOp step) { return !stays(step); });
  return count == all ? count : 0;
}

void IterationEmitter::emitSteps(ImplicitLocOpBuilder &builder, ArrayRef<PlacedStep> steps, const IterationCopy &copy,
                                 bool inOrder) {
  for (const PlacedStep &step : steps) {
    if (inOrder && &step != &steps.front())
      FenceOp::create(builder);
    emitStep(builder, step, copy);
  }
}

/// `steps`, which are all of their tile, where the wave sees something of it; else what is carried stays as it is.
void IterationEmitter::emitWhereSeen(ImplicitLocOpBuilder &builder, ArrayRef<PlacedStep> steps,
                                     const IterationCopy &copy, bool inOrder) {
  int64_t offset = steps.front().offset;
  Value tile = copy.tile(builder, offset), first = loop.getSeen().front(), end = loop.getSeen().back();
  Value begun = arith::CmpIOp::create(builder, arith::CmpIPredicate::sge, tile, first);
  Value open = arith::CmpIOp::create(builder, arith::CmpIPredicate::slt, tile, end);
  SmallVector<Version> made;
  SmallVector<Value> before;
  for (auto [carried, yielded] : llvm::zip_equal(loop.getCarried(), yield.getValues()))
    if (llvm::any_of(steps, [&, value = yielded](PlacedStep step) { return value.getDefiningOp() == step.op; })) {
      made.push_back({carried, offset + 1});
      before.push_back(versions.find({carried, offset})->second);
    }
  auto where = WhereOp::create(builder, ValueRange(before).getTypes(), arith::AndIOp::create(builder, begun, open), before);
  builder.createBlock(&where.getBody());
  emitSteps(builder, steps, copy, inOrder);
  SmallVector<Value> results;
  for (const Version &version : made)
    results.push_back(versions.find(version)->second);
  YieldOp::create(builder, results);
  builder.setInsertionPointAfter(where);
  // Nothing else of the tile is used outside.
  for (const PlacedStep &step : steps)
    for (Value result : StepOp(step.op).getResults())
      versions.erase({result, offset});
  for (auto [version, result] : llvm::zip_equal(made, where.getResults())) {
    versions[version] = result;
    versions[{yield.getValues()[cast<BlockArgument>(version.first).getArgNumber() - 1], offset}] = result;
  }
}

static bool readsLds(ArrayRef<PlacedStep> steps) {
  return llvm::any_of(steps, [](const PlacedStep &step) {
    return hasAccess(step.op, [](RingAccessOpInterface access) { return access.countsAsLdsAccess(); });
  });
}

void IterationEmitter::emitClusterEnd(ImplicitLocOpBuilder &builder, const Clusters &clusters,
                                 int64_t cluster, const IterationCopy &copy) {
  // Waves that share no tile need not meet.
  if (model.rings().empty() && model.groups() == 1)
    return;
  bool reads = llvm::any_of(clusters[cluster], [&](const PlacedStep &step) {
    return copy.valid(step.offset) && hasAccess(step.op, [](RingAccessOpInterface access) {
             return access.countsAsLdsAccess();
           });
  });
  AllowedInFlight allowed = copy.allowed(cluster);
  if (reads || allowed)
    emitAwait(builder, allowed, reads);
  Meeting meeting = copy.meeting(cluster);
  if (meeting != Meeting::Nobody)
    BarrierOp::create(builder,
                      meeting == Meeting::All ? IntegerAttr() : builder.getI64IntegerAttr(0));
}

/// Says what the schedule says of a cluster or of what is joined to one. Priorities change only where they differ from
/// what comes before, around the loop.
void IterationEmitter::emitPartBegin(ImplicitLocOpBuilder &builder, ClusterOp part) {
  int64_t priority = part.getPriority().value_or(0);
  IntegerAttr change;
  if (priority != int64_t(model.partBefore(part).getPriority().value_or(0)))
    change = builder.getI64IntegerAttr(priority);
  EnterOp::create(builder, part.getKind(), change, part.getInterleaveAttr());
}

/// What was read beneath products has come when they end; LLVM would wait for it piece by piece. And it would mix what
/// follows with what went before.
static void emitPartEnd(ImplicitLocOpBuilder &builder, ArrayRef<PlacedStep> steps) {
  if (readsLds(steps))
    emitAwait(builder, std::nullopt, /*reads=*/true);
  FenceOp::create(builder);
}

void IterationEmitter::emitPart(ImplicitLocOpBuilder &builder, ArrayRef<PlacedStep> steps, const IterationCopy &copy,
                                bool inOrder) {
  ArrayRef<PlacedStep> left = steps;
  while (!left.empty()) {
    int64_t count = stepsOfTile(left);
    if (inOrder && left.size() != steps.size())
      FenceOp::create(builder);
    if (count != 0)
      emitWhereSeen(builder, left.take_front(count), copy, inOrder);
    else
      emitStep(builder, left.front(), copy);
    left = left.drop_front(std::max<int64_t>(count, 1));
  }
}

void IterationEmitter::emit(ImplicitLocOpBuilder &builder, const Clusters &clusters,
                                const IterationCopy &copy, bool scheduled) {
  for (int64_t cluster = 0; cluster != static_cast<int64_t>(clusters.size()); ++cluster) {
    if (!copy.has(cluster))
      continue;
    SmallVector<PlacedStep> steps = llvm::to_vector(llvm::make_filter_range(
        clusters[cluster], [&](const PlacedStep &step) { return copy.valid(step.offset); }));
    if (!scheduled)
      emitPart(builder, steps, copy, /*inOrder=*/false);
    for (ClusterOp part : scheduled ? model.partsOf(cluster) : ArrayRef<ClusterOp>()) {
      SmallVector<PlacedStep> own = llvm::to_vector(llvm::make_filter_range(steps, [&](const PlacedStep &step) {
        return model.of(StepOp(step.op).getSymName()).cluster == part;
      }));
      emitPartBegin(builder, part);
      // Steps of memory clusters issue as written: reads that take long first, say.
      emitPart(builder, own, copy, part.getKind() == ClusterKind::Memory);
      if (part != model.partsOf(cluster).back())
        emitPartEnd(builder, own);
    }
    emitClusterEnd(builder, clusters, cluster, copy);
  }
}

/// Whether there is all that the step uses of its tile.
bool IterationEmitter::isReady(const PlacedStep &step) {
  StepOp source = step.op;
  WalkResult found = source.walk([&](Operation *op) {
    for (Value operand : op->getOperands()) {
      auto producer = operand.getDefiningOp<StepOp>();
      bool isOfLoop = (producer && producer != source) || llvm::is_contained(loop.getCarried(), operand);
      if (isOfLoop && !versions.contains({operand, step.offset}))
        return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  return !found.wasInterrupted();
}

/// Whether it branches on what only few tiles do, and would cut what it stands in.
static bool rescales(const PlacedStep &step) {
  return StepOp(step.op).walk([](RescaleOp) { return WalkResult::interrupt(); }).wasInterrupted();
}

void IterationEmitter::emitJoined(ImplicitLocOpBuilder &builder, const Clusters &clusters, const IterationCopy &copy) {
  SmallVector<PlacedStep> steps;
  for (ArrayRef<PlacedStep> cluster : clusters)
    llvm::copy_if(cluster, std::back_inserter(steps), [&](const PlacedStep &step) { return copy.valid(step.offset); });
  bool reads = readsLds(steps);
  EnterOp::create(builder, ClusterKind::Compute, /*priority=*/IntegerAttr(), builder.getStringAttr("stream"));
  while (!steps.empty()) {
    auto next = llvm::find_if(steps, [&](const PlacedStep &step) { return rescales(step) && isReady(step); });
    next = next == steps.end() ? steps.begin() : next;
    emitStep(builder, *next, copy);
    steps.erase(next);
  }
  if (reads)
    emitAwait(builder, std::nullopt, /*reads=*/true);
}
