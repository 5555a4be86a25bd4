// The list scheduler behind schedule-clusters.
//
// Costs are issue cycles of one wave: docs/Hardware.md 4.2 and 4.3 (a 32x32x16 MFMA hides six
// vector or three transcendental instructions). They only balance the shadows against each other,
// so their ratio matters and not the chip.
#include "ListSchedule.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/DenseMap.h"

#include <algorithm>

using namespace mlir;
using namespace hocket;
using namespace hocket::scheduling;

static constexpr unsigned kValuCycles = 4, kTransCycles = 8, kMfmaIssueCycles = 4;
/// Cycles from issue until another vector instruction can use the result without waiting.
static constexpr unsigned kValuLatency = 8, kTransLatency = 16;
/// The address space of what nobody writes to.
static constexpr unsigned kConstantMemory = 4;
/// And until what the scalar unit loads is there: it is asked for as early as can be.
static constexpr unsigned kScalarLoadLatency = 256;

/// Of an LDS read whose result the cluster does not use: while so many cycles are left of it, none
/// is issued, since the cluster ends with the wait for them. One matrix instruction hides one.
static constexpr unsigned kReadLatency = 64, kMfmaCycles = 32;
/// Where reads and fetches are spread evenly: fetches among the last reads hold those up for a matrix instruction more.
static constexpr unsigned kSpreadLatency = 96;
/// How many matrix instructions before its own an operand is read from LDS where reads are streamed: it comes in time
/// if two waves share the matrix unit, and waits in few registers (docs/notes/2026-11-24-powers-in-streams.md).
static constexpr size_t kReadAhead = 2;
/// Long matrix instructions behind the sums of a cluster's end: what adds those up need not wait for them.
static constexpr ptrdiff_t kBehindSums = 2;
/// Matrix instructions that pass while memory takes a load of 16 bytes a lane from the waves of all SIMDs. Loads are issued
/// as late as that allows, and never with the first: they may take registers of operands that are used by then.
static constexpr size_t kMfmasOfLoad = 2;
/// Cycles for which LDS is busy with a byte of a lane that the waves of all SIMDs read at the same time: 64 lanes of four
/// waves at 256 bytes a cycle.
static constexpr int64_t kLdsCyclesOfByte = 1;

static constexpr StringLiteral kRoundsToFourBits = "llvm.amdgcn.cvt.scalef32.pk.fp4";

/// Vector instructions without an op of their own.
static bool isVectorIntrinsic(Operation *op) {
  auto call = dyn_cast<LLVM::CallIntrinsicOp>(op);
  if (!call)
    return false;
  StringRef name = call.getIntrin();
  bool narrows = name == "llvm.amdgcn.cvt.pk.fp8.f32" || name == "llvm.amdgcn.cvt.pk.bf8.f32" ||
                 name == "llvm.amdgcn.cvt.pk.u8.f32" || name == "llvm.amdgcn.cvt.pknorm.u16" ||
                 name.starts_with(kRoundsToFourBits);
  return narrows || name.starts_with("llvm.amdgcn.fdot2") || name == "llvm.amdgcn.perm" || name == "llvm.amdgcn.bitop3";
}

/// Whether `op` is 2^x as regions make it.
static bool isPowerIntrinsic(Operation *op) {
  auto call = dyn_cast<LLVM::CallIntrinsicOp>(op);
  return call && call.getIntrin() == "llvm.amdgcn.exp2";
}

/// A sparse product, short and used at once: a sum of rows.
static bool isSparse(Operation *op) {
  auto call = dyn_cast<LLVM::CallIntrinsicOp>(op);
  return call && call.getIntrin().starts_with("llvm.amdgcn.smfmac");
}

bool hocket::scheduling::isMfma(Operation *op) {
  return op->getName().getStringRef().starts_with("rocdl.mfma") || isSparse(op);
}

static bool isLdsRead(Operation *op) {
  if (isa<ROCDL::ds_read_tr16_b64, ROCDL::ds_read_tr8_b64, ROCDL::ds_read_tr4_b64>(op))
    return true;
  auto load = dyn_cast<LLVM::LoadOp>(op);
  auto pointer = load ? dyn_cast<LLVM::LLVMPointerType>(load.getAddr().getType()) : nullptr;
  return pointer && pointer.getAddressSpace() == ROCDL::ROCDLDialect::kSharedMemoryAddressSpace &&
         !load.getVolatile_();
}

static bool isLoad(Operation *op) { return isa<ROCDL::RawPtrBufferLoadOp>(op); }

bool hocket::scheduling::isScalarLoad(Operation *op) {
  auto load = dyn_cast<LLVM::LoadOp>(op);
  auto pointer = load ? dyn_cast<LLVM::LLVMPointerType>(load.getAddr().getType()) : nullptr;
  return pointer && pointer.getAddressSpace() == kConstantMemory && load.getInvariant();
}

bool hocket::scheduling::addsToMemory(Operation *op) { return isa<ROCDL::RawPtrBufferAtomicFaddOp>(op); }

/// Fetches, and what adds to memory, which gives nothing back either: their order among each other is kept.
static bool isFetch(Operation *op) { return isa<ROCDL::RawPtrBufferLoadLdsOp>(op) || addsToMemory(op); }

/// Whether `op` exchanges weights of 4 bits between the halves of a wave, right behind their rounding.
static bool exchangesFourBits(Operation *op) {
  return isa<ROCDL::Permlane32SwapOp>(op) && llvm::any_of(op->getOperands(), [](Value value) {
    auto call = value.getDefiningOp<LLVM::CallIntrinsicOp>();
    return call && call.getIntrin().starts_with(kRoundsToFourBits);
  });
}

bool hocket::scheduling::isSchedulable(Operation *op, const tile::Interleave &how) {
  if (op->getNumRegions() != 0 || op->hasTrait<OpTrait::IsTerminator>())
    return false;
  return isMfma(op) || isVectorIntrinsic(op) || exchangesFourBits(op) || isLdsRead(op) || isFetch(op) || isScalarLoad(op) ||
         (how.powers && isPowerIntrinsic(op)) || isMemoryEffectFree(op);
}

IssueKind hocket::scheduling::issueKind(Operation *op) {
  StringRef name = op->getName().getStringRef();
  if (isMfma(op))
    return IssueKind::Mfma;
  if (isLdsRead(op))
    return IssueKind::Read;
  if (isFetch(op))
    return IssueKind::Fetch;
  if (isLoad(op))
    return IssueKind::Load;
  if (auto address = dyn_cast<LLVM::GEPOp>(op); address && address.getDynamicIndices().empty())
    return IssueKind::Free; // the instruction's offset
  if (isa<ROCDL::ROCDLExp2, ROCDL::ROCDLLog, ROCDL::ROCDLRcp, ROCDL::ROCDLSqrt>(op) || isPowerIntrinsic(op))
    return IssueKind::Trans;
  static constexpr StringRef free[] = {
      "arith.constant",     "llvm.bitcast",      "llvm.extractelement",
      "llvm.insertelement", "llvm.extractvalue", "llvm.insertvalue",
      "llvm.mlir.constant", "llvm.mlir.poison",  "llvm.mlir.undef",
      "llvm.shufflevector", "ub.poison"};
  if (llvm::is_contained(free, name) || name.starts_with("vector."))
    return IssueKind::Free;
  return IssueKind::Valu;
}

/// 32-bit registers that the results of `op` fill in each lane: one instruction each.
static unsigned instructionsOf(Operation *op) {
  unsigned bits = 0;
  for (Type type : op->getResultTypes()) {
    auto vector = dyn_cast<VectorType>(type);
    Type element = vector ? vector.getElementType() : type;
    unsigned width = element.isIntOrFloat() ? element.getIntOrFloatBitWidth() : 32;
    bits += width * (vector ? vector.getNumElements() : 1);
  }
  return std::max(1u, (bits + 31) / 32);
}

unsigned hocket::scheduling::issueCycles(Operation *op) {
  switch (issueKind(op)) {
  case IssueKind::Free:
    return 0;
  case IssueKind::Mfma:
    return kMfmaIssueCycles;
  case IssueKind::Trans:
    return kTransCycles * instructionsOf(op);
  case IssueKind::Valu:
    return kValuCycles * instructionsOf(op);
  case IssueKind::Fetch:
  case IssueKind::Read:
  case IssueKind::Load:
    return kValuCycles;
  }
  llvm_unreachable("all kinds of instructions are named");
}

static unsigned latencyOf(Operation *op, IssueKind kind) {
  switch (kind) {
  case IssueKind::Trans:
    return kTransLatency;
  case IssueKind::Valu:
    return isScalarLoad(op) ? kScalarLoadLatency : kValuLatency;
  case IssueKind::Read:
    return kReadLatency;
  default:
    return 0;
  }
}

/// Bytes of a lane that `op`, a read or a fetch, moves from or to LDS.
static int64_t ldsBytes(Operation *op) {
  constexpr int64_t kWidest = 16;
  auto fetch = dyn_cast<ROCDL::RawPtrBufferLoadLdsOp>(op);
  APInt bytes;
  if (fetch)
    return matchPattern(fetch.getSize(), m_ConstantInt(&bytes)) ? bytes.getSExtValue() : kWidest;
  return 4 * int64_t(instructionsOf(op));
}

namespace {
class Scheduler {
public:
  explicit Scheduler(ArrayRef<Operation *> ops, bool prompt = false) : ops(ops), prompt(prompt) {
    for (auto [index, op] : llvm::enumerate(ops))
      indexOf[op] = index;
    nodes.resize(ops.size());
    for (size_t i = 0; i != ops.size(); ++i)
      describe(i);
    for (size_t i = ops.size(); i-- != 0;)
      for (unsigned before : nodes[i].before)
        nodes[before].height =
            std::max(nodes[before].height, nodes[i].height + nodes[before].latency);
  }

  Groups derived();
  Groups spread();
  Groups streamed();
  Groups withoutMfmas();
  Groups patterned(ArrayRef<StringRef> slots);
  Groups amongReads();

private:
  struct Node {
    IssueKind kind = IssueKind::Free;
    unsigned cost = 0, latency = 0; ///< cycles
    unsigned height = 0;            ///< cycles from its issue to the last that depends on it
    bool done = false;
    unsigned ready = 0;                    ///< the cycle from which its result can be used
    SmallVector<unsigned, 4> operands;     ///< within `ops`
    llvm::SmallVector<unsigned, 4> before; ///< instructions among its operands, free ones skipped
  };

  void describe(unsigned index);
  SmallVector<unsigned> begin();
  bool isReady(const Node &node) const {
    return llvm::all_of(node.before, [&](unsigned before) { return nodes[before].done; });
  }
  unsigned startOf(const Node &node) const {
    unsigned start = now;
    for (unsigned before : node.before)
      start = std::max(start, nodes[before].ready);
    return start;
  }
  std::optional<unsigned> best(function_ref<bool(const Node &)> wanted) const;
  void emit(unsigned index);
  /// Ends a matrix instruction's group, with its share of what is left for it and `later` ones.
  void closeShadow(unsigned later) {
    if (later != 0)
      fillShadow((remainingCost() + later - 1) / later);
    closeGroup();
  }
  void closeGroup() {
    if (!groups.empty() && !groups.back().empty())
      groups.emplace_back();
  }
  void fillShadow(unsigned budget, std::optional<unsigned> running = std::nullopt);
  void fillShare(IssueKind kind, size_t shadow, size_t shadows);
  SmallVector<unsigned> left(IssueKind kind) const;
  SmallVector<unsigned> ldsOrder() const;
  void emitBeneathPowers(unsigned load);
  std::vector<std::optional<size_t>> firstUses(ArrayRef<unsigned> users) const;
  void emitRest();
  unsigned remainingCost() const;

  ArrayRef<Operation *> ops;
  bool prompt; ///< what fetches need comes after the first matrix instruction
  llvm::DenseMap<Operation *, unsigned> indexOf;
  std::vector<Node> nodes;
  Groups groups;
  unsigned now = 0;
};
} // namespace

static bool isVector(IssueKind kind) { return kind == IssueKind::Trans || kind == IssueKind::Valu; }

void Scheduler::describe(unsigned index) {
  Node &node = nodes[index];
  Operation *op = ops[index];
  node.kind = issueKind(op);
  node.cost = issueCycles(op);
  node.latency = latencyOf(op, node.kind);
  for (Value operand : op->getOperands()) {
    Operation *producer = operand.getDefiningOp();
    auto found = producer ? indexOf.find(producer) : indexOf.end();
    if (found == indexOf.end() || found->second >= index)
      continue;
    node.operands.push_back(found->second);
    const Node &source = nodes[found->second];
    if (source.kind == IssueKind::Free)
      node.before.append(source.before.begin(), source.before.end());
    else
      node.before.push_back(found->second);
  }
  llvm::sort(node.before);
  node.before.erase(llvm::unique(node.before), node.before.end());
}

/// Emits a node after everything it needs that was not emitted yet.
void Scheduler::emit(unsigned index) {
  Node &node = nodes[index];
  if (node.done)
    return;
  for (unsigned operand : node.operands)
    emit(operand);
  now = node.kind == IssueKind::Free ? now : startOf(node) + node.cost;
  node.ready = now + node.latency;
  node.done = true;
  if (groups.empty())
    groups.emplace_back();
  groups.back().push_back(ops[index]);
}

/// Of the vector instructions that are wanted and whose operands exist, the one that can start
/// first; among those, the one with the longest way to go.
std::optional<unsigned> Scheduler::best(function_ref<bool(const Node &)> wanted) const {
  std::optional<unsigned> chosen;
  for (unsigned i = 0; i != nodes.size(); ++i) {
    const Node &node = nodes[i];
    if (node.done || !isVector(node.kind) || !wanted(node) || !isReady(node))
      continue;
    if (!chosen) {
      chosen = i;
      continue;
    }
    const Node &other = nodes[*chosen];
    unsigned start = startOf(node), otherStart = startOf(other);
    if (start < otherStart || (start == otherStart && node.height > other.height))
      chosen = i;
  }
  return chosen;
}

unsigned Scheduler::remainingCost() const {
  unsigned cost = 0;
  for (const Node &node : nodes)
    if (!node.done && isVector(node.kind))
      cost += node.cost;
  return cost;
}

/// With vector instructions for so many cycles; with none that waits for the matrix instruction that is `running`.
void Scheduler::fillShadow(unsigned budget, std::optional<unsigned> running) {
  auto wanted = [&](const Node &node) { return !running || !llvm::is_contained(node.before, *running); };
  for (unsigned spent = 0; spent < budget;) {
    std::optional<unsigned> next = best(wanted);
    if (!next)
      return;
    spent += nodes[*next].cost;
    emit(*next);
  }
}

/// The reads for later clusters, or the fetches, that are not emitted yet, in the order in which they are to be. What is
/// used first is read last: if it came later than the cluster's wait says, the first product behind it would show that,
/// before other reads fill the counter and so wait for it too.
SmallVector<unsigned> Scheduler::left(IssueKind kind) const {
  SmallVector<unsigned> left;
  for (unsigned i = 0; i != nodes.size(); ++i)
    if (nodes[i].kind == kind && !nodes[i].done)
      left.push_back(i);
  if (kind == IssueKind::Read)
    std::reverse(left.begin(), left.end());
  return left;
}

/// Of the reads for later clusters, or the fetches, the share of shadow `shadow` of `shadows`.
void Scheduler::fillShare(IssueKind kind, size_t shadow, size_t shadows) {
  constexpr size_t tail = kReadLatency / kMfmaCycles;
  size_t last = shadows > tail ? shadows - tail : 1;
  SmallVector<unsigned> waiting = left(kind);
  size_t share = shadow < last ? llvm::divideCeil(waiting.size(), last - shadow) : waiting.size();
  for (unsigned index : ArrayRef(waiting).take_front(share))
    emit(index);
}

/// What is left: instructions that wait for the last matrix instruction, and register numbering.
void Scheduler::emitRest() {
  while (std::optional<unsigned> next = best([](const Node &) { return true; }))
    emit(*next);
  for (unsigned i = 0; i != nodes.size(); ++i)
    emit(i);
}

/// The matrix instructions, in their order; short ones at the end come in front of the last long ones, beneath which what
/// uses them need not wait. What adds to memory, if that is more than those, is emitted in front, with the fetches
/// before it: beneath them it would wait in registers for long.
SmallVector<unsigned> Scheduler::begin() {
  SmallVector<unsigned> mfmas, memory;
  size_t adds = 0, upToAdds = 0;
  for (unsigned i = 0; i != nodes.size(); ++i) {
    if (nodes[i].kind == IssueKind::Mfma)
      mfmas.push_back(i);
    if (nodes[i].kind != IssueKind::Fetch)
      continue;
    memory.push_back(i);
    if (!addsToMemory(ops[i]))
      continue;
    ++adds;
    upToAdds = memory.size();
  }
  if (adds > mfmas.size())
    for (unsigned index : ArrayRef(memory).take_front(upToAdds))
      emit(index);
  auto sums = std::find_if(mfmas.rbegin(), mfmas.rend(), [&](unsigned i) { return !isSparse(ops[i]); }).base();
  auto others = std::find_if(std::make_reverse_iterator(sums), mfmas.rend(), [&](unsigned i) { return isSparse(ops[i]); }).base();
  if (sums != mfmas.end())
    std::rotate(std::max(others, sums - std::min(kBehindSums, sums - mfmas.begin())), sums, mfmas.end());
  return mfmas;
}

Groups Scheduler::derived() {
  SmallVector<unsigned> mfmas = begin();
  size_t ofLoads = std::min(kMfmasOfLoad * left(IssueKind::Load).size(), mfmas.size());
  size_t firstLoad = std::max(mfmas.size() - ofLoads, mfmas.size() / 8);
  for (auto [number, mfma] : llvm::enumerate(mfmas)) {
    emit(mfma);
    if (prompt && number == 0)
      closeGroup();
    fillShare(IssueKind::Read, number, mfmas.size());
    fillShare(IssueKind::Fetch, number, mfmas.size());
    if (number >= firstLoad)
      fillShare(IssueKind::Load, number, mfmas.size());
    closeShadow(mfmas.size() - 1 - number);
  }
  emitRest();
  return std::move(groups);
}

/// `some` with `others` evenly among them, none in front of the first.
static SmallVector<unsigned> evenly(ArrayRef<unsigned> some, ArrayRef<unsigned> others) {
  SmallVector<unsigned> order;
  size_t gaps = others.size() + 1;
  for (auto [number, other] : llvm::enumerate(others)) {
    size_t before = ((number + 1) * some.size() + gaps / 2) / gaps;
    order.append(some.begin() + (order.size() - number), some.begin() + before);
    order.push_back(other);
  }
  order.append(some.begin() + (order.size() - others.size()), some.end());
  return order;
}

/// Reads for later clusters with the fetches evenly among them.
SmallVector<unsigned> Scheduler::ldsOrder() const { return evenly(left(IssueKind::Read), left(IssueKind::Fetch)); }

/// As `derived`, but LDS has as much to do beneath each matrix instruction, of reads and fetches together: four waves
/// that read and fetch at the same time else wait for one another at LDS, and the matrix unit for them.
Groups Scheduler::spread() {
  SmallVector<unsigned> mfmas = begin(), order = ldsOrder();
  size_t tail = kSpreadLatency / kMfmaCycles, next = 0;
  size_t last = mfmas.size() > tail ? mfmas.size() - tail : 1;
  int64_t total = 0, moved = 0;
  for (unsigned index : order)
    total += ldsBytes(ops[index]);
  for (auto [number, mfma] : llvm::enumerate(mfmas)) {
    emit(mfma);
    if (prompt && number == 0)
      closeGroup();
    for (; next != order.size(); ++next) {
      int64_t bytes = ldsBytes(ops[order[next]]);
      if (number + 1 < last && (2 * moved + bytes) * int64_t(last) > 2 * total * int64_t(number + 1))
        break;
      moved += bytes;
      emit(order[next]);
    }
    closeShadow(mfmas.size() - 1 - number);
  }
  emitRest();
  return std::move(groups);
}

/// For each node, which of `users`, in their order, is the first that needs it.
std::vector<std::optional<size_t>> Scheduler::firstUses(ArrayRef<unsigned> users) const {
  std::vector<std::optional<size_t>> first(nodes.size());
  for (auto [number, user] : llvm::enumerate(users)) {
    SmallVector<unsigned> needed = {user};
    while (!needed.empty()) {
      unsigned node = needed.pop_back_val();
      if (first[node])
        continue;
      first[node] = number;
      needed.append(nodes[node].operands.begin(), nodes[node].operands.end());
    }
  }
  return first;
}

/// As `derived`, and what is read for a matrix instruction is issued kReadAhead of them before it.
Groups Scheduler::streamed() {
  SmallVector<unsigned> mfmas = begin();
  std::vector<std::optional<size_t>> uses = firstUses(mfmas);
  auto readFor = [&](size_t last) {
    for (unsigned i = 0; i != nodes.size(); ++i)
      if (nodes[i].kind == IssueKind::Read && !nodes[i].done && uses[i] && *uses[i] <= last)
        emit(i);
  };
  readFor(kReadAhead - 1);
  for (auto [number, mfma] : llvm::enumerate(mfmas)) {
    emit(mfma);
    if (prompt && number == 0)
      closeGroup();
    readFor(number + kReadAhead);
    fillShare(IssueKind::Fetch, number, mfmas.size());
    unsigned shadows = mfmas.size() - 1 - number;
    if (shadows != 0)
      fillShadow((remainingCost() + shadows - 1) / shadows, mfma);
    closeGroup();
  }
  emitRest();
  return std::move(groups);
}

/// Emits what a load needs, mostly scalar, each beneath a transcendental instruction: those take two turns.
void Scheduler::emitBeneathPowers(unsigned load) {
  std::vector<std::optional<size_t>> uses = firstUses(load);
  for (unsigned i = 0; i != nodes.size(); ++i) {
    if (nodes[i].done || !uses[i] || nodes[i].kind != IssueKind::Valu)
      continue;
    if (std::optional<unsigned> power = best([](const Node &node) { return node.kind == IssueKind::Trans; }))
      emit(*power);
    emit(i);
    closeGroup();
  }
}

/// Reads for later clusters, fetches and loads, evenly among vector instructions: a wave whose next read finds the queue
/// of LDS full issues nothing at all. None near the end, which waits for them.
Groups Scheduler::withoutMfmas() {
  SmallVector<unsigned> order = evenly(ldsOrder(), left(IssueKind::Load));
  for (auto [number, index] : llvm::enumerate(order)) {
    if (nodes[index].kind == IssueKind::Load)
      emitBeneathPowers(index);
    emit(index);
    unsigned left = order.size() - number, cost = remainingCost();
    fillShadow(cost > kSpreadLatency ? (cost - kSpreadLatency) / left : 0);
    closeGroup();
  }
  emitRest();
  return std::move(groups);
}

Groups Scheduler::patterned(ArrayRef<StringRef> slots) {
  auto nextOf = [&](IssueKind kind) {
    return llvm::find_if(nodes, [&](const Node &node) { return !node.done && node.kind == kind; });
  };
  while (nextOf(IssueKind::Mfma) != nodes.end())
    for (StringRef slot : slots) {
      if (slot == "mfma") {
        closeGroup();
        if (auto next = nextOf(IssueKind::Mfma); next != nodes.end())
          emit(next - nodes.begin());
        continue;
      }
      if (slot == "read") {
        auto next = llvm::find_if(
            nodes, [](const Node &node) { return node.kind == IssueKind::Read && !node.done; });
        if (next != nodes.end())
          emit(next - nodes.begin());
        continue;
      }
      IssueKind kind = slot == "trans" ? IssueKind::Trans : IssueKind::Valu;
      if (auto next = best([&](const Node &node) { return node.kind == kind; }))
        emit(*next);
    }
  closeGroup();
  emitRest();
  return std::move(groups);
}

/// A wave issues in order, and stands still where a read finds the queue of LDS full: what the fetches behind need, mostly
/// scalar, is free between reads.
Groups Scheduler::amongReads() {
  std::vector<std::optional<size_t>> ofFetches = firstUses(left(IssueKind::Fetch));
  auto wanted = [&](const Node &node) { return ofFetches[&node - nodes.data()].has_value(); };
  for (unsigned i = 0; i != nodes.size(); ++i) {
    if (nodes[i].kind != IssueKind::Read && nodes[i].kind != IssueKind::Fetch)
      continue;
    emit(i);
    for (unsigned spent = nodes[i].cost; nodes[i].kind == IssueKind::Read && spent < kLdsCyclesOfByte * ldsBytes(ops[i]);) {
      std::optional<unsigned> next = best(wanted);
      if (!next)
        break;
      spent += nodes[*next].cost;
      emit(*next);
    }
    closeGroup();
  }
  emitRest();
  return std::move(groups);
}

Groups hocket::scheduling::scheduleAmongReads(ArrayRef<Operation *> ops) { return Scheduler(ops).amongReads(); }

Groups hocket::scheduling::scheduleAroundMfmas(ArrayRef<Operation *> ops, const tile::Interleave &how) {
  Scheduler scheduler(ops, how.prompt);
  if (!how.slots.empty())
    return scheduler.patterned(how.slots);
  if (how.stream)
    return scheduler.streamed();
  return how.spread ? scheduler.spread() : scheduler.derived();
}

Groups hocket::scheduling::scheduleWithoutMfmas(ArrayRef<Operation *> ops) { return Scheduler(ops).withoutMfmas(); }
