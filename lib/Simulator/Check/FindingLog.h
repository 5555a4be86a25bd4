// Findings of one workgroup while it runs, and of a launch.
//
// A finding is one kind and one pair of instructions; the first place where it shows is kept and
// the rest counted. Workgroups run on several threads, so each keeps its own log and the launch
// joins them in the order of their numbers: what is reported does not depend on threads.
#pragma once

#include "hocket/Runtime/Finding.h"

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

namespace hocket::sim::check {

inline constexpr uint32_t noInstruction = ~uint32_t(0);

/// `Place::epoch` where barriers say nothing.
inline constexpr uint32_t noEpoch = ~uint32_t(0);

/// An instruction in execution.
struct Place {
  uint64_t workgroup = 0;
  uint32_t index = noInstruction;   ///< slot of the text
  uint32_t epoch = 0;               ///< barriers passed, or `noEpoch`
  uint32_t barrier = noInstruction; ///< slot of the barrier that the wave passed last
  uint8_t wave = 0;
  int8_t lane = -1;
};

/// An instruction that has a part in a finding, and the words before it.
struct LoggedStep {
  std::string role;
  uint32_t index = noInstruction;
};

struct LoggedFinding {
  runtime::FindingSeverity severity = runtime::FindingSeverity::Error;
  Place at, other; ///< `other.index` is `noInstruction` where there is no other party
  const char *otherRole = "the other party is";
  std::string what;
  std::vector<LoggedStep> trail;
  uint64_t count = 0;
};

/// Kind, instruction, other instruction, severity.
using FindingKey = std::tuple<runtime::FindingKind, uint32_t, uint32_t, runtime::FindingSeverity>;
using FindingMap = std::map<FindingKey, LoggedFinding>;

/// The log of one workgroup.
class FindingLog {
public:
  /// Counts a finding. `describe(LoggedFinding &)` gives its words, of which there must be `what`,
  /// and is only called the first time.
  template <class Describe>
  void add(runtime::FindingKind kind, const Place &at, const Place &other, Describe describe,
           runtime::FindingSeverity severity = runtime::FindingSeverity::Error) {
    LoggedFinding &finding = findings[{kind, at.index, other.index, severity}];
    if (finding.count++ == 0) {
      finding.severity = severity;
      finding.at = at;
      finding.other = other;
      describe(finding);
    }
  }
  FindingMap findings;
};

/// The logs of a launch.
class LaunchLog {
public:
  /// Takes the log of `workgroup`; `failed`: it ended with an error.
  void take(uint64_t workgroup, FindingLog &log, bool failed) {
    std::lock_guard lock(mutex);
    if (failed && workgroup < firstFailed)
      firstFailed = workgroup;
    if (!log.findings.empty())
      byWorkgroup[workgroup] = std::move(log.findings);
    log.findings.clear();
  }
  /// All findings. Workgroups behind a failed one count only if they always run, so none does.
  FindingMap join() const {
    FindingMap all;
    for (const auto &[workgroup, findings] : byWorkgroup) {
      if (workgroup > firstFailed)
        break;
      for (const auto &[key, finding] : findings) {
        auto [known, added] = all.try_emplace(key, finding);
        if (!added)
          known->second.count += finding.count;
      }
    }
    return all;
  }
  bool anyFailed() const { return firstFailed != UINT64_MAX; }

private:
  std::mutex mutex;
  std::map<uint64_t, FindingMap> byWorkgroup;
  uint64_t firstFailed = UINT64_MAX;
};

} // namespace hocket::sim::check
