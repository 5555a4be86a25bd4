// See HazardTrace.h.
#include "HazardTrace.h"

using namespace hocket;
using namespace hocket::sim;
using namespace hocket::sim::check;
using runtime::FindingKind;
using runtime::FindingSeverity;

/// Small numbers must not meet: both arguments are spread before they are joined.
static uint64_t mix(uint64_t a, uint64_t b) {
  auto spread = [](uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  };
  return spread(spread(a + 0x9e3779b97f4a7c15) + b);
}

const std::vector<BrokenHazard> &HazardTrace::brokenAt(const Step &step) {
  const WaveState &state = step.state;
  uint64_t key = mix(state.latest.way, step.place.index);
  auto found = known.find(key);
  if (found != known.end())
    return found->second;
  std::vector<BrokenHazard> &broken = known[key];
  llvm::SmallVector<InstructionTable::Distance, LatestInstructions::windowSize> window;
  unsigned between = 0;
  for (unsigned back = 1; back <= std::min(state.latest.windowCount, LatestInstructions::windowSize); ++back) {
    uint32_t slot = state.latest.window[(state.latest.windowCount - back) % LatestInstructions::windowSize];
    const InstructionInfo &issued = table.known(slot);
    if (issued.hazardProducer)
      window.push_back({slot, between});
    between += issued.waitStates;
    if (between >= table.longest())
      break;
  }
  table.findBroken(step.place.index, window, broken);
  return broken;
}

void HazardTrace::jump(WaveState &state, uint32_t index) {
  uint64_t before = state.latest.straight < LatestInstructions::windowSize ? state.latest.way : 0;
  state.latest.way = mix(mix(before, state.latest.expected), index);
  state.latest.straight = 0;
}

void HazardTrace::check(Step &step) {
  const uint64_t way = step.state.latest.way;
  const std::vector<BrokenHazard> &broken = brokenAt(step);
  if (broken.empty() && way == 0)
    straightClean[step.place.index] = 1;
  else if (broken.empty())
    cleanWay[step.place.index] = way;
  for (const BrokenHazard &hazard : broken) {
    Place other = step.place;
    other.index = hazard.producer;
    auto severity = hazard.requirement.severity == amdgpu::HazardSeverity::Error
                        ? FindingSeverity::Error
                        : FindingSeverity::Advice;
    step.log.add(
        FindingKind::Hazard, step.place, other,
        [&](LoggedFinding &finding) {
          finding.what = std::string(hazard.requirement.rule) + ": " +
                         std::to_string(hazard.found) + " of the " +
                         std::to_string(hazard.requirement.waitStates) +
                         " wait states that it takes lie between";
          finding.otherRole = "the earlier instruction is";
        },
        severity);
  }
}
