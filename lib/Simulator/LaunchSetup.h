// What all workgroups of one launch share, made ready: checks, kernel arguments, device memory.
//
// `launch` runs the grid from it; timed execution runs chosen workgroups of the same launch.
#pragma once

#include "Workgroup.h"

#include <algorithm>
#include <memory>
#include <span>
#include <vector>

namespace hocket::sim {

/// Device memory of one launch, given back when it ends.
class LaunchMemory {
public:
  explicit LaunchMemory(Memory &memory) : memory(memory) {}
  ~LaunchMemory() {
    for (uint64_t address : addresses)
      (void)memory.free(address).ok();
  }
  Result<uint64_t> place(std::span<const std::byte> bytes, const char *label) {
    auto address = memory.allocate(std::max<size_t>(bytes.size(), 16), 256, label);
    if (!address)
      return address.error();
    addresses.push_back(*address);
    if (Status status = memory.write(*address, bytes); !status)
      return status.error();
    return *address;
  }

private:
  Memory &memory;
  std::vector<uint64_t> addresses;
};

/// One launch, checked, with its arguments in device memory as long as this lives.
struct LaunchSetup {
  /// `program` must outlive the result, and so must `options.instrument`.
  static Result<std::unique_ptr<LaunchSetup>> create(Program &program, size_t kernelNumber,
                                                     const runtime::LaunchShape &shape,
                                                     std::span<const std::byte> kernarg,
                                                     const LaunchOptions &options);
  LaunchContext context;

private:
  explicit LaunchSetup(Memory &deviceMemory) : memory(deviceMemory) {}
  LaunchMemory memory;
};

} // namespace hocket::sim
