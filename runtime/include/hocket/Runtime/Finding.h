// What checked execution finds wrong with a kernel: one finding for each kind and pair of
// instructions, with the first place where it showed and how often it did.
//
// Findings do not depend on the number of host threads. docs/Simulator.md says what each kind means
// and what is an error and what advice.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hocket::runtime {

enum class FindingKind : uint8_t {
  UseBeforeWait,         ///< of a register or LDS bytes that an operation in flight will write
  LdsRace,               ///< two waves, the same byte, no barrier between
  GlobalRace,            ///< the same in global memory, also between workgroups
  UninitialisedRegister, ///< what nothing has written decides an address, a branch or a result
  UninitialisedLds,      ///< the same, of LDS
  LdsOutOfBounds,        ///< beyond the size that kernel and launch declare
  MisalignedLds,
  InvalidGlobalAccess, ///< outside of every live allocation
  InvalidScratchAccess,
  Hazard,           ///< too few wait states between two instructions
  DivergentBarrier, ///< waves meet at different barriers, or end while others wait
  IllegalExecution, ///< anything else that ends a run: an unknown instruction, a trap, a hang
};
inline constexpr unsigned findingKinds = unsigned(FindingKind::IllegalExecution) + 1;

/// Key of a kind in reports: "use-before-wait", "lds-race", ...
std::string_view findingName(FindingKind kind);

enum class FindingSeverity : uint8_t {
  Error,  ///< wrong on hardware, or undefined
  Advice, ///< allowed, but unproven or not portable
};

/// One side of a finding.
struct FindingSite {
  std::string instruction; ///< as the assembler takes it; "" unknown
  uint64_t offset = 0;     ///< of the instruction from the kernel's entry, bytes
  uint32_t workgroup[3] = {0, 0, 0};
  uint32_t wave = 0;
  int32_t lane = -1;  ///< -1: the wave as a whole
  uint64_t epoch = 0; ///< barriers that the workgroup had passed
  std::string source; ///< "file:line" where the code object has debug information, else ""
};

struct Finding {
  FindingKind kind = FindingKind::IllegalExecution;
  FindingSeverity severity = FindingSeverity::Error;
  std::string kernel;
  FindingSite at;                   ///< the instruction that is wrong, or the later of two
  std::optional<FindingSite> other; ///< the other party
  std::string what;                 ///< what happened, in words, with registers and addresses
  uint64_t count = 1;               ///< executed instructions that showed it
};

/// One line of text, with both parties.
std::string describeFinding(const Finding &finding);
/// Adds `more` to `findings`: what is there already (kind, severity and instructions) is counted.
void mergeFindings(std::vector<Finding> &findings, const std::vector<Finding> &more);
/// Whether any finding is an error.
bool hasErrors(const std::vector<Finding> &findings);

} // namespace hocket::runtime
