// What an instruction does to registers, and how far apart two instructions must be for it.
#pragma once

#include "Target/AMDGPU/Disassembler.h"
#include "Target/AMDGPU/HazardCheck.h"
#include "Target/AMDGPU/Opcode.h"
#include "Target/Arch/ArchInfo.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/MC/MCRegister.h"

namespace hocket::amdgpu {

/// The longest distance any rule looks over, in wait states.
unsigned longestHazard(const HazardTable &table);

/// The part of the matrix unit that an MFMA runs on; their results become ready at different times.
enum class MfmaPath : uint8_t { Xdl, F32, F64 };

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
  /// Of a conversion that writes a half or byte of a register: which, as the assembler writes it.
  std::optional<std::string> convertedPart;
  bool immediateOffset = false;  ///< of a buffer access: soffset is no register
  unsigned hardwareRegister = 0; ///< of s_setreg and s_getreg

  llvm::MCRegister srcC; ///< of MFMA and dot product; none where it starts from a constant
  int srcCIndex = -1;    ///< its place in `reads`

  llvm::MCRegister laneSelect; ///< of v_readlane and v_writelane; none where it is a constant

  // MFMA only.
  MfmaPath path = MfmaPath::Xdl;
  unsigned passes = 0; ///< of four cycles

  bool isMfma() const { return kind == InstructionClass::Mfma; }
  bool isDot() const { return llvm::StringRef(name).starts_with("V_DOT"); }
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

/// Of the rules that `consumer` breaks if it follows `producer` with `between` wait states between
/// them the most severe one, and of those the one that asks for most.
HazardRequirement brokenRule(const HazardInstruction &producer, const HazardInstruction &consumer,
                             unsigned between, const HazardTable &table,
                             const llvm::MCRegisterInfo &registers);

} // namespace hocket::amdgpu
