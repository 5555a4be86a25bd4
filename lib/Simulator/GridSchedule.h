// From the durations of workgroups to that of a grid: compute units, who shares them, and the clock.
#pragma once

#include "Simulator/TimeParameters.h"

#include <vector>

namespace hocket::sim {

/// Cycles of a workgroup that has its compute unit for itself, and of one that shares it to the end with as many of its
/// like as there is room for.
struct WorkgroupCycles {
  double alone = 0, together = 0;
  /// With `running` of at most `resident` workgroups on the compute unit.
  double among(unsigned running, unsigned resident) const {
    return resident > 1 ? alone + (together - alone) * (running - 1) / (resident - 1) : together;
  }
};

struct GridSchedule {
  double cycles = 0, microseconds = 0, busyShare = 0;
};
/// Deals workgroup i, which takes `cyclesOf[i]`, to XCDs in turn and to the compute unit with the fewest workgroups;
/// one that shares a unit gets on as fast as with so many of its like. Returns cycles, and the integral over the clock
/// in microseconds.
GridSchedule scheduleGrid(const TimeParameters &parameters, unsigned xcds, unsigned unitsPerXcd,
                          unsigned resident, const std::vector<WorkgroupCycles> &cyclesOf);

} // namespace hocket::sim
