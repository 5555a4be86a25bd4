// Wait states along the way that a wave really takes, by the same rules as the static check.
#pragma once

#include "RegisterCheck.h"

#include <unordered_map>

namespace hocket::sim::check {

/// Belongs to one thread: what it finds depends on the way alone, so ways are remembered.
class HazardTrace {
public:
  HazardTrace(InstructionTable &table, uint32_t slots)
      : table(table), straightClean(slots, 0), cleanWay(slots, ~uint64_t(0)) {}
  /// Follows the wave to the instruction in slot `index`. True: it is known to break nothing.
  bool follow(WaveState &state, uint32_t index, unsigned size) {
    if (index != state.latest.expected)
      jump(state, index);
    else if (state.latest.straight == LatestInstructions::windowSize)
      state.latest.way = 0;
    ++state.latest.straight;
    state.latest.expected = index + size;
    return state.latest.way == 0 ? straightClean[index] : cleanWay[index] == state.latest.way;
  }
  /// Checks the instruction of `step`, which was followed to, against the latest ones.
  void check(Step &step);
  /// Makes it one of the latest.
  static void append(WaveState &state, uint32_t index) {
    state.latest.window[state.latest.windowCount++ % LatestInstructions::windowSize] = index;
  }

private:
  static void jump(WaveState &state, uint32_t index);
  const std::vector<BrokenHazard> &brokenAt(const Step &step);

  InstructionTable &table;
  /// Slots that break nothing when they are reached without a jump within the window.
  std::vector<uint8_t> straightClean;
  /// For each slot the last way to it on which it broke nothing.
  std::vector<uint64_t> cleanWay;
  /// By the slot and the jumps that lead to it within the window.
  std::unordered_map<uint64_t, std::vector<BrokenHazard>> known;
};

} // namespace hocket::sim::check
