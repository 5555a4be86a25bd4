// A part of a wave's life begins when its first instruction could have issued: what holds that one
// up belongs to the part. A pass through the loop ends with the first instruction that is not in
// the loop's code behind the last visit of its header.
#include "Simulator/Budget.h"

#include "HotLoop.h"

#include <algorithm>

using namespace hocket;
using namespace hocket::sim;

std::string_view sim::name(LifePart part) {
  constexpr std::string_view names[lifeParts] = {"before", "loop", "between", "behind"};
  return names[unsigned(part)];
}

TimingOptions sim::warmed(const TimingOptions &options) {
  TimingOptions warm = options;
  warm.workgroups.resize(std::min<size_t>(1, warm.workgroups.size()));
  TimeParameters &parameters = warm.parameters;
  parameters.fetchCold = parameters.fetchJump = parameters.fetchNext = 0;
  parameters.scalarMiss = parameters.scalarHit;
  return warm;
}

/// The last place of the code between `header` and a jump back to it.
static uint32_t loopEnd(const WaveEvents &events, const std::vector<size_t> &visits,
                        uint32_t header) {
  uint32_t end = header;
  for (size_t at : visits)
    if (at != 0)
      end = std::max(end, events[at - 1]->place);
  return end;
}

/// The part that each event of a wave belongs to.
static std::vector<LifePart> partsOf(const WaveEvents &events, const std::vector<size_t> &visits,
                                     uint32_t header) {
  std::vector<LifePart> parts(events.size(), LifePart::Before);
  const uint32_t end = loopEnd(events, visits, header);
  for (size_t v = 0; v < visits.size(); ++v) {
    const size_t next = v + 1 < visits.size() ? visits[v + 1] : events.size();
    const bool turns = v + 1 < visits.size() && events[next - 1]->place >= header;
    size_t leaves = visits[v];
    while (leaves != next &&
           (turns || (events[leaves]->place >= header && events[leaves]->place <= end)))
      parts[leaves++] = LifePart::Loop;
    std::fill(parts.begin() + leaves, parts.begin() + next,
              v + 1 < visits.size() ? LifePart::Between : LifePart::Behind);
  }
  return parts;
}

/// The loop that a wave spends its time in: `common` where it comes by it, else one of its own. Kernels may have a copy
/// of their loop for each group of waves.
static std::optional<HotLoop> loopOf(const TimedRun &run, const WaveEvents &events, const std::optional<HotLoop> &common) {
  if (common && !visitsOf(events, common->header).empty())
    return common;
  return findHotLoop(run, events);
}

/// Adds the parts of one wave; the result is when its last instruction issued.
static uint64_t addWave(LifeBudget &budget, const TimedRun &run, const WaveEvents &events,
                        const std::optional<HotLoop> &hot) {
  const std::vector<size_t> visits = hot ? visitsOf(events, hot->header) : std::vector<size_t>();
  const std::vector<LifePart> parts = partsOf(events, visits, hot ? hot->header : 0);
  uint64_t begin = run.groups.front().begin;
  for (size_t i = 0; i < events.size(); ++i) {
    WaveTime &part = budget.parts[unsigned(parts[i])];
    addEvent(part, run, *events[i]);
    const uint64_t end = i + 1 < events.size() ? events[i + 1]->ready : events[i]->cycle;
    part.cycles += double(end) - double(begin);
    begin = end;
  }
  return begin;
}

static void divide(LifeBudget &budget, double waves) {
  for (WaveTime &part : budget.parts) {
    part.cycles /= waves, part.instructions /= waves, part.mfma /= waves;
    for (double &stall : part.stall)
      stall /= waves;
  }
}

static std::optional<double> outsideOf(const LifeBudget &budget, const TimingSummary &summary) {
  if (!summary.hasSteady)
    return std::nullopt;
  double perTurn = 0, all = 0;
  for (const SteadyTime::Wave &wave : summary.steady.waves)
    perTurn += wave.total.mfma / double(summary.steady.waves.size());
  for (const WaveTime &part : budget.parts)
    all += part.mfma;
  if (perTurn == 0)
    return std::nullopt;
  return budget.cycles - all / perTurn * summary.steady.cycles;
}

std::optional<LifeBudget> sim::budgetOf(const TimedRun &run, const TimingSummary &summary) {
  if (!run.complete || run.groups.empty())
    return std::nullopt;
  const TimedGroup &group = run.groups.front();
  LifeBudget budget;
  budget.workgroup = group.workgroup;
  budget.cycles = double(group.end - group.begin);
  budget.loads = group.loads, budget.stores = group.stores;
  const std::vector<WaveEvents> waves = eventsByWave(run);
  const std::optional<HotLoop> hot = findHotLoop(run, waves.front());
  double count = 0, ends = 0;
  for (size_t w = 0; w < waves.size() && run.waves[w].group == 0; ++w, ++count)
    ends += double(addWave(budget, run, waves[w], loopOf(run, waves[w], hot)));
  divide(budget, count);
  budget.drain = double(group.end) - ends / count;
  budget.outside = outsideOf(budget, summary);
  return budget;
}
