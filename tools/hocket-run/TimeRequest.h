// --time and what belongs to it, for every subcommand that can time a launch.
#pragma once

#include "Options.h"

#include "hocket/Simulator/Timing.h"

namespace hocket::run {

/// The options' numbers in the subcommand's own table.
struct TimeOptionIds {
  unsigned time, param, workgroup, trace, picture;
};

/// A launch to be timed, and what came of it.
class TimeRequest {
public:
  static Result<TimeRequest> read(const Options &options, const TimeOptionIds &ids);

  bool wanted() const { return enabled; }
  /// Times the launch and writes trace and picture. An error where `device` is not the simulator.
  Status run(runtime::Device &device, runtime::Kernel &kernel, const runtime::LaunchShape &shape,
             std::span<const std::byte> kernarg);
  /// The report; empty if nothing was timed.
  const std::string &text() const { return textReport; }
  /// `report`, a JSON object, with the member "time" added if something was timed.
  std::string addTo(const std::string &report) const;

private:
  bool enabled = false;
  sim::TimingOptions options;
  std::string tracePath, picturePath, textReport, jsonReport;
};

} // namespace hocket::run
