// The loop in which a kernel spends its matrix instructions, found in what its waves issued.
#pragma once

#include "Simulator/Timing.h"

#include <optional>
#include <vector>

namespace hocket::sim {

/// What one wave issued, in order.
using WaveEvents = std::vector<const IssueEvent *>;

/// The events of `run` by wave.
std::vector<WaveEvents> eventsByWave(const TimedRun &run);

/// Whether `event` is a matrix instruction.
bool isMatrix(const TimedRun &run, const IssueEvent &event);

/// Adds `event` to what its wave issued and waited for; cycles are left to the caller.
void addEvent(WaveTime &time, const TimedRun &run, const IssueEvent &event);

struct HotLoop {
  uint32_t header = 0; ///< place of its first instruction
  /// Positions among the wave's events at which it was at the header; at least two.
  std::vector<size_t> visits;
};

/// A place that the wave jumps back to and between whose visits most matrix instructions issue
/// (most instructions, where there are none); of nested loops with about as many the innermost.
std::optional<HotLoop> findHotLoop(const TimedRun &run, const WaveEvents &events);

/// Positions among `events` at which `header` stands.
std::vector<size_t> visitsOf(const WaveEvents &events, uint32_t header);

} // namespace hocket::sim
