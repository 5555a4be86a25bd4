// Random schedules of the shipped attention algorithm, legal and illegal on purpose.
//
// A step has a position: in an iteration that stands at tile t, the step of tile t stands
// `position` clusters after the iteration's first one (so the cluster is position mod clusters, and
// the rest is the tile offset). Legality is decided here by the definition, from dependences and
// barriers, not by the compiler's code.
#pragma once

#include <array>
#include <cstdint>
#include <random>
#include <string>

namespace hocket::test {

enum Step { FetchK, FetchV, ReadK, Qk, Mask, Settle, Head, Tail, Rescale, ReadV, Pv, StepCount };

struct RandomSchedule {
  int64_t clusters = 1, unroll = 1, groups = 1;
  std::array<int64_t, StepCount> position = {};

  /// Whether every value is produced before it is used.
  bool valuesAreLegal() const;
  /// Whether every tile has arrived, for all waves, before it is read.
  bool fetchesAreLegal() const;
  /// The slots with which no tile is overwritten while it may be read.
  int64_t depthOfK() const { return depth(FetchK, ReadK); }
  int64_t depthOfV() const { return depth(FetchV, ReadV); }
  /// Iterations from the first step of a tile to its last.
  int64_t stages() const;
  /// A `tile.schedule @random`.
  std::string text() const;

private:
  int64_t depth(Step fetch, Step read) const;
};

class ScheduleGenerator {
public:
  explicit ScheduleGenerator(uint64_t seed) : rng(seed) {}

  /// Legal, and within LDS and the number of copies of an iteration that are allowed.
  RandomSchedule legal();
  /// One fetch comes too late for its read; all else is legal.
  RandomSchedule lateFetch();
  /// One step comes before another whose value it uses.
  RandomSchedule wrongOrder();
  int64_t below(int64_t bound) { return std::uniform_int_distribution<int64_t>(0, bound - 1)(rng); }

private:
  std::mt19937_64 rng;
};

/// `HOCKET_TEST_SEED`, or a fixed one.
uint64_t scheduleSeed();
/// `HOCKET_RANDOM_SCHEDULES`, or `few`.
int64_t scheduleCount(int64_t few);

} // namespace hocket::test
