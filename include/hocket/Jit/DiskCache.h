// Compiled kernels on disk, by content: a directory that any number of processes share.
//
// An entry's name is the hash of everything that went into it, and the entry repeats that text, so
// it can neither be stale nor be taken for another. It is written under another name and renamed:
// whoever opens an entry sees all of it or none, whatever is killed at whatever moment. A checksum
// is verified at every load; what does not hold is as good as absent and gets replaced. Locks only
// keep processes from doing the same work at the same time; without them everything stays right.
//
// A checksum is no signature: whoever can write an entry decides what a GPU executes in the name of
// others. So nothing is taken from, and nothing put into, a directory that belongs to another user
// or that others can write to, and no such entry is taken.
#pragma once

#include "hocket/Support/Result.h"

#include <cstdint>
#include <functional>
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
  /// Of code objects, reports and keys that one process keeps in memory; the longest unused go
  /// first. Plans keep their own kernels.
  uint64_t maxMemoryBytes = 64ull << 20;
  /// Told why kernels are not kept on disk or not taken from there: the same text once, from
  /// whatever thread asks for a kernel. It must not ask the cache for one.
  std::function<void(const std::string &)> onProblem = nullptr;
};

/// What the environment says, else the defaults: HOCKET_CACHE=off disables, HOCKET_CACHE_DIR names
/// the directory (default $XDG_CACHE_HOME/hocket, or ~/.cache/hocket), HOCKET_CACHE_SIZE the bound
/// on disk and HOCKET_CACHE_MEMORY that in memory, both in MiB. InvalidInput for a value that is
/// none of these.
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
  std::string damage;      ///< why it is not used: changed, or another user's; empty: it is
};

class DiskCache {
public:
  explicit DiskCache(CacheSettings settings) : settings(std::move(settings)) {}

  bool enabled() const { return !settings.directory.empty(); }
  const std::string &directory() const { return settings.directory; }

  /// Why the directory is not used: it belongs to another user, or others can write to it. "" if it
  /// is used, or not there yet.
  std::string distrust() const;

  /// The entry for `key`; nothing if there is none, if it is damaged, or if it is not trusted,
  /// which `*distrusted` (may be null) then tells. Marks it as used.
  std::optional<CacheEntry> load(std::string_view key, std::string *distrusted = nullptr) const;

  /// Publishes `entry`, then removes what is too much. Host error if it cannot be written or the
  /// directory is not trusted, which takes nothing from the kernel's usability.
  Status store(const CacheEntry &entry) const;

  /// Whether entries could be stored: makes the directory if need be. Host error as `store`.
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
  Status makeDirectory() const;
  void sweep() const;

  CacheSettings settings;
};

} // namespace hocket::jit
