// The parameter table as data: overriding from the command line, and the page that documents it.
#include "Grid/TimeParameters.h"

#include "Target/Arch/ArchInfo.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <cmath>

using namespace hocket;
using namespace hocket::sim;
using llvm::StringRef;

static constexpr TimeParameterInfo table[] = {
#define HOCKET_TIME_PARAMETER(field, key, value, unit, source, confidence, text)                   \
  {key, &TimeParameters::field, value, unit, source, confidence, text},
#include "Grid/TimeParameters.def"
};

static constexpr TimeVariation variations[] = {
#define HOCKET_TIME_VARIATION(key, value, source) {key, value, source},
#include "Grid/TimeVariations.def"
};

std::vector<TimeVariation> sim::timeVariations() {
  std::vector<TimeVariation> others;
  for (const TimeVariation &variation : variations) {
    auto info = std::ranges::find(table, variation.key, &TimeParameterInfo::key);
    if (info == std::end(table) || info->value != variation.value)
      others.push_back(variation);
  }
  return others;
}

std::string sim::assignmentOf(const TimeVariation &variation) {
  std::string text;
  llvm::raw_string_ostream(text) << variation.key << '=' << llvm::format("%g", variation.value);
  return text;
}

double sim::effectiveClock(const TimeParameters &p, double busy) {
  auto between = [](double x, double x0, double y0, double x1, double y1) {
    return y0 + (y1 - y0) * (x - x0) / (x1 - x0);
  };
  if (busy <= 0.125)
    return p.clockEighth;
  if (busy <= 0.5)
    return between(busy, 0.125, p.clockEighth, 0.5, p.clockHalf);
  return between(std::min(busy, 1.0), 0.5, p.clockHalf, 1, p.clockFull);
}

std::span<const TimeParameterInfo> sim::timeParameterTable() { return table; }

namespace {
/// What a parameter may be.
struct ValueRange {
  double low, high;
};
} // namespace

/// By its unit. Rates and clocks are divided by; a duration beyond the model's counters would only
/// seem to be that long.
static ValueRange rangeOf(StringRef unit) {
  constexpr double smallest = 1e-3, large = 1e6;
  if (unit == "cycles" || unit == "passes" || unit == "instructions")
    return {0, longestCycles};
  if (unit == "bytes/cycle" || unit == "GHz" || unit == "TB/s")
    return {smallest, large};
  if (unit == "share")
    return {smallest, 1};
  if (unit == "0 or 1")
    return {0, 1};
  return {0, large};
}

static std::string shown(double value) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%g", value);
  return text;
}

Status TimeParameters::set(std::string_view assignment) {
  auto [key, text] = StringRef(assignment).split('=');
  for (const TimeParameterInfo &info : table) {
    if (key != StringRef(info.key))
      continue;
    double value = 0;
    const ValueRange range = rangeOf(info.unit);
    bool isSwitch = StringRef(info.unit) == "0 or 1";
    bool right = !text.getAsDouble(value) && value >= range.low && value <= range.high &&
                 (!isSwitch || value == range.low || value == range.high);
    if (!right)
      return invalidInput("time parameter '" + key.str() + "' has the value '" + text.str() +
                          "', expected a number " + (isSwitch ? "that is " : "from ") +
                          shown(range.low) + (isSwitch ? " or " : " to ") + shown(range.high) +
                          " (" + std::string(info.unit) + ") as in '" + key.str() + "=" +
                          shown(info.value) + "'");
    this->*info.field = value;
    given.push_back(info.key);
    return Status::success();
  }
  std::string known;
  for (const TimeParameterInfo &info : table)
    known += (known.empty() ? "" : ", ") + std::string(info.key);
  return invalidInput("there is no time parameter '" + key.str() + "'; known are " + known);
}

static Error notParameters(std::string_view name, const std::string &why) {
  return invalidInput("'" + std::string(name) + "' is not a file of time parameters: " + why +
                      "; 'hocket-run first-day' and 'hocket-run time-parameters --json' write such files");
}

Status TimeParameters::read(std::string_view text, std::string_view name) {
  llvm::Expected<llvm::json::Value> value = llvm::json::parse(text);
  if (!value)
    return notParameters(name, llvm::toString(value.takeError()));
  const llvm::json::Object *whole = value->getAsObject();
  const llvm::json::Array *list = whole ? whole->getArray("parameters") : nullptr;
  std::optional<StringRef> architecture = whole ? whole->getString("architecture") : std::nullopt;
  if (!list || !architecture)
    return notParameters(name, "it has no 'architecture' or no 'parameters'");
  for (const llvm::json::Value &entry : *list) {
    const llvm::json::Object *object = entry.getAsObject();
    std::optional<StringRef> key = object ? object->getString("key") : std::nullopt;
    std::optional<double> number = object ? object->getNumber("value") : std::nullopt;
    if (!key || !number)
      return notParameters(name, "an entry of 'parameters' has no 'key' or no 'value'");
    std::string assignment;
    llvm::raw_string_ostream(assignment) << *key << '=' << llvm::format("%.17g", *number);
    if (Status status = set(assignment); !status.ok())
      return invalidInput("'" + std::string(name) + "': " + status.error().message);
  }
  chip = architecture->str();
  file = name;
  return Status::success();
}

Status TimeParameters::check(const ArchInfo &arch) const {
  if (chip.empty() || chip == arch.name)
    return Status::success();
  return invalidInput("the time parameters of '" + file + "' are of " + chip + ", what is timed is for " +
                      std::string(arch.name) + "; take a file of that chip");
}

TimeParameters TimeParameters::on(const ArchInfo &arch) const {
  constexpr double tablePeakMHz = 2400;
  TimeParameters result = *this;
  auto replace = [&](double TimeParameters::*field, double value) {
    auto info = std::ranges::find(table, field, &TimeParameterInfo::field);
    if (std::ranges::find(given, info->key) == given.end())
      result.*field = value;
  };
  replace(&TimeParameters::transCycles, arch.issue.trans);
  replace(&TimeParameters::transLatency, arch.issue.trans);
  replace(&TimeParameters::clockFull, arch.chip.busyClockMHz / 1000.0);
  // Half of the units busy: the same share of the peak clock as on gfx950.
  replace(&TimeParameters::clockHalf,
          TimeParameters().clockHalf * (arch.chip.peakClockMHz / tablePeakMHz));
  replace(&TimeParameters::clockEighth, arch.chip.peakClockMHz / 1000.0);
  replace(&TimeParameters::memoryPeak, double(arch.chip.memoryBytesPerSecond) / 1e12);
  return result;
}

std::string sim::timeParameterPage() {
  std::string page;
  llvm::raw_string_ostream out(page);
  out << "# Parameters of the cycle model\n\n"
         "Generated from lib/Grid/TimeParameters.def. Override one with "
         "`--time-param KEY=VALUE`. Sections are those of docs/Hardware.md; \"published\" is what "
         "published measurements pin down under a model of this kind. Values are gfx950's; for "
         "another "
         "chip `trans.*`, `clock.*` and `grid.memory_tbs` come from the architecture table.\n\n"
         "| key | value | unit | meaning | source | confidence |\n"
         "| --- | --- | --- | --- | --- | --- |\n";
  for (const TimeParameterInfo &info : table)
    out << "| `" << info.key << "` | " << llvm::format("%g", info.value) << " | " << info.unit
        << " | " << info.text << " | " << info.source << " | " << info.confidence << " |\n";
  out << "\n## Variations\n\n"
         "Values that a parameter may as well have, from lib/Grid/TimeVariations.def. `hocket-run bench --vary` "
         "predicts under each of them.\n\n"
         "| key | value | source |\n"
         "| --- | --- | --- |\n";
  for (const TimeVariation &variation : timeVariations())
    out << "| `" << variation.key << "` | " << llvm::format("%g", variation.value) << " | " << variation.source
        << " |\n";
  return page;
}
