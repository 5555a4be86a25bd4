// Which loads to LDS brought what somebody read.
#pragma once

#include "../Observer.h"

#include "hocket/Support/Result.h"

#include <cstdint>
#include <memory>
#include <set>
#include <string>

namespace hocket::sim {

/// An instrument that collects the loads to LDS of which any wave of any launch of the kernel `name` read a dword from
/// there, zeros of what was out of range included, before something else was written to it.
class ReadLoads {
public:
  ReadLoads(std::string name, std::string architecture);
  ~ReadLoads();
  ReadLoads(const ReadLoads &) = delete;
  ReadLoads &operator=(const ReadLoads &) = delete;

  Instrument &instrument();
  /// Virtual addresses in the code object. Not while a launch runs. Errors: of what cannot be watched.
  Result<std::set<uint64_t>> addresses() const;

private:
  class Collector;
  std::unique_ptr<Collector> collector;
};

} // namespace hocket::sim
