// Wait states along the way that a wave really takes, by the same rules as the static check.
#pragma once

#include "RegisterCheck.h"

#include <unordered_map>

namespace hocket::sim::check {

/// Belongs to one thread: what it finds depends on the way alone, so ways are remembered.
class HazardTrace {
public:
  explicit HazardTrace(InstructionTable &table) : table(table) {}
  /// Checks the instruction of `step` against the latest ones and appends it to them.
  void check(Step &step);

private:
  const std::vector<BrokenHazard> &brokenAt(const Step &step);

  InstructionTable &table;
  /// By the slot and the jumps that lead to it within the window.
  std::unordered_map<uint64_t, std::vector<BrokenHazard>> known;
};

} // namespace hocket::sim::check
