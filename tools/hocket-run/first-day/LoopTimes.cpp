// See LoopTimes.h. What a launch costs beside its turns is the same for few and for many of them, so that the
// difference of two launches is that of their turns.
#include "LoopTimes.h"

#include "Measure.h"

#include "Simulator/GridTime.h"

#include <algorithm>
#include <cmath>

using namespace hocket;
using namespace hocket::run;
using namespace hocket::run::firstday;

/// How long the longer launch should take, in microseconds.
static constexpr double kQuickMicroseconds = 100, kMicroseconds = 2000;
/// What a difference of two times is known to at best: of itself, and in microseconds.
static constexpr double kShare = 0.002, kTick = 0.02;
/// Turns of predictions, which have no noise: after the first two nothing is new.
static constexpr uint32_t kFewTurns = 3, kMoreTurns = 7;

Result<LoopTimer> LoopTimer::make(Session &session, const Benchmark &benchmark) {
  Result<std::string> code = assembleLoop(benchmark.setup, benchmark.body, session.chip());
  if (!code.ok())
    return code.error();
  LoopTimer timer(session, benchmark, *std::move(code));
  auto simulated = LoadedLoop::load(*session.simulator, timer.code, timer.bytes());
  if (!simulated.ok())
    return simulated.error();
  timer.simulated = *std::move(simulated);
  return std::move(timer);
}

unsigned LoopTimer::groups() const {
  const unsigned units = session.device->properties().computeUnits;
  switch (benchmark.spread) {
  case Spread::One:
    return 1;
  case Spread::HalfOfUnits:
    return std::max(units / 2, 1u);
  case Spread::AllUnits:
    return units;
  case Spread::FourEachUnit:
    return 4 * units;
  }
  return 1;
}

Result<LoopTimes> LoopTimer::measure(double expected) const {
  runtime::Device &device = *session.device;
  auto loop = LoadedLoop::load(device, code, bytes());
  if (!loop.ok())
    return loop.error();
  const double wanted = (session.quick ? kQuickMicroseconds : kMicroseconds) / std::max(expected, 1e-6);
  const uint32_t more = benchmark.turns ? benchmark.turns : uint32_t(std::clamp(std::ceil(wanted), 8.0, 1048576.0));
  const uint32_t few = more == 1 ? 0 : std::max(more / 8, 1u);
  auto time = [&](uint32_t turns) -> Result<double> {
    auto report = device.launch((*loop)->kernel(), shape(), (*loop)->arguments(turns));
    return report.ok() ? Result<double>(1e6 * report->seconds) : report.error();
  };
  std::vector<double> times;
  const unsigned repetitions = session.quick ? 3 : 25;
  for (unsigned i = 0; i != repetitions + 1; ++i) {
    Result<double> longer = time(more), shorter = few ? time(few) : Result<double>(0.0);
    if (!longer.ok() || !shorter.ok())
      return longer.ok() ? shorter.error() : longer.error();
    if (i != 0) // the first is slower: code and memory are cold
      times.push_back((*longer - *shorter) / (more - few));
  }
  const Measurement found = summarize(std::move(times));
  const double least = std::max(kShare * found.median, kTick / (more - few));
  return LoopTimes{found.median,
                   {std::min(found.low, found.median - least), std::max(found.high, found.median + least)},
                   more};
}

Result<double> LoopTimer::predict(const sim::TimeParameters &parameters) const {
  sim::TimingOptions options;
  options.parameters = parameters;
  auto time = [&](uint32_t turns) -> Result<double> {
    auto grid = sim::predictGrid(*session.simulator, simulated->kernel(), shape(), simulated->arguments(turns), options);
    return grid.ok() ? Result<double>(grid->microseconds) : grid.error();
  };
  if (benchmark.turns == 1)
    return time(1);
  const uint32_t more = benchmark.turns ? benchmark.turns : kMoreTurns;
  const uint32_t few = benchmark.turns ? std::max(more / 8, 1u) : kFewTurns;
  Result<double> longer = time(more), shorter = time(few);
  if (!longer.ok() || !shorter.ok())
    return longer.ok() ? shorter.error() : longer.error();
  return (*longer - *shorter) / (more - few);
}
