// See StableAddresses.h.
#include "StableAddresses.h"

#include "../Workgroup.h"

#include "Simulator/Memory.h"

#include <algorithm>

using namespace hocket::sim;

StableAddresses::StableAddresses(const Workgroup &group, unsigned slot) : group(group) {
  auto region = [&](unsigned number, const std::byte *first, uint64_t bytes) {
    auto begin = reinterpret_cast<uint64_t>(first);
    return Mapping{begin, bytes, (uint64_t(1) << (60 + number) | uint64_t(slot) << 40) - begin};
  };
  lds = region(0, group.lds, group.ldsBytes);
  scratch = region(1, group.waves[0].scratch,
                   uint64_t(group.waveCount) * waveSize * group.context.privateBytes);
}

StableAddresses::Mapping StableAddresses::mappingOf(uint64_t host) {
  if (lds.contains(host))
    return lds;
  if (scratch.contains(host))
    return scratch;
  auto known = std::find_if(allocations.begin(), allocations.end(),
                            [&](const Mapping &mapping) { return mapping.contains(host); });
  if (known == allocations.end()) {
    const auto *pointer = reinterpret_cast<const std::byte *>(host);
    const Allocation *allocation = group.context.memory->findHost(pointer);
    if (!allocation)
      return {host, 1, 0};
    auto begin = reinterpret_cast<uint64_t>(allocation->host);
    *--known = {begin, allocation->size, allocation->base - begin};
  }
  std::rotate(allocations.begin(), known, known + 1);
  return allocations[0];
}
