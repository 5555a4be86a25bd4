// From an encoding to unit, cycles and registers. Names sort instructions into rates; registers and
// MFMA passes come from the machine-code layer.
#include "TimedInstruction.h"

#include "Target/AMDGPU/HazardRules.h"

#include "Target/AMDGPU/RegisterEffects.h"

#include <algorithm>

using namespace hocket;
using namespace hocket::sim;
using amdgpu::HazardInstruction;
using amdgpu::InstructionClass;
using llvm::StringRef;

std::string_view sim::name(TimedUnit unit) {
  constexpr std::string_view names[timedUnits] = {"matrix", "vector", "scalar",  "control",
                                                  "memory", "lds",    "internal"};
  return names[static_cast<unsigned>(unit)];
}

static uint16_t cycles(double value) {
  return static_cast<uint16_t>(std::min(std::max(value, 0.0), longestCycles));
}

static bool startsWithAny(StringRef name, std::initializer_list<StringRef> prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [&](StringRef prefix) { return name.starts_with(prefix); });
}

/// The range in the model's number space; false for what the model does not track.
static bool toRange(const amdgpu::RegisterAccess &access, RegisterRange &range) {
  switch (access.file) {
  case amdgpu::RegisterFile::Vector:
    range = {access.first, access.count};
    break;
  case amdgpu::RegisterFile::Scalar:
    range = {static_cast<uint16_t>(timedScalarBase + access.first), access.count};
    break;
  case amdgpu::RegisterFile::Scc:
    range = {timedScc, 1};
    break;
  case amdgpu::RegisterFile::Mode:
    return false;
  }
  return range.first + range.count <= timedRegisters;
}

/// `skip`: the accumulator, which is kept apart.
static void addRegisters(llvm::ArrayRef<amdgpu::RegisterAccess> registers,
                         const amdgpu::RegisterAccess *skip,
                         llvm::SmallVectorImpl<RegisterRange> &vector,
                         llvm::SmallVectorImpl<RegisterRange> &scalar) {
  for (const amdgpu::RegisterAccess &access : registers) {
    RegisterRange range;
    if (&access != skip && toRange(access, range))
      (range.first < timedScalarBase ? vector : scalar).push_back(range);
  }
}

/// Where an MFMA or dot product accumulates onto a register: that read, else null. It is the third
/// one of an MFMA, whose A and B are registers, and the last operand of a dot product.
static const amdgpu::RegisterAccess *accumulatorOf(const HazardInstruction &hazard,
                                                   const amdgpu::RegisterEffects &effects) {
  if (!hazard.srcC || !(hazard.isMfma() || hazard.isDot()))
    return nullptr;
  const amdgpu::RegisterAccess *last = nullptr;
  unsigned index = 0;
  for (const amdgpu::RegisterAccess &read : effects.reads) {
    if (read.implicit)
      continue;
    last = &read;
    if (hazard.isMfma() && int(index++) == hazard.srcCIndex)
      break;
  }
  return last;
}

/// Cycles of a vector instruction that is no MFMA.
static void setVectorCycles(TimedInstruction &timed, const TimeParameters &p) {
  StringRef name = timed.name;
  double port = p.valuCycles, latency = p.valuLatency;
  if (timed.kind == InstructionClass::Transcendental) {
    port = p.transCycles, latency = p.transLatency;
  } else if (timed.kind == InstructionClass::Packed &&
             (name.ends_with("_F32") || name == "V_PK_MOV_B32")) {
    timed.packedFloat = true;
    port = p.packedCycles;
  } else if (name.starts_with("V_DOT")) {
    port = p.dotCycles, latency = p.dotLatency;
  } else if (name.starts_with("V_PERMLANE") && name.contains("SWAP")) {
    port = p.swapCycles;
  } else if (name.contains("_F64") || name.contains("_I64_I32") || name.contains("_U64_U32")) {
    port = p.doubleCycles;
  } else if (startsWithAny(name,
                           {"V_MUL_LO_U32", "V_MUL_LO_I32", "V_MUL_HI_U32", "V_MUL_HI_I32"})) {
    port = p.multiplyCycles;
  }
  timed.portCycles = timed.ownCycles = cycles(port);
  timed.resultCycles = cycles(std::max(port, latency));
}

static void setMatrixCycles(TimedInstruction &timed, unsigned passes, const TimeParameters &p) {
  timed.matrixCycles = cycles(passes * p.passCycles);
  timed.portCycles = cycles(p.mfmaPort);
  timed.ownCycles = cycles(p.shadowStart);
  timed.resultCycles = cycles((passes + p.mfmaExtra) * p.passCycles);
}

/// Bytes of one lane from the width in a name: "DS_READ_B128", "BUFFER_LOAD_DWORDX4".
static uint8_t bytesOf(StringRef name) {
  static constexpr std::pair<const char *, uint8_t> widths[] = {
      {"DWORDX4", 16}, {"DWORDX3", 12}, {"DWORDX2", 8}, {"DWORD", 4}, {"UBYTE", 1}, {"SBYTE", 1},
      {"USHORT", 2},   {"SSHORT", 2},   {"SHORT", 2},   {"BYTE", 1},  {"B128", 16}, {"B96", 12},
      {"B64", 8},      {"U64", 8},      {"I64", 8},     {"F64", 8},   {"B16", 2},   {"U16", 2},
      {"I16", 2},      {"B8", 1},       {"U8", 1},      {"I8", 1},    {"_X2", 8}};
  for (auto [text, bytes] : widths)
    if (name.contains(text))
      return bytes;
  return 4;
}

static void setLds(TimedInstruction &timed, llvm::ArrayRef<uint8_t> code) {
  StringRef name = timed.name;
  timed.unit = TimedUnit::Lds;
  timed.bytes = bytesOf(name);
  timed.transposed = name.contains("_TR_");
  bool read = timed.kind == InstructionClass::LdsRead;
  timed.access = read ? MemoryAccess::LdsRead : MemoryAccess::LdsWrite;
  if (name.starts_with("DS_READ_B64_TR") || name.starts_with("DS_READ_B96_TR"))
    timed.bytes = name.contains("B96") ? 12 : 8;
  if (timed.kind == InstructionClass::LdsOther)
    timed.access = name.contains("PERMUTE") || name.contains("SWIZZLE") ? MemoryAccess::LdsSwizzle
                                                                        : MemoryAccess::LdsAtomic;
  if (!startsWithAny(name, {"DS_READ2", "DS_WRITE2"}))
    return;
  timed.access = MemoryAccess::LdsPair;
  unsigned step = timed.bytes * (name.contains("ST64") ? 64 : 1);
  timed.pairOffsets[0] = static_cast<uint16_t>(code[0] * step);
  timed.pairOffsets[1] = static_cast<uint16_t>(code[1] * step);
}

static void setVectorMemory(TimedInstruction &timed, const TimeParameters &p) {
  timed.unit = TimedUnit::Memory;
  timed.bytes = bytesOf(timed.name);
  timed.flat = StringRef(timed.name).starts_with("FLAT_");
  timed.atomic = StringRef(timed.name).contains("_ATOMIC_");
  if (timed.kind == InstructionClass::LdsDma) {
    timed.access = MemoryAccess::Dma;
    timed.portCycles = cycles(p.dmaIssue);
  } else {
    timed.access =
        timed.kind == InstructionClass::VmemStore ? MemoryAccess::Store : MemoryAccess::Load;
  }
}

/// Waits, nops, priorities: what the immediate of a SOPP says.
static void setInternal(TimedInstruction &timed, uint16_t immediate) {
  StringRef name = timed.name;
  timed.unit = TimedUnit::Internal;
  if (name == "S_WAITCNT") {
    timed.waitVector = static_cast<uint8_t>((immediate & 15) | (immediate >> 14 & 3) << 4);
    timed.waitLds = static_cast<uint8_t>(immediate >> 8 & 15);
  } else if (name == "S_NOP") {
    timed.holdCycles = static_cast<uint16_t>(4 * (1 + (immediate & 15)));
  } else if (name == "S_SLEEP") {
    timed.holdCycles = static_cast<uint16_t>(4 + 64 * (immediate & 127));
  } else if (name == "S_SETPRIO") {
    timed.setsPriority = true;
    timed.priority = static_cast<uint8_t>(immediate & 3);
  } else if (name == "S_BARRIER") {
    timed.barrier = true;
  }
}

static void setUnit(TimedInstruction &timed, const HazardInstruction &hazard,
                    llvm::ArrayRef<uint8_t> code, const TimeParameters &p) {
  uint16_t immediate = static_cast<uint16_t>(code[0] | code[1] << 8);
  switch (timed.kind) {
  case InstructionClass::Mfma:
    timed.unit = TimedUnit::Matrix;
    return setMatrixCycles(timed, hazard.passes, p);
  case InstructionClass::Transcendental:
  case InstructionClass::Packed:
  case InstructionClass::Valu:
    timed.unit = TimedUnit::Vector;
    return setVectorCycles(timed, p);
  case InstructionClass::Salu:
    timed.unit = TimedUnit::Scalar;
    return;
  case InstructionClass::LdsRead:
  case InstructionClass::LdsWrite:
  case InstructionClass::LdsOther:
    return setLds(timed, code);
  case InstructionClass::LdsDma:
  case InstructionClass::VmemLoad:
  case InstructionClass::VmemStore:
  case InstructionClass::VmemOther:
    return setVectorMemory(timed, p);
  case InstructionClass::Smem:
    timed.unit = TimedUnit::Control;
    timed.access = MemoryAccess::Scalar;
    return;
  case InstructionClass::Branch:
    timed.ends = StringRef(timed.name).starts_with("S_ENDPGM");
    timed.branch = !timed.ends;
    timed.unit = timed.ends ? TimedUnit::Internal : TimedUnit::Control;
    return;
  case InstructionClass::Barrier:
  case InstructionClass::Wait:
  case InstructionClass::Nop:
  case InstructionClass::Other:
    if (timed.name == "V_NOP")
      timed.unit = TimedUnit::Vector;
    else
      setInternal(timed, immediate);
  }
}

InstructionTimer::InstructionTimer(std::shared_ptr<const amdgpu::McTarget> target,
                                   const TimeParameters &parameters)
    : disassembler(target), opcodes(target->instructions()), parameters(parameters) {}

Result<std::unique_ptr<InstructionTimer>>
InstructionTimer::create(std::string_view cpu, const TimeParameters &parameters) {
  auto target = amdgpu::McTarget::create(cpu);
  if (!target.ok())
    return target.error();
  return std::unique_ptr<InstructionTimer>(new InstructionTimer(*std::move(target), parameters));
}

Result<TimedInstruction> InstructionTimer::describe(llvm::ArrayRef<uint8_t> code) const {
  auto decoded = disassembler.decode(code, 0);
  if (!decoded.ok())
    return decoded.error();
  HazardInstruction hazard = amdgpu::reduceForHazards(*decoded, disassembler, opcodes);
  TimedInstruction timed;
  timed.kind = hazard.kind;
  timed.name = hazard.name;
  timed.text = disassembler.text(*decoded);
  std::replace(timed.text.begin(), timed.text.end(), '\t', ' ');
  amdgpu::RegisterEffects effects = amdgpu::registerEffects(*decoded, disassembler, opcodes);
  const amdgpu::RegisterAccess *accumulator = accumulatorOf(hazard, effects);
  addRegisters(effects.reads, accumulator, timed.vectorReads, timed.scalarReads);
  addRegisters(effects.writes, nullptr, timed.vectorWrites, timed.scalarWrites);
  if (accumulator)
    toRange(*accumulator, timed.accumulator);
  if (hazard.isDot())
    timed.dot = decoded->opcode();
  setUnit(timed, hazard, decoded->bytes, parameters);
  return std::move(timed);
}
