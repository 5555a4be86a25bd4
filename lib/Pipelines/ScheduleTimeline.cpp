// From a module at the clusters stage to what a drawing of it shows.
#include "ScheduleTimeline.h"

#include "Tile/Transforms/ClusterReplay.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/StringMap.h"

#include <deque>

using namespace mlir;
using namespace hocket;
using namespace hocket::tile;

/// More tiles are not tried to make the steady loop run.
static constexpr int64_t kMaxTiles = 256;

namespace {
class TimelineReader {
public:
  TimelineReader(KernelOp kernel, ScheduleOp schedule, const RingInfos &rings)
      : kernel(kernel), schedule(schedule), rings(rings) {}

  void read(const ClusterTrace &trace);

  Timeline timeline;

private:
  void readSchedule();
  void step(StepOp op);
  void access(const ClusterEvent &event);
  void wait(WaitOp op);
  void barrier(BarrierOp op);
  Phase phaseOf(Operation *op) const;
  void startCluster(Operation *op);
  TimelineCluster &current() { return timeline.clusters.back(); }

  KernelOp kernel;
  ScheduleOp schedule;
  const RingInfos &rings;
  /// Where the schedule has a step: its cluster, and the tile offset.
  struct Place {
    int64_t cluster, offset;
  };
  SmallVector<ClusterKind> kinds;
  llvm::StringMap<Place> places;
  bool hasWhile = false;
  bool open = false; ///< a cluster has begun and not met its barrier
  int64_t epoch[2] = {0, 0};
  llvm::StringMap<int64_t> runs;
  /// Fetches not yet complete, oldest first: indices of lives, with their instructions.
  std::deque<std::pair<size_t, int64_t>> inFlight;
};
} // namespace

static bool hasWhileLoop(KernelOp kernel) {
  return kernel.walk([](scf::WhileOp) { return WalkResult::interrupt(); }).wasInterrupted();
}

/// "memory { read_k(0) fetch_v(0) }".
static std::string clusterText(ClusterOp cluster) {
  std::string text = stringifyClusterKind(cluster.getKind()).str() + " {";
  for (PlaceAttr place : cluster.getPlaces().getAsRange<PlaceAttr>())
    text += " " + place.getStep().str() + "(" + (place.getOffset() > 0 ? "+" : "") +
            std::to_string(place.getOffset()) + ")";
  return text + " }";
}

void TimelineReader::readSchedule() {
  timeline.kernel = kernel.getSymName().str();
  timeline.schedule = schedule.getSymName().str();
  for (ClusterOp cluster : schedule.getBody().getOps<ClusterOp>()) {
    if (cluster.getJoined()) {
      timeline.scheduleText.back() += ", joined " + clusterText(cluster);
      kinds.back() = cluster.getKind() == ClusterKind::Compute ? ClusterKind::Compute : kinds.back();
    } else {
      timeline.scheduleText.push_back(clusterText(cluster));
      kinds.push_back(cluster.getKind());
    }
    for (PlaceAttr place : cluster.getPlaces().getAsRange<PlaceAttr>())
      places[place.getStep().getValue()] = {static_cast<int64_t>(kinds.size()) - 1,
                                            place.getOffset()};
  }
  for (const auto &[op, info] : rings)
    timeline.rings.push_back({info.name, info.depth});
  hasWhile = hasWhileLoop(kernel);
  kernel.walk([&](BarrierOp op) { timeline.groups = op.getGroup() ? 2 : timeline.groups; });
}

/// A plain loop is a steady state that nothing precedes; beside `scf.while`, it or a branch is the
/// remainder.
Phase TimelineReader::phaseOf(Operation *op) const {
  if (op->getParentOfType<scf::WhileOp>())
    return Phase::Steady;
  if (op->getParentOfType<scf::ForOp>())
    return hasWhile ? Phase::Remainder : Phase::Steady;
  auto branch = op->getParentOfType<scf::IfOp>();
  if (branch && !branch->getBlock()->getOps<scf::WhileOp>().empty())
    return Phase::Remainder;
  bool afterSteady = llvm::any_of(timeline.clusters, [](const TimelineCluster &cluster) {
    return cluster.phase == Phase::Steady;
  });
  return afterSteady ? Phase::Epilogue : Phase::Prologue;
}

/// What lies between two barriers. It is called after its first step: in the entry and the epilogue,
/// where waves need not meet, several clusters follow one another.
void TimelineReader::startCluster(Operation *op) {
  if (open)
    return;
  open = true;
  TimelineCluster cluster;
  cluster.phase = phaseOf(op);
  if (!timeline.clusters.empty()) {
    const TimelineCluster &before = timeline.clusters.back();
    int64_t next = before.cluster + 1, count = kinds.size();
    cluster.cluster = next % count;
    cluster.iteration = before.iteration + next / count;
  }
  cluster.kind = kinds[cluster.cluster];
  cluster.epoch[0] = epoch[0], cluster.epoch[1] = epoch[1];
  timeline.clusters.push_back(cluster);
}

void TimelineReader::step(StepOp op) {
  startCluster(op);
  TimelineStep step;
  step.name = op.getSymName().str();
  step.tile = runs[op.getSymName()]++;
  auto place = places.find(op.getSymName());
  if (place != places.end() && current().steps.empty()) {
    current().cluster = place->second.cluster;
    current().iteration = step.tile - place->second.offset;
    current().kind = kinds[current().cluster];
  }
  step.offset = place != places.end() ? place->second.offset : step.tile - current().iteration;
  current().steps.push_back(step);
}

void TimelineReader::access(const ClusterEvent &event) {
  startCluster(event.op);
  size_t ring = std::distance(rings.begin(), rings.find(RingOp(event.ring)));
  bool fetches = event.access().writesSlot();
  if (!current().steps.empty()) {
    TimelineStep &step = current().steps.back();
    step.ring = ring, step.fetches = fetches;
    step.tile = event.tile;
  }
  size_t here = timeline.clusters.size() - 1;
  if (fetches) {
    if (!event.isPut())
      inFlight.emplace_back(timeline.lives.size(),
                            rings.find(RingOp(event.ring))->second.fetchInstructions);
    timeline.lives.push_back({ring, event.slot, event.tile, here, here, here});
    return;
  }
  for (SlotLife &life : llvm::reverse(timeline.lives)) {
    if (life.ring != ring || life.slot != event.slot)
      continue;
    life.lastRead = here;
    return;
  }
}

void TimelineReader::wait(WaitOp op) {
  startCluster(op);
  if (op.getLgkm())
    current().lgkm = *op.getLgkm();
  if (!op.getVm())
    return;
  current().vm = *op.getVm();
  int64_t outstanding = 0;
  for (const auto &[life, instructions] : inFlight)
    outstanding += instructions;
  while (!inFlight.empty() && outstanding > *current().vm) {
    timeline.lives[inFlight.front().first].complete = timeline.clusters.size() - 1;
    outstanding -= inFlight.front().second;
    inFlight.pop_front();
  }
}

void TimelineReader::barrier(BarrierOp op) {
  if (!op.getGroup()) {
    startCluster(op);
    open = false;
  }
  for (int64_t group = 0; group != 2; ++group)
    if (!op.getGroup() || static_cast<int64_t>(*op.getGroup()) == group)
      ++epoch[group];
}

void TimelineReader::read(const ClusterTrace &trace) {
  readSchedule();
  for (const ClusterEvent &event : trace.events) {
    if (auto op = dyn_cast<StepOp>(event.op))
      step(op);
    else if (auto op = dyn_cast<WaitOp>(event.op))
      wait(op);
    else if (auto op = dyn_cast<BarrierOp>(event.op))
      barrier(op);
    else if (event.access().touchesSlot())
      access(event);
  }
  timeline.epochs = std::max(epoch[0], timeline.groups == 2 ? epoch[1] : 0);
  // Behind the last barrier there may be more.
  for (const TimelineCluster &cluster : timeline.clusters)
    for (int64_t group = 0; group != timeline.groups; ++group)
      timeline.epochs = std::max(timeline.epochs, cluster.epoch[group] + 1);
}

/// Whether the steady loop ran: `scf.while`, or where there is none, `scf.for`, twice.
static bool ranSteady(KernelOp kernel, const ClusterTrace &trace) {
  bool hasWhile = hasWhileLoop(kernel);
  return llvm::any_of(trace.events, [&](const ClusterEvent &event) {
    return hasWhile ? event.op->getParentOfType<scf::WhileOp>() != nullptr
                    : event.op->getParentOfType<scf::ForOp>() && trace.mostPasses() > 1;
  });
}

template <typename OpType> static FailureOr<OpType> onlyOne(ModuleOp module, StringRef what) {
  auto ops = llvm::to_vector(module.getOps<OpType>());
  if (ops.size() == 1)
    return ops.front();
  return module.emitError() << "the module has " << ops.size() << " " << what
                            << "s, a drawing shows one; take the others out";
}

FailureOr<Timeline> hocket::readTimeline(ModuleOp module) {
  FailureOr<KernelOp> kernel = onlyOne<KernelOp>(module, "kernel");
  if (failed(kernel))
    return failure();
  FailureOr<ScheduleOp> schedule = onlyOne<ScheduleOp>(module, "schedule");
  if (failed(schedule))
    return failure();
  FailureOr<ClusterProgram> program = ClusterProgram::create(*kernel);
  FailureOr<RingInfos> rings = readRings(*kernel);
  if (failed(program) || failed(rings))
    return failure();
  if (program->counts().size() != 1)
    return kernel->emitOpError() << "has " << program->counts().size()
                                 << " loops over tiles with counts of their own, a drawing shows "
                                    "one";
  for (int64_t tiles = 1; tiles <= kMaxTiles; ++tiles) {
    FailureOr<ClusterTrace> trace = program->run({tiles}, /*landmarks=*/true);
    if (failed(trace))
      return failure();
    if (!ranSteady(*kernel, *trace))
      continue;
    TimelineReader reader(*kernel, *schedule, *rings);
    reader.read(*trace);
    reader.timeline.tiles = tiles;
    return std::move(reader.timeline);
  }
  return kernel->emitOpError() << "has no loop over tiles that runs with up to " << kMaxTiles
                               << " tiles; there is nothing to draw";
}
