#include "Pipelines/CountedPlans.h"

#include "Tile/IR/LdsLayout.h"
#include "Tile/IR/Tile.h"
#include "Tile/IR/WaveExchange.h"
#include "Tile/IR/WorkItems.h"

#include "Layout/LdsDma.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace hocket;
using namespace hocket::tile;
using hocket::amdgpu::CountedPlan;
using Kind = CountedPlan::Kind;

namespace {
/// Lays out one kernel: nodes in the order of ops, and between them all ways that control flow has.
class PlanReader {
public:
  explicit PlanReader(KernelOp kernel) : kernel(kernel) { plan.kernel = kernel.getSymName().str(); }
  FailureOr<CountedPlan> read();

private:
  void add(Kind kind, int64_t count = 0);
  void addOptional(Kind kind);
  LogicalResult readBlock(Block &block);
  LogicalResult readOp(Operation &op);
  LogicalResult readIf(scf::IfOp branch);
  LogicalResult readFor(scf::ForOp loop);
  LogicalResult readWhile(scf::WhileOp loop);
  LogicalResult readWhere(WhereOp where);
  LogicalResult readStep(StepOp step);
  LogicalResult readAccess(RingAccessOpInterface access);
  void readBarrier(BarrierOp barrier);
  void readReduction(ReduceWavesOp reduction);
  unsigned loopHead();
  void turnTo(unsigned head);

  KernelOp kernel;
  CountedPlan plan;
  SmallVector<unsigned> ends; ///< of which the next node follows
  StringRef lastStep;
};
} // namespace

void PlanReader::add(Kind kind, int64_t count) {
  const unsigned number = static_cast<unsigned>(plan.nodes.size());
  CountedPlan::Node &node = plan.nodes.emplace_back();
  node.kind = kind;
  node.count = static_cast<unsigned>(count);
  if ((kind == Kind::Wait || kind == Kind::Barrier) && !lastStep.empty())
    node.place = "the end of the cluster with step '" + lastStep.str() + "'";
  for (unsigned end : ends)
    plan.nodes[end].next.push_back(number);
  ends = {number};
}

void PlanReader::addOptional(Kind kind) {
  SmallVector<unsigned> before = ends;
  add(kind);
  llvm::append_range(ends, before);
}

LogicalResult PlanReader::readBlock(Block &block) {
  for (Operation &op : block)
    if (failed(readOp(op)))
      return failure();
  return success();
}

LogicalResult PlanReader::readIf(scf::IfOp branch) {
  SmallVector<unsigned> before = ends;
  if (failed(readBlock(*branch.thenBlock())))
    return failure();
  SmallVector<unsigned> behind = std::exchange(ends, before);
  if (branch.elseBlock() && failed(readBlock(*branch.elseBlock())))
    return failure();
  llvm::append_range(ends, behind);
  return success();
}

unsigned PlanReader::loopHead() {
  add(Kind::Pass);
  return ends.front();
}

void PlanReader::turnTo(unsigned head) {
  for (unsigned end : ends)
    plan.nodes[end].next.push_back(head);
}

LogicalResult PlanReader::readFor(scf::ForOp loop) {
  const unsigned head = loopHead();
  if (failed(readBlock(*loop.getBody())))
    return failure();
  turnTo(head);
  ends = {head};
  return success();
}

LogicalResult PlanReader::readWhile(scf::WhileOp loop) {
  const unsigned head = loopHead();
  if (failed(readBlock(*loop.getBeforeBody())))
    return failure();
  SmallVector<unsigned> exits = ends;
  if (failed(readBlock(*loop.getAfterBody())))
    return failure();
  turnTo(head);
  ends = exits;
  return success();
}

/// A wave that sees nothing of the tile leaves it out.
LogicalResult PlanReader::readWhere(WhereOp where) {
  SmallVector<unsigned> before = ends;
  if (failed(readBlock(where.getBody().front())))
    return failure();
  llvm::append_range(ends, before);
  return success();
}

LogicalResult PlanReader::readStep(StepOp step) {
  lastStep = step.getSymName();
  return readBlock(step->getRegion(0).front());
}

LogicalResult PlanReader::readAccess(RingAccessOpInterface access) {
  if (!access.writesSlot() || !access.isAsynchronous())
    return success();
  auto ring = access.getRing().getDefiningOp<RingOp>();
  if (!ring || !ring.getLayout())
    return failure();
  Result<LdsTileLayout> layout = toLdsTileLayout(ring);
  if (!layout)
    return failure();
  Result<LdsDmaPlan> dma = planLdsDma(*layout, kernel.getWaves());
  if (!dma)
    return failure();
  add(Kind::LoadsToLds, static_cast<int64_t>(dma->instructions) * layout->panels());
  return success();
}

/// Of a single wave LLVM leaves barriers out.
void PlanReader::readBarrier(BarrierOp barrier) {
  if (kernel.getWaves() == 1)
    return;
  if (barrier.getGroup())
    addOptional(Kind::Barrier);
  else
    add(Kind::Barrier);
}

/// Waves meet before they read what others have written, and before they write again; in loops, also at first.
void PlanReader::readReduction(ReduceWavesOp reduction) {
  if (kernel.getWaves() == 1)
    return;
  if (reduction->getParentOfType<LoopLikeOpInterface>())
    add(Kind::Barrier);
  for (int64_t barriers = 2 * exchangesOf(reduction) - 1; barriers != 0; --barriers)
    add(Kind::Barrier);
}

LogicalResult PlanReader::readOp(Operation &op) {
  if (auto counted = op.getAttrOfType<IntegerAttr>(kCountedAttr)) {
    add(Kind::Accesses, counted.getInt());
    return success();
  }
  return llvm::TypeSwitch<Operation *, LogicalResult>(&op)
      .Case([&](scf::IfOp branch) { return readIf(branch); })
      .Case([&](scf::ForOp loop) { return readFor(loop); })
      .Case([&](scf::WhileOp loop) { return readWhile(loop); })
      .Case([&](WhereOp where) { return readWhere(where); })
      .Case([&](StepOp step) { return readStep(step); })
      .Case([&](RingAccessOpInterface access) { return readAccess(access); })
      .Case([&](WaitOp wait) {
        if (wait.getVm())
          add(Kind::Wait, static_cast<int64_t>(*wait.getVm()));
        return success();
      })
      .Case([&](BarrierOp barrier) { return readBarrier(barrier), success(); })
      .Case([&](ReduceWavesOp reduction) { return readReduction(reduction), success(); })
      .Case([&](CombineOp combine) {
        // Waves that share slices meet once, unless the workgroup has no rows.
        if (combine.getSplitWaves() && kernel.getWaves() != 1)
          addOptional(Kind::Barrier);
        return success();
      })
      .Case([&](BeginLoadOp begin) {
        add(Kind::Accesses, begin.getPending().getType().getLeastLoads());
        return success();
      })
      .Case([&](LookUpOp lookUp) {
        // Those that come with fetches: others are in front of all that waits count.
        if (lookUp->getParentOfType<StepOp>())
          add(Kind::LookUps, lookUp.getPages().getType().getRegisters());
        return success();
      })
      .Default([](Operation *) { return success(); });
}

FailureOr<CountedPlan> PlanReader::read() {
  add(Kind::Pass);
  if (failed(readBlock(kernel.getBody().front())))
    return failure();
  add(Kind::End);
  return std::move(plan);
}

std::vector<CountedPlan> hocket::readCountedPlans(ModuleOp module) {
  std::vector<CountedPlan> plans;
  for (KernelOp kernel : module.getOps<KernelOp>())
    if (FailureOr<CountedPlan> plan = PlanReader(kernel).read(); succeeded(plan))
      plans.push_back(*std::move(plan));
  return plans;
}
