// What an executed memory operation costs: LDS cycles from its lanes' addresses, lines of memory.
#pragma once

#include "../Pending.h"
#include "ComputeUnit.h"
#include "StableAddresses.h"

#include "Target/Arch/ArchInfo.h"

#include <algorithm>
#include <unordered_set>

namespace hocket::sim {

/// Belongs to one compute unit.
class AccessCosts {
public:
  AccessCosts(const ArchInfo &arch, const TimeParameters &parameters);

  /// The cost of `op`, issued by the instruction `timed` at `place`. `addresses` makes host
  /// addresses stable; without it they are taken as they are.
  ExecutedCost of(const TimedInstruction &timed, uint32_t place, const PendingOp &op,
                  StableAddresses *addresses = nullptr);

private:
  /// What an access of LDS costs by its addresses, and how long it takes: longer, if it reads a pair.
  struct LdsService {
    LdsService(LdsCost cost, unsigned least = 0) : cost(cost), cycles(std::max(cost.cycles, least)) {}
    LdsCost cost;
    unsigned cycles;
  };
  /// The last address pattern of a place. Conflicts depend on the distances between lanes only: a
  /// shift by whole dwords turns the banks round.
  struct Pattern {
    uint64_t mask = 0;
    uint32_t misalignment = ~0u;
    uint32_t distance[64];
    LdsService service = LdsCost();
  };
  LdsService lds(const TimedInstruction &timed, uint32_t place, const PendingOp &op);
  LdsService count(const TimedInstruction &timed, const PendingOp &op) const;
  void memory(const TimedInstruction &timed, const PendingOp &op, StableAddresses *addresses,
              ExecutedCost &cost);
  bool touch(uint64_t line);

  const ArchInfo &arch;
  TimeParameters parameters;
  std::unordered_map<uint32_t, Pattern> patterns;
  std::unordered_set<uint64_t> scalarLines;
  /// The vector L1 cache: 32 KiB of 128-byte lines, four ways, least recently used first.
  static constexpr unsigned sets = 64, ways = 4;
  uint64_t cache[sets][ways];
};

} // namespace hocket::sim
