// Addresses for the model's cache that do not depend on where the host has put things.
//
// Operations in flight carry host addresses. Device memory has its device addresses here; LDS and
// scratch, which flat and scratch instructions reach, lie in regions beyond all of those.
#pragma once

#include <array>
#include <cstdint>

namespace hocket::sim {

struct Workgroup;

/// Belongs to one workgroup in execution.
class StableAddresses {
public:
  /// A piece of host memory; a host address in it plus `shift` is the address to use.
  struct Mapping {
    uint64_t begin = 0, bytes = 0, shift = 0;
    bool contains(uint64_t host) const { return host - begin < bytes; }
  };
  /// `slot` numbers the workgroups that are resident together.
  StableAddresses(const Workgroup &group, unsigned slot);
  /// The piece that holds `host`.
  Mapping mappingOf(uint64_t host);

private:
  const Workgroup &group;
  Mapping lds, scratch;
  std::array<Mapping, 8> allocations; ///< the latest asked for first
};

} // namespace hocket::sim
