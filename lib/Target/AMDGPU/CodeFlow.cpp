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

Status CodeFlow::build() {
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
  for (size_t i = 0; i < code.size(); ++i)
    nodes[i].effects = registerEffects(code[i], disassembler, opcodes);
  // A wave begins with a lane at least.
  hasLanes = llvm::none_of(nodes, [](const Node &node) { return writesExec(node.effects); });
  for (size_t i = 0; i < code.size(); ++i) {
    Node &node = nodes[i];
    const StringRef name = opcodes.name(code[i].opcode()).base;
    node.kind = opcodes.kind(code[i].opcode());
    const InstructionClass kind = node.kind;
    const bool usesLds = kind == InstructionClass::LdsRead || kind == InstructionClass::LdsWrite ||
                         kind == InstructionClass::LdsOther || kind == InstructionClass::LdsDma ||
                         name.starts_with("FLAT_");
    // Permutations go through the LDS unit, from registers to registers.
    node.lds = usesLds && !name.starts_with("DS_BPERMUTE") && !name.starts_with("DS_PERMUTE") &&
               !name.starts_with("DS_SWIZZLE");
    node.computes = (kind == InstructionClass::Salu || kind == InstructionClass::Valu) &&
                    !name.contains("GETREG") && !name.contains("MOVREL") && !name.contains("GPR_IDX");
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
    const bool always = hasLanes && name.starts_with("S_CBRANCH_EXECNZ"),
               never = hasLanes && name.starts_with("S_CBRANCH_EXECZ");
    if ((!branch || (name.starts_with("S_CBRANCH") && !always)) && i + 1 < code.size())
      node.next.push_back(i + 1);
    if (!branch || never)
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

bool CodeFlow::reachable(size_t instruction) const {
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
