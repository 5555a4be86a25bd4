// Time as events see it (Clock.cpp).
#pragma once

#include "Grid/TimeParameters.h"
#include "Simulator/Simulator.h"

#include <array>
#include <chrono>
#include <map>
#include <string>
#include <tuple>
#include <vector>

namespace hocket::hip {

/// Predicted microseconds of a module's launches: by kernel, grid and arguments.
using LaunchTimes = std::map<std::tuple<size_t, std::array<uint32_t, 3>, std::vector<std::byte>>, double>;

class Clock {
public:
  /// From now on time passes by predictions, with parameters as in "memory.bytes=24,lds.latency=64". Errors: those of
  /// `sim::TimeParameters::set`.
  Status useModel(const std::string &parameters);
  std::chrono::steady_clock::time_point now() const;
  /// Lets the time of a launch pass, which is about to run. One that is among `known` takes as long as before; others
  /// are added. Errors: it cannot be predicted.
  Status pass(LaunchTimes &known, sim::Program &program, size_t kernel, const runtime::LaunchShape &shape,
              std::span<const std::byte> kernarg);

private:
  Result<double> predict(sim::Program &program, size_t kernel, const runtime::LaunchShape &shape,
                         std::span<const std::byte> kernarg) const;

  bool isModel = false;
  sim::TimeParameters model;
  double microseconds = 1; ///< of the model
};

} // namespace hocket::hip
