// Opcode names without suffixes, and the class of each.
//
// LLVM writes an instruction's own name in upper case and every suffix (encoding, chip family,
// register file) in lower case, so the suffixes are exactly the trailing lower-case parts.
#include "Target/AMDGPU/Opcode.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/MC/MCInstrInfo.h"

#include <numeric>

namespace hocket::amdgpu {

OpcodeName normalizeOpcodeName(llvm::StringRef llvmName) {
  OpcodeName result;
  while (true) {
    auto [head, tail] = llvmName.rsplit('_');
    if (tail.empty() || !llvm::isLower(tail.front()))
      break;
    if (tail == "dpp")
      result.encoding = Encoding::Dpp;
    else if (tail == "sdwa")
      result.encoding = Encoding::Sdwa;
    else if (tail == "e32" && result.encoding == Encoding::Only)
      result.encoding = Encoding::E32;
    else if (tail == "e64" && result.encoding == Encoding::Only)
      result.encoding = Encoding::E64;
    llvmName = head;
  }
  result.base = llvmName.str();
  return result;
}

llvm::StringRef className(InstructionClass kind) {
  switch (kind) {
  case InstructionClass::Mfma:
    return "mfma";
  case InstructionClass::Transcendental:
    return "trans";
  case InstructionClass::Packed:
    return "packed";
  case InstructionClass::Valu:
    return "valu";
  case InstructionClass::Salu:
    return "salu";
  case InstructionClass::LdsRead:
    return "lds_read";
  case InstructionClass::LdsWrite:
    return "lds_write";
  case InstructionClass::LdsOther:
    return "lds_other";
  case InstructionClass::LdsDma:
    return "lds_dma";
  case InstructionClass::VmemLoad:
    return "vmem_load";
  case InstructionClass::VmemStore:
    return "vmem_store";
  case InstructionClass::VmemOther:
    return "vmem_other";
  case InstructionClass::Smem:
    return "smem";
  case InstructionClass::Barrier:
    return "barrier";
  case InstructionClass::Wait:
    return "wait";
  case InstructionClass::Nop:
    return "nop";
  case InstructionClass::Branch:
    return "branch";
  case InstructionClass::Other:
    return "other";
  }
  return "other";
}

static bool startsWithAny(llvm::StringRef name, std::initializer_list<llvm::StringRef> prefixes) {
  return llvm::any_of(prefixes, [&](llvm::StringRef prefix) { return name.starts_with(prefix); });
}

static InstructionClass classifyVector(llvm::StringRef name) {
  if (startsWithAny(name, {"V_MFMA_", "V_SMFMAC_"}))
    return InstructionClass::Mfma;
  if (startsWithAny(name, {"V_EXP_", "V_LOG_", "V_RCP_", "V_RSQ_", "V_SQRT_", "V_SIN_", "V_COS_"}))
    return InstructionClass::Transcendental;
  if (name.starts_with("V_PK_"))
    return InstructionClass::Packed;
  return name == "V_NOP" ? InstructionClass::Nop : InstructionClass::Valu;
}

static InstructionClass classifyLds(llvm::StringRef name) {
  if (name.starts_with("DS_READ"))
    return InstructionClass::LdsRead;
  if (name.starts_with("DS_WRITE"))
    return InstructionClass::LdsWrite;
  return InstructionClass::LdsOther;
}

static InstructionClass classifyVmem(llvm::StringRef name) {
  const bool load = name.contains("_LOAD_");
  if (load && name.contains("_LDS_"))
    return InstructionClass::LdsDma;
  if (load)
    return InstructionClass::VmemLoad;
  return name.contains("_STORE_") ? InstructionClass::VmemStore : InstructionClass::VmemOther;
}

static InstructionClass classifyScalar(llvm::StringRef name) {
  if (name.starts_with("S_WAITCNT"))
    return InstructionClass::Wait;
  if (name == "S_BARRIER")
    return InstructionClass::Barrier;
  if (name == "S_NOP")
    return InstructionClass::Nop;
  if (startsWithAny(
          name, {"S_BRANCH", "S_CBRANCH", "S_SETPC", "S_SWAPPC", "S_CALL", "S_RFE", "S_ENDPGM"}))
    return InstructionClass::Branch;
  if (startsWithAny(name, {"S_LOAD_", "S_STORE_", "S_BUFFER_", "S_SCRATCH_", "S_ATOMIC_",
                           "S_DCACHE_", "S_MEMTIME", "S_MEMREALTIME", "S_ATC_"}))
    return InstructionClass::Smem;
  if (startsWithAny(name, {"S_SETPRIO", "S_SLEEP", "S_SENDMSG", "S_SETHALT", "S_SETKILL", "S_TRAP",
                           "S_ICACHE_INV", "S_INCPERFLEVEL", "S_DECPERFLEVEL", "S_TTRACEDATA",
                           "S_WAKEUP", "S_SET_GPR_IDX", "S_CODE_END"}))
    return InstructionClass::Other;
  return InstructionClass::Salu;
}

InstructionClass classify(llvm::StringRef baseName) {
  if (baseName.starts_with("V_"))
    return classifyVector(baseName);
  if (baseName.starts_with("S_"))
    return classifyScalar(baseName);
  if (baseName.starts_with("DS_"))
    return classifyLds(baseName);
  if (startsWithAny(baseName, {"BUFFER_", "TBUFFER_", "GLOBAL_", "FLAT_", "SCRATCH_"}))
    return classifyVmem(baseName);
  return InstructionClass::Other;
}

const OpcodeTable::Entry &OpcodeTable::entry(unsigned opcode) {
  auto [position, added] = entries.try_emplace(opcode);
  if (added) {
    position->second.name = normalizeOpcodeName(instructions.getName(opcode));
    position->second.kind = classify(position->second.name.base);
  }
  return position->second;
}

unsigned ClassCounts::total() const { return std::accumulate(counts.begin(), counts.end(), 0u); }

} // namespace hocket::amdgpu
