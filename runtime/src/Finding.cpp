// Findings as text.
#include "hocket/Runtime/Finding.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <tuple>

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
  case FindingKind::NumberOutOfRange:
    return "number-out-of-range";
  case FindingKind::IllegalExecution:
    return "illegal-execution";
  }
  return "illegal-execution";
}

static std::string position(const FindingCode &code) {
  char offset[32];
  std::snprintf(offset, sizeof(offset), "0x%llx", static_cast<unsigned long long>(code.offset));
  std::string text = code.function.empty() ? std::string("offset ") + offset
                                           : "'" + code.function + "' + " + offset;
  return code.source.empty() ? text : text + " (" + code.source + ")";
}

static std::string show(const FindingCode &code) {
  return (code.instruction.empty() ? "code" : "'" + code.instruction + "'") + " at " +
         position(code);
}

static std::string showBarriers(const FindingSite &site) {
  if (!site.epoch)
    return "";
  if (*site.epoch == 0)
    return ", before any barrier";
  std::string text =
      ", after " + std::to_string(*site.epoch) + (*site.epoch == 1 ? " barrier" : " barriers");
  if (site.barrier)
    text += (*site.epoch == 1 ? " at " : ", the last at ") + position(*site.barrier);
  return site.cluster ? text + ", in cluster " + std::to_string(*site.cluster) + " if in the loop"
                      : text;
}

static std::string showWorkgroup(const FindingSite &site) {
  return ", workgroup " + std::to_string(site.workgroup[0]) + ", " +
         std::to_string(site.workgroup[1]) + ", " + std::to_string(site.workgroup[2]);
}

static std::string showLane(const FindingSite &site) {
  return site.lane < 0 ? "" : ", lane " + std::to_string(site.lane);
}

static std::string showSite(const FindingSite &site) {
  return show(site) + showWorkgroup(site) + ", wave " + std::to_string(site.wave) + showLane(site) +
         showBarriers(site);
}

/// The other party, without what it shares with the first.
static std::string showOther(const FindingSite &other, const FindingSite &at) {
  const bool here = std::equal(other.workgroup, other.workgroup + 3, at.workgroup);
  std::string text = show(other) + (here ? "" : showWorkgroup(other));
  text +=
      here && other.wave == at.wave ? ", the same wave" : ", wave " + std::to_string(other.wave);
  text += showLane(other);
  return other.epoch == at.epoch ? text : text + showBarriers(other);
}

std::string hocket::runtime::describeDetails(const Finding &finding) {
  std::string text = showSite(finding.at) + ": " + finding.what;
  for (const FindingStep &step : finding.trail)
    text += "; " + step.role + " " + show(step.code);
  if (finding.other)
    text += "; " + finding.otherRole + " " + showOther(*finding.other, finding.at);
  if (finding.count == 1)
    return text;
  text += " (" + std::to_string(finding.count) + " times";
  if (finding.pairs > 1)
    text += ", at " + std::to_string(finding.pairs) + " places on these lines";
  return text + ")";
}

std::string hocket::runtime::describeFinding(const Finding &finding) {
  return (finding.severity == FindingSeverity::Error ? "error: " : "advice: ") +
         std::string(findingName(finding.kind)) + " in kernel '" + finding.kernel +
         "': " + describeDetails(finding);
}

bool hocket::runtime::endsLaunch(FindingKind kind) {
  return kind == FindingKind::LdsOutOfBounds || kind == FindingKind::InvalidGlobalAccess ||
         kind == FindingKind::InvalidScratchAccess || kind == FindingKind::IllegalExecution;
}

std::string hocket::runtime::describeFault(const std::string &fault,
                                           const std::vector<Finding> &findings) {
  for (const Finding &finding : findings)
    if (endsLaunch(finding.kind))
      return std::string(findingName(finding.kind)) + " in kernel '" + finding.kernel + "'";
  return fault;
}

void hocket::runtime::mergeFindings(std::vector<Finding> &findings,
                                    const std::vector<Finding> &more) {
  auto sameCode = [](const FindingCode &a, const FindingCode &b) {
    return a.function == b.function && a.offset == b.offset;
  };
  auto same = [&](const Finding &a, const Finding &b) {
    return a.kind == b.kind && a.severity == b.severity && a.kernel == b.kernel &&
           sameCode(a.at, b.at) && a.other.has_value() == b.other.has_value() &&
           (!a.other || sameCode(*a.other, *b.other));
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

/// What tells places apart for people.
static std::string linePlace(const FindingCode &code) {
  return code.source.empty() ? code.function + "+" + std::to_string(code.offset) : code.source;
}

std::vector<Finding> hocket::runtime::groupFindings(const std::vector<Finding> &findings) {
  using Key = std::tuple<FindingKind, FindingSeverity, std::string, std::string, std::string>;
  std::map<Key, size_t> known;
  std::vector<Finding> groups;
  for (const Finding &finding : findings) {
    Key key(finding.kind, finding.severity, finding.kernel, linePlace(finding.at),
            finding.other ? linePlace(*finding.other) : "");
    auto [group, added] = known.try_emplace(std::move(key), groups.size());
    if (added) {
      groups.push_back(finding);
      continue;
    }
    groups[group->second].count += finding.count;
    groups[group->second].pairs += finding.pairs;
  }
  return groups;
}

bool hocket::runtime::hasErrors(const std::vector<Finding> &findings) {
  return std::any_of(findings.begin(), findings.end(), [](const Finding &finding) {
    return finding.severity == FindingSeverity::Error;
  });
}
