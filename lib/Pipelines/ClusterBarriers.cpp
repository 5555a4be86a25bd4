// Finds the clusters of a kernel in its form at the stage `clusters`.
//
// Machine code says nothing of clusters, and LLVM may begin a loop anywhere. But from the first
// cluster behind the entry to the last in front of the epilogue each ends in one barrier, and
// barriers are executed in order: how many a wave has passed says where it is in the schedule, once
// it is known how many come before, and which cluster is the first.
#include "KernelManifest.h"

using namespace mlir;
using namespace hocket;
using namespace hocket::tile;

/// Barriers that waves of each group pass before `first`; none where that depends on the problem.
static std::optional<std::vector<uint32_t>> barriersBefore(Operation *first, KernelOp kernel) {
  int64_t groups = 1;
  kernel.walk([&](BarrierOp barrier) { groups = barrier.getGroup() ? 2 : groups; });
  std::vector<uint32_t> passed(groups, 0);
  for (Operation *op = first; op != kernel; op = op->getParentOp())
    for (Operation &before : llvm::make_range(op->getBlock()->begin(), op->getIterator())) {
      auto barrier = dyn_cast<BarrierOp>(before);
      for (int64_t group = 0; barrier && group != groups; ++group)
        passed[group] += !barrier.getGroup() || int64_t(*barrier.getGroup()) == group;
      WalkResult nested = before.walk([](BarrierOp) { return WalkResult::interrupt(); });
      if (!barrier && nested.wasInterrupted())
        return std::nullopt;
    }
  return passed;
}

/// The number of the schedule's cluster that `enter` begins: that of the first step in it.
static std::optional<uint32_t> clusterOf(EnterOp enter, ScheduleOp schedule) {
  for (Operation *op = enter->getNextNode(); op && !isa<BarrierOp>(op); op = op->getNextNode()) {
    auto where = dyn_cast<WhereOp>(op);
    auto step = dyn_cast<StepOp>(where ? where.getBody().front().front() : *op);
    if (!step)
      continue;
    uint32_t begun = 0;
    for (ClusterOp cluster : schedule.getBody().getOps<ClusterOp>()) {
      begun += !cluster.getJoined();
      for (PlaceAttr place : cluster.getPlaces().getAsRange<PlaceAttr>())
        if (place.getStep().getValue() == step.getSymName())
          return begun - 1;
    }
    return std::nullopt;
  }
  return 0;
}

manifest::Clusters hocket::readClusters(KernelOp kernel, ModuleOp module) {
  auto schedules = llvm::to_vector(module.getOps<ScheduleOp>());
  EnterOp first;
  kernel.walk<WalkOrder::PreOrder>([&](EnterOp enter) {
    first = enter;
    return WalkResult::interrupt();
  });
  if (schedules.size() != 1 || !first)
    return {};
  std::optional<std::vector<uint32_t>> before = barriersBefore(first, kernel);
  std::optional<uint32_t> number = clusterOf(first, schedules.front());
  if (!before || !number)
    return {};
  manifest::Clusters clusters;
  for (ClusterOp cluster : schedules.front().getBody().getOps<ClusterOp>()) {
    std::string kind = stringifyClusterKind(cluster.getKind()).str();
    if (!cluster.getJoined())
      clusters.kinds.push_back(kind);
    else if (cluster.getKind() == ClusterKind::Compute)
      clusters.kinds.back() = kind;
  }
  clusters.unroll = static_cast<uint32_t>(schedules.front().getUnroll());
  // Those before a cluster 0: the next, where the first is another.
  uint32_t count = clusters.kinds.size();
  for (uint32_t &barriers : *before)
    barriers += (count - *number) % count;
  clusters.barriersBefore = *std::move(before);
  return clusters;
}
