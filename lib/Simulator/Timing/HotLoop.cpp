#include "HotLoop.h"

#include <algorithm>
#include <map>

using namespace hocket;
using namespace hocket::sim;

std::vector<WaveEvents> sim::eventsByWave(const TimedRun &run) {
  std::vector<WaveEvents> waves(run.waves.size());
  for (const IssueEvent &event : run.events)
    waves[event.wave].push_back(&event);
  return waves;
}

bool sim::isMatrix(const TimedRun &run, const IssueEvent &event) {
  return event.unit == TimedUnit::Matrix && run.places.count(event.place) != 0;
}

void sim::addEvent(WaveTime &time, const TimedRun &run, const IssueEvent &event) {
  time.instructions += 1;
  time.mfma += isMatrix(run, event) ? 1 : 0;
  time.stall[unsigned(event.stall)] += double(event.cycle - event.ready);
}

std::vector<size_t> sim::visitsOf(const WaveEvents &events, uint32_t header) {
  std::vector<size_t> visits;
  for (size_t i = 0; i < events.size(); ++i)
    if (events[i]->place == header)
      visits.push_back(i);
  return visits;
}

namespace {
struct LoopVisits {
  std::vector<size_t> at;
  uint64_t weight = 0;
};
} // namespace

static std::map<uint32_t, LoopVisits> findLoops(const TimedRun &run, const WaveEvents &events) {
  std::map<uint32_t, LoopVisits> loops;
  for (size_t i = 1; i < events.size(); ++i)
    if (events[i]->place <= events[i - 1]->place)
      loops[events[i]->place];
  std::vector<uint64_t> before(events.size() + 1);
  for (size_t i = 0; i < events.size(); ++i) {
    before[i + 1] = before[i] + (isMatrix(run, *events[i]) ? 1000000 : 1);
    if (auto loop = loops.find(events[i]->place); loop != loops.end())
      loop->second.at.push_back(i);
  }
  std::erase_if(loops, [](const auto &loop) { return loop.second.at.size() < 2; });
  for (auto &[header, loop] : loops)
    loop.weight = before[loop.at.back()] - before[loop.at.front()];
  return loops;
}

std::optional<HotLoop> sim::findHotLoop(const TimedRun &run, const WaveEvents &events) {
  const std::map<uint32_t, LoopVisits> loops = findLoops(run, events);
  uint64_t most = 0;
  for (const auto &[header, loop] : loops)
    most = std::max(most, loop.weight);
  const std::pair<const uint32_t, LoopVisits> *best = nullptr;
  for (const auto &entry : loops)
    if (2 * entry.second.weight >= most &&
        (!best || entry.second.at.size() > best->second.at.size()))
      best = &entry;
  if (!best)
    return std::nullopt;
  return HotLoop{best->first, best->second.at};
}
