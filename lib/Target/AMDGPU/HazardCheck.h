// Reads finished machine code and checks the wait states that software must provide.
//
// LLVM pads what it selects itself, but not around inline assembly, and nothing pads hand-written
// code. This check knows only bytes: it decodes a kernel, follows its branches and, wherever an
// instruction depends on an earlier one through a register, compares the wait states between them
// on the shortest way with what docs/Hardware.md 3 asks for. It is independent of the compiler that
// made the code. A wait state is an issued instruction; `s_nop N` is N + 1 of them.
#pragma once

#include "Target/AMDGPU/CodeObjectFile.h"
#include "Target/AMDGPU/Disassembler.h"

#include <string>
#include <vector>

namespace hocket::amdgpu {

/// Whether a missing wait state is known to corrupt results.
enum class HazardSeverity : uint8_t {
  Error,  ///< documented, and padded by LLVM
  Padded, ///< padded by LLVM, but AMD's hand-written kernels go without (docs/Hardware.md 7)
  Advice, ///< reported by somebody, not padded by LLVM 22
};

/// One pair of instructions that are too close.
struct Hazard {
  HazardSeverity severity = HazardSeverity::Error;
  uint64_t producer = 0;    ///< address of the earlier instruction
  uint64_t consumer = 0;    ///< address of the later one
  std::string producerText; ///< as the assembler reads it
  std::string consumerText;
  std::string rule;    ///< the rule in words: "MFMA result read by a vector instruction"
  unsigned found = 0;  ///< wait states between them on the shortest way
  unsigned needed = 0; ///< wait states that the rule asks for
};

/// All hazards of one kernel, by address. Indirect jumps and calls are not followed: an
/// `Unsupported` error says so rather than passing over the code behind them.
Result<std::vector<Hazard>> findHazards(const KernelCode &kernel, const Disassembler &disassembler);

/// The hazard as a sentence with both instructions and a way out.
std::string describe(const Hazard &hazard, llvm::StringRef kernel);

/// Checks every kernel of a code object by the arch table of its processor. What LLVM pads, that is
/// hazards of all severities but advice, is `InvalidInput`, one a line; those of advice severity are
/// appended to `advice` if it is given.
Status checkHazards(llvm::StringRef codeObject, llvm::StringRef name = "<code object>",
                    std::vector<std::string> *advice = nullptr);

} // namespace hocket::amdgpu
