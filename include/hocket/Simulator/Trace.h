// Records which instructions chosen waves of one workgroup executed.
#pragma once

#include "hocket/Simulator/Simulator.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace hocket::sim {

/// What one wave executed, in order: virtual addresses in the code object.
struct WaveTrace {
  unsigned wave = 0; ///< within the workgroup
  std::vector<uint64_t> addresses;
};

/// An instrument that keeps traces. Of several launches, the last one's remain.
class Tracer {
public:
  /// Watches the waves `waves` of workgroup number `workgroup` of the grid (x fastest).
  Tracer(uint64_t workgroup, std::vector<unsigned> waves);
  ~Tracer();
  Tracer(const Tracer &) = delete;
  Tracer &operator=(const Tracer &) = delete;

  Instrument &instrument();
  /// One for each watched wave that the workgroup has. Not while a launch runs.
  const std::vector<WaveTrace> &traces() const;

private:
  class Recorder;
  std::unique_ptr<Recorder> recorder;
};

} // namespace hocket::sim
