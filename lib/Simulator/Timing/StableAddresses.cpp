// See StableAddresses.h.
#include "StableAddresses.h"

#include "../Workgroup.h"

using namespace hocket::sim;

StableAddresses::StableAddresses(const Workgroup &group, unsigned slot) {
  auto region = [&](unsigned number, const std::byte *first, uint64_t bytes) {
    auto begin = reinterpret_cast<uint64_t>(first);
    return Mapping{begin, bytes, (uint64_t(1) << (60 + number) | uint64_t(slot) << 40) - begin};
  };
  lds = region(0, group.lds, group.ldsBytes);
  scratch = region(1, group.waves[0].scratch,
                   uint64_t(group.waveCount) * waveSize * group.context.privateBytes);
}

StableAddresses::Mapping StableAddresses::mappingOf(uint64_t host) const {
  if (lds.contains(host))
    return lds;
  return scratch.contains(host) ? scratch : Mapping{host, 1, 0};
}
