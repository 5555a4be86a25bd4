// What checked execution finds wrong with a kernel: one finding for each kind and pair of
// instructions, with the first place where it showed and how often it did.
//
// Findings do not depend on the number of host threads. docs/Simulator.md says what each kind means
// and what is an error and what advice. Each fact is in one place: `what` does not repeat the
// sites.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hocket::runtime {

enum class FindingKind {
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
  NumberOutOfRange, ///< what a kernel loads of a list that says where things lie names nothing there is
  IllegalExecution, ///< anything else that ends a run: an unknown instruction, a trap, a hang
};
inline constexpr unsigned findingKinds = unsigned(FindingKind::IllegalExecution) + 1;

/// Key of a kind in reports: "use-before-wait", "lds-race", ...
std::string_view findingName(FindingKind kind);

enum class FindingSeverity {
  Error,  ///< wrong on hardware, or undefined
  Advice, ///< allowed, but unproven or not portable
};

/// An instruction in the code.
struct FindingCode {
  std::string instruction; ///< as the assembler takes it; "" unknown
  std::string function;    ///< that it is in, if not the kernel itself
  uint64_t offset = 0;     ///< from the entry of the kernel or of `function`, bytes
  std::string source;      ///< "file:line" where the code object has debug information, else ""
};

/// One side of a finding: an instruction in execution.
struct FindingSite : FindingCode {
  uint32_t workgroup[3] = {0, 0, 0};
  uint32_t wave = 0;
  int32_t lane = -1; ///< -1: the wave as a whole, or not known
  /// Barriers that the workgroup had passed when the instruction was issued: which cluster it is.
  /// Absent between workgroups, which no barrier orders, and where it is not known.
  std::optional<uint64_t> epoch;
  std::optional<FindingCode> barrier; ///< the one that the wave had passed last
  /// The cluster of the kernel's schedule that `epoch` stands for in its loop, where a manifest
  /// says; code behind the loop has none.
  std::optional<uint32_t> cluster;
};

/// An instruction that has a part in a finding.
struct FindingStep {
  std::string role; ///< words before the instruction: "v2 was last written by"
  FindingCode code;
};

struct Finding {
  FindingKind kind = FindingKind::IllegalExecution;
  FindingSeverity severity = FindingSeverity::Error;
  std::string kernel;
  FindingSite at;                   ///< the instruction that is wrong, or the later of two
  std::optional<FindingSite> other; ///< the other party
  std::string otherRole;            ///< words before it: "the other party is"
  std::string what;                 ///< what happened, in words, with registers and addresses
  std::vector<FindingStep> trail;   ///< where an undefined value came by
  uint64_t count = 1;               ///< executed instructions that showed it
  uint64_t pairs = 1;               ///< of instructions; more than one only where grouped
};

/// One line of text, with both parties.
std::string describeFinding(const Finding &finding);
/// The same without severity, kind and kernel.
std::string describeDetails(const Finding &finding);
/// Adds `more` to `findings`: what is there already (kind, severity and instructions) is counted.
void mergeFindings(std::vector<Finding> &findings, const std::vector<Finding> &more);
/// For people: one finding for each kind and pair of source lines, with the first of its pairs of
/// instructions as the example, `count` and `pairs` over all. Where an instruction has no source
/// line its address counts. Keeps the order.
std::vector<Finding> groupFindings(const std::vector<Finding> &findings);
/// Whether findings of `kind` end a launch.
bool endsLaunch(FindingKind kind);
/// Why a checked launch did not finish, where the report has the finding that says so: its kind.
/// Else `fault`, the error of the launch.
std::string describeFault(const std::string &fault, const std::vector<Finding> &findings);
/// Whether any finding is an error.
bool hasErrors(const std::vector<Finding> &findings);

} // namespace hocket::runtime
