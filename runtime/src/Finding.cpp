// Findings as text.
#include "hocket/Runtime/Finding.h"

#include <algorithm>
#include <cstdio>

using namespace hocket::runtime;

std::string_view hocket::runtime::findingName(FindingKind kind) {
  switch (kind) {
  case FindingKind::UseBeforeWait:
    return "use-before-wait";
  case FindingKind::LdsRace:
    return "lds-race";
  case FindingKind::GlobalRace:
    return "global-race";
  case FindingKind::UninitialisedRegister:
    return "uninitialised-register";
  case FindingKind::UninitialisedLds:
    return "uninitialised-lds";
  case FindingKind::LdsOutOfBounds:
    return "lds-out-of-bounds";
  case FindingKind::MisalignedLds:
    return "misaligned-lds";
  case FindingKind::InvalidGlobalAccess:
    return "invalid-global-access";
  case FindingKind::InvalidScratchAccess:
    return "invalid-scratch-access";
  case FindingKind::Hazard:
    return "hazard";
  case FindingKind::DivergentBarrier:
    return "divergent-barrier";
  case FindingKind::IllegalExecution:
    return "illegal-execution";
  }
  return "illegal-execution";
}

static std::string show(const FindingSite &site) {
  char offset[32];
  std::snprintf(offset, sizeof(offset), "0x%llx", static_cast<unsigned long long>(site.offset));
  std::string text = site.instruction.empty() ? "code" : "'" + site.instruction + "'";
  text += std::string(" at offset ") + offset;
  if (!site.source.empty())
    text += " (" + site.source + ")";
  text += ", workgroup " + std::to_string(site.workgroup[0]) + ", " +
          std::to_string(site.workgroup[1]) + ", " + std::to_string(site.workgroup[2]) + ", wave " +
          std::to_string(site.wave);
  if (site.lane >= 0)
    text += ", lane " + std::to_string(site.lane);
  return text + ", after " + std::to_string(site.epoch) + " barriers";
}

std::string hocket::runtime::describeFinding(const Finding &finding) {
  std::string text = finding.severity == FindingSeverity::Error ? "error: " : "advice: ";
  text += std::string(findingName(finding.kind)) + " in kernel '" + finding.kernel +
          "': " + show(finding.at) + ": " + finding.what;
  if (finding.other)
    text += "; the other party is " + show(*finding.other);
  if (finding.count > 1)
    text += " (" + std::to_string(finding.count) + " times)";
  return text;
}

void hocket::runtime::mergeFindings(std::vector<Finding> &findings,
                                    const std::vector<Finding> &more) {
  auto same = [](const Finding &a, const Finding &b) {
    return a.kind == b.kind && a.severity == b.severity && a.kernel == b.kernel &&
           a.at.offset == b.at.offset && a.other.has_value() == b.other.has_value() &&
           (!a.other || a.other->offset == b.other->offset);
  };
  for (const Finding &finding : more) {
    auto known = std::find_if(findings.begin(), findings.end(),
                              [&](const Finding &other) { return same(finding, other); });
    if (known == findings.end())
      findings.push_back(finding);
    else
      known->count += finding.count;
  }
}

bool hocket::runtime::hasErrors(const std::vector<Finding> &findings) {
  return std::any_of(findings.begin(), findings.end(), [](const Finding &finding) {
    return finding.severity == FindingSeverity::Error;
  });
}
