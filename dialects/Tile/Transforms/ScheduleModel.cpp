// A schedule applied to an algorithm: placement and legality.
#include "Tile/Transforms/ScheduleModel.h"

#include "Tile/IR/StepRole.h"
#include "Tile/IR/WorkItems.h"

#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace hocket::tile;

std::string hocket::tile::ringName(Value ring) {
  auto op = ring.getDefiningOp<RingOp>();
  return op ? op.getBindingName() : "ring";
}

/// "step 'read_v' (cluster 2, tile offset -1)".
static std::string describe(const Placement &place) {
  return "step '" + StepOp(place.step).getSymName().str() + "' (cluster " +
         std::to_string(place.clusterIndex) + ", tile offset " + std::to_string(place.offset) + ")";
}

FailureOr<ScheduleModel> ScheduleModel::create(ForTilesOp loop, ScheduleOp schedule,
                                               bool skipRingHazards) {
  ScheduleModel model;
  model.skipRingHazards = skipRingHazards;
  if (failed(model.place(loop, schedule)) || failed(model.verifyValues(loop)) ||
      failed(model.collectRings()))
    return failure();
  model.findMoves(loop);
  return model;
}

const Placement &ScheduleModel::of(StringRef step) const {
  return *llvm::find_if(
      placements, [&](const Placement &place) { return StepOp(place.step).getSymName() == step; });
}

ClusterOp ScheduleModel::partBefore(ClusterOp part) const {
  ClusterOp before = clusterOps.back().back();
  for (const SmallVector<ClusterOp> &parts : clusterOps)
    for (ClusterOp each : parts) {
      if (each == part)
        return before;
      before = each;
    }
  return before;
}

const RingUse *ScheduleModel::ringOf(Value ring) const {
  auto found = llvm::find_if(ringUses, [&](const RingUse &use) { return use.ring == ring; });
  return found == ringUses.end() ? nullptr : &*found;
}

/// The step that loads the parts which `step` puts, if it does nothing else.
static StepOp loaderOfPuts(StepOp step) {
  StepOp loader;
  for (Operation &op : step.getBody().front().without_terminator()) {
    auto put = dyn_cast<RingAccessOpInterface>(op);
    Value part = put && put.writesSlot() ? put.getStagedPart() : Value();
    auto from = part ? part.getDefiningOp<StepOp>() : StepOp();
    if (!from || (loader && loader != from))
      return StepOp();
    loader = from;
  }
  return loader;
}

/// The last position at which a tile 0 may be put into the rings of `step`'s puts so that their
/// reads find it.
int64_t ScheduleModel::latestPut(StepOp step) const {
  int64_t latest = std::numeric_limits<int64_t>::max();
  step.walk([&](RingAccessOpInterface put) {
    for (const Placement &place : placements)
      StepOp(place.step).walk([&](RingAccessOpInterface access) {
        if (access.readsSlot() && access.getRing() == put.getRing())
          latest = std::min(latest, position(place, 0) - 1 - lag());
      });
  });
  return latest;
}

/// Steps that only put what another loads need no place: they end the last cluster from which the
/// tile is complete for its reads. Until then it waits in registers, and LDS is free for others.
void ScheduleModel::placePuts(ForTilesOp loop, llvm::StringMap<StepOp> &steps) {
  for (StepOp step : loop.getBody().getOps<StepOp>()) {
    StepOp loader = steps.contains(step.getSymName()) ? loaderOfPuts(step) : StepOp();
    if (!loader || steps.contains(loader.getSymName()))
      continue;
    Placement place = of(loader.getSymName());
    // Too late for the reads, or never read: with the load, where the rules of rings will see it.
    int64_t latest = latestPut(step);
    if (latest >= position(place, 0) && latest != std::numeric_limits<int64_t>::max()) {
      place.offset = -llvm::divideFloorSigned(latest, clusterCount);
      place.clusterIndex = latest + place.offset * clusterCount;
      place.cluster = clusterOps[place.clusterIndex].back();
    }
    place.step = step;
    place.order = placements.size();
    placements.push_back(place);
    steps.erase(step.getSymName());
  }
}

/// Has `place` stand at `at` among all.
void ScheduleModel::insert(size_t at, Placement place, llvm::StringMap<StepOp> &steps) {
  steps.erase(StepOp(place.step).getSymName());
  placements.insert(placements.begin() + at, place);
  for (auto [order, other] : llvm::enumerate(placements))
    other.order = static_cast<int64_t>(order);
}

/// A schedule need not place steps that use no ring and no value of another step, except of steps that only load. They
/// end the cluster before that of their first user or, if there is none before it, stand directly before the user.
void ScheduleModel::placeStarts(ForTilesOp loop, llvm::StringMap<StepOp> &steps) {
  SmallVector<ValueDependence> dependences = valueDependences(loop);
  for (StepOp step : loop.getBody().getOps<StepOp>()) {
    StepRole role = roleOf(step);
    bool needsNone = llvm::none_of(dependences, [&](const ValueDependence &d) {
      return d.to == step && d.tiles == 0 && roleOf(d.from).loads == 0;
    });
    if (!steps.contains(step.getSymName()) || !needsNone || !role.brings.empty() || !role.reads.empty() || role.loads)
      continue;
    auto user = placements.end();
    for (auto place = placements.begin(); place != placements.end(); ++place) {
      bool uses = llvm::any_of(dependences, [&](const ValueDependence &d) { return d.from == step && d.to == place->step; });
      if (uses && (user == placements.end() || position(*place, 0) < position(*user, 0)))
        user = place;
    }
    if (user == placements.end())
      continue;
    Placement place = *user;
    auto before = user;
    if (place.clusterIndex != 0) {
      place.cluster = clusterOps[--place.clusterIndex].back();
      before = llvm::find_if(placements, [&](const Placement &p) { return p.clusterIndex > place.clusterIndex; });
    }
    place.step = step;
    insert(before - placements.begin(), place, steps);
  }
}

/// Steps that only begin loads need no place: they stand in the cluster of the first step that uses them, one tile
/// ahead if something else is as far ahead, in front of what the cluster does with the tile of that step.
void ScheduleModel::placeLoads(ForTilesOp loop, llvm::StringMap<StepOp> &steps) {
  SmallVector<ValueDependence> dependences = valueDependences(loop);
  int64_t furthest = 0;
  for (const Placement &place : placements)
    furthest = std::max(furthest, place.offset);
  for (StepOp step : loop.getBody().getOps<StepOp>()) {
    if (!steps.contains(step.getSymName()) || !roleOf(step).onlyBrings() || roleOf(step).loads == 0)
      continue;
    std::optional<size_t> first;
    for (auto [index, place] : llvm::enumerate(placements)) {
      bool uses = llvm::any_of(dependences, [&, user = place.step](const ValueDependence &d) {
        return d.from == step && d.to == user;
      });
      if (uses && (!first || position(place, 0) < position(placements[*first], 0)))
        first = index;
    }
    if (!first)
      continue;
    Placement place = placements[*first];
    while (*first != 0 && placements[*first - 1].cluster == place.cluster &&
           placements[*first - 1].offset == place.offset)
      --*first;
    place.step = step;
    place.offset = std::min(place.offset + 1, std::max(furthest, place.offset));
    insert(*first, place, steps);
  }
}

/// Matches the loop's steps with the schedule's places; each must occur in both, once.
LogicalResult ScheduleModel::place(ForTilesOp loop, ScheduleOp schedule) {
  unrollFactor = schedule.getUnroll();
  waveGroups = schedule.getWaveGroups();
  apart = schedule.getMasksApart();
  llvm::StringMap<StepOp> steps;
  for (StepOp step : loop.getBody().getOps<StepOp>())
    steps[step.getSymName()] = step;

  for (ClusterOp cluster : schedule.getBody().getOps<ClusterOp>()) {
    if (!cluster.getJoined())
      clusterOps.emplace_back();
    clusterOps.back().push_back(cluster);
    for (PlaceAttr place : cluster.getPlaces().getAsRange<PlaceAttr>()) {
      StringRef name = place.getStep().getValue();
      auto found = steps.find(name);
      if (found == steps.end()) {
        auto diagnostic = cluster.emitOpError()
                          << "places step '" << name << "', which the loop that follows "
                          << "schedule '" << schedule.getSymName() << "' does not have";
        Diagnostic &note = diagnostic.attachNote(loop.getLoc()) << "the loop is here, with ";
        llvm::interleaveComma(loop.getBody().getOps<StepOp>(), note,
                              [&](StepOp step) { note << "'" << step.getSymName() << "'"; });
        note << "; place one of these instead";
        return failure();
      }
      placements.push_back({found->second, cluster, static_cast<int64_t>(clusterOps.size()) - 1,
                            place.getOffset(), static_cast<int64_t>(placements.size())});
      steps.erase(found);
    }
  }
  clusterCount = clusterOps.size();
  // LLVM may move the loads of steps that the schedule does not place, so no wait counts them.
  for (auto &unplaced : steps)
    unplaced.second.walk([](LoadOp load) { load->removeAttr(kCountedAttr); });
  placePuts(loop, steps);
  placeStarts(loop, steps);
  placeLoads(loop, steps);
  for (StepOp step : loop.getBody().getOps<StepOp>()) {
    if (!steps.contains(step.getSymName()))
      continue;
    auto diagnostic = step.emitOpError()
                      << "step '" << step.getSymName() << "' is not placed by schedule '"
                      << schedule.getSymName() << "'";
    diagnostic.attachNote(schedule.getLoc())
        << "add '" << step.getSymName() << "(0)' to one of its clusters";
    return failure();
  }
  for (Placement &place : placements)
    place.loads = roleOf(place.step).loads;
  if (placements.empty())
    return loop.emitOpError("has no steps; a loop over tiles needs at least one");
  auto [low, high] =
      std::minmax_element(placements.begin(), placements.end(),
                          [](const auto &a, const auto &b) { return a.offset < b.offset; });
  minOffset = low->offset, maxOffset = high->offset;
  return success();
}

/// A step runs after the steps whose results it uses: of its own tile, or, through a carried value,
/// of the tile before.
LogicalResult ScheduleModel::verifyValues(ForTilesOp loop) const {
  SmallVector<ValueDependence> dependences = valueDependences(loop);
  for (const Placement &user : placements)
    for (const ValueDependence &dependence : dependences)
      if (dependence.to == user.step && failed(verifyValue(user, dependence)))
        return failure();
  return success();
}

LogicalResult ScheduleModel::verifyValue(const Placement &user,
                                         const ValueDependence &dependence) const {
  StepOp producer = dependence.from;
  const Placement &from = of(producer.getSymName());
  int64_t produced = position(from, -dependence.tiles), used = position(user, 0);
  if (produced < used || (produced == used && from.order < user.order))
    return success();
  ClusterOp cluster = user.cluster;
  auto diagnostic = cluster.emitOpError()
                    << "runs " << describe(user) << " before " << describe(from)
                    << " has produced what it uses" << (dependence.tiles ? " of the tile before" : "");
  Diagnostic &note = diagnostic.attachNote(from.cluster->getLoc());
  if (produced == used)
    note << "write '" << producer.getSymName() << "' in front of '"
         << StepOp(user.step).getSymName() << "' in the cluster";
  else
    note << wayOut(user, " later", from, " earlier", produced - used);
  return failure();
}

/// "place 'read_v' 1 cluster earlier, or 'fetch_v' 1 cluster later (a tile offset is 4 clusters)".
std::string ScheduleModel::wayOut(const Placement &first, StringRef firstWay,
                                  const Placement &second, StringRef secondWay,
                                  int64_t distance) const {
  auto clustersTo = [](int64_t count, StringRef way) {
    return (Twine(count) + (count == 1 ? " cluster" : " clusters") + way).str();
  };
  return (Twine("place '") + StepOp(first.step).getSymName() + "' " +
          clustersTo(distance, firstWay) + ", or '" + StepOp(second.step).getSymName() + "' " +
          clustersTo(distance, secondWay) + " (one tile offset is " + clustersTo(clusterCount, "") +
          ")")
      .str();
}

LogicalResult ScheduleModel::collectRings() {
  llvm::MapVector<Value, RingUse> uses;
  for (const Placement &place : placements) {
    WalkResult walk = StepOp(place.step).walk([&](RingAccessOpInterface access) {
      if (!access.touchesSlot())
        return WalkResult::advance();
      // Waits are counted, so every access must run once whenever its step does.
      if (access->getParentOp() != place.step) {
        access->emitOpError() << "stands in '" << access->getParentOp()->getName()
                              << "', where waits cannot be counted; put it directly into step '"
                              << StepOp(place.step).getSymName() << "'";
        return WalkResult::interrupt();
      }
      RingUse &use = uses[access.getRing()];
      if (access.readsSlot()) {
        use.reads.push_back(&place);
        return WalkResult::advance();
      }
      if (use.fetch) {
        access->emitOpError() << "is the second fetch into ring '" << ringName(access.getRing())
                              << "' in one iteration; a tile is fetched once";
        return WalkResult::interrupt();
      }
      use.fetch = &place;
      use.put = !access.isAsynchronous();
      return WalkResult::advance();
    });
    if (walk.wasInterrupted())
      return failure();
  }
  for (auto &[ring, use] : uses) {
    use.ring = ring;
    if (failed(verifyRing(use)))
      return failure();
    ringUses.push_back(use);
  }
  return success();
}

/// Whether something that stands in no loop over tiles fills the ring: whether that is in time is for
/// `tile-verify-clusters` to say.
static bool isFilledOutside(Value ring) {
  return llvm::any_of(ring.getUsers(), [](Operation *user) {
    auto access = dyn_cast<RingAccessOpInterface>(user);
    return access && access.writesSlot() && !user->getParentOfType<ForTilesOp>();
  });
}

/// Both hazards of a ring, and the depth that keeps them away.
LogicalResult ScheduleModel::verifyRing(RingUse &use) const {
  std::string name = ringName(use.ring);
  if (!use.fetch && isFilledOutside(use.ring))
    return success();
  if (!use.fetch) {
    ClusterOp cluster = use.reads.front()->cluster;
    return cluster.emitOpError() << "reads ring '" << name << "' in "
                                 << describe(*use.reads.front())
                                 << ", but no step fetches into it; add a step with 'tile.fetch'";
  }
  for (const Placement *read : use.reads) {
    int64_t lastWait = position(*read, 0) - 1 - lag();
    int64_t fetched = position(*use.fetch, 0);
    if (fetched > lastWait && !skipRingHazards) {
      ClusterOp cluster = read->cluster;
      auto diagnostic = cluster.emitOpError()
                        << "reads ring '" << name << "' in " << describe(*read)
                        << " before the tile that " << describe(*use.fetch)
                        << (use.put ? " puts" : " fetches")
                        << " is complete for all waves: a wait and "
                        << (lag() ? "two barriers, one for each wave group," : "a barrier")
                        << " must lie between them";
      diagnostic.attachNote(use.fetch->cluster->getLoc())
          << wayOut(*read, " later", *use.fetch, " earlier", fetched - lastWait);
      return failure();
    }
    // Tile t + depth goes into the slot of tile t.
    int64_t distance = position(*read, 0) + lag() - fetched;
    use.depth = std::max<int64_t>(use.depth, llvm::divideFloorSigned(distance, clusterCount) + 1);
  }
  auto op = use.ring.getDefiningOp<RingOp>();
  std::optional<uint64_t> stated = op ? op.getDepth() : std::nullopt;
  if (!stated)
    return success();
  if (static_cast<int64_t>(*stated) >= use.depth || skipRingHazards) {
    use.depth = *stated;
    return success();
  }
  const Placement *last =
      *llvm::max_element(use.reads, [&](const Placement *a, const Placement *b) {
        return position(*a, 0) < position(*b, 0);
      });
  ClusterOp cluster = last->cluster;
  auto diagnostic = cluster.emitOpError() << "reads ring '" << name << "' in " << describe(*last)
                                          << " while " << describe(*use.fetch) << " of "
                                          << (lag() ? "the other wave group" : "a later tile")
                                          << " may already overwrite its slot: the ring has depth "
                                          << *stated << ", this schedule needs " << use.depth;
  int64_t excess = position(*last, 0) + lag() + 1 - position(*use.fetch, *stated);
  diagnostic.attachNote(use.fetch->cluster->getLoc())
      << wayOut(*last, " earlier", *use.fetch, " later", excess) << "; or give ring '" << name
      << "' " << use.depth << " slots";
  return failure();
}

bool ScheduleModel::readsRings(int64_t cluster) const {
  return llvm::any_of(ringUses, [&](const RingUse &use) {
    return llvm::any_of(use.reads,
                        [&](const Placement *read) { return read->clusterIndex == cluster; });
  });
}

AllowedInFlight hocket::tile::strictest(const AllowedInFlight &a, const AllowedInFlight &b) {
  if (!a || !b)
    return a ? a : b;
  // Of different rings nobody knows here which takes more instructions.
  size_t common = 0;
  while (common < std::min(a->size(), b->size()) && a->rbegin()[common] == b->rbegin()[common])
    ++common;
  return SmallVector<InFlight>(ArrayRef(*a).take_back(common));
}

/// All fetches and loads of one wave up to the end of a cluster, in order.
std::vector<ScheduleModel::Fetched> ScheduleModel::fetchesUpTo(int64_t tiles, int64_t iteration,
                                                               int64_t cluster) const {
  std::vector<Fetched> fetches;
  for (int64_t i = -maxOffset; i <= iteration; ++i)
    for (const Placement &place : placements) {
      if (!runs(place, i, tiles) || (i == iteration && place.clusterIndex > cluster))
        continue;
      int64_t tile = i + place.offset, at = i * clusterCount + place.clusterIndex;
      for (const RingUse &use : ringUses)
        if (use.fetch == &place && !use.put)
          fetches.push_back({&use, tile, 0, at});
      if (place.loads != 0)
        fetches.push_back({nullptr, tile, place.loads, at});
    }
  return fetches;
}

/// What may stay in flight so that tiles that are read at positions `readsAt` are complete, of so
/// many tiles.
AllowedInFlight ScheduleModel::newerThanRead(ArrayRef<Fetched> fetches, int64_t tiles,
                                             function_ref<bool(int64_t)> readsAt) const {
  auto isNeeded = [&](const Fetched &fetched) {
    return fetched.use && llvm::any_of(fetched.use->reads, [&](const Placement *read) {
             return readsAt(position(*read, fetched.tile)) && runs(*read, fetched.tile - read->offset, tiles);
           });
  };
  auto needed = llvm::find_if(llvm::reverse(fetches), isNeeded);
  if (needed == fetches.rend())
    return std::nullopt;
  // What stands in front of the loop has no barriers between, either.
  int64_t later = std::max(needed->position + 1, entryEnd());
  SmallVector<InFlight> newer;
  for (const Fetched &fetched : fetches.take_back(needed - fetches.rbegin()))
    if (fetched.use)
      newer.push_back({fetched.use->ring});
    else if (fetched.position >= later)
      newer.push_back({Value(), fetched.loads});
  return newer;
}

AllowedInFlight ScheduleModel::allowedInFlight(int64_t tiles, int64_t iteration,
                                               int64_t cluster) const {
  // Complete at the end of this position: whatever is read up to lag + 1 positions later.
  int64_t horizon = iteration * clusterCount + cluster + 1 + lag();
  return newerThanRead(fetchesUpTo(tiles, iteration, cluster), tiles,
                       [&](int64_t read) { return read == horizon; });
}

int64_t ScheduleModel::entryEnd() const {
  int64_t end = -minOffset * clusterCount;
  for (const Placement &place : placements)
    if (!place.brings)
      end = std::min(end, position(place, 0));
  return end;
}

/// All waves meet at the end of the entry, and only then does the second group wait for one barrier
/// more: what the first `lag` + 1 positions read must be complete.
AllowedInFlight ScheduleModel::allowedAfterEntry() const {
  int64_t end = entryEnd(), iteration = llvm::divideFloorSigned(end - 1, clusterCount);
  return newerThanRead(
      fetchesUpTo(manyTiles(), iteration, end - 1 - iteration * clusterCount), manyTiles(),
      [&](int64_t read) { return read <= end + lag(); });
}

AllowedInFlight ScheduleModel::allowedForGood(int64_t tiles, int64_t iteration) const {
  return newerThanRead(
      fetchesUpTo(tiles, iteration, clusterCount), tiles,
      [&](int64_t read) { return read >= (iteration + 1) * clusterCount; });
}

bool ScheduleModel::endsInOneWait() const {
  // Iterations that stand at the number of tiles + `ahead`: those of the epilogue.
  for (const Placement &place : placements)
    for (int64_t ahead = -neededOffset; ahead < -minOffset; ++ahead)
      for (const RingUse &use : ringUses)
        if (use.fetch == &place && ahead + place.offset < 0)
          return false;
  return endOffset() > neededOffset && neededOffset != minOffset;
}

bool ScheduleModel::leavesFetches() const {
  for (int64_t tiles = minimumTiles(); tiles <= minimumTiles() + stages() + 2; ++tiles) {
    std::vector<Fetched> all = fetchesUpTo(tiles, tiles + firstSteady(), clusterCount);
    llvm::erase_if(all, [](const Fetched &fetched) { return !fetched.use; });
    if (all.empty())
      continue;
    // Waits are for what is read, or for all of the entry, and complete whatever is older.
    const Fetched &last = all.back();
    AllowedInFlight early = allowedAfterEntry();
    bool isEarly = early && early->empty() && last.position < entryEnd();
    bool isRead = llvm::any_of(last.use->reads, [&](const Placement *read) {
      return runs(*read, last.tile - read->offset, tiles);
    });
    if (!isRead && !isEarly)
      return true;
  }
  return false;
}

/// Whether `step` holds only accesses to rings, loads that it begins, and what they need, with at least one.
static bool onlyAccessesRings(StepOp step) {
  bool any = false;
  for (Operation &op : step.getBody().front().without_terminator()) {
    bool accesses = isa<RingAccessOpInterface, BeginLoadOp>(op);
    any |= accesses;
    if (!accesses && !isMemoryEffectFree(&op) && !isa<RecallOp>(op))
      return false;
  }
  return any;
}

/// Finds the steps whose only purpose is to have tiles somewhere when others need them: of nothing
/// but steps of their kind, and with nothing that the loop carries.
void ScheduleModel::findMoves(ForTilesOp loop) {
  Block *body = &loop.getBody().front();
  auto yield = cast<YieldOp>(body->getTerminator());
  auto brings = [](StepOp step) {
    return !step
                .walk([](RingAccessOpInterface access) {
                  return access.bringsTile() ? WalkResult::advance() : WalkResult::interrupt();
                })
                .wasInterrupted();
  };
  // A chain of them begins with one that needs no other, so this many rounds reach its end.
  for (size_t round = 0; round != placements.size(); ++round)
    for (Placement &place : placements) {
      StepOp step = place.step;
      bool isUseful = brings(step) || !step->use_empty();
      bool isYielded = llvm::any_of(yield.getValues(), [&](Value value) {
        return value.getDefiningOp() == step.getOperation();
      });
      WalkResult walk = step.walk([&](Operation *op) {
        for (Value operand : op->getOperands()) {
          auto argument = dyn_cast<BlockArgument>(operand);
          auto producer = operand.getDefiningOp<StepOp>();
          if ((argument && argument.getOwner() == body && argument != loop.getTile()) ||
              (producer && producer->getParentOp() == loop && !of(producer.getSymName()).moves))
            return WalkResult::interrupt();
        }
        auto access = dyn_cast<RingAccessOpInterface>(op);
        if (!access || !access.readsSlot())
          return WalkResult::advance();
        // What is read past the end must have been brought past the end.
        const RingUse *use = ringOf(access.getRing());
        bool isThere = use && (!use->fetch || use->fetch->moves);
        return isThere ? WalkResult::advance() : WalkResult::interrupt();
      });
      place.moves = isUseful && !isYielded && onlyAccessesRings(step) && !walk.wasInterrupted();
      place.brings = place.moves && brings(step);
    }
  neededOffset = std::numeric_limits<int64_t>::min();
  for (const Placement &place : placements)
    if (!place.moves)
      neededOffset = std::max(neededOffset, place.offset);
  if (neededOffset == std::numeric_limits<int64_t>::min())
    neededOffset = maxOffset;
  neededOffset = std::max(neededOffset, minOffset);
}
