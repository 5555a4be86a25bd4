// Records which instructions were executed: in order by chosen waves of one workgroup, or at all.
#pragma once

#include "Simulator/Simulator.h"

#include <cstdint>
#include <memory>
#include <set>
#include <string>
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
  /// Watches the waves `waves` of workgroup number `workgroup` of the grid (x fastest) of launches of `kernel`, or of
  /// all.
  Tracer(uint64_t workgroup, std::vector<unsigned> waves, std::string kernel = {});
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

/// An instrument that collects which instructions any wave of any launch of the kernel `name` executed.
class ExecutedCode {
public:
  explicit ExecutedCode(std::string name);
  ~ExecutedCode();
  ExecutedCode(const ExecutedCode &) = delete;
  ExecutedCode &operator=(const ExecutedCode &) = delete;

  Instrument &instrument();
  /// Virtual addresses in the code object. Not while a launch runs.
  const std::set<uint64_t> &addresses() const;

private:
  class Collector;
  std::unique_ptr<Collector> collector;
};

} // namespace hocket::sim
