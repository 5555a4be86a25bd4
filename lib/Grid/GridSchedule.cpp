// From workgroup durations to the duration of a grid.
//
// Workgroup i goes to XCD i mod n (docs/Hardware.md 1) and waits there until one of its compute
// units has room. All run in one clock domain, so the schedule is made in cycles; the clock at each
// moment follows from how many compute units are busy then.
#include "Grid/GridSchedule.h"

#include <algorithm>
#include <functional>
#include <queue>

using namespace hocket;
using namespace hocket::sim;

double WorkgroupCycles::among(unsigned running, unsigned resident, unsigned rank) const {
  if (resident <= 1)
    return together;
  const double sharing = double(running - 1) / (resident - 1);
  const double mean = alone + (together - alone) * sharing;
  return running > 1 ? mean / (1 + skew * sharing * (1 - 2.0 * rank / (running - 1))) : mean;
}

namespace {
/// A compute unit and the workgroups on it, the oldest first, each with the share of its work that is left. Between two
/// events all get on at the speed that their number and their age allow.
class Unit {
public:
  explicit Unit(unsigned resident) : resident(resident) {}
  unsigned running() const { return static_cast<unsigned>(groups.size()); }

  void start(double now, const WorkgroupCycles &cycles, size_t number = 0) {
    advance(now);
    groups.push_back({&cycles, 1, number});
  }
  /// When the first of them ends, if none comes before. There is one.
  double nextEnd() const { return at + wait(firstToEnd()); }
  /// Takes away the one that ends at `now`, which is `nextEnd`; the result is its number.
  size_t endOne(double now) {
    const size_t place = firstToEnd(), number = groups[place].number;
    advance(now);
    groups.erase(groups.begin() + static_cast<ptrdiff_t>(place));
    return number;
  }

private:
  struct Running {
    const WorkgroupCycles *cycles;
    double left;
    size_t number;
  };
  double whole(size_t place) const {
    return groups[place].cycles->among(running(), resident, static_cast<unsigned>(place));
  }
  double wait(size_t place) const { return groups[place].left * whole(place); }
  size_t firstToEnd() const {
    size_t first = 0;
    for (size_t place = 1; place < groups.size(); ++place)
      if (wait(place) < wait(first))
        first = place;
    return first;
  }
  void advance(double now) {
    for (size_t place = 0; place != groups.size(); ++place)
      if (const double cycles = whole(place); cycles > 0)
        groups[place].left = std::max(0.0, groups[place].left - (now - at) / cycles);
    at = now;
  }
  unsigned resident;
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
  std::vector<Unit> units(std::min<size_t>(unitCount, waiting.size()), Unit(resident));
  size_t next = 0;
  for (; next != std::min<size_t>(waiting.size(), size_t(unitCount) * resident); ++next)
    units[next % unitCount].start(0, *waiting[next]);
  // The next end on each unit that has work.
  using End = std::pair<double, size_t>;
  std::priority_queue<End, std::vector<End>, std::greater<>> ends;
  for (size_t i = 0; i != units.size(); ++i) {
    changes.push_back({0, 1});
    ends.push({units[i].nextEnd(), i});
  }
  while (!ends.empty()) {
    auto [now, i] = ends.top();
    ends.pop();
    units[i].endOne(now);
    if (next != waiting.size())
      units[i].start(now, *waiting[next++]);
    if (units[i].running())
      ends.push({units[i].nextEnd(), i});
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

std::vector<double> sim::endsOnUnit(unsigned resident, const std::vector<WorkgroupCycles> &cyclesOf) {
  std::vector<double> ends(cyclesOf.size());
  Unit unit(resident);
  size_t next = 0;
  for (; next < std::min<size_t>(resident, cyclesOf.size()); ++next)
    unit.start(0, cyclesOf[next], next);
  while (unit.running()) {
    const double now = unit.nextEnd();
    ends[unit.endOne(now)] = now;
    if (next < cyclesOf.size()) {
      unit.start(now, cyclesOf[next], next);
      ++next;
    }
  }
  return ends;
}

/// Halvings of an interval in which a number is looked for: to a part in a million.
static constexpr unsigned kHalvings = 24;
/// No workgroup is taken for one that gets on by less than a twentieth of the mean speed.
static constexpr double kMostSkew = 0.95;

/// The least number in [low, high], but for rounding, at which `reaches`, which is so from somewhere on; else `high`.
static double leastThat(double low, double high, const std::function<bool(double)> &reaches) {
  for (unsigned i = 0; i != kHalvings; ++i) {
    const double middle = (low + high) / 2;
    (reaches(middle) ? high : low) = middle;
  }
  return high;
}

/// Of the first `count` workgroups.
static double lastEnd(const std::vector<double> &ends, size_t count) {
  return *std::max_element(ends.begin(), ends.begin() + static_cast<ptrdiff_t>(count));
}

/// From the ends of the first half.
static WorkgroupCycles fitFirst(const std::vector<double> &ends, double alone) {
  const size_t resident = ends.size() / 2;
  const double earliest = *std::min_element(ends.begin(), ends.begin() + static_cast<ptrdiff_t>(resident));
  if (resident == 1)
    return {alone, earliest, 0};
  const double last = lastEnd(ends, resident);
  // Those behind run beside the last of the first ones: as fast as these, as far as is known yet.
  auto isAsLate = [&](const WorkgroupCycles &each) {
    const std::vector<WorkgroupCycles> all(ends.size(), each);
    return lastEnd(endsOnUnit(static_cast<unsigned>(resident), all), resident) >= last;
  };
  auto withSkew = [&](double skew) { return WorkgroupCycles{alone, earliest * (1 + skew), skew}; };
  WorkgroupCycles fit = withSkew(leastThat(0, kMostSkew, [&](double skew) { return isAsLate(withSkew(skew)); }));
  if (isAsLate(fit))
    return fit;
  // More unlike than a skew can say.
  fit.together = leastThat(fit.together, 2 * last * double(resident),
                           [&](double cycles) { return isAsLate({alone, cycles, fit.skew}); });
  return fit;
}

/// Of those behind `first`, from the last end of all.
static WorkgroupCycles fitLater(const std::vector<double> &ends, const WorkgroupCycles &first, double alone) {
  const size_t resident = ends.size() / 2;
  const double last = lastEnd(ends, ends.size());
  auto isAsLate = [&](double cycles) {
    std::vector<WorkgroupCycles> all(ends.size(), {alone, cycles, first.skew});
    std::fill_n(all.begin(), resident, first);
    return lastEnd(endsOnUnit(static_cast<unsigned>(resident), all), ends.size()) >= last;
  };
  return {alone, leastThat(0, 2 * last, isAsLate), first.skew};
}

UnitCycles sim::fitCycles(const std::vector<double> &ends, double firstAlone, double laterAlone) {
  if (ends.size() < 2)
    return {{firstAlone, firstAlone, 0}, {laterAlone, laterAlone, 0}};
  const WorkgroupCycles first = fitFirst(ends, firstAlone);
  return {first, fitLater(ends, first, laterAlone)};
}
