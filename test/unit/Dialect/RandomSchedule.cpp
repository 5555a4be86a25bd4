// Random schedules: generation, and legality by definition.
#include "RandomSchedule.h"

#include <algorithm>
#include <cstdlib>
#include <vector>

using namespace hocket::test;

static constexpr const char *kNames[] = {"fetch_k", "fetch_v", "read_k", "qk",
                                         "mask",    "settle",  "head",   "tail",
                                         "rescale", "read_v",  "pv"};

/// `to` uses a value of `from`, of the same tile or of the tile before.
struct Edge {
  Step from, to;
  int64_t tilesBefore;
};
static constexpr Edge kEdges[] = {
    {ReadK, Qk, 0},   {Qk, Mask, 0},   {Mask, Settle, 0}, {Tail, Settle, 1}, {Settle, Head, 0},
    {Mask, Head, 0},  {Head, Tail, 0}, {Mask, Tail, 0},   {Settle, Tail, 0}, {Settle, Rescale, 0},
    {Pv, Rescale, 1}, {ReadV, Pv, 0},  {Tail, Pv, 0},     {Rescale, Pv, 0}};

bool RandomSchedule::valuesAreLegal() const {
  // Equal positions are one cluster of one iteration, where `text` puts producers first.
  return std::all_of(std::begin(kEdges), std::end(kEdges), [&](const Edge &edge) {
    return position[edge.from] - edge.tilesBefore * clusters <= position[edge.to];
  });
}

bool RandomSchedule::fetchesAreLegal() const {
  // The waves of group g wait at the end of the fetch's cluster, in epoch position + g; the first
  // group may read in its next epoch but only after the last group's wait.
  auto legal = [&](Step fetch, Step read) {
    return position[read] > position[fetch] + (groups - 1);
  };
  return legal(FetchK, ReadK) && legal(FetchV, ReadV);
}

int64_t RandomSchedule::depth(Step fetch, Step read) const {
  // The first group fetches tile t + depth; the last group's read of tile t must lie before it.
  int64_t depth = 1;
  while (position[fetch] + depth * clusters <= position[read] + (groups - 1))
    ++depth;
  return depth;
}

static int64_t floorDivide(int64_t a, int64_t b) { return a / b - (a % b < 0); }

int64_t RandomSchedule::stages() const {
  auto [low, high] = std::minmax_element(position.begin(), position.end());
  return floorDivide(*high, clusters) - floorDivide(*low, clusters);
}

std::string RandomSchedule::text() const {
  std::string text = "tile.schedule @random unroll(" + std::to_string(unroll) + ") wave_groups(" +
                     std::to_string(groups) + ") {\n";
  for (int64_t cluster = 0; cluster != clusters; ++cluster) {
    std::vector<Step> steps;
    for (int step = 0; step != StepCount; ++step)
      if (position[step] - floorDivide(position[step], clusters) * clusters == cluster)
        steps.push_back(static_cast<Step>(step));
    // The algorithm's order, but the tile before first: what an iteration carries is made there.
    auto offset = [&](Step step) { return -floorDivide(position[step], clusters); };
    std::sort(steps.begin(), steps.end(),
              [&](Step a, Step b) { return std::pair(offset(a), a) < std::pair(offset(b), b); });
    text += "  tile.cluster compute {";
    for (Step step : steps)
      text += std::string(" ") + kNames[step] + "(" + std::to_string(offset(step)) + ")";
    text += " }\n";
  }
  return text + "}\n";
}

RandomSchedule ScheduleGenerator::legal() {
  for (;;) {
    RandomSchedule schedule;
    schedule.clusters = 1 + below(5);
    schedule.unroll = 1 + below(4);
    schedule.groups = 1 + below(2);
    auto &at = schedule.position;
    int64_t lag = schedule.groups - 1, slack = schedule.clusters;
    at[ReadK] = below(schedule.clusters);
    for (Step step : {Qk, Mask, Settle, Head, Tail})
      at[step] = at[step - 1] + below(3) / 2;
    at[Rescale] = at[Settle] + below(slack + 1);
    at[Pv] = std::max(at[Tail], at[Rescale]) + below(slack + 1);
    at[ReadV] = at[Pv] - below(2);
    at[FetchK] = at[ReadK] - 1 - lag - below(2 * slack);
    at[FetchV] = at[ReadV] - 1 - lag - below(2 * slack);
    if (schedule.valuesAreLegal() && schedule.fetchesAreLegal() && schedule.depthOfK() <= 4 &&
        schedule.depthOfV() <= 4 && schedule.stages() <= 6)
      return schedule;
  }
}

RandomSchedule ScheduleGenerator::lateFetch() {
  RandomSchedule schedule = legal();
  bool k = below(2) == 0;
  schedule.position[k ? FetchK : FetchV] =
      schedule.position[k ? ReadK : ReadV] - below(schedule.groups);
  return schedule;
}

RandomSchedule ScheduleGenerator::wrongOrder() {
  for (;;) {
    RandomSchedule schedule = legal();
    const Edge &edge = kEdges[below(std::size(kEdges))];
    schedule.position[edge.to] =
        schedule.position[edge.from] - edge.tilesBefore * schedule.clusters - 1 - below(3);
    if (!schedule.valuesAreLegal())
      return schedule;
  }
}

uint64_t hocket::test::scheduleSeed() {
  const char *text = std::getenv("HOCKET_TEST_SEED");
  return text ? std::strtoull(text, nullptr, 0) : 20260119;
}

int64_t hocket::test::scheduleCount(int64_t few) {
  const char *text = std::getenv("HOCKET_RANDOM_SCHEDULES");
  return text ? std::strtoll(text, nullptr, 0) : few;
}
