// Wait states along the way that a wave really takes, by the same rules as the static check.
#pragma once

#include "RegisterCheck.h"

#include <unordered_map>

namespace hocket::sim::check {

/// Belongs to one thread: what it finds depends on the way alone, so ways are remembered.
class HazardTrace {
public:
  HazardTrace(InstructionTable &table, uint32_t slots) : table(table), clean(slots, 0) {}
  /// Checks the instruction of `step` against the latest ones and appends it to them.
  void check(Step &step);

private:
  const std::vector<BrokenHazard> &brokenAt(const Step &step);

  InstructionTable &table;
  /// Slots that break nothing when they are reached without a jump within the window.
  std::vector<uint8_t> clean;
  /// By the slot and the jumps that lead to it within the window.
  std::unordered_map<uint64_t, std::vector<BrokenHazard>> known;
};

} // namespace hocket::sim::check
