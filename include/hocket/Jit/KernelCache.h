// Each distinct kernel once: in memory for this process, on disk for all of them.
//
// Threads that ask for the same kernel at once wait for the first of them; processes do so through
// the disk cache's work lock. What "the same" means is the caller's key: everything that determines
// the result, as text. What a process keeps in memory is bounded; kernels that went are loaded or
// made again, and who has one keeps it.
#pragma once

#include "hocket/Attention/KernelSource.h"
#include "hocket/Jit/DiskCache.h"
#include "hocket/Support/RecentlyUsed.h"

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

namespace hocket::jit {

/// What a kernel cache did so far.
struct CacheCounts {
  uint64_t memory = 0;   ///< answered from memory, waiting for another thread included
  uint64_t disk = 0;     ///< loaded from disk
  uint64_t compiled = 0; ///< made
  uint64_t unstored = 0; ///< made, but could not be put on disk
  uint64_t forgotten = 0; ///< let go of, to stay within `CacheSettings::maxMemoryBytes`
};

class KernelCache {
public:
  explicit KernelCache(CacheSettings settings)
      : onProblem(std::move(settings.onProblem)), kept(settings.maxMemoryBytes),
        files(std::move(settings)) {}

  using Kernel = std::shared_ptr<const attention::CompiledKernel>;
  using Make = std::function<Result<attention::CompiledKernel>()>;

  /// The kernel for `key`: from memory, else from disk, else from `make`, which runs at most once
  /// at a time for a key. `description` is a line for lists. An error is handed to everyone who
  /// waits for it and then forgotten. `make` must not ask this cache for the same key.
  Result<Kernel> get(const std::string &key, std::string_view description, const Make &make);

  CacheCounts counts() const;
  const DiskCache &disk() const { return files; }
  /// Why the last kernel that had to could not be put on disk or taken from there; "" if none
  /// failed. `CacheSettings::onProblem` was told.
  std::string lastProblem() const;

private:
  struct Slot;
  Result<Kernel> produce(const std::string &key, std::string_view description, const Make &make);
  std::optional<Result<Kernel>> fromDisk(const std::string &key);
  void noteProblem(const std::string &text);

  std::function<void(const std::string &)> onProblem;
  mutable std::mutex mutex; ///< of the next three
  RecentlyUsed<Kernel> kept;
  std::unordered_map<std::string, std::shared_ptr<Slot>> underWay;
  std::string problem;
  DiskCache files;
  std::atomic<uint64_t> memoryHits = 0, diskHits = 0, compilations = 0, unstored = 0, forgotten = 0;
};

} // namespace hocket::jit
