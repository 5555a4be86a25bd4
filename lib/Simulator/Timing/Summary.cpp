// From issue events to what they mean: the hot loop, its steady state, clusters, busy shares.
//
// The steady state is the middle half of the first wave's turns of the hot loop. A cluster is what
// lies between two barriers; the rest of a turn behind its last barrier belongs to the first. They
// get the schedule's numbers where it is known how it begins (Clusters.h).
#include "ComputeUnit.h"
#include "HotLoop.h"

#include <algorithm>

using namespace hocket;
using namespace hocket::sim;
using amdgpu::InstructionClass;

static void scale(WaveTime &time, double factor) {
  time.cycles *= factor, time.instructions *= factor, time.mfma *= factor;
  for (double &stall : time.stall)
    stall *= factor;
}

/// Barriers among the first `count` events of a wave.
static uint64_t barriersIn(const TimedRun &run, const WaveEvents &events, size_t count) {
  return std::count_if(events.begin(), events.begin() + count, [&](const IssueEvent *event) {
    auto place = run.places.find(event->place);
    return place != run.places.end() && place->second.kind == InstructionClass::Barrier;
  });
}

/// Clusters of one wave, averaged over its turns from visit `first` to visit `last`.
static void clusterTimes(const TimedRun &run, const WaveEvents &events,
                         const std::vector<size_t> &visits, size_t first, size_t last,
                         SteadyTime::Wave &wave) {
  for (size_t turn = first; turn < last; ++turn) {
    size_t cluster = 0;
    for (size_t i = visits[turn]; i < visits[turn + 1]; ++i) {
      if (wave.clusters.size() <= cluster)
        wave.clusters.emplace_back();
      WaveTime &time = wave.clusters[cluster];
      addEvent(time, run, *events[i]);
      addEvent(wave.total, run, *events[i]);
      // Up to the next instruction, so that clusters add up to the turn.
      double cycles = double(events[i + 1]->cycle - events[i]->cycle);
      time.cycles += cycles;
      wave.total.cycles += cycles;
      auto place = run.places.find(events[i]->place);
      if (place != run.places.end() && place->second.kind == InstructionClass::Barrier)
        ++cluster;
    }
    // The tail behind the last barrier.
    if (cluster > 0 && wave.clusters.size() > cluster) {
      WaveTime tail = wave.clusters[cluster];
      wave.clusters.resize(cluster);
      WaveTime &head = wave.clusters.front();
      head.cycles += tail.cycles, head.instructions += tail.instructions, head.mfma += tail.mfma;
      for (unsigned s = 0; s < stalls; ++s)
        head.stall[s] += tail.stall[s];
    }
  }
  double factor = 1.0 / double(last - first);
  scale(wave.total, factor);
  for (WaveTime &time : wave.clusters)
    scale(time, factor);
}

/// Shares of the units over [begin, end): of four SIMDs for those that each SIMD has.
static std::array<double, timedUnits> busyShares(const TimedRun &run, uint64_t begin,
                                                 uint64_t end) {
  std::array<double, timedUnits> busy = {};
  if (end <= begin)
    return busy;
  for (const IssueEvent &event : run.events)
    if (event.cycle >= begin && event.cycle < end)
      busy[unsigned(event.unit)] += event.busy;
  for (unsigned unit = 0; unit < timedUnits; ++unit) {
    bool shared = unit == unsigned(TimedUnit::Lds) || unit == unsigned(TimedUnit::Memory);
    busy[unit] /= double(end - begin) * (shared ? 1 : simds);
  }
  return busy;
}

static void findSteady(const TimedRun &run, const std::vector<WaveEvents> &waves,
                       TimingSummary &summary) {
  if (waves.empty())
    return;
  const std::optional<HotLoop> hot = findHotLoop(run, waves.front());
  if (!hot || hot->visits.size() < 3)
    return;
  SteadyTime &steady = summary.steady;
  summary.hasSteady = true;
  steady.header = hot->header;
  const std::vector<size_t> &visits = hot->visits;
  size_t last = visits.size() - 1, first = last / 4;
  last = std::max(first + 1, last - last / 4);
  steady.turns = static_cast<unsigned>(last - first);
  steady.begin = waves.front()[visits[first]]->cycle;
  steady.end = waves.front()[visits[last]]->cycle;
  steady.cycles = double(steady.end - steady.begin) / double(steady.turns);
  steady.busy = busyShares(run, steady.begin, steady.end);
  const auto inGroup = static_cast<unsigned>(
      std::count_if(run.waves.begin(), run.waves.end(),
                    [](const auto &wave) { return wave.group == 0; }));
  for (size_t w = 0; w < waves.size() && run.waves[w].group == 0; ++w) {
    const std::vector<size_t> own = visitsOf(waves[w], steady.header);
    if (own.size() <= last)
      continue;
    SteadyTime::Wave wave;
    wave.wave = static_cast<unsigned>(w);
    wave.phase = double(waves[w][own[first]]->cycle) - double(steady.begin);
    clusterTimes(run, waves[w], own, first, last, wave);
    const uint64_t passed = barriersIn(run, waves[w], own[first]);
    if (auto begin = run.clusters.firstPiece(run.waves[w].index, inGroup, passed,
                                             wave.clusters.size())) {
      std::rotate(wave.clusters.begin(), wave.clusters.begin() + *begin, wave.clusters.end());
      steady.scheduled = run.clusters.count;
      steady.tiles = run.clusters.unroll;
    }
    steady.waves.push_back(std::move(wave));
  }
}

TimingSummary sim::summarize(const TimedRun &run) {
  TimingSummary summary;
  std::vector<WaveEvents> waves = eventsByWave(run);
  bool cut = !run.complete && !run.events.empty();
  summary.busy = busyShares(run, 0, cut ? run.events.back().cycle : run.cycles);
  for (size_t w = 0; w < waves.size(); ++w) {
    WaveTime time;
    for (const IssueEvent *event : waves[w])
      addEvent(time, run, *event);
    if (!waves[w].empty())
      time.cycles = double(waves[w].back()->cycle - run.groups[run.waves[w].group].begin);
    summary.waves.push_back(time);
  }
  findSteady(run, waves, summary);
  return summary;
}
