// LDS cycles come from lib/Layout's bank model with the chip's phases, the same that lay out tiles.
#include "AccessCost.h"

#include <algorithm>
#include <bit>

using namespace hocket;
using namespace hocket::sim;

AccessCosts::AccessCosts(const ArchInfo &arch, const TimeParameters &parameters)
    : arch(arch), parameters(parameters) {
  for (auto &set : cache)
    std::fill(std::begin(set), std::end(set), ~uint64_t(0));
}

static LdsInstruction ruleFor(const TimedInstruction &timed, bool write) {
  if (timed.transposed)
    return LdsInstruction::ReadTransposed;
  if (timed.bytes <= 4)
    return write ? LdsInstruction::WriteB32 : LdsInstruction::ReadB32;
  if (timed.bytes == 8)
    return write ? LdsInstruction::WriteB64 : LdsInstruction::ReadB64;
  if (timed.bytes == 12)
    return write ? LdsInstruction::WriteB96 : LdsInstruction::ReadB96;
  return write ? LdsInstruction::WriteB128 : LdsInstruction::ReadB128;
}

AccessCosts::LdsService AccessCosts::count(const TimedInstruction &timed, const PendingOp &op) const {
  bool write = timed.kind == amdgpu::InstructionClass::LdsWrite;
  auto cost = [&](bool asWrite, unsigned offset) {
    uint32_t addresses[64];
    for (unsigned lane = 0; lane < 64; ++lane)
      addresses[lane] = op.ldsAddress[lane] + offset;
    auto rule = arch.lds.access.find(ruleFor(timed, asWrite));
    if (rule == arch.lds.access.end())
      return LdsCost{4, 4};
    return ldsCost(rule->second, timed.bytes, addresses, op.mask);
  };
  switch (timed.access) {
  case MemoryAccess::LdsAtomic: {
    LdsCost sum = cost(false, 0);
    return sum += cost(true, 0);
  }
  case MemoryAccess::LdsPair: {
    LdsCost sum = cost(write, timed.pairOffsets[0]);
    sum += cost(write, timed.pairOffsets[1]);
    bool isSlow = timed.bytes == 8 && !write;
    return {sum, isSlow ? static_cast<unsigned>(parameters.ldsPair64) : 0};
  }
  case MemoryAccess::LdsSwizzle: {
    auto fixed = static_cast<unsigned>(parameters.ldsSwizzle);
    return LdsCost{fixed, fixed};
  }
  default:
    return cost(write, 0);
  }
}

AccessCosts::LdsService AccessCosts::lds(const TimedInstruction &timed, uint32_t place, const PendingOp &op) {
  if (op.mask == 0)
    return LdsCost{1, 1};
  Pattern &pattern = patterns[place];
  uint32_t base = op.ldsAddress[0];
  uint32_t different = (op.mask ^ pattern.mask) != 0 || pattern.misalignment != base % 4;
  for (unsigned lane = 0; lane < 64; ++lane)
    different |= pattern.distance[lane] ^ (op.ldsAddress[lane] - base);
  if (!different)
    return pattern.service;
  pattern.mask = op.mask;
  pattern.misalignment = base % 4;
  for (unsigned lane = 0; lane < 64; ++lane)
    pattern.distance[lane] = op.ldsAddress[lane] - base;
  return pattern.service = count(timed, op);
}

/// Whether the L1 cache has `line`; afterwards it has.
bool AccessCosts::touch(uint64_t line) {
  uint64_t *set = cache[line % sets];
  unsigned way = 0;
  while (way < ways - 1 && set[way] != line)
    ++way;
  bool hit = set[way] == line;
  std::copy_backward(set, set + way, set + way + 1);
  set[0] = line;
  return hit;
}

void AccessCosts::memory(const TimedInstruction &timed, const PendingOp &op,
                         StableAddresses *addresses, ExecutedCost &cost) {
  bool store = timed.access == MemoryAccess::Store;
  uint64_t seen[128];
  unsigned count = 0;
  StableAddresses::Mapping mapping;
  for (uint64_t left = op.mask; left; left &= left - 1) {
    unsigned lane = static_cast<unsigned>(std::countr_zero(left));
    if (op.partial && op.inRange[lane] == 0)
      continue;
    uint64_t begin = op.linear ? op.address[0] + uint64_t(lane) * timed.bytes : op.address[lane];
    if (addresses && !mapping.contains(begin)) [[unlikely]]
      mapping = addresses->mappingOf(begin);
    begin += mapping.shift;
    cost.inRange += timed.bytes;
    // Lanes side by side mostly share one: the rest is left to the sort.
    for (uint64_t at : {begin / sectorBytes, (begin + timed.bytes - 1) / sectorBytes})
      if (count == 0 || seen[count - 1] != at)
        seen[count++] = at;
  }
  std::sort(seen, seen + count);
  count = static_cast<unsigned>(std::unique(seen, seen + count) - seen);
  cost.bytes = static_cast<uint32_t>(std::popcount(op.mask)) * timed.bytes;
  cost.sectors = count;
  for (unsigned i = 0; i < count; ++i)
    if (i == 0 || seen[i] / 2 != seen[i - 1] / 2) // stores write through
      cost.missed += !touch(seen[i] / 2) || store;
}

ExecutedCost AccessCosts::of(const TimedInstruction &timed, uint32_t place, const PendingOp &op,
                             StableAddresses *addresses) {
  ExecutedCost cost;
  switch (timed.access) {
  case MemoryAccess::LdsRead:
  case MemoryAccess::LdsWrite:
  case MemoryAccess::LdsPair:
  case MemoryAccess::LdsAtomic:
  case MemoryAccess::LdsSwizzle: {
    LdsService l = timed.access == MemoryAccess::LdsSwizzle ? count(timed, op) : lds(timed, place, op);
    cost.ldsCycles = l.cycles;
    cost.ldsConflicts = l.cost.conflicts();
    cost.ldsPairs = l.cycles - l.cost.cycles;
    break;
  }
  case MemoryAccess::Load:
  case MemoryAccess::Store:
  case MemoryAccess::Dma:
    memory(timed, op, addresses, cost);
    break;
  case MemoryAccess::Scalar:
    cost.scalarMiss = scalarLines.insert(op.address[0] / 64).second;
    break;
  case MemoryAccess::None:
    break;
  }
  return cost;
}
