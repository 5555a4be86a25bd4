#include "AcrossBranches.h"

#include "ListSchedule.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace hocket;
using namespace hocket::scheduling;

namespace {
/// Neighbours that may be reordered, and what must keep its place behind them.
struct Stretch {
  SmallVector<Operation *> ops;
  Operation *fixed = nullptr; ///< null: the last stretch
};
} // namespace

static SmallVector<Stretch> stretchesOf(ArrayRef<Operation *> ops, const tile::Interleave &how) {
  SmallVector<Stretch> stretches(1);
  for (Operation *op : ops) {
    if (isSchedulable(op, how)) {
      stretches.back().ops.push_back(op);
      continue;
    }
    stretches.back().fixed = op;
    stretches.emplace_back();
  }
  return stretches;
}

/// Cycles of what issues beneath matrix instructions.
static unsigned otherCycles(const Stretch &stretch) {
  unsigned cycles = 0;
  for (Operation *op : stretch.ops)
    cycles += isMfma(op) ? 0 : issueCycles(op);
  return cycles;
}

static bool precedes(Operation *op, Operation *place) {
  return op->getBlock() != place->getBlock() || op->isBeforeInBlock(place);
}

/// `op` and what it needs that stands behind `place`, in order; empty if some of that cannot move there: the branch,
/// what follows from it, and what is issued for more than its number.
static SmallVector<Operation *> movedWith(Operation *op, Operation *place, const tile::Interleave &how) {
  llvm::SetVector<Operation *> needed;
  needed.insert(op);
  for (size_t i = 0; i != needed.size(); ++i)
    for (Value operand : needed[i]->getOperands()) {
      Operation *producer = operand.getDefiningOp();
      if (!producer || precedes(producer, place))
        continue;
      bool moves = isSchedulable(producer, how) && (isMfma(producer) || issueKind(producer) == IssueKind::Free);
      if (producer == place || !moves)
        return {};
      needed.insert(producer);
    }
  SmallVector<Operation *> inOrder = needed.takeVector();
  llvm::sort(inOrder, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  return inOrder;
}

/// Takes the first matrix instructions of `from` that can stand in front of what is fixed behind `to`, as many as are
/// `to`'s share.
static void share(Stretch &to, Stretch &from, const tile::Interleave &how) {
  size_t total = llvm::count_if(from.ops, isMfma);
  unsigned here = otherCycles(to), there = otherCycles(from);
  size_t wanted = here == 0 ? 0 : (total * here + (here + there) / 2) / (here + there);
  llvm::DenseSet<Operation *> moved;
  size_t taken = 0;
  for (Operation *op : from.ops) {
    if (taken == wanted)
      break;
    if (!isMfma(op) || moved.contains(op))
      continue;
    for (Operation *needed : movedWith(op, to.fixed, how)) {
      needed->moveBefore(to.fixed);
      to.ops.push_back(needed);
      moved.insert(needed);
      taken += isMfma(needed);
    }
  }
  llvm::erase_if(from.ops, [&](Operation *op) { return moved.contains(op); });
}

void hocket::scheduling::fillBeforeBranches(SmallVectorImpl<Operation *> &ops, const tile::Interleave &how) {
  SmallVector<Stretch> stretches = stretchesOf(ops, how);
  for (auto [index, to] : llvm::enumerate(stretches)) {
    if (llvm::any_of(to.ops, isMfma))
      continue;
    auto *from = std::find_if(stretches.begin() + index, stretches.end(),
                              [](const Stretch &later) { return llvm::any_of(later.ops, isMfma); });
    if (from != stretches.end())
      share(to, *from, how);
  }
  ops.clear();
  for (const Stretch &stretch : stretches) {
    ops.append(stretch.ops.begin(), stretch.ops.end());
    if (stretch.fixed)
      ops.push_back(stretch.fixed);
  }
}
