// Reduces decoded instructions to registers read and written, MFMA passes and the like.
//
// Operand roles come from LLVM's instruction descriptions (definitions first, then uses, plus
// implicit registers); passes of an MFMA from LLVM's scheduling model of the processor.
#include "Target/AMDGPU/HazardRules.h"

#include "llvm/MC/MCInstrDesc.h"
#include "llvm/MC/MCInstrInfo.h"
#include "llvm/MC/MCRegisterInfo.h"
#include "llvm/MC/MCSubtargetInfo.h"

namespace hocket::amdgpu {

/// Passes of an MFMA. LLVM's model does not know that FP8 operands double those of f8f6f4
/// (docs/Hardware.md 4.1); its opcode names say which formats they are for.
static unsigned mfmaPasses(const Instruction &instruction, const Disassembler &disassembler) {
  const llvm::MCSubtargetInfo &subtarget = disassembler.target().subtarget();
  const llvm::MCInstrInfo &instructions = disassembler.target().instructions();
  const llvm::MCSchedModel &model = subtarget.getSchedModel();
  unsigned schedClass = disassembler.description(instruction).getSchedClass();
  const llvm::MCSchedClassDesc *description = model.getSchedClassDesc(schedClass);
  while (description->isVariant()) {
    schedClass = subtarget.resolveVariantSchedClass(schedClass, &instruction.inst, &instructions,
                                                    model.getProcessorID());
    description = model.getSchedClassDesc(schedClass);
  }
  constexpr unsigned longest = 16;
  if (!description->isValid() || description->NumWriteProcResEntries == 0)
    return longest;
  const unsigned passes = subtarget.getWriteProcResBegin(description)->ReleaseAtCycle;
  const llvm::StringRef name = instructions.getName(instruction.opcode());
  const bool eightBit = name.contains("F8F6F4") && name.contains("_f8");
  return std::min(longest, eightBit ? 2 * passes : passes);
}

static void collectRegisters(const Instruction &instruction, const llvm::MCInstrDesc &description,
                             HazardInstruction &result) {
  for (unsigned i = 0; i < instruction.inst.getNumOperands(); ++i) {
    const llvm::MCOperand &operand = instruction.inst.getOperand(i);
    if (!operand.isReg() || !operand.getReg())
      continue;
    if (i < description.getNumDefs())
      result.writes.push_back(operand.getReg());
    else
      result.reads.push_back(operand.getReg());
  }
  for (llvm::MCPhysReg implicit : description.implicit_defs())
    result.writes.push_back(implicit);
  for (llvm::MCPhysReg implicit : description.implicit_uses())
    result.reads.push_back(implicit);
}

/// Operands of an MFMA are D, A, B, C, then modifiers; of a sparse one D, A, B, index, and C is D.
static void fillMfma(const Instruction &instruction, const Disassembler &disassembler,
                     HazardInstruction &result) {
  result.passes = mfmaPasses(instruction, disassembler);
  const llvm::StringRef name = result.name;
  if (name.contains("_F64_"))
    result.path = MfmaPath::F64;
  else if (name.ends_with("F32"))
    result.path = MfmaPath::F32;
  const bool sparse = name.starts_with("V_SMFMAC");
  const llvm::MCOperand &accumulator = instruction.inst.getOperand(sparse ? 6 : 3);
  if (!accumulator.isReg())
    return;
  result.srcC = accumulator.getReg();
  result.srcCIndex = sparse ? 3 : 2; // A and B are always registers
}

/// The accumulator of a dot product is its last register operand.
static void fillDot(const llvm::MCInstrDesc &description, HazardInstruction &result) {
  const size_t explicitReads = result.reads.size() - description.implicit_uses().size();
  if (explicitReads == 0)
    return;
  result.srcCIndex = int(explicitReads) - 1;
  result.srcC = result.reads[result.srcCIndex];
}

/// SDWA results smaller than a register, and FP8 conversions into the upper half.
static bool writesPart(const Instruction &instruction, const Disassembler &disassembler,
                       const OpcodeName &name) {
  if (name.encoding == Encoding::Sdwa) {
    const std::string text = disassembler.text(instruction);
    const llvm::StringRef view(text);
    return view.contains("dst_sel:") && !view.contains("dst_sel:DWORD");
  }
  const llvm::StringRef base = name.base;
  const bool converts = base.starts_with("V_CVT_") &&
                        (base.contains("_FP8_") || base.contains("_BF8_")) &&
                        base.ends_with("_F32");
  if (!converts || instruction.inst.getNumOperands() < 2 || !instruction.inst.getOperand(1).isImm())
    return false;
  constexpr int64_t destinationHigh = 8; // op_sel bit 3 in the first source's modifiers
  return instruction.inst.getOperand(1).getImm() & destinationHigh;
}

/// "[0,0,1]", "" for the first part, of conversions of floats to fewer than 16 bits; docs/Hardware.md 3.
static std::optional<std::string> convertedPart(const Instruction &instruction, const Disassembler &disassembler,
                                                const OpcodeName &name) {
  const llvm::StringRef base = name.base;
  const auto converts = [&](llvm::StringRef prefix) {
    return llvm::any_of(std::initializer_list<llvm::StringRef>{"FP8_", "BF8_", "FP4_"}, [&](llvm::StringRef to) {
      llvm::StringRef rest = base;
      return rest.consume_front(prefix) && rest.starts_with(to);
    });
  };
  // One register, in parts: those of 32 numbers write whole ones.
  const bool inParts = llvm::any_of(std::initializer_list<llvm::StringRef>{"V_CVT_PK_", "V_CVT_SR_", "V_CVT_SCALEF32_PK_",
                                                                           "V_CVT_SCALEF32_SR_", "V_CVT_SCALEF32_SR_PK_"},
                                    converts);
  if (!inParts)
    return std::nullopt;
  const std::string text = disassembler.text(instruction);
  return llvm::StringRef(text).split("op_sel:").second.split(' ').first.str();
}

/// Of a buffer access: the scalar offset is the one 32-bit scalar register.
static bool hasScalarOffset(const Instruction &instruction, const llvm::MCRegisterInfo &registers) {
  return llvm::any_of(instruction.inst, [&](const llvm::MCOperand &operand) {
    if (!operand.isReg() || !operand.getReg())
      return false;
    const llvm::StringRef name = registers.getName(operand.getReg());
    return (name.starts_with("SGPR") && !name.contains('_')) || name.starts_with("M0");
  });
}

HazardInstruction reduceForHazards(const Instruction &instruction, const Disassembler &disassembler,
                                   OpcodeTable &opcodes) {
  HazardInstruction result;
  const OpcodeName &name = opcodes.name(instruction.opcode());
  result.kind = opcodes.kind(instruction.opcode());
  result.name = name.base;
  collectRegisters(instruction, disassembler.description(instruction), result);
  result.vectorAlu = result.kind == InstructionClass::Valu ||
                     result.kind == InstructionClass::Packed ||
                     result.kind == InstructionClass::Transcendental;
  result.dpp = name.encoding == Encoding::Dpp;
  if (result.vectorAlu)
    result.partialWrite = writesPart(instruction, disassembler, name);
  if (result.vectorAlu)
    result.convertedPart = convertedPart(instruction, disassembler, name);
  if (result.isMfma())
    fillMfma(instruction, disassembler, result);
  if (result.isDot())
    fillDot(disassembler.description(instruction), result);
  const llvm::StringRef base = result.name;
  if (base.starts_with("V_READLANE") || base.starts_with("V_WRITELANE")) {
    // The result, the value, the lane.
    const llvm::MCOperand &lane = instruction.inst.getOperand(2);
    if (lane.isReg())
      result.laneSelect = lane.getReg();
  }
  if (result.kind == InstructionClass::VmemStore)
    result.immediateOffset = !hasScalarOffset(instruction, disassembler.target().registers()) ||
                             !llvm::StringRef(result.name).contains("BUFFER");
  if (result.name == "S_NOP") // only the low four bits of the count are used
    result.waitStates = 1 + (instruction.inst.getOperand(0).getImm() & 15);
  if (llvm::StringRef(result.name).starts_with("S_SETREG") || result.name == "S_GETREG_B32") {
    constexpr int64_t registerNumber = 63; // low bits of the hwreg operand
    result.hardwareRegister = instruction.inst.getOperand(1).getImm() & registerNumber;
  }
  return result;
}

} // namespace hocket::amdgpu
