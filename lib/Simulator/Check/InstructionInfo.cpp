// Names to properties: access widths, and how undefined values go through.
#include "InstructionInfo.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"

#include <cstdlib>

using namespace hocket;
using namespace hocket::sim;
using namespace hocket::sim::check;
using amdgpu::InstructionClass;
using amdgpu::RegisterAccess;
using amdgpu::RegisterFile;
using llvm::StringRef;

static bool startsWithAny(StringRef name, std::initializer_list<StringRef> prefixes) {
  return llvm::any_of(prefixes, [&](StringRef prefix) { return name.starts_with(prefix); });
}

/// Bytes that the first type in a DS name says: "DS_READ2ST64_B64" 8, "DS_READ_B64_TR_B16" 8.
static unsigned ldsWidth(StringRef name) {
  if (name.contains("_PK_") || name.contains("APPEND") || name.contains("CONSUME"))
    return 4;
  llvm::SmallVector<StringRef, 8> parts;
  name.split(parts, '_');
  for (StringRef part : llvm::drop_begin(parts)) {
    unsigned bits = 0;
    if (part.size() > 1 && StringRef("BUIF").contains(part[0]) &&
        !part.drop_front().getAsInteger(10, bits))
      return bits / 8;
  }
  return 4;
}

static void describeLds(StringRef name, InstructionInfo &info) {
  if (startsWithAny(name, {"DS_BPERMUTE", "DS_PERMUTE", "DS_SWIZZLE", "DS_NOP", "DS_GWS"}))
    return;
  info.ldsBytes = static_cast<uint8_t>(ldsWidth(name));
  info.ldsTwo = startsWithAny(name, {"DS_READ2", "DS_WRITE2", "DS_WRXCHG2"});
  info.ldsOneLane = name.contains("APPEND") || name.contains("CONSUME");
  info.lds = info.kind == InstructionClass::LdsRead    ? MemoryKind::Load
             : info.kind == InstructionClass::LdsWrite ? MemoryKind::Store
                                                       : MemoryKind::Atomic;
}

static unsigned globalWidth(StringRef name) {
  if (name.contains("ATOMIC"))
    return name.contains("_X2") || name.contains("_F64") ? 8 : 4;
  if (name.contains("_FORMAT_"))
    return 1; // where the element begins
  if (name.contains("DWORDX4"))
    return 16;
  if (name.contains("DWORDX3"))
    return 12;
  if (name.contains("DWORDX2"))
    return 8;
  if (name.contains("DWORD"))
    return 4;
  if (name.contains("SHORT"))
    return 2;
  return name.contains("BYTE") ? 1 : 0;
}

static void describeGlobal(StringRef name, InstructionInfo &info) {
  info.globalBytes = static_cast<uint8_t>(globalWidth(name));
  if (info.globalBytes == 0)
    return;
  if (info.kind == InstructionClass::LdsDma)
    info.lds = MemoryKind::LdsDma;
  info.formatted = name.contains("_FORMAT_");
  info.global = name.contains("_ATOMIC_")  ? MemoryKind::Atomic
                : name.contains("_STORE_") ? MemoryKind::Store
                                           : MemoryKind::Load;
}

static UndefinedRule ruleOf(StringRef name, const InstructionInfo &info,
                            amdgpu::Encoding encoding) {
  const InstructionClass kind = info.kind;
  if (info.isMemory() || kind == InstructionClass::Smem || kind == InstructionClass::VmemLoad ||
      kind == InstructionClass::VmemOther || name.starts_with("S_GETREG"))
    return UndefinedRule::Load;
  if (encoding == amdgpu::Encoding::Dpp || startsWithAny(name, {"DS_"}))
    return UndefinedRule::Crossing;
  if (name.starts_with("V_CNDMASK") || name.starts_with("S_CSELECT"))
    return UndefinedRule::Select;
  if (name.starts_with("V_CMP"))
    return UndefinedRule::Compare;
  if (startsWithAny(name, {"V_READLANE", "V_READFIRSTLANE"}))
    return UndefinedRule::LaneRead;
  if (name.starts_with("V_WRITELANE"))
    return UndefinedRule::LaneWrite;
  if (startsWithAny(name, {"V_PERMLANE", "V_SWAP"}))
    return UndefinedRule::Swap;
  if (startsWithAny(name, {"S_AND", "S_OR", "S_XOR", "S_NOT", "S_NAND", "S_NOR", "S_XNOR",
                           "S_MOV_B", "S_CMOV", "S_WQM"}))
    return UndefinedRule::ScalarBits;
  if (startsWithAny(name, {"V_MAD_U64", "V_MAD_I64", "V_LSHL_ADD_U64", "V_MOV_B64"}))
    return UndefinedRule::Carry;
  const bool merges =
      startsWithAny(name, {"V_PERM", "V_PK_", "V_PACK", "V_LSHL_OR", "V_AND", "V_OR", "V_XOR",
                           "V_BFI", "V_BITOP", "V_ALIGN", "V_CVT_PK", "V_CVT_SCALEF32", "V_LSHL",
                           "V_LSHR", "V_ASHR"}) ||
      encoding == amdgpu::Encoding::Sdwa;
  return merges ? UndefinedRule::All : UndefinedRule::Any;
}

static void addAccess(const RegisterAccess &access, RegisterList &vectors, RegisterList &scalars,
                      bool &scc) {
  if (access.file == RegisterFile::Vector)
    vectors.push_back(access);
  else if (access.file == RegisterFile::Scalar)
    scalars.push_back(access);
  else if (access.file == RegisterFile::Scc)
    scc = true;
}

static void fillRegisters(const amdgpu::RegisterEffects &effects, InstructionInfo &info) {
  for (const RegisterAccess &read : effects.reads)
    addAccess(read, info.vectorReads, info.scalarReads, info.readsScc);
  for (const RegisterAccess &write : effects.writes)
    addAccess(write, info.vectorWrites, info.scalarWrites, info.writesScc);
  // EXEC says which lanes take part everywhere; as a value only scalar instructions read it.
  const bool scalar = info.kind == InstructionClass::Salu || info.kind == InstructionClass::Branch;
  if (!scalar)
    llvm::erase_if(info.scalarReads, [](const RegisterAccess &access) {
      return access.implicit && access.first == 126;
    });
}

static bool addToMask(RegisterMask &mask, const RegisterAccess &access, bool vector) {
  for (unsigned reg = access.first; reg < access.end(); ++reg) {
    if (!vector) {
      if (reg >= 128)
        return false;
      mask.scalar[reg / 64] |= uint64_t(1) << reg % 64;
      continue;
    }
    unsigned i = 0;
    while (i < mask.words && mask.word[i] != reg / 64)
      ++i;
    if (i == std::size(mask.word))
      return false;
    if (i == mask.words)
      mask.word[mask.words++] = static_cast<uint8_t>(reg / 64);
    mask.vector[i] |= uint64_t(1) << reg % 64;
  }
  return true;
}

static RegisterMask maskOf(const InstructionInfo &info, bool scalarSelect) {
  RegisterMask mask;
  bool all = true;
  for (const RegisterList *list : {&info.vectorReads, &info.vectorWrites})
    for (const RegisterAccess &access : *list)
      all &= addToMask(mask, access, true);
  for (const RegisterList *list : {&info.scalarReads, &info.scalarWrites})
    for (const RegisterAccess &access : *list)
      all &= addToMask(mask, access, false);
  // A mask of lanes decides too: it must be among the registers.
  bool pair = llvm::any_of(info.scalarReads, [](const RegisterAccess &r) { return r.count == 2; });
  if ((info.rule == UndefinedRule::Select && !scalarSelect) || info.carriesMask)
    all &= pair && !info.vectorReads.empty();
  mask.complete = all && !info.relative;
  return mask;
}

Result<std::shared_ptr<InstructionTable>> InstructionTable::of(Text &text, std::string_view cpu) {
  if (std::shared_ptr<Text::Table> kept = text.table(Text::TableKind::Check))
    return std::static_pointer_cast<InstructionTable>(std::move(kept));
  std::shared_ptr<InstructionTable> table(new InstructionTable(text));
  auto target = amdgpu::McTarget::create(StringRef(cpu.data(), cpu.size()));
  if (!target)
    return target.error();
  Result<const ArchInfo *> arch = findArch(cpu);
  if (arch) {
    table->hazards = &(*arch)->hazards;
    table->longestDistance = amdgpu::longestHazard(*table->hazards);
  }
  table->target = *target;
  table->disassembler = std::make_unique<amdgpu::Disassembler>(*target);
  table->opcodes = std::make_unique<amdgpu::OpcodeTable>((*target)->instructions());
  // Zeroed pages that cost nothing until an instruction on them is reached.
  table->slots = static_cast<InstructionInfo **>(
      std::calloc(std::max<size_t>(text.dwords(), 1), sizeof(InstructionInfo *)));
  if (!table->slots)
    return hostError("the host has no memory to check " + std::to_string(text.dwords()) +
                     " instructions");
  text.keep(Text::TableKind::Check, table);
  return table;
}

InstructionTable::~InstructionTable() { std::free(slots); }

const InstructionInfo &InstructionTable::make(uint32_t index, const sim::Instruction &decoded) {
  std::lock_guard lock(mutex);
  if (slots[index])
    return *slots[index];
  auto info = std::make_unique<InstructionInfo>();
  auto *bytes = reinterpret_cast<const uint8_t *>(decoded.words);
  auto instruction =
      disassembler->decode({bytes, std::max<size_t>(decoded.size, 1) * 4}, code.addressOf(index));
  if (instruction) { // what cannot be decoded fails when it executes
    const amdgpu::OpcodeName &name = opcodes->name(instruction->opcode());
    info->kind = opcodes->kind(instruction->opcode());
    info->hazard = amdgpu::reduceForHazards(*instruction, *disassembler, *opcodes);
    info->hazardProducer = hazards && amdgpu::canBeHazardProducer(info->hazard);
    StringRef base = name.base;
    if (base.starts_with("DS_"))
      describeLds(base, *info);
    else if (startsWithAny(base, {"BUFFER_", "GLOBAL_", "FLAT_", "SCRATCH_", "TBUFFER_", "S_LOAD",
                                  "S_STORE", "S_ATOMIC", "S_BUFFER_"}))
      describeGlobal(base, *info);
    if (base.starts_with("SCRATCH_"))
      info->global = MemoryKind::None;
    fillRegisters(amdgpu::registerEffects(*instruction, *disassembler, *opcodes), *info);
    info->rule = ruleOf(base, *info, name.encoding);
    info->relative = base.starts_with("S_MOVREL");
    info->carriesMask = startsWithAny(base, {"V_CNDMASK", "V_ADDC", "V_SUBB", "V_DIV_FMAS"});
    info->waitStates = static_cast<uint8_t>(std::min(info->hazard.waitStates, 255u));
    info->mask = maskOf(*info, base.starts_with("S_CSELECT"));
  }
  InstructionInfo *made = info.get();
  infos.push_back(std::move(info));
  __atomic_store_n(&slots[index], made, __ATOMIC_RELEASE);
  return *made;
}

void InstructionTable::findBroken(uint32_t consumer, llvm::ArrayRef<Distance> window,
                                  std::vector<BrokenHazard> &broken) {
  if (!hazards)
    return;
  for (const Distance &distance : window) {
    amdgpu::HazardRequirement requirement =
        amdgpu::brokenRule(slots[distance.slot]->hazard, slots[consumer]->hazard, distance.between,
                           *hazards, target->registers());
    if (requirement.waitStates != 0)
      broken.push_back({distance.slot, distance.between, requirement});
  }
}
