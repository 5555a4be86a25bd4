// The parameters of the cycle model: one table with value, unit, source and confidence of each.
#pragma once

#include "hocket/Support/Result.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hocket {
struct ArchInfo;
}

namespace hocket::sim {

/// The values a run uses. Every field is a line of TimeParameters.def.
struct TimeParameters {
#define HOCKET_TIME_PARAMETER(field, key, value, unit, source, confidence, text)                   \
  double field = value;
#include "Grid/TimeParameters.def"

  /// Sets one parameter from "key=value". Errors: no such key (the message lists all of them), a
  /// value that is not a number from 0 to 1e9.
  Status set(std::string_view assignment);
  /// Sets those that a file of parameters gives (docs/CycleModel.md); `name` is what messages call it. The file's chip
  /// becomes the only one that the parameters are for. Errors: what `set` says, a text of another form.
  Status read(std::string_view text, std::string_view name);
  /// Refuses `arch` where a file that was read is of another chip.
  Status check(const ArchInfo &arch) const;

  /// The chip of the file that was read, or "".
  const std::string &chipOfFile() const { return chip; }

  /// The parameters for `arch`. The table's values are gfx950's: those that the architecture table
  /// knows of each chip (transcendental rate, clocks, memory bandwidth) are replaced by the chip's,
  /// unless they were set.
  TimeParameters on(const ArchInfo &arch) const;

  bool operator==(const TimeParameters &) const = default;

private:
  std::vector<std::string_view> given; ///< keys that were set
  std::string chip, file; ///< of the file that was read; empty: none
};

/// A value that a parameter may as well have; one at a time. A line of TimeVariations.def.
struct TimeVariation {
  std::string_view key;
  double value;
  std::string_view source;
};

/// All of them but those that are the parameter's own value, in the file's order.
std::vector<TimeVariation> timeVariations();
/// "packed.f32_cycles=8", as `TimeParameters::set` takes it.
std::string assignmentOf(const TimeVariation &variation);

/// The effective clock in GHz with a share `busy` of the compute units busy, between the three that
/// are known.
double effectiveClock(const TimeParameters &parameters, double busy);

/// The longest duration that a parameter may say, in cycles: what the model's counters hold.
inline constexpr double longestCycles = 60000;

/// One line of the table.
struct TimeParameterInfo {
  std::string_view key;
  double TimeParameters::*field;
  double value; ///< the default
  std::string_view unit, source, confidence, text;
};

/// The whole table, in its order.
std::span<const TimeParameterInfo> timeParameterTable();
/// The table as the Markdown page docs/generated/TimeParameters.md.
std::string timeParameterPage();

} // namespace hocket::sim
