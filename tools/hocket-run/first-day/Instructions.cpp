// Stages "instructions" and "hazards": probes on the device under test and on the simulator.
#include "Probes.h"
#include "Session.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <algorithm>
#include <bit>
#include <cmath>

using namespace hocket;
using namespace hocket::run;
using namespace hocket::run::firstday;

static std::string hexWord(uint32_t word) { return "0x" + llvm::utohexstr(word, /*LowerCase=*/true, 8); }

/// What two results differ in.
static void describeFirst(Finding &finding, const LaneValues &expected, const LaneValues &found) {
  const size_t first = size_t(std::mismatch(expected.begin(), expected.end(), found.begin()).first - expected.begin());
  size_t count = 0;
  for (size_t i = 0; i != expected.size(); ++i)
    count += expected[i] != found[i];
  finding["differences"] = int64_t(count);
  finding["lane"] = int64_t(first / probeDwords);
  finding["register"] = int64_t(first % probeDwords);
  finding["expected"] = hexWord(expected[first]);
  finding["found"] = hexWord(found[first]);
}

/// The largest difference of floats, as a multiple of what counts as rounding; infinite where nothing does.
static double differenceRatio(const LaneValues &expected, const LaneValues &found, double relative, double absolute) {
  double ratio = 0;
  for (size_t i = 0; i != expected.size(); ++i) {
    if (expected[i] == found[i])
      continue;
    const double a = std::bit_cast<float>(expected[i]), b = std::bit_cast<float>(found[i]);
    const double allowed = relative * std::abs(a) + absolute;
    if (!std::isfinite(a) || !std::isfinite(b) || allowed == 0)
      return HUGE_VAL;
    ratio = std::max(ratio, std::abs(a - b) / allowed);
  }
  return ratio;
}

static Result<Finding> compareOnBoth(Session &session, const std::string &code, const LaneValues &input, double relative = 0,
                                     double absolute = 0) {
  Result<LaneValues> expected = runProbe(*session.simulator, code, input);
  if (!expected.ok())
    return expected.error();
  Result<LaneValues> found = runProbe(*session.device, code, input);
  if (!found.ok())
    return found.error();
  if (*expected == *found)
    return Finding{{"verdict", verdict::same}};
  Finding finding;
  const double ratio = differenceRatio(*expected, *found, relative, absolute);
  finding["verdict"] = ratio <= 1 ? verdict::rounding : verdict::different;
  if (std::isfinite(ratio))
    finding["ratio"] = ratio;
  describeFirst(finding, *expected, *found);
  return finding;
}

Result<std::vector<Item>> run::firstday::instructionItems(Session &session) {
  std::vector<Item> items;
  for (const Probe &probe : probes()) {
    if (!probe.chip.empty() && probe.chip != session.chip())
      continue;
    items.push_back({probe.name.str(), [&session, &probe]() -> Result<Finding> {
                       Result<std::string> code = assembleProbe(probe.body, session.chip());
                       if (!code.ok())
                         return code.error();
                       Result<Finding> finding = compareOnBoth(session, *code, valuesOf(probe.fill), probe.relative, probe.absolute);
                       if (finding.ok())
                         (*finding)["group"] = probe.group.str();
                       return finding;
                     }});
  }
  return items;
}

/// Runs a sequence with its wait, which must do as in the simulator, and without.
static Result<Finding> tryHazard(Session &session, const HazardProbe &probe) {
  const LaneValues input = valuesOf(probe.fill);
  auto text = [&](llvm::StringRef wait) { return (probe.before + wait + probe.after).str(); };
  Result<std::string> padded = assembleProbe(text(probe.wait), session.chip());
  Result<std::string> bare = assembleProbe(text(""), session.chip());
  if (!padded.ok() || !bare.ok())
    return padded.ok() ? bare.error() : padded.error();
  Result<Finding> finding = compareOnBoth(session, *padded, input);
  if (!finding.ok())
    return finding;
  (*finding)["documented"] = probe.documented;
  if (finding->getString("verdict") != verdict::same.str())
    return finding;
  Result<LaneValues> right = runProbe(*session.device, *padded, input), found = runProbe(*session.device, *bare, input);
  if (!right.ok() || !found.ok())
    return right.ok() ? found.error() : right.error();
  const bool isReal = *right != *found;
  (*finding)["verdict"] = verdict::measured;
  (*finding)["real"] = isReal;
  if (isReal)
    describeFirst(*finding, *right, *found);
  return finding;
}

Result<std::vector<Item>> run::firstday::hazardItems(Session &session) {
  std::vector<Item> items;
  for (const HazardProbe &probe : hazardProbes())
    if (probe.chip.empty() || probe.chip == session.chip())
      items.push_back({probe.name.str(), [&session, &probe] { return tryHazard(session, probe); }});
  return items;
}
