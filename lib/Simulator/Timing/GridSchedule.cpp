// From workgroup durations to the duration of a grid.
//
// Workgroup i goes to XCD i mod n (docs/Hardware.md 1) and waits there until one of its compute
// units has room. All run in one clock domain, so the schedule is made in cycles; the clock at each
// moment follows from how many compute units are busy then.
#include "Simulator/GridTime.h"

#include <algorithm>
#include <functional>
#include <queue>

using namespace hocket;
using namespace hocket::sim;

GridSchedule sim::scheduleGrid(const TimeParameters &parameters, unsigned xcds,
                               unsigned unitsPerXcd, unsigned resident,
                               const std::vector<double> &cyclesOf) {
  // Slots of one XCD, the one that is free first on top. Units are filled one slot each first.
  using Slot = std::pair<double, unsigned>;
  using Slots = std::priority_queue<Slot, std::vector<Slot>, std::greater<>>;
  std::vector<Slots> free(xcds);
  for (Slots &slots : free)
    for (unsigned i = 0; i < unitsPerXcd * resident; ++i)
      slots.push({0, i});
  std::vector<std::pair<double, int>> changes; ///< of the number of busy slots
  GridSchedule schedule;
  for (size_t i = 0; i < cyclesOf.size(); ++i) {
    Slots &slots = free[i % xcds];
    Slot slot = slots.top();
    slots.pop();
    double end = slot.first + cyclesOf[i];
    changes.push_back({slot.first, 1});
    changes.push_back({end, -1});
    slots.push({end, slot.second});
    schedule.cycles = std::max(schedule.cycles, end);
  }
  std::sort(changes.begin(), changes.end());
  double units = double(xcds) * unitsPerXcd, now = 0, busyCycles = 0;
  int busySlots = 0;
  for (auto [at, change] : changes) {
    // With fewer workgroups than compute units each has one for itself.
    double busy = std::min(1.0, busySlots / units);
    double clock = effectiveClock(parameters, busy);
    if (clock > 0)
      schedule.microseconds += (at - now) / (clock * 1000);
    busyCycles += busy * (at - now);
    now = at;
    busySlots += change;
  }
  schedule.busyShare = schedule.cycles > 0 ? busyCycles / schedule.cycles : 0;
  return schedule;
}
