// The parameter table as data: overriding from the command line, and the page that documents it.
#include "hocket/Simulator/TimeParameters.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>

using namespace hocket;
using namespace hocket::sim;
using llvm::StringRef;

static constexpr TimeParameterInfo table[] = {
#define HOCKET_TIME_PARAMETER(field, key, value, unit, source, confidence, text)                   \
  {key, &TimeParameters::field, value, unit, source, confidence, text},
#include "hocket/Simulator/TimeParameters.def"
};

std::span<const TimeParameterInfo> sim::timeParameterTable() { return table; }

Status TimeParameters::set(std::string_view assignment) {
  auto [key, text] = StringRef(assignment).split('=');
  for (const TimeParameterInfo &info : table) {
    if (key != StringRef(info.key))
      continue;
    double value = 0;
    if (text.getAsDouble(value) || !std::isfinite(value) || value < 0 || value > 1e9)
      return invalidInput("time parameter '" + key.str() + "' has the value '" + text.str() +
                          "', expected a number from 0 to 1e9 as in '" + key.str() + "=" +
                          llvm::StringRef(std::to_string(info.value)).str() + "'");
    this->*info.field = value;
    return Status::success();
  }
  std::string known;
  for (const TimeParameterInfo &info : table)
    known += (known.empty() ? "" : ", ") + std::string(info.key);
  return invalidInput("there is no time parameter '" + key.str() + "'; known are " + known);
}

std::string sim::timeParameterPage() {
  std::string page;
  llvm::raw_string_ostream out(page);
  out << "# Parameters of the cycle model\n\n"
         "Generated from include/hocket/Simulator/TimeParameters.def. Override one with "
         "`--time-param KEY=VALUE`. Sections are those of docs/Hardware.md; \"published\" is what "
         "published measurements pin down under a model of this kind.\n\n"
         "| key | value | unit | meaning | source | confidence |\n"
         "| --- | --- | --- | --- | --- | --- |\n";
  for (const TimeParameterInfo &info : table)
    out << "| `" << info.key << "` | " << llvm::format("%g", info.value) << " | " << info.unit
        << " | " << info.text << " | " << info.source << " | " << info.confidence << " |\n";
  return page;
}
