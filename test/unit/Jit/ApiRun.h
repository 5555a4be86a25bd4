// Runs a plan as a program that links the library would: allocate, copy, run, copy back, compare.
#pragma once

#include "hocket/Attention/ForwardPlan.h"
#include "Verify/Attention/Reference.h"

namespace hocket::test {

/// The buffers of a problem on a device, freed with it.
class DeviceBuffers {
public:
  DeviceBuffers(runtime::Device &device, const attention::ForwardPlan &plan);
  ~DeviceBuffers();
  DeviceBuffers(const DeviceBuffers &) = delete;

  attention::Buffers buffers;
  Status status; ///< of the allocations

private:
  attention::Buffer allocate(uint64_t bytes);
  runtime::Device &device;
};

/// Runs `plan` on `device` with seeded data and compares all rows with the float64 reference.
Result<attention::ForwardErrors> runAndCompare(runtime::Device &device,
                                               const attention::ForwardPlan &plan, uint64_t seed);

} // namespace hocket::test
