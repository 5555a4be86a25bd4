// Operand lists to register ranges; see RegisterEffects.h.
//
// LLVM's packages export neither the register enumeration nor the target flags, so both are read
// off names, which are stable: "VGPR4_VGPR5", "SGPR2", "VCC_LO", "M0_gfxpre11".
#include "Target/AMDGPU/RegisterEffects.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/MC/MCInstrDesc.h"
#include "llvm/MC/MCRegisterInfo.h"

#include <optional>

using namespace hocket::amdgpu;
using llvm::StringRef;

/// "VGPR4_VGPR5_VGPR6" with prefix "VGPR": first 4, count 3.
static std::optional<RegisterAccess> readTuple(StringRef name, StringRef prefix, RegisterFile file,
                                               unsigned base) {
  unsigned first = 0;
  StringRef rest = name;
  if (!rest.consume_front(prefix) || rest.consumeInteger(10, first))
    return std::nullopt;
  RegisterAccess access;
  access.file = file;
  access.first = static_cast<uint16_t>(base + first);
  access.count = static_cast<uint8_t>(name.count(prefix));
  return access;
}

static std::optional<RegisterAccess> readSpecial(StringRef name) {
  struct Special {
    StringRef name;
    RegisterFile file;
    uint16_t first;
    uint8_t count;
  };
  static constexpr Special specials[] = {
      {"VCC", RegisterFile::Scalar, 106, 2},
      {"VCC_LO", RegisterFile::Scalar, 106, 1},
      {"VCC_HI", RegisterFile::Scalar, 107, 1},
      {"EXEC", RegisterFile::Scalar, 126, 2},
      {"EXEC_LO", RegisterFile::Scalar, 126, 1},
      {"EXEC_HI", RegisterFile::Scalar, 127, 1},
      {"M0", RegisterFile::Scalar, 124, 1},
      {"FLAT_SCR", RegisterFile::Scalar, 102, 2},
      {"FLAT_SCR_LO", RegisterFile::Scalar, 102, 1},
      {"FLAT_SCR_HI", RegisterFile::Scalar, 103, 1},
      {"XNACK_MASK", RegisterFile::Scalar, 104, 2},
      {"XNACK_MASK_LO", RegisterFile::Scalar, 104, 1},
      {"XNACK_MASK_HI", RegisterFile::Scalar, 105, 1},
      {"SCC", RegisterFile::Scc, 0, 1},
      {"SRC_SCC", RegisterFile::Scc, 0, 1},
      {"MODE", RegisterFile::Mode, 0, 1},
      {"SRC_VCCZ", RegisterFile::Scalar, 106, 2},
      {"SRC_EXECZ", RegisterFile::Scalar, 126, 2},
  };
  for (const Special &special : specials)
    if (name == special.name) {
      RegisterAccess access;
      access.file = special.file;
      access.first = special.first;
      access.count = special.count;
      return access;
    }
  return std::nullopt;
}

/// None: a register without state of its own.
static std::optional<RegisterAccess> readRegister(StringRef name) {
  // Chip suffixes are lower case: "TTMP4_TTMP5_gfx9plus".
  while (true) {
    auto [head, tail] = name.rsplit('_');
    if (tail.empty() || tail.front() < 'a' || tail.front() > 'z')
      break;
    name = head;
  }
  if (auto access = readTuple(name, "VGPR", RegisterFile::Vector, 0))
    return access;
  if (auto access = readTuple(name, "AGPR", RegisterFile::Vector, 256))
    return access;
  if (auto access = readTuple(name, "SGPR", RegisterFile::Scalar, 0))
    return access;
  if (auto access = readTuple(name, "TTMP", RegisterFile::Scalar, 108))
    return access;
  return readSpecial(name);
}

/// The last element of "op_sel:[..]" in `text`, if the list has one more than `sources` elements:
/// which half of the result is written.
static std::optional<bool> resultHalf(StringRef text, unsigned sources) {
  StringRef list = text.split("op_sel:[").second.split(']').first;
  if (list.empty() || list.count(',') != sources)
    return std::nullopt;
  return list.ends_with("1");
}

static uint8_t selectedBytes(StringRef text) {
  StringRef select = text.split("dst_sel:").second.split(' ').first;
  return llvm::StringSwitch<uint8_t>(select)
      .Case("BYTE_0", 1)
      .Case("BYTE_1", 2)
      .Case("BYTE_2", 4)
      .Case("BYTE_3", 8)
      .Case("WORD_0", 3)
      .Case("WORD_1", 12)
      .Default(15);
}

/// Bytes of the result registers that the instruction replaces.
static uint8_t writtenBytes(const OpcodeName &name, StringRef text, unsigned sources) {
  StringRef base = name.base;
  if (base.contains("_D16_HI") || base.contains("MIXHI"))
    return base.starts_with("V_") || base.contains("LOAD") || base.contains("READ") ? 0xc : 0xf;
  // Two halves and more fill whole registers.
  if (base.contains("_D16_XY"))
    return 0xf;
  if (base.contains("_D16") || base.contains("MIXLO"))
    return 0x3;
  if (name.encoding == Encoding::Sdwa)
    return text.contains("UNUSED_PRESERVE") ? selectedBytes(text) : 0xf;
  // op_sel of packed math and of conversions from groups selects in other ways.
  if (!base.starts_with("V_") || base.starts_with("V_PK_") || base.starts_with("V_MFMA") ||
      base.starts_with("V_DOT") || base.starts_with("V_CVT_SCALEF32"))
    return 0xf;
  if (base.starts_with("V_CVT_SR_FP8") || base.starts_with("V_CVT_SR_BF8"))
    return 0xf;
  const std::optional<bool> high = resultHalf(text, sources);
  if (high && *high)
    return 0xc;
  const bool keepsOther = base.starts_with("V_CVT_PK_FP8") || base.starts_with("V_CVT_PK_BF8");
  return keepsOther ? 0x3 : 0xf;
}

/// Whether vector registers take part in lanes that EXEC excludes.
static bool ignoresExec(StringRef base) {
  return llvm::any_of(std::initializer_list<StringRef>{"V_MFMA", "V_SMFMAC", "V_READLANE",
                                                       "V_READFIRSTLANE", "V_WRITELANE",
                                                       "V_PERMLANE"},
                      [&](StringRef prefix) { return base.starts_with(prefix); });
}

/// Results that are read too where LLVM's operand lists do not say so.
static bool readsItsResult(StringRef base) {
  return base.starts_with("V_MAC_") || base.starts_with("V_FMAC_") ||
         base.starts_with("V_PK_FMAC_") || base.starts_with("V_CVT_PKACCUM_") ||
         base.starts_with("V_CVT_SCALEF32_SR_PK_FP4");
}

static void addUnique(llvm::SmallVectorImpl<RegisterAccess> &list, const RegisterAccess &access) {
  if (!llvm::is_contained(list, access))
    list.push_back(access);
}

namespace {
/// Collects the effects of one instruction.
class Collector {
public:
  Collector(const Instruction &instruction, const Disassembler &disassembler,
            const OpcodeName &name)
      : instruction(instruction), registers(disassembler.target().registers()),
        description(disassembler.description(instruction)), name(name),
        text(disassembler.text(instruction)) {}

  RegisterEffects run() {
    for (unsigned i = 0; i < instruction.inst.getNumOperands(); ++i)
      addOperand(i);
    addTiedReads();
    addMode();
    for (llvm::MCPhysReg reg : description.implicit_uses())
      if (!isFormerLimit(reg))
        add(reg, /*write=*/false, /*implicit=*/true, 0);
    for (llvm::MCPhysReg reg : description.implicit_defs())
      add(reg, /*write=*/true, /*implicit=*/true, 0);
    return std::move(effects);
  }

private:
  llvm::SmallVectorImpl<RegisterAccess> &list(bool write) {
    if (write)
      return effects.writes;
    return effects.reads;
  }
  void add(llvm::MCRegister reg, bool write, bool implicit, unsigned place) {
    std::optional<RegisterAccess> access = readRegister(registers.getName(reg));
    if (!access)
      return;
    access->implicit = implicit;
    const bool vector = access->file == RegisterFile::Vector;
    access->masked = vector && !ignoresExec(name.base);
    if (!write && name.encoding == Encoding::Dpp && place == firstSource())
      access->masked = false;
    if (write && vector)
      access->bytes = writtenBytes(name, text, sources());
    addUnique(list(write), *access);
  }
  /// m0 limits LDS addresses on chips before gfx9 only; LLVM's opcodes are theirs too.
  bool isFormerLimit(llvm::MCPhysReg reg) const {
    StringRef base = name.base;
    if (!base.starts_with("DS_") || !StringRef(registers.getName(reg)).starts_with("M0"))
      return false;
    return !base.contains("ADDTID") && !base.contains("APPEND") && !base.contains("CONSUME") &&
           !base.contains("GWS");
  }
  void addOperand(unsigned i) {
    const llvm::MCOperand &operand = instruction.inst.getOperand(i);
    if (operand.isReg() && operand.getReg())
      add(operand.getReg(), i < description.getNumDefs(), /*implicit=*/false, i);
  }
  /// A result that an operand is tied to is read too, whether or not the decoder lists it twice.
  void addTiedReads() {
    for (unsigned i = description.getNumDefs(); i < description.getNumOperands(); ++i) {
      const int tied = description.getOperandConstraint(i, llvm::MCOI::TIED_TO);
      if (tied < 0 || unsigned(tied) >= instruction.inst.getNumOperands())
        continue;
      const llvm::MCOperand &operand = instruction.inst.getOperand(tied);
      if (operand.isReg() && operand.getReg())
        add(operand.getReg(), /*write=*/false, /*implicit=*/false, i);
    }
    // SDWA results that keep their other bytes, the halves that op_sel leaves alone, and more.
    for (const RegisterAccess &write : effects.writes) {
      if (write.bytes == 0xf && !readsItsResult(name.base))
        continue;
      if (write.file != RegisterFile::Vector)
        continue;
      RegisterAccess read = write;
      read.bytes = 0xf;
      addUnique(effects.reads, read);
    }
  }
  /// s_setreg and s_getreg on MODE, which LLVM lists for some of them only.
  void addMode() {
    constexpr int64_t registerNumber = 63, mode = 1;
    StringRef base = name.base;
    const bool set = base.starts_with("S_SETREG"), get = base.starts_with("S_GETREG");
    if (!set && !get)
      return;
    for (const llvm::MCOperand &operand : instruction.inst)
      if (operand.isImm() && (operand.getImm() & registerNumber) == mode) {
        RegisterAccess access;
        access.file = RegisterFile::Mode;
        access.implicit = true;
        addUnique(list(set), access);
        return;
      }
  }
  /// The first register operand behind the results: what DPP fetches from other lanes.
  unsigned firstSource() const {
    for (unsigned i = description.getNumDefs(); i < instruction.inst.getNumOperands(); ++i) {
      const bool tied = i < description.getNumOperands() &&
                        description.getOperandConstraint(i, llvm::MCOI::TIED_TO) >= 0;
      if (instruction.inst.getOperand(i).isReg() && !tied)
        return i;
    }
    return 0;
  }
  /// Operands in the text behind the result.
  unsigned sources() const {
    return static_cast<unsigned>(StringRef(text).split(" op_sel").first.count(", "));
  }

  const Instruction &instruction;
  const llvm::MCRegisterInfo &registers;
  const llvm::MCInstrDesc &description;
  const OpcodeName &name;
  const std::string text;
  RegisterEffects effects;
};
} // namespace

RegisterEffects hocket::amdgpu::registerEffects(const Instruction &instruction,
                                                const Disassembler &disassembler,
                                                OpcodeTable &opcodes) {
  return Collector(instruction, disassembler, opcodes.name(instruction.opcode())).run();
}
