// Times of a micro-benchmark: measured on the device, predicted on the simulator.
#pragma once

#include "AssemblyKernel.h"
#include "Benchmarks.h"
#include "Fit.h"
#include "Session.h"

namespace hocket::run::firstday {

/// Microseconds of one turn of the loop, or of the whole launch where it has one turn.
struct LoopTimes {
  double median = 0;
  Interval likely; ///< quartiles, and no narrower than what a device's clock can tell
  uint32_t turns = 0;
};

class LoopTimer {
public:
  static Result<LoopTimer> make(Session &session, const Benchmark &benchmark);
  /// `expected`: microseconds of a turn, for how many turns to take.
  Result<LoopTimes> measure(double expected) const;
  Result<double> predict(const sim::TimeParameters &parameters) const;

private:
  LoopTimer(Session &session, const Benchmark &benchmark, std::string code)
      : session(session), benchmark(benchmark), code(std::move(code)) {}
  uint64_t bytes() const { return groups() * benchmark.bufferBytes; }
  unsigned groups() const;
  runtime::LaunchShape shape() const { return {{groups(), 1, 1}, {64 * benchmark.waves, 1, 1}, 0}; }

  Session &session;
  const Benchmark &benchmark;
  std::string code;
  std::shared_ptr<LoadedLoop> simulated; ///< on the simulator
};

} // namespace hocket::run::firstday
