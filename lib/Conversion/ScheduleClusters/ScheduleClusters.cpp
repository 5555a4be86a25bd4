// schedule-clusters: what is issued beneath the matrix instructions.
//
// Fences rather than `sched_group_barrier`: LLVM 22 follows groups only where they were counted off
// a feasible order, and then a fence behind each shadow gives the same code with less work
// (docs/CodeGeneration.md).
#include "AcrossBranches.h"
#include "EvenWaves.h"
#include "ListSchedule.h"

#include "Conversion/ClusterMarks.h"
#include "Conversion/Passes.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace hocket {
#define GEN_PASS_DEF_SCHEDULECLUSTERSPASS
#include "Conversion/Passes.h.inc"
} // namespace hocket

using namespace mlir;
using namespace hocket;
using namespace hocket::scheduling;

namespace {
/// The operations of one cluster, in one block.
struct Cluster {
  ROCDL::SchedBarrier mark;
  SmallVector<Operation *> ops; ///< from the mark to the barrier, both excluded
  bool allMeet = false;         ///< at a barrier of all waves behind it

  bool isCompute() const {
    auto kind = mark->getAttrOfType<StringAttr>(kClusterMark);
    return kind && kind.getValue() == "compute";
  }
  tile::Interleave interleave() const {
    auto text = mark->getAttrOfType<StringAttr>(kInterleaveMark);
    return tile::Interleave::of(text ? text.getValue() : StringRef());
  }
};
} // namespace

static bool holdsBarrier(Operation *op) {
  return op->walk([](ROCDL::SBarrierOp) { return WalkResult::interrupt(); }).wasInterrupted();
}

/// The cluster that begins at `mark`; it ends at the next barrier, be it of one wave group alone,
/// where the next one begins (nobody need meet there), or with the block.
static Cluster collect(ROCDL::SchedBarrier mark) {
  Cluster cluster{mark, {}};
  for (Operation *op = mark->getNextNode(); op; op = op->getNextNode()) {
    if (holdsBarrier(op) || op->hasTrait<OpTrait::IsTerminator>() ||
        op->hasAttr(kClusterMark)) {
      cluster.allMeet = isa<ROCDL::SBarrierOp>(op);
      break;
    }
    cluster.ops.push_back(op);
  }
  return cluster;
}

static bool hasKind(ArrayRef<Operation *> ops, function_ref<bool(IssueKind)> wanted) {
  return llvm::any_of(ops, [&](Operation *op) { return wanted(issueKind(op)); });
}

/// Moves `groups` in front of `end`, with fences between them.
static void emitGroups(const Groups &groups, Operation *end) {
  for (auto [index, group] : llvm::enumerate(groups)) {
    for (Operation *op : group)
      op->moveBefore(end);
    if (group.empty() || index + 1 == groups.size())
      continue;
    ImplicitLocOpBuilder builder(group.back()->getLoc(), end);
    ROCDL::SchedBarrier::create(builder, builder.getI32IntegerAttr(0));
  }
}

/// Whether `op` rounds weights to 4 bits, which stands where exponentials do elsewhere.
static bool roundsToFourBits(Operation *op) {
  auto call = dyn_cast<LLVM::CallIntrinsicOp>(op);
  return call && call.getIntrin().starts_with("llvm.amdgcn.cvt.scalef32.pk.fp4");
}

/// Whether `ops` read LDS or fetch, and compute, and add nothing to memory.
static bool movesBesideWork(ArrayRef<Operation *> ops) {
  bool reads = hasKind(ops, [](IssueKind kind) { return kind == IssueKind::Read; });
  bool computes = hasKind(ops, [](IssueKind kind) { return kind == IssueKind::Trans; }) ||
                  llvm::any_of(ops, roundsToFourBits);
  return reads && computes && llvm::none_of(ops, addsToMemory);
}

/// Reorders `ops`, which are neighbours as far as values go, in front of `end`.
static void reorder(ArrayRef<Operation *> ops, Operation *end, const tile::Interleave &how) {
  bool mfmas = hasKind(ops, [](IssueKind kind) { return kind == IssueKind::Mfma; });
  bool others = hasKind(
      ops, [](IssueKind kind) { return kind != IssueKind::Free && kind != IssueKind::Mfma; });
  if (others && (mfmas || movesBesideWork(ops)))
    emitGroups(mfmas ? scheduleAroundMfmas(ops, how) : scheduleWithoutMfmas(ops), end);
}

/// Whether an instruction of the cluster uses a result of `op`, itself or renumbered.
static bool isUsedIn(const llvm::DenseSet<Operation *> &inside, Operation *op) {
  return llvm::any_of(op->getUsers(), [&](Operation *user) {
    while (user && !inside.contains(user))
      user = user->getParentOp();
    if (!user)
      return false;
    return issueKind(user) != IssueKind::Free || isUsedIn(inside, user);
  });
}

/// Whether `op` gives a value another name, of which LLVM does not know what it is.
static bool isHiding(Operation *op) {
  auto text = dyn_cast<LLVM::InlineAsmOp>(op);
  return text && text.getAsmString().empty() && text.getNumResults() == 1;
}

/// Schedules the stretches between operations that must keep their place.
static void scheduleStretches(const Cluster &cluster, Operation *end, const tile::Interleave &how) {
  llvm::DenseSet<Operation *> inside(cluster.ops.begin(), cluster.ops.end());
  // What is read for this cluster is wanted at once, and waited for where it is used, unless it is asked for as it is
  // needed. Among products of which operands are streamed, a load into registers keeps its place: later it would come too
  // late for the next tile, and streams leave no registers for its address.
  auto isMovable = [&](Operation *op) {
    if (!how.stream && (issueKind(op) == IssueKind::Load || isa<ROCDL::ReadlaneOp>(op) || isHiding(op)))
      return true;
    return isSchedulable(op, how) && (how.stream || issueKind(op) != IssueKind::Read || !isUsedIn(inside, op));
  };
  SmallVector<Operation *> stretch;
  auto flush = [&](Operation *before) {
    reorder(stretch, before, how);
    stretch.clear();
  };
  for (Operation *op : cluster.ops) {
    if (isMovable(op))
      stretch.push_back(op);
    else
      flush(op);
  }
  flush(end);
}

/// Puts what fetches of a memory cluster need among its reads of LDS.
static void fillAmongReads(const Cluster &cluster, Operation *end) {
  SmallVector<Operation *> stretch, fences;
  auto flush = [&](Operation *before) {
    auto has = [&](IssueKind wanted) { return hasKind(stretch, [&](IssueKind kind) { return kind == wanted; }); };
    if (has(IssueKind::Read) && has(IssueKind::Fetch)) {
      emitGroups(scheduleAmongReads(stretch), before);
      for (Operation *fence : fences)
        fence->moveBefore(before);
    }
    stretch.clear();
    fences.clear();
  };
  for (Operation *op : cluster.ops) {
    if (isa<ROCDL::SchedBarrier>(op))
      fences.push_back(op);
    else if (isSchedulable(op, cluster.interleave()) || isa<ROCDL::ReadlaneOp>(op) || isHiding(op))
      stretch.push_back(op);
    else
      flush(op);
  }
  flush(end);
}

/// Whether a value of this type lies in whole vector registers.
static bool fillsRegisters(Type type) {
  auto vector = dyn_cast<VectorType>(type);
  Type element = vector ? vector.getElementType() : type;
  if (!isa<FloatType>(element))
    return false;
  int64_t bits = element.getIntOrFloatBitWidth() * (vector ? vector.getNumElements() : 1);
  return bits % 32 == 0;
}

/// Makes `result`, in registers of the kind that `constraints` names, the input of an empty instruction at `end` that
/// LLVM cannot move, and its result what those uses take.
static void pin(Value result, StringRef constraints, Operation *end, function_ref<bool(OpOperand &)> isUse) {
  if (llvm::none_of(result.getUses(), isUse))
    return;
  ImplicitLocOpBuilder builder(result.getLoc(), end);
  auto pin = LLVM::InlineAsmOp::create(
      builder, TypeRange{result.getType()}, ValueRange{result}, /*asm_string=*/"",
      constraints, /*has_side_effects=*/true, /*is_align_stack=*/false,
      LLVM::TailCallKind::None,
      LLVM::AsmDialectAttr::get(builder.getContext(), LLVM::AsmDialect::AD_ATT),
      /*operand_attrs=*/ArrayAttr());
  result.replaceUsesWithIf(
      pin.getResult(0), [&](OpOperand &use) { return use.getOwner() != pin && isUse(use); });
}

static bool leaves(const llvm::DenseSet<Operation *> &inside, OpOperand &use) {
  Operation *user = use.getOwner();
  while (user && !inside.contains(user))
    user = user->getParentOp();
  return !user;
}

static bool usesOneOf(Operation *op, const llvm::DenseSet<Operation *> &made) {
  return llvm::any_of(op->getOperands(), [&](Value operand) { return made.contains(operand.getDefiningOp()); });
}

/// Keeps the vector instructions whose results are used after the cluster in it; `all`: also what is
/// only another name of registers.
static void pinResults(const Cluster &cluster, Operation *end, const tile::Interleave &how, bool all) {
  llvm::DenseSet<Operation *> inside(cluster.ops.begin(), cluster.ops.end()), loaded;
  for (Operation *op : cluster.ops) {
    // What is loaded is waited for where it is used.
    bool isLoaded = issueKind(op) == IssueKind::Load || (issueKind(op) == IssueKind::Free && usesOneOf(op, loaded));
    if (isLoaded)
      loaded.insert(op);
    if (isLoaded || !isSchedulable(op, how) || issueKind(op) == IssueKind::Mfma ||
        issueKind(op) == IssueKind::Read || op->hasTrait<OpTrait::ConstantLike>() ||
        (!all && issueKind(op) == IssueKind::Free))
      continue;
    for (Value result : op->getResults())
      if (fillsRegisters(result.getType()))
        pin(result, "=v,0", end, [&](OpOperand &use) { return leaves(inside, use); });
  }
}

/// The same of words of bytes, which no register class of LLVM takes as they are.
static void pinBytes(Value bytes, Operation *end, function_ref<bool(OpOperand &)> isUse) {
  auto type = cast<VectorType>(bytes.getType());
  if (llvm::none_of(bytes.getUses(), isUse))
    return;
  ImplicitLocOpBuilder builder(bytes.getLoc(), end);
  auto wordType = VectorType::get({type.getNumElements() / 4}, builder.getI32Type());
  Value words = LLVM::BitcastOp::create(builder, wordType, bytes), back = LLVM::BitcastOp::create(builder, type, words);
  bytes.replaceUsesWithIf(back, [&](OpOperand &use) { return use.getOwner() != words.getDefiningOp() && isUse(use); });
  pin(words, "=v,0", back.getDefiningOp(), [&](OpOperand &) { return true; });
}

static bool isBytes(Type type) {
  auto vector = dyn_cast<VectorType>(type);
  return vector && vector.getElementType().isInteger(8) && vector.getNumElements() % 4 == 0;
}

/// Has what is marked so be complete where the cluster ends, whatever it is called there.
static void complete(const Cluster &cluster, Operation *end) {
  llvm::DenseSet<Operation *> inside(cluster.ops.begin(), cluster.ops.end()), marked;
  for (Operation *op : cluster.ops) {
    if (!op->hasAttr(kCompleteMark) && (issueKind(op) != IssueKind::Free || !usesOneOf(op, marked)))
      continue;
    marked.insert(op);
    auto isUse = [&](OpOperand &use) { return leaves(inside, use); };
    for (Value result : op->getResults()) {
      if (fillsRegisters(result.getType()))
        pin(result, "=v,0", end, isUse);
      else if (isBytes(result.getType()))
        pinBytes(result, end, isUse);
    }
  }
}

/// Has the cluster wait at its end for what the scalar unit loads for later ones. LLVM would load it where it is used,
/// and wait there for it and for all that was read from LDS: the scalar unit's loads come in any order.
static void awaitScalarLoads(const Cluster &cluster, Operation *end) {
  llvm::DenseSet<Operation *> inside(cluster.ops.begin(), cluster.ops.end());
  for (Operation *op : cluster.ops)
    if (isScalarLoad(op))
      pin(op->getResult(0), "=s,0", end, [&](OpOperand &use) { return leaves(inside, use); });
}

/// The first branch from `end` on, in its block.
static Operation *branchBehind(Operation *end) {
  Operation *op = end;
  while (op && op->getNumRegions() == 0)
    op = op->getNextNode();
  return op;
}

/// Keeps what is read from LDS in the cluster where only a branch behind it, or what follows one, uses that: LLVM knows of
/// no reason why it should not be read there, but another wave may have overwritten it by then. An
/// empty statement that may write to any memory is one.
static void keepReadsForBranches(const Cluster &cluster, Operation *end) {
  llvm::DenseSet<Value> read;
  Operation *branch = branchBehind(end);
  auto isForBranch = [&](Operation *op) {
    return llvm::any_of(op->getUsers(), [&](Operation *user) {
      Operation *here = op->getBlock()->findAncestorOpInBlock(*user);
      return !here || (here != user && !here->isBeforeInBlock(end)) || (branch && branch->isBeforeInBlock(here));
    });
  };
  for (Operation *op : cluster.ops) {
    bool isRead = issueKind(op) == IssueKind::Read;
    bool isOfRead = issueKind(op) == IssueKind::Free &&
                    llvm::any_of(op->getOperands(), [&](Value v) { return read.contains(v); });
    if (!isRead && !isOfRead)
      continue;
    read.insert(op->getResults().begin(), op->getResults().end());
    if (!isForBranch(op))
      continue;
    ImplicitLocOpBuilder builder(op->getLoc(), end);
    LLVM::InlineAsmOp::create(
        builder, TypeRange(), ValueRange(), /*asm_string=*/"", /*constraints=*/"~{memory}",
        /*has_side_effects=*/true, /*is_align_stack=*/false, LLVM::TailCallKind::None,
        LLVM::AsmDialectAttr::get(builder.getContext(), LLVM::AsmDialect::AD_ATT), ArrayAttr());
    return;
  }
}

/// Keeps products of operands of 4 bits, and what they read from LDS right in front of them, in their cluster. It reads so
/// little that no fetch follows, and LLVM would take both to a later block, across the barrier.
static void keepReadsOfProducts(const Cluster &cluster, Operation *end) {
  llvm::DenseSet<Operation *> inside(cluster.ops.begin(), cluster.ops.end()), ofReads;
  SmallVector<Value> leaving;
  for (Operation *op : cluster.ops) {
    const IssueKind kind = issueKind(op);
    bool follows = (kind == IssueKind::Free || kind == IssueKind::Mfma) && usesOneOf(op, ofReads);
    if (!follows && !isa<ROCDL::ds_read_tr4_b64>(op))
      continue;
    ofReads.insert(op);
    if (kind == IssueKind::Mfma && llvm::any_of(op->getUses(), [&](OpOperand &use) { return leaves(inside, use); }))
      leaving.push_back(op->getResult(0));
  }
  for (Value result : leaving)
    pin(result, "=v,0", end, [&](OpOperand &use) { return leaves(inside, use); });
}

/// Where the cluster's code ends: in front of the fence that precedes its barrier, or of whatever
/// ends the block.
static Operation *endOf(const Cluster &cluster) {
  Operation *last = cluster.ops.back();
  return isa<ROCDL::SchedBarrier>(last) ? last : last->getNextNode();
}

static void scheduleCluster(Cluster cluster) {
  if (cluster.ops.empty())
    return;
  Operation *end = endOf(cluster);
  bool mfmas = hasKind(cluster.ops, [](IssueKind kind) { return kind == IssueKind::Mfma; });
  tile::Interleave how = cluster.interleave();
  bool isOurs = cluster.isCompute() && !how.none;
  if (isOurs && how.across)
    fillBeforeBranches(cluster.ops, how);
  if (isOurs)
    scheduleStretches(cluster, end, how);
  if (!cluster.isCompute())
    fillAmongReads(cluster, end);
  // Without products, beneath which to put them, only where other waves compute at the same time.
  const bool counts = mfmas || !cluster.allMeet;
  if (isOurs && counts)
    pinResults(cluster, end, how, /*all=*/mfmas);
  if (!cluster.isCompute() || counts)
    complete(cluster, end);
  if (isOurs && how.even)
    keepEven(cluster.mark->getNextNode(), end);
  awaitScalarLoads(cluster, end);
  keepReadsForBranches(cluster, end);
  keepReadsOfProducts(cluster, end);
}

namespace {
struct ScheduleClustersPass : hocket::impl::ScheduleClustersPassBase<ScheduleClustersPass> {
  void runOnOperation() override {
    SmallVector<ROCDL::SchedBarrier> marks;
    getOperation().walk([&](ROCDL::SchedBarrier op) {
      if (op->hasAttr(kClusterMark))
        marks.push_back(op);
    });
    for (ROCDL::SchedBarrier mark : marks) {
      scheduleCluster(collect(mark));
      mark.erase();
    }
  }
};
} // namespace
