// Compiled kernels on disk, by content: a directory that any number of processes share.
//
// An entry's name is the hash of everything that went into it, and the entry repeats that text, so
// it can neither be stale nor be taken for another. It is written under another name and renamed:
// whoever opens an entry sees all of it or none, whatever is killed at whatever moment. A checksum
// is verified at every load; what does not hold is as good as absent and gets replaced. Locks only
// keep processes from doing the same work at the same time; without them everything stays right.
#pragma once

#include "hocket/Support/Result.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hocket::jit {

/// 64 hexadecimal digits: the BLAKE3 hash of `text`.
std::string contentHash(std::string_view text);

/// Where a cache is and how large it may get.
struct CacheSettings {
  std::string directory;            ///< empty: no cache on disk
  uint64_t maxBytes = 512ull << 20; ///< of all entries; the longest unused go first
};

/// What the environment says, else the defaults: HOCKET_CACHE=off disables, HOCKET_CACHE_DIR names
/// the directory (default $XDG_CACHE_HOME/hocket, or ~/.cache/hocket), HOCKET_CACHE_SIZE the bound
/// in MiB. InvalidInput for a value that is none of these.
Result<CacheSettings> cacheSettingsFromEnvironment();

/// The parts of an entry, all bytes.
struct CacheEntry {
  std::string key;         ///< everything that determines the result, as text
  std::string description; ///< one line, for lists
  std::string manifest, report, codeObject;
};

/// An entry as `DiskCache::list` sees it.
struct CacheListing {
  std::string hash;
  uint64_t bytes = 0;
  int64_t lastUse = 0;     ///< seconds since 1970
  std::string description; ///< of an intact entry
  std::string damage;      ///< what is wrong with it; empty: nothing
};

class DiskCache {
public:
  explicit DiskCache(CacheSettings settings) : settings(std::move(settings)) {}

  bool enabled() const { return !settings.directory.empty(); }
  const std::string &directory() const { return settings.directory; }

  /// The entry for `key`; nothing if there is none or it is damaged. Marks it as used.
  std::optional<CacheEntry> load(std::string_view key) const;

  /// Publishes `entry`, then removes what is too much. Host error if it cannot be written, which
  /// takes nothing from the kernel's usability.
  Status store(const CacheEntry &entry) const;

  /// Whether entries could be stored: makes the directory if need be. Host error if not.
  Status checkWritable() const;

  /// Held while one process makes what others are waiting for; gone with the process.
  class WorkLock {
  public:
    explicit WorkLock(int file = -1) : file(file) {}
    WorkLock(WorkLock &&other) : file(std::exchange(other.file, -1)) {}
    WorkLock &operator=(WorkLock &&) = delete;
    ~WorkLock();

  private:
    int file;
  };
  /// Waits for its turn to make `key`, at most some seconds: after that the work is done twice
  /// rather than never.
  WorkLock lockWork(std::string_view key) const;

  /// All entries, by hash; each is read and checked. Host error if the directory cannot be read.
  Result<std::vector<CacheListing>> list() const;
  /// Removes all entries and leftovers; returns how many entries there were.
  Result<unsigned> clear() const;
  /// Removes damaged entries and what killed processes left behind; returns the damaged ones.
  Result<std::vector<CacheListing>> repair() const;

private:
  std::string pathOf(std::string_view hash) const;
  void sweep() const;

  CacheSettings settings;
};

} // namespace hocket::jit
