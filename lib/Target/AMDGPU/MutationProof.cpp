// Whether a weaker wait, a missing barrier or a shorter nop can be seen at all.
//
// A wait is dominated where fewer operations can be in flight than it allows, or where on every way
// an equal or stronger wait follows before anything touches what the operations that it no longer
// covers read or write; a counter that is full has waited by itself. A barrier is redundant where
// the epoch that it closes has nothing in it but loads of registers, or the one that it opens
// nothing with LDS, so that to join the two joins nothing; that the epochs of other waves do not
// shift against it, and that global memory is not shared, is for the checked runs to say. A nop is
// beyond the required distance where the static hazard check finds no more without it.
#include "Target/AMDGPU/Mutation.h"

#include "Target/AMDGPU/HazardCheck.h"
#include "Target/AMDGPU/RegisterEffects.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/MC/MCInstrAnalysis.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/Endian.h"

#include <algorithm>
#include <memory>
#include <set>

using namespace hocket;
using namespace hocket::amdgpu;
using llvm::StringRef;

namespace {
enum Counter { Vector, LdsAndScalar };

/// A kernel's instructions with control flow and what each does to the counters.
class Flow {
public:
  Flow(const KernelCode &kernel, const Disassembler &disassembler)
      : kernel(kernel), disassembler(disassembler), opcodes(disassembler.target().instructions()) {}

  Status build();
  /// Whether the barrier closes an epoch in which its wave at most loads registers, or opens one in
  /// which it does nothing with LDS.
  bool idleBarrier(size_t barrier) const { return idle(barrier, true) || idle(barrier, false); }
  bool dominatedWait(size_t wait, Counter counter, unsigned allowed, bool dropped) const;
  /// Whether a way leads from the kernel's entry to the instruction.
  bool reachable(size_t instruction) const;

private:
  struct Node {
    InstructionClass kind = InstructionClass::Other;
    RegisterEffects effects;
    unsigned limit[2] = {64, 64}; ///< what a wait allows
    bool counts[2] = {false, false};
    bool lds = false; ///< touches what is in LDS
    llvm::SmallVector<size_t, 2> next, previous;
  };
  bool alwaysFewer(size_t wait, Counter counter, unsigned allowed) const;
  bool idle(size_t barrier, bool forward) const;
  std::vector<size_t> uncovered(size_t wait, Counter counter, unsigned allowed, bool dropped) const;

  const KernelCode &kernel;
  const Disassembler &disassembler;
  OpcodeTable opcodes;
  std::vector<Instruction> code;
  std::vector<Node> nodes;
};
} // namespace

Status Flow::build() {
  Result<std::vector<Instruction>> decoded = disassembler.decodeAll(kernel.code, kernel.address);
  if (!decoded)
    return decoded.error();
  code = *std::move(decoded);
  nodes.resize(code.size());
  llvm::DenseMap<uint64_t, size_t> indexOf;
  for (size_t i = 0; i < code.size(); ++i)
    indexOf[code[i].address] = i;
  const std::unique_ptr<llvm::MCInstrAnalysis> analysis(
      disassembler.target().target().createMCInstrAnalysis(&disassembler.target().instructions()));
  for (size_t i = 0; i < code.size(); ++i) {
    Node &node = nodes[i];
    const StringRef name = opcodes.name(code[i].opcode()).base;
    node.kind = opcodes.kind(code[i].opcode());
    node.effects = registerEffects(code[i], disassembler, opcodes);
    const InstructionClass kind = node.kind;
    const bool usesLds = kind == InstructionClass::LdsRead || kind == InstructionClass::LdsWrite ||
                         kind == InstructionClass::LdsOther || kind == InstructionClass::LdsDma ||
                         name.starts_with("FLAT_");
    // Permutations go through the LDS unit, from registers to registers.
    node.lds = usesLds && !name.starts_with("DS_BPERMUTE") && !name.starts_with("DS_PERMUTE") &&
               !name.starts_with("DS_SWIZZLE");
    const bool vector = kind == InstructionClass::VmemLoad || kind == InstructionClass::VmemStore ||
                        kind == InstructionClass::VmemOther || kind == InstructionClass::LdsDma;
    node.counts[Vector] = vector;
    node.counts[LdsAndScalar] =
        (usesLds && kind != InstructionClass::LdsDma) || kind == InstructionClass::Smem;
    if (name == "S_WAITCNT") {
      const uint32_t wait = llvm::support::endian::read32le(code[i].bytes.data());
      node.limit[Vector] = (wait & 15) | (wait >> 14 & 3) << 4;
      node.limit[LdsAndScalar] = wait >> 8 & 15;
      // All ones do not wait.
      if (node.limit[Vector] == 63)
        node.limit[Vector] = 64;
      if (node.limit[LdsAndScalar] == 15)
        node.limit[LdsAndScalar] = 64;
    }
    if (name.starts_with("S_ENDPGM"))
      continue;
    const bool branch = kind == InstructionClass::Branch;
    if ((!branch || name.starts_with("S_CBRANCH")) && i + 1 < code.size())
      node.next.push_back(i + 1);
    if (!branch)
      continue;
    uint64_t target = 0;
    const bool known = analysis && analysis->evaluateBranch(code[i].inst, code[i].address,
                                                            code[i].bytes.size(), target);
    auto found = known ? indexOf.find(target) : indexOf.end();
    if (found == indexOf.end())
      return unsupported("kernel '" + kernel.name + "': cannot follow '" +
                         disassembler.text(code[i]) +
                         "'; mutants are proven equivalent in kernels without calls and "
                         "indirect jumps only");
    node.next.push_back(found->second);
  }
  for (size_t i = 0; i < nodes.size(); ++i)
    for (size_t next : nodes[i].next)
      nodes[next].previous.push_back(i);
  return Status::success();
}

bool Flow::reachable(size_t instruction) const {
  std::vector<bool> seen(nodes.size(), false);
  std::vector<size_t> work = {0};
  while (!work.empty()) {
    const size_t at = work.back();
    work.pop_back();
    if (seen[at])
      continue;
    seen[at] = true;
    work.insert(work.end(), nodes[at].next.begin(), nodes[at].next.end());
  }
  return seen[instruction];
}

/// Whether at most `allowed` operations are in flight whenever `wait` is reached.
bool Flow::alwaysFewer(size_t wait, Counter counter, unsigned allowed) const {
  constexpr unsigned most = 64;
  std::vector<unsigned> before(nodes.size(), 0);
  std::vector<bool> reached(nodes.size(), false);
  std::vector<size_t> work = {0};
  reached[0] = true;
  while (!work.empty()) {
    const size_t at = work.back();
    work.pop_back();
    unsigned after = before[at];
    // The wait itself is left out: it is the one that may be missing.
    if (at != wait)
      after = std::min(after, nodes[at].limit[counter]);
    after = std::min(most, after + nodes[at].counts[counter]);
    for (size_t next : nodes[at].next) {
      if (reached[next] && before[next] >= after)
        continue;
      reached[next] = true;
      before[next] = std::max(before[next], after);
      work.push_back(next);
    }
  }
  return before[wait] <= allowed;
}

/// The operations that may be in flight behind the wait once it is weaker: those with exactly
/// `allowed` later ones behind them, or all with at least as many where it is dropped or where
/// scalar loads, which return in any order, are among the later ones.
std::vector<size_t> Flow::uncovered(size_t wait, Counter counter, unsigned allowed,
                                    bool dropped) const {
  struct State {
    size_t at;
    unsigned later; ///< operations of the counter between here and the wait
    unsigned
        bound;    ///< so many later ones behind an operation, and a wait in between has covered it
    bool ordered; ///< no scalar load among the later ones: they complete in order
    auto operator<=>(const State &) const = default;
  };
  constexpr unsigned most = 64;
  // The counter has no place for more: the next operation waits for the oldest.
  const unsigned capacity = counter == Vector ? 63 : 15;
  std::set<size_t> found;
  std::set<State> seen;
  std::vector<State> work;
  for (size_t previous : nodes[wait].previous)
    work.push_back({previous, 0, most, true});
  while (!work.empty()) {
    State state = work.back();
    work.pop_back();
    if (state.later >= state.bound || !seen.insert(state).second)
      continue;
    const Node &node = nodes[state.at];
    if (state.ordered && state.later >= capacity && node.kind != InstructionClass::Smem)
      continue;
    if (state.at != wait)
      state.bound = std::min(state.bound, state.later + node.limit[counter]);
    if (node.counts[counter]) {
      // Scalar loads return in any order: none is certain while others are in flight.
      if (state.later >= allowed || node.kind == InstructionClass::Smem)
        found.insert(state.at);
      state.ordered &= node.kind != InstructionClass::Smem;
      ++state.later;
      if (!dropped && state.ordered && state.later > allowed)
        continue;
    }
    for (size_t previous : node.previous)
      work.push_back({previous, state.later, state.bound, state.ordered});
  }
  return {found.begin(), found.end()};
}

static bool overlaps(const RegisterAccess &a, const RegisterAccess &b) {
  return a.file == b.file && a.first < b.end() && b.first < a.end();
}

bool Flow::dominatedWait(size_t wait, Counter counter, unsigned allowed, bool dropped) const {
  if (alwaysFewer(wait, counter, allowed))
    return true;
  const std::vector<size_t> open = uncovered(wait, counter, allowed, dropped);
  const bool touchesLds = llvm::any_of(open, [&](size_t i) { return nodes[i].lds; });
  auto depends = [&](const Node &node) {
    // Others rely on what was complete at a barrier.
    if (node.kind == InstructionClass::Barrier &&
        llvm::any_of(open, [&](size_t i) { return nodes[i].kind != InstructionClass::Smem; }))
      return true;
    if (touchesLds && node.lds)
      return true;
    return llvm::any_of(open, [&](size_t i) {
      return llvm::any_of(nodes[i].effects.writes, [&](const RegisterAccess &result) {
        auto hits = [&](const RegisterAccess &access) { return overlaps(result, access); };
        return llvm::any_of(node.effects.reads, hits) || llvm::any_of(node.effects.writes, hits);
      });
    });
  };
  std::vector<bool> seen(nodes.size(), false);
  std::vector<size_t> work(nodes[wait].next.begin(), nodes[wait].next.end());
  // Operations that are issued behind the wait let a later wait with the same number cover as much.
  while (!work.empty()) {
    const size_t at = work.back();
    work.pop_back();
    if (seen[at])
      continue;
    seen[at] = true;
    const Node &node = nodes[at];
    if (at == wait || node.limit[counter] <= allowed)
      continue;
    if (depends(node))
      return false;
    work.insert(work.end(), node.next.begin(), node.next.end());
  }
  return true;
}

/// Whether no way to the next barrier accesses LDS; or no way to the previous one accesses LDS,
/// stores, or waits: what was waited for before a barrier, others may rely on behind it.
bool Flow::idle(size_t barrier, bool forward) const {
  std::vector<bool> seen(nodes.size(), false);
  auto ways = [&](size_t i) -> const llvm::SmallVector<size_t, 2> & {
    return forward ? nodes[i].next : nodes[i].previous;
  };
  std::vector<size_t> work(ways(barrier).begin(), ways(barrier).end());
  while (!work.empty()) {
    const size_t at = work.back();
    work.pop_back();
    const Node &node = nodes[at];
    if (seen[at] || node.kind == InstructionClass::Barrier)
      continue;
    seen[at] = true;
    const bool stores =
        node.kind == InstructionClass::VmemStore || node.kind == InstructionClass::VmemOther;
    if (node.lds || (!forward && (stores || node.kind == InstructionClass::Wait)))
      return false;
    work.insert(work.end(), ways(at).begin(), ways(at).end());
  }
  return true;
}

static size_t hazardCount(const KernelCode &kernel, const Disassembler &disassembler) {
  Result<std::vector<Hazard>> hazards = findHazards(kernel, disassembler);
  return hazards ? hazards->size() : ~size_t(0);
}

static Result<std::string> proveNop(const KernelCode &kernel, const Mutant &mutant,
                                    const Disassembler &disassembler) {
  const size_t before = hazardCount(kernel, disassembler);
  if (before == ~size_t(0))
    return std::string();
  std::vector<uint8_t> bytes(kernel.code.begin(), kernel.code.end());
  std::copy(mutant.bytes.begin(), mutant.bytes.end(), bytes.begin() + mutant.offset);
  KernelCode changed = kernel;
  changed.code = bytes;
  return std::string(
      hazardCount(changed, disassembler) <= before ? "nop beyond the required distance" : "");
}

static Result<std::string> proveWait(const Flow &flow, const KernelCode &kernel,
                                     const Mutant &mutant) {
  using llvm::support::endian::read32le;
  const uint32_t wait = read32le(kernel.code.data() + mutant.offset);
  const uint32_t now = read32le(mutant.bytes.data());
  const bool dropped = mutant.kind == MutationKind::DropWait;
  auto vector = [](uint32_t w) { return (w & 15) | (w >> 14 & 3) << 4; };
  auto lds = [](uint32_t w) { return w >> 8 & 15; };
  bool dominated = true;
  if (vector(wait) < 63 && (dropped || vector(now) != vector(wait)))
    dominated &= flow.dominatedWait(mutant.instruction, Vector, vector(wait), dropped);
  if (lds(wait) < 15 && (dropped || lds(now) != lds(wait)))
    dominated &= flow.dominatedWait(mutant.instruction, LdsAndScalar, lds(wait), dropped);
  return std::string(dominated ? "wait dominated by an equal or stronger one on all paths" : "");
}

Result<std::string> amdgpu::proveEquivalent(const KernelCode &kernel, const Mutant &mutant,
                                            const Disassembler &disassembler) {
  Flow flow(kernel, disassembler);
  if (Status built = flow.build(); !built)
    return built.error();
  if (!flow.reachable(mutant.instruction))
    return std::string("instruction unreachable");
  switch (mutant.kind) {
  case MutationKind::DropNop:
    return proveNop(kernel, mutant, disassembler);
  case MutationKind::DropWait:
  case MutationKind::WeakenWait:
    return proveWait(flow, kernel, mutant);
  case MutationKind::DropBarrier:
    return std::string(flow.idleBarrier(mutant.instruction) ? "barrier redundant by epochs" : "");
  default:
    return std::string();
  }
}
