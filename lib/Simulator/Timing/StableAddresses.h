// Addresses of LDS and scratch for the model's cache that do not depend on where the host has put
// them: operations in flight carry host addresses, and a heap looks different in every build.
//
// Device memory keeps its host addresses. They agree with the device's within a page; which pages
// share sets of the cache follows from how the host maps them.
#pragma once

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
  /// The piece that holds `host`; of device memory just that byte, unshifted.
  Mapping mappingOf(uint64_t host) const;

private:
  Mapping lds, scratch;
};

} // namespace hocket::sim
