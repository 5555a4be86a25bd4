// Finding the parts of a pipeline, and what waits may count of them.
#include "PipelineParts.h"

#include "Tile/IR/WorkItems.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace hocket;
using namespace hocket::tile;

/// Lanes of a wave.

bool hocket::tile::isBarrierOrWait(Operation *op) { return isa<BarrierOp, WaitOp>(op); }

/// Splits the branch with the pipeline; false if it is made otherwise.
static bool splitPipeline(PipelineParts &parts) {
  Block &block = *parts.pipeline.thenBlock();
  for (Operation &op : block.without_terminator())
    if (auto peeled = op.getAttrOfType<IntegerAttr>(kMiddleMark)) {
      parts.middle = cast<scf::IfOp>(op);
      parts.peeled = peeled.getInt();
    }
  if (!parts.middle)
    return false;
  bool begun = false, isBehind = false;
  for (Operation &op : block.without_terminator()) {
    begun |= isa<EnterOp>(op);
    if (&op == parts.middle)
      isBehind = true;
    else
      (isBehind ? parts.epilogue : begun ? parts.prologue : parts.head).push_back(&op);
  }
  // What follows the last meeting is the middle's.
  while (!parts.prologue.empty() && !isBarrierOrWait(parts.prologue.back()))
    parts.between.insert(parts.between.begin(), parts.prologue.pop_back_val());
  auto isPure = [](Operation *op) { return isMemoryEffectFree(op) && op->getNumRegions() == 0; };
  bool headOnlyMeets = llvm::all_of(parts.head, [&](Operation *op) { return isBarrierOrWait(op) || isPure(op); });
  bool epilogueFetches = llvm::any_of(parts.epilogue, [](Operation *op) {
    return holds(op, [](Operation *inner) {
      auto access = dyn_cast<RingAccessOpInterface>(inner);
      return access && access.writesSlot();
    });
  });
  return parts.peeled != 0 && !parts.prologue.empty() && headOnlyMeets && !epilogueFetches && llvm::all_of(parts.between, isPure);
}

std::optional<PipelineParts> hocket::tile::findPipelineParts(Block &block, Operation *place, const ItemEntry &entry) {
  PipelineParts parts;
  parts.pipeline = dyn_cast<scf::IfOp>(entry.lastAccess);
  if (!parts.pipeline || !parts.pipeline->hasAttr(kPipelineMark))
    return std::nullopt;
  auto enough = parts.pipeline.getCondition().getDefiningOp<arith::CmpIOp>();
  APInt fewest;
  if (!enough || enough.getPredicate() != arith::CmpIPredicate::sge ||
      !matchPattern(enough.getRhs(), m_ConstantInt(&fewest)))
    return std::nullopt;
  parts.count = enough.getLhs(), parts.fewest = fewest.getSExtValue();
  bool isBehind = false;
  for (Operation &op : block.without_terminator()) {
    if (&op == parts.pipeline) {
      isBehind = true;
    } else if (isBehind) {
      parts.after.push_back(&op);
    } else if (&op != place && !isa<FenceOp>(op) && !llvm::is_contained(entry.ops, &op)) {
      bool isPure = isa<RingOp>(op) || (isMemoryEffectFree(&op) && op.getNumRegions() == 0);
      if (!isPure)
        return std::nullopt;
      parts.before.push_back(&op);
    }
  }
  // More tiles are counted than there are: nobody but the pipeline may see that.
  bool isCounted = llvm::is_contained(parts.before, parts.count.getDefiningOp()) &&
                   llvm::all_of(parts.count.getUsers(), [&](Operation *user) {
                     return user == enough || parts.pipeline->isAncestor(user);
                   });
  return isCounted && splitPipeline(parts) ? std::optional(std::move(parts)) : std::nullopt;
}

SmallVector<PipelineCluster> hocket::tile::clustersOf(ArrayRef<Operation *> ops) {
  SmallVector<PipelineCluster> clusters;
  for (Operation *op : ops) {
    if (isa<EnterOp>(op))
      clusters.push_back({op, {}, {}});
    else if (isBarrierOrWait(op))
      clusters.back().ends.push_back(op);
    else
      clusters.back().steps.push_back(op);
  }
  return clusters;
}

SmallVector<Ops> hocket::tile::piecesOf(ArrayRef<Operation *> after) {
  SmallVector<Ops> pieces(1);
  for (Operation *op : after) {
    pieces.back().push_back(op);
    if (hasEffect<MemoryEffects::Write>(op))
      pieces.emplace_back();
  }
  if (pieces.back().empty() && pieces.size() > 1)
    pieces.pop_back();
  return pieces;
}

/// So many instructions at least does a wave issue for a store or for a load of a fragment; of others none are counted.
static int64_t leastAccesses(Operation *op) {
  if (isa<StoreRowsOp>(op))
    return 1;
  auto store = dyn_cast<StoreOp>(op);
  auto load = dyn_cast<LoadOp>(op);
  auto frag = store ? dyn_cast<FragType>(store.getValue().getType())
              : load ? dyn_cast<FragType>(load.getResult().getType())
                     : FragType();
  if (!frag)
    return 0;
  Type element = store ? store.getView().getType().getElementType() : load.getView().getType().getElementType();
  constexpr int64_t mostBytes = 16;
  int64_t elements = frag.getShape()[0] * frag.getShape()[1] / hocket::kWaveLanes;
  return elements * element.getIntOrFloatBitWidth() / 8 / mostBytes;
}

int64_t hocket::tile::markCounted(Operation *op) {
  int64_t accesses = leastAccesses(op);
  if (accesses != 0)
    op->setAttr(kCountedAttr, Builder(op->getContext()).getI64IntegerAttr(accesses));
  return accesses;
}

SmallVector<Ops> hocket::tile::stepsOf(ArrayRef<Operation *> ops) {
  SmallVector<Ops> steps(1);
  for (Operation *op : ops) {
    if (isa<FenceOp>(op))
      continue;
    steps.back().push_back(op);
    if (isa<StepOp>(op))
      steps.emplace_back();
  }
  if (steps.back().empty())
    steps.pop_back();
  return steps;
}

/// Behind which none of `values` is used.
static Operation *lastUser(Block &block, const llvm::DenseSet<Value> &values) {
  Operation *last = nullptr;
  for (Operation &op : block)
    if (holds(&op, [&](Operation *inner) {
          return llvm::any_of(inner->getOperands(), [&](Value operand) { return values.contains(operand); });
        }))
      last = &op;
  return last;
}

Operation *hocket::tile::behindUsers(Block &block, const llvm::DenseSet<Value> &values) {
  Operation *last = lastUser(block, values);
  return last ? last->getNextNode() : block.front().getNextNode();
}

bool hocket::tile::isInCompute(Operation *op) {
  while (op && !isa<EnterOp, BarrierOp>(op))
    op = op->getPrevNode();
  return op && isa<EnterOp>(op) && cast<EnterOp>(op).getKind() == ClusterKind::Compute;
}
