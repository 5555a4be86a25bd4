// From workgroup durations to the duration of a grid.
//
// Workgroup i goes to XCD i mod n (docs/Hardware.md 1) and waits there until one of its compute
// units has room. All run in one clock domain, so the schedule is made in cycles; the clock at each
// moment follows from how many compute units are busy then.
#include "Simulator/GridSchedule.h"

#include <algorithm>
#include <functional>
#include <queue>

using namespace hocket;
using namespace hocket::sim;

namespace {
/// A compute unit and the workgroups on it, each with the share of its work that is left. Between two events all get on
/// at the speed that their number allows.
class Unit {
public:
  unsigned running() const { return static_cast<unsigned>(groups.size()); }

  void start(double now, unsigned resident, const WorkgroupCycles &cycles) {
    advance(now, resident);
    groups.push_back({&cycles, 1});
  }
  /// When the first of them ends, if none comes before. There is one.
  double nextEnd(unsigned resident) const { return at + groups[firstToEnd(resident)].wait(running(), resident); }
  /// Takes away the one that ends at `now`, which is `nextEnd`.
  void endOne(double now, unsigned resident) {
    advance(now, resident);
    groups.erase(groups.begin() + firstToEnd(resident));
  }

private:
  struct Running {
    const WorkgroupCycles *cycles;
    double left;
    double wait(unsigned running, unsigned resident) const { return left * cycles->among(running, resident); }
  };
  size_t firstToEnd(unsigned resident) const {
    auto endsBefore = [&](const Running &a, const Running &b) {
      return a.wait(running(), resident) < b.wait(running(), resident);
    };
    return std::min_element(groups.begin(), groups.end(), endsBefore) - groups.begin();
  }
  void advance(double now, unsigned resident) {
    for (Running &group : groups)
      if (double whole = group.cycles->among(running(), resident); whole > 0)
        group.left = std::max(0.0, group.left - (now - at) / whole);
    at = now;
  }
  std::vector<Running> groups;
  double at = 0;
};

/// Units begin and end to have work: at which cycle, 1 or -1.
using Changes = std::vector<std::pair<double, int>>;
} // namespace

/// Runs `waiting`, in order, on the units of one XCD: each gets one first, then each another, and where one ends the next
/// one begins.
static void runOnXcd(const std::vector<const WorkgroupCycles *> &waiting, unsigned unitCount, unsigned resident,
                     Changes &changes) {
  std::vector<Unit> units(std::min<size_t>(unitCount, waiting.size()));
  size_t next = 0;
  for (; next != std::min<size_t>(waiting.size(), size_t(unitCount) * resident); ++next)
    units[next % unitCount].start(0, resident, *waiting[next]);
  // The next end on each unit that has work.
  using End = std::pair<double, size_t>;
  std::priority_queue<End, std::vector<End>, std::greater<>> ends;
  for (size_t i = 0; i != units.size(); ++i) {
    changes.push_back({0, 1});
    ends.push({units[i].nextEnd(resident), i});
  }
  while (!ends.empty()) {
    auto [now, i] = ends.top();
    ends.pop();
    units[i].endOne(now, resident);
    if (next != waiting.size())
      units[i].start(now, resident, *waiting[next++]);
    if (units[i].running())
      ends.push({units[i].nextEnd(resident), i});
    else
      changes.push_back({now, -1});
  }
}

GridSchedule sim::scheduleGrid(const TimeParameters &parameters, unsigned xcds, unsigned unitsPerXcd,
                               unsigned resident, const std::vector<WorkgroupCycles> &cyclesOf) {
  Changes changes;
  for (unsigned xcd = 0; xcd != xcds; ++xcd) {
    std::vector<const WorkgroupCycles *> waiting;
    for (size_t i = xcd; i < cyclesOf.size(); i += xcds)
      waiting.push_back(&cyclesOf[i]);
    runOnXcd(waiting, unitsPerXcd, resident, changes);
  }
  std::sort(changes.begin(), changes.end());
  GridSchedule schedule;
  double units = double(xcds) * unitsPerXcd, now = 0, busyCycles = 0;
  int busyUnits = 0;
  for (auto [at, change] : changes) {
    double busy = busyUnits / units;
    double clock = effectiveClock(parameters, busy);
    if (clock > 0)
      schedule.microseconds += (at - now) / (clock * 1000);
    busyCycles += busy * (at - now);
    now = at;
    busyUnits += change;
  }
  schedule.cycles = now;
  schedule.busyShare = now > 0 ? busyCycles / now : 0;
  return schedule;
}
