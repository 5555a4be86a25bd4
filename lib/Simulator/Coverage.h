// Which instructions of a chip the simulator implements.
//
// The instructions a chip has are found by giving every value of every opcode field to LLVM's
// disassembler, so that no list has to be kept, and none can be out of date. What is missing on
// purpose has a reason here: such instructions come from no C, attention or GEMM kernel.
#pragma once

#include "hocket/Support/Result.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hocket::sim {

/// One opcode of one encoding format ("VOP3", "VOP1 SDWA", "GLOBAL", ...).
struct CoveredOpcode {
  std::string format;
  uint32_t opcode = 0;
};

/// All opcodes of one mnemonic. Implemented: at least without modifiers; a combination that is not
/// (GDS, a clamp that no compiler uses) is an error with its text when it executes.
struct CoveredInstruction {
  enum State { Implemented, Missing, Excluded };
  std::string mnemonic; ///< as LLVM prints it, without encoding suffixes
  State state = Missing;
  std::string reason; ///< why it is excluded
  std::vector<CoveredOpcode> opcodes;
};

struct Coverage {
  std::string architecture;
  std::vector<CoveredInstruction> instructions; ///< by mnemonic
  size_t encodingsTried = 0;

  size_t count(CoveredInstruction::State state) const;
  size_t opcodes(CoveredInstruction::State state) const;
};

/// Tries every encoding of `architecture`, a chip of the architecture table, else Unsupported.
/// Deterministic; takes some tens of milliseconds.
Result<Coverage> coverInstructions(std::string_view architecture);

} // namespace hocket::sim
