// Many processes and threads on one cold cache.
#pragma once

#include "hocket/Support/Result.h"

#include <cstdint>
#include <string>
#include <vector>

namespace hocket::run {

struct StressOptions {
  std::string directory;
  unsigned processes = 8, threads = 4, kernels = 10, kills = 0;
  uint64_t seed = 0;
};

struct StressReport {
  unsigned finished = 0; ///< workers that ended by themselves
  unsigned killed = 0;
  uint64_t requests = 0, memory = 0, disk = 0, compiled = 0; ///< of finished workers
  uint64_t observations = 0; ///< entries that were read while the workers ran
  unsigned entries = 0;      ///< in the cache afterwards
  double seconds = 0;
  std::vector<std::string> failures;

  std::string toJson() const;
};

/// Empties the cache, compiles the kernels without it, then starts `processes` workers (this
/// program, again) whose threads all ask for all kernels at once, each thread in another order;
/// kills some and starts new ones in their place. Meanwhile every visible entry is read and must be
/// whole. Failures: a result that differs, a kernel compiled twice by one process, an entry that is
/// not whole, a worker that fails.
Result<StressReport> stressCache(const StressOptions &options);

/// A worker of `stressCache`: writes its counts and the hash of every result to `resultsPath`.
Status runStressWorker(const StressOptions &options, const std::string &resultsPath);

} // namespace hocket::run
