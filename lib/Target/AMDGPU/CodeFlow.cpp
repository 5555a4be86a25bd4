#include "Target/AMDGPU/CodeFlow.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/MC/MCInstrAnalysis.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/Endian.h"

#include <memory>

using namespace hocket;
using namespace hocket::amdgpu;
using llvm::StringRef;

static bool writesExec(const RegisterEffects &effects) {
  return llvm::any_of(effects.writes, [](const RegisterAccess &write) {
    return write.file == RegisterFile::Scalar && write.first <= kExec + 1 && kExec < write.end();
  });
}

/// What a wait allows of vmcnt and lgkmcnt.
static void readLimits(const Instruction &wait, unsigned (&limit)[2]) {
  const uint32_t word = llvm::support::endian::read32le(wait.bytes.data());
  limit[CodeFlow::Vector] = (word & 15) | (word >> 14 & 3) << 4;
  limit[CodeFlow::LdsAndScalar] = word >> 8 & 15;
  // All ones do not wait.
  if (limit[CodeFlow::Vector] == 63)
    limit[CodeFlow::Vector] = CodeFlow::kNoLimit;
  if (limit[CodeFlow::LdsAndScalar] == 15)
    limit[CodeFlow::LdsAndScalar] = CodeFlow::kNoLimit;
}

Status CodeFlow::build() {
  Result<std::vector<Instruction>> decoded = disassembler.decodeAll(kernel.code, kernel.address);
  if (!decoded)
    return decoded.error();
  code = *std::move(decoded);
  nodes.resize(code.size());
  for (size_t i = 0; i < code.size(); ++i) {
    Node &node = nodes[i];
    const StringRef name = node.name = opcodes.name(code[i].opcode()).base;
    const InstructionClass kind = opcodes.kind(code[i].opcode());
    node.kind = kind;
    node.origin = i;
    node.effects = registerEffects(code[i], disassembler, opcodes);
    const bool usesLds = kind == InstructionClass::LdsRead || kind == InstructionClass::LdsWrite ||
                         kind == InstructionClass::LdsOther || kind == InstructionClass::LdsDma ||
                         name.starts_with("FLAT_");
    // Permutations go through the LDS unit, from registers to registers.
    node.lds = usesLds && !name.starts_with("DS_BPERMUTE") && !name.starts_with("DS_PERMUTE") &&
               !name.starts_with("DS_SWIZZLE");
    node.computes = (kind == InstructionClass::Salu || kind == InstructionClass::Valu) &&
                    !name.contains("GETREG") && !name.contains("MOVREL") && !name.contains("GPR_IDX");
    node.counts[Vector] = kind == InstructionClass::VmemLoad || kind == InstructionClass::VmemStore ||
                          kind == InstructionClass::VmemOther || kind == InstructionClass::LdsDma;
    node.counts[LdsAndScalar] =
        (usesLds && kind != InstructionClass::LdsDma) || kind == InstructionClass::Smem;
    if (name == "S_WAITCNT")
      readLimits(code[i], node.limit);
  }
  // A wave begins with a lane at least.
  hasLanes = llvm::none_of(nodes, [](const Node &node) { return writesExec(node.effects); });
  if (Status connected = connect(); !connected)
    return connected;
  findLanes();
  decideLaneBranches();
  findPrevious();
  decideMaskBranches();
  findPrevious();
  threadBranches();
  return Status::success();
}

/// Where each instruction leads: on, and where it branches to.
Status CodeFlow::connect() {
  llvm::DenseMap<uint64_t, size_t> indexOf;
  for (size_t i = 0; i < code.size(); ++i)
    indexOf[code[i].address] = i;
  const std::unique_ptr<llvm::MCInstrAnalysis> analysis(
      disassembler.target().target().createMCInstrAnalysis(&disassembler.target().instructions()));
  for (size_t i = 0; i < code.size(); ++i) {
    const StringRef name = nodes[i].name;
    if (name.starts_with("S_ENDPGM"))
      continue;
    const bool branch = nodes[i].kind == InstructionClass::Branch;
    if ((!branch || name.starts_with("S_CBRANCH")) && i + 1 < code.size())
      nodes[i].next.push_back(i + 1);
    if (!branch)
      continue;
    uint64_t target = 0;
    const bool known = analysis && analysis->evaluateBranch(code[i].inst, code[i].address,
                                                            code[i].bytes.size(), target);
    auto found = known ? indexOf.find(target) : indexOf.end();
    if (found == indexOf.end())
      return unsupported("kernel '" + kernel.name + "': cannot follow '" +
                         disassembler.text(code[i]) +
                         "'; mutants are made of kernels without calls and indirect jumps only");
    nodes[i].next.push_back(found->second);
  }
  return Status::success();
}

/// Nobody comes from where nobody is.
void CodeFlow::findPrevious() {
  for (Node &node : nodes)
    node.previous.clear();
  const llvm::BitVector reached = reachedFromEntry(kNowhere, kNowhere);
  for (unsigned i : reached.set_bits())
    for (size_t next : nodes[i].next)
      nodes[next].previous.push_back(i);
}

bool CodeFlow::writes(size_t at, RegisterFile file, unsigned number) const {
  return llvm::any_of(nodes[at].effects.writes, [&](const RegisterAccess &write) {
    return write.file == file && write.first <= number && number < write.end();
  });
}

/// Whether the pair of scalar registers from `mask` on has bits set behind `at`, as far as one way leads there.
std::optional<bool> CodeFlow::isSetBehind(size_t at, unsigned mask) const {
  for (size_t steps = 0; steps != nodes.size(); ++steps) {
    if (writes(at, RegisterFile::Scalar, mask) || writes(at, RegisterFile::Scalar, mask + 1)) {
      const uint32_t word = llvm::support::endian::read32le(code[at].bytes.data());
      constexpr uint32_t zero = 128, minusOne = 193;
      const uint32_t source = word & 255, destination = word >> 16 & 127;
      if (nodes[at].name != "S_MOV_B64" || destination != mask ||
          (source != zero && source != minusOne))
        return std::nullopt;
      return source == minusOne;
    }
    if (nodes[at].previous.size() != 1)
      return std::nullopt;
    at = nodes[at].previous.front();
  }
  return std::nullopt;
}

/// What a branch on VCC is decided by, where that is EXEC and a mask.
struct CodeFlow::Decision {
  size_t at;            ///< the instruction that writes VCC
  unsigned mask;        ///< a pair of scalar registers
  bool isTakenIfSet;    ///< if the mask is all ones, rather than zero
};

/// Of `branch`, if one way alone leads from its decision to it, and all lanes are there.
std::optional<CodeFlow::Decision> CodeFlow::decisionOf(size_t branch) const {
  const StringRef name = nodes[branch].name;
  const bool ifSet = name.starts_with("S_CBRANCH_VCCNZ");
  if (nodes[branch].next.size() != 2 || (!ifSet && !name.starts_with("S_CBRANCH_VCCZ")))
    return std::nullopt;
  auto isWritten = [&](size_t at, unsigned pair) {
    return writes(at, RegisterFile::Scalar, pair) || writes(at, RegisterFile::Scalar, pair + 1);
  };
  size_t at = branch;
  for (size_t steps = 0; !isWritten(at, kVcc); ++steps) {
    if (nodes[at].previous.size() != 1 || steps == nodes.size())
      return std::nullopt;
    at = nodes[at].previous.front();
  }
  const StringRef how = nodes[at].name;
  const uint32_t word = llvm::support::endian::read32le(code[at].bytes.data());
  const unsigned mask = word >> 8 & 255;
  constexpr unsigned scalars = 102;
  if ((how != "S_AND_B64" && how != "S_ANDN2_B64") || (word & 255) != kExec || (word >> 16 & 127) != kVcc ||
      mask >= scalars || !nodes[at].hasAllLanes)
    return std::nullopt;
  return Decision{at, mask, (how == "S_AND_B64") == ifSet};
}

/// LLVM writes "if it was the one way" as "branch on EXEC and a mask", with the mask all ones where one way comes from
/// and zero where another does. Where one way alone leads to the branch, it leads on one way.
void CodeFlow::decideMaskBranches() {
  for (size_t branch = 0; branch != nodes.size(); ++branch) {
    std::optional<Decision> decision = decisionOf(branch);
    if (!decision || nodes[decision->at].previous.size() != 1)
      continue;
    if (std::optional<bool> isSet = isSetBehind(nodes[decision->at].previous.front(), decision->mask))
      nodes[branch].next = {nodes[branch].next[*isSet == decision->isTakenIfSet]};
  }
}

/// Whether an instruction may stand in the code more than once: it computes, passes time, or reads LDS or constants. Of
/// what is fetched, of waits and barriers it is asked what follows if it is changed, and then there must be one.
static bool mayBeRepeated(InstructionClass kind, StringRef name) {
  switch (kind) {
  case InstructionClass::Salu:
  case InstructionClass::Valu:
  case InstructionClass::Packed:
  case InstructionClass::Transcendental:
  case InstructionClass::Mfma:
  case InstructionClass::LdsRead:
  case InstructionClass::Nop:
    return true;
  case InstructionClass::Smem:
    return name.starts_with("S_LOAD");
  default:
    return false;
  }
}

/// A block of such instructions that ends with such a branch is passed in one direction by each way that comes there.
void CodeFlow::threadBranches() {
  struct Threaded {
    size_t from, first, last, to;
  };
  std::vector<Threaded> found;
  for (size_t branch = 0; branch != code.size(); ++branch) {
    std::optional<Decision> decision = decisionOf(branch);
    if (!decision)
      continue;
    size_t first = branch;
    while (nodes[first].previous.size() == 1) {
      const size_t before = nodes[first].previous.front();
      if (before + 1 != first || nodes[before].next.size() != 1 || !mayBeRepeated(nodes[before].kind, nodes[before].name))
        break;
      first = before;
    }
    auto writesMask = [&](size_t at) {
      return writes(at, RegisterFile::Scalar, decision->mask) || writes(at, RegisterFile::Scalar, decision->mask + 1);
    };
    if (nodes[first].previous.size() < 2 || decision->at < first || decision->at > branch ||
        llvm::any_of(llvm::seq(first, decision->at), writesMask))
      continue;
    for (size_t from : nodes[first].previous)
      if (std::optional<bool> isSet = isSetBehind(from, decision->mask))
        found.push_back({from, first, branch, nodes[branch].next[*isSet == decision->isTakenIfSet]});
  }
  for (const Threaded &each : found) {
    std::replace(nodes[each.from].next.begin(), nodes[each.from].next.end(), each.first, nodes.size());
    for (size_t i = each.first; i <= each.last; ++i) {
      nodes.push_back(Node(nodes[i]));
      code.push_back(Instruction(code[i]));
      nodes.back().next = {i == each.last ? each.to : nodes.size()};
    }
  }
  findPrevious();
}

/// What is reached from the entry if the step from `withoutFrom` to `withoutTo` is not made.
llvm::BitVector CodeFlow::reachedFromEntry(size_t withoutFrom, size_t withoutTo) const {
  llvm::BitVector seen(static_cast<unsigned>(nodes.size()));
  std::vector<size_t> work = {0};
  while (!work.empty()) {
    const size_t at = work.back();
    work.pop_back();
    if (seen.test(static_cast<unsigned>(at)))
      continue;
    seen.set(static_cast<unsigned>(at));
    for (size_t next : nodes[at].next)
      if (at != withoutFrom || next != withoutTo)
        work.push_back(next);
  }
  return seen;
}

/// All that lies on a way from `at`, or to it.
llvm::BitVector CodeFlow::reachedFrom(size_t at, bool forward) const {
  llvm::BitVector seen(static_cast<unsigned>(nodes.size()));
  std::vector<size_t> work = {at};
  while (!work.empty()) {
    const size_t here = work.back();
    work.pop_back();
    for (size_t way : forward ? nodes[here].next : nodes[here].previous)
      if (!seen.test(static_cast<unsigned>(way))) {
        seen.set(static_cast<unsigned>(way));
        work.push_back(way);
      }
  }
  return seen;
}

bool CodeFlow::reachable(size_t instruction) const {
  const llvm::BitVector reached = reachedFromEntry(kNowhere, kNowhere);
  return llvm::any_of(reached.set_bits(), [&](unsigned at) { return nodes[at].origin == instruction; });
}

/// Whether the register may be read on a way from `at` before it is written.
bool CodeFlow::isLive(size_t at, RegisterFile file, unsigned number) const {
  auto isIt = [&](const RegisterAccess &access) {
    return access.file == file && access.first <= number && number < access.end();
  };
  llvm::BitVector seen(static_cast<unsigned>(nodes.size()));
  std::vector<size_t> work = {at};
  while (!work.empty()) {
    const size_t here = work.back();
    work.pop_back();
    if (seen.test(static_cast<unsigned>(here)))
      continue;
    seen.set(static_cast<unsigned>(here));
    if (llvm::any_of(nodes[here].effects.reads, isIt))
      return true;
    // Lanes that do not take part keep what they have.
    auto kills = [&](const RegisterAccess &write) { return isIt(write) && write.bytes == 0xf && (!write.masked || hasLanes); };
    if (!llvm::any_of(nodes[here].effects.writes, kills))
      llvm::append_range(work, nodes[here].next);
  }
  return false;
}

/// Of each instruction the last one in front of it that all ways pass (Cooper, Harvey and Kennedy, "A simple, fast
/// dominance algorithm"); ~0: of none that is reached.
std::vector<size_t> CodeFlow::dominators() const {
  std::vector<size_t> order, number(nodes.size(), kNowhere), result(nodes.size(), kNowhere);
  std::vector<std::pair<size_t, size_t>> work = {{0, 0}};
  llvm::BitVector seen(static_cast<unsigned>(nodes.size()));
  seen.set(0);
  while (!work.empty()) {
    auto &[at, way] = work.back();
    if (way == nodes[at].next.size()) {
      number[at] = order.size();
      order.push_back(at);
      work.pop_back();
      continue;
    }
    const size_t next = nodes[at].next[way++];
    if (seen.test(static_cast<unsigned>(next)))
      continue;
    seen.set(static_cast<unsigned>(next));
    work.emplace_back(next, 0);
  }
  result[0] = 0;
  auto meet = [&](size_t a, size_t b) {
    while (a != b) {
      size_t &earlier = number[a] < number[b] ? a : b;
      earlier = result[earlier];
    }
    return a;
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t at : llvm::drop_begin(llvm::reverse(order))) {
      size_t dominator = kNowhere;
      for (size_t previous : nodes[at].previous)
        if (result[previous] != kNowhere)
          dominator = dominator == kNowhere ? previous : meet(previous, dominator);
      changed |= std::exchange(result[at], dominator) != dominator;
    }
  }
  return result;
}

CodeFlow::Loops CodeFlow::findLoops() const {
  const std::vector<size_t> dominator = dominators();
  auto dominates = [&](size_t head, size_t at) {
    while (at != head && at != 0)
      at = dominator[at];
    return at == head;
  };
  std::map<size_t, llvm::BitVector> bodies; // by heads
  for (size_t last = 0; last != nodes.size(); ++last)
    for (size_t head : nodes[last].next) {
      if (dominator[last] == kNowhere || !dominates(head, last))
        continue;
      llvm::BitVector &body = bodies.try_emplace(head, static_cast<unsigned>(nodes.size())).first->second;
      body.set(static_cast<unsigned>(head));
      std::vector<size_t> work = {last};
      while (!work.empty()) {
        const size_t at = work.back();
        work.pop_back();
        if (body.test(static_cast<unsigned>(at)) || dominator[at] == kNowhere)
          continue;
        body.set(static_cast<unsigned>(at));
        llvm::append_range(work, nodes[at].previous);
      }
    }
  Loops loops;
  for (const auto &[head, body] : bodies) {
    llvm::BitVector instructions(static_cast<unsigned>(nodes.size()));
    for (unsigned at : body.set_bits())
      instructions.set(static_cast<unsigned>(nodes[at].origin));
    loops.bodies.push_back(std::move(instructions));
  }
  llvm::sort(loops.bodies, [](const auto &a, const auto &b) { return a.count() < b.count(); });
  loops.innermost.assign(nodes.size(), kNowhere);
  for (size_t at = 0; at != nodes.size(); ++at)
    for (size_t i = loops.bodies.size(); i-- > 0;)
      if (loops.bodies[i].test(static_cast<unsigned>(at)))
        loops.innermost[at] = i;
  return loops;
}
