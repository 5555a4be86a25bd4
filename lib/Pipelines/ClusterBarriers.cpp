// Finds the clusters of a kernel in its form at the stage `clusters`.
//
// Machine code says nothing of clusters, and LLVM may begin a loop anywhere. But each cluster ends
// in one barrier, prologues are whole iterations, and barriers are executed in order: how many a
// wave has passed says where it is in the schedule, once it is known how many come before.
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
  if (!before)
    return {};
  manifest::Clusters clusters;
  for (ClusterOp cluster : schedules.front().getBody().getOps<ClusterOp>())
    clusters.kinds.push_back(stringifyClusterKind(cluster.getKind()).str());
  clusters.unroll = static_cast<uint32_t>(schedules.front().getUnroll());
  clusters.barriersBefore = *std::move(before);
  return clusters;
}
