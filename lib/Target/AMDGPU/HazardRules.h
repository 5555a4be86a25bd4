// What an instruction does to registers, and how far apart two instructions must be for it.
#pragma once

#include "hocket/Target/AMDGPU/Disassembler.h"
#include "hocket/Target/AMDGPU/HazardCheck.h"
#include "hocket/Target/AMDGPU/Opcode.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/MC/MCRegister.h"

namespace hocket::amdgpu {

/// The longest distance any rule looks over, in wait states.
inline constexpr unsigned kLongestHazard = 20;

/// One instruction, reduced to what the rules ask about.
struct HazardInstruction {
  InstructionClass kind = InstructionClass::Other;
  std::string name;                              ///< normalised: "V_EXP_F32"
  llvm::SmallVector<llvm::MCRegister, 4> writes; ///< implicit ones included
  llvm::SmallVector<llvm::MCRegister, 8> reads;
  unsigned waitStates = 1; ///< that issuing it provides

  bool vectorAlu = false; ///< VALU that is no MFMA
  bool dpp = false;
  bool partialWrite = false;     ///< writes half a register and keeps the other half
  bool immediateOffset = false;  ///< of a buffer access: soffset is no register
  unsigned hardwareRegister = 0; ///< of s_setreg and s_getreg

  // MFMA only.
  llvm::MCRegister srcC;      ///< none where the accumulator starts from a constant
  unsigned passes = 0;        ///< of four cycles
  bool fullPrecision = false; ///< f32 operands: not on the fast (XDL) path

  bool isMfma() const { return kind == InstructionClass::Mfma; }
};

/// Reduces one decoded instruction.
HazardInstruction reduceForHazards(const Instruction &instruction, const Disassembler &disassembler,
                                   OpcodeTable &opcodes);

/// What must lie between two instructions; `waitStates` 0 where nothing must.
struct HazardRequirement {
  unsigned waitStates = 0;
  const char *rule = "";
  HazardSeverity severity = HazardSeverity::Error;
};

/// Whether any rule has an instruction like `producer` as the earlier one.
bool canBeHazardProducer(const HazardInstruction &producer);

/// The rules that `consumer` breaks if it follows `producer` with `between` wait states between
/// them; the one that asks for most.
HazardRequirement brokenRule(const HazardInstruction &producer, const HazardInstruction &consumer,
                             unsigned between, const llvm::MCRegisterInfo &registers);

} // namespace hocket::amdgpu
