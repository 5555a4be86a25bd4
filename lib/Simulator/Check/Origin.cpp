// Origins in words.
#include "Origin.h"

#include "RegisterCheck.h"

using namespace hocket::sim;
using namespace hocket::sim::check;
using hocket::runtime::FindingKind;

std::string check::nameOf(RegisterNumber reg) {
  if (reg < firstScalar)
    return (reg >= accumulationBase ? "a" : "v") + std::to_string(reg % accumulationBase);
  switch (reg - firstScalar) {
  case 106:
  case 107:
    return "vcc";
  case 124:
    return "m0";
  case 126:
  case 127:
    return "exec";
  case sccNumber - firstScalar:
    return "scc";
  }
  return "s" + std::to_string(reg - firstScalar);
}

/// "LDS that nothing has written" or "v5, which nothing has written", and its way through LDS.
static std::string describe(const Origin &origin) {
  std::string root = origin.load != noInstruction
                         ? std::string("LDS that nothing has written")
                         : nameOf(origin.reg) + ", which nothing has written";
  if (origin.store == noInstruction)
    return root;
  return "LDS, where wave " + std::to_string(origin.storeWave) + " stored what comes from " + root;
}

void check::reportUndefined(Step &step, RegisterNumber reg, int lane, const char *before,
                            const char *after) {
  const uint32_t writer = step.state.writer[reg];
  const OriginId id = step.state.origin[reg];
  const Origin own{.reg = reg}, &origin = id == ownOrigin ? own : step.origins.at(id);
  Place at = step.place, other;
  at.lane = static_cast<int8_t>(lane);
  if (origin.isLds()) {
    other = at;
    other.lane = -1;
    other.index = origin.store != noInstruction ? origin.reload : origin.load;
    other.epoch = noEpoch;
  }
  auto describeUse = [&](LoggedFinding &finding) {
    const std::string name = nameOf(reg);
    finding.what = before + name + after + "; ";
    if (writer == noInstruction) {
      finding.what += "nothing has written " + name;
      return;
    }
    finding.what += name + " is undefined";
    if (id != ownOrigin)
      finding.what += ": it comes from " + describe(origin);
    if (writer != other.index)
      finding.trail.push_back({name + " was last written by", writer});
    if (origin.store != noInstruction && origin.load != noInstruction)
      finding.trail.push_back({"the unwritten LDS was read by", origin.load});
    if (origin.store != noInstruction)
      finding.trail.push_back({"it was stored to LDS by", origin.store});
    finding.otherRole = "it was read from LDS by";
  };
  step.log.add(origin.isLds() ? FindingKind::UninitialisedLds : FindingKind::UninitialisedRegister,
               at, other, describeUse);
}
