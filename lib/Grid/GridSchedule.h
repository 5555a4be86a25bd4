// From the durations of workgroups to that of a grid: compute units, who shares them, and the clock.
#pragma once

#include "Grid/TimeParameters.h"

#include <vector>

namespace hocket::sim {

/// Cycles of a workgroup that has its compute unit for itself, and of one that shares it to the end with as many of its
/// like as there is room for. Issue prefers the waves that are there the longest, so that those that share do not all get
/// on alike.
struct WorkgroupCycles {
  double alone = 0;
  double together = 0; ///< at the mean speed of those that share
  double skew = 0;     ///< in [0, 1): by which share of that speed the oldest is faster and the youngest slower
  /// For the whole of its work at the speed of the `rank`th oldest of `running` of at most `resident` workgroups.
  double among(unsigned running, unsigned resident, unsigned rank) const;
};

/// The first workgroups on a compute unit, which fetch the code, and those behind them.
struct UnitCycles {
  WorkgroupCycles first, later;
};

struct GridSchedule {
  double cycles = 0, microseconds = 0, busyShare = 0;
};
/// Deals workgroup i, which takes `cyclesOf[i]`, to XCDs in turn and to the compute unit with the fewest workgroups;
/// one that shares a unit gets on as fast as with so many of its like. Returns cycles, and the integral over the clock
/// in microseconds.
GridSchedule scheduleGrid(const TimeParameters &parameters, unsigned xcds, unsigned unitsPerXcd,
                          unsigned resident, const std::vector<WorkgroupCycles> &cyclesOf);


/// When workgroups that pass through one compute unit end, `resident` at a time: [of `cyclesOf`], cycles from the first
/// one's start.
std::vector<double> endsOnUnit(unsigned resident, const std::vector<WorkgroupCycles> &cyclesOf);

/// The cycles with which `endsOnUnit` repeats what was timed: `ends`, of as many workgroups as share the unit (the half)
/// and as many behind them, all alike, in the order in which they began; two at least. `firstAlone` and `laterAlone` are
/// of one alone. Where those that share are more unlike than a skew can say, their last end is kept.
UnitCycles fitCycles(const std::vector<double> &ends, double firstAlone, double laterAlone);

} // namespace hocket::sim
