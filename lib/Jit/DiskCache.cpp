// The directory: flat, entries named as llvm::pruneCache wants them, so that LLVM keeps the size.
//
// Temporary files are made with createUniqueFile and not with TempFile, which would install signal
// handlers in whatever program this library is part of. Locks are flock(2) on files that are never
// removed: the kernel lets go of them when their process ends, however it ends.
#include "hocket/Jit/DiskCache.h"

#include "CacheFormat.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CachePruning.h"
#include "llvm/Support/Chrono.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

using namespace hocket;
using namespace hocket::jit;
using llvm::StringRef;
namespace fs = llvm::sys::fs;
namespace path = llvm::sys::path;

/// llvm::pruneCache looks at nothing else.
static constexpr llvm::StringLiteral kEntryPrefix = "llvmcache-";
static constexpr llvm::StringLiteral kTemporaryPrefix = "writing-";
/// A file that is being written is younger than this.
static constexpr std::chrono::minutes kLongestWrite(10);
static constexpr std::chrono::seconds kLongestWait(20);

Result<CacheSettings> jit::cacheSettingsFromEnvironment() {
  CacheSettings settings;
  auto variable = [](const char *name) { return llvm::sys::Process::GetEnv(name).value_or(""); };
  for (auto [name, bytes] : {std::pair("HOCKET_CACHE_SIZE", &settings.maxBytes),
                             std::pair("HOCKET_CACHE_MEMORY", &settings.maxMemoryBytes)}) {
    std::string size = variable(name);
    uint64_t mebibytes;
    if (size.empty())
      continue;
    if (StringRef(size).getAsInteger(10, mebibytes) || mebibytes == 0 || mebibytes > (1u << 24))
      return invalidInput(std::string("environment variable ") + name + " is '" + size +
                          "', expected a number of MiB from 1 to 16777216");
    *bytes = mebibytes << 20;
  }
  std::string use = variable("HOCKET_CACHE");
  if (!use.empty() && use != "on" && use != "off")
    return invalidInput("environment variable HOCKET_CACHE is '" + use + "', expected on or off");
  if (use == "off")
    return settings;
  settings.directory = variable("HOCKET_CACHE_DIR");
  if (!settings.directory.empty())
    return settings;
  llvm::SmallString<128> directory;
  // $XDG_CACHE_HOME, or ~/.cache; without a home there is no place for a cache.
  if (path::cache_directory(directory)) {
    path::append(directory, "hocket");
    settings.directory = directory.str().str();
  }
  return settings;
}

std::string DiskCache::pathOf(std::string_view hash) const {
  llvm::SmallString<128> result(settings.directory);
  path::append(result, kEntryPrefix + StringRef(hash));
  return result.str().str();
}

/// Pruning removes what was not accessed for longest, and most file systems do not record that.
static void markUsed(const std::string &file) {
  int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0)
    return;
  (void)fs::setLastAccessAndModificationTime(descriptor, std::chrono::system_clock::now());
  ::close(descriptor);
}

/// Why what `status` describes is not trusted; "" if it is this user's alone to write.
static std::string distrustOf(const struct stat &status) {
  if (status.st_uid != ::geteuid())
    return "it belongs to user " + std::to_string(status.st_uid) + ", this process is user " +
           std::to_string(::geteuid()) + "'s";
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) == 0)
    return "";
  std::array<char, 8> mode;
  std::snprintf(mode.data(), mode.size(), "%o", unsigned(status.st_mode & 07777));
  return "others can write to it (mode " + std::string(mode.data()) + ")";
}

/// An entry's bytes, or why they are not used.
struct EntryFile {
  std::optional<Result<CacheEntry>> entry; ///< nothing: there is no such file
  std::string distrust;                    ///< then there is no entry either
};

/// Looks at the file that is open, not at its name: what is read is what was looked at.
static EntryFile readEntry(const std::string &file) {
  int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat status;
  if (descriptor < 0 && errno == ENOENT)
    return {};
  if (descriptor < 0 || ::fstat(descriptor, &status) != 0) {
    std::string reason = std::error_code(errno, std::generic_category()).message();
    if (descriptor >= 0)
      ::close(descriptor);
    return {Result<CacheEntry>(hostError("it cannot be read: " + reason)), ""};
  }
  EntryFile result;
  result.distrust = distrustOf(status);
  if (result.distrust.empty()) {
    auto buffer = llvm::MemoryBuffer::getOpenFile(descriptor, file, status.st_size,
                                                  /*RequiresNullTerminator=*/false);
    result.entry = buffer ? decodeEntry((*buffer)->getBuffer())
                          : Result<CacheEntry>(hostError("it cannot be read: " +
                                                         buffer.getError().message()));
  }
  ::close(descriptor);
  return result;
}

std::string DiskCache::distrust() const {
  struct stat status;
  if (!enabled() || ::stat(settings.directory.c_str(), &status) != 0)
    return "";
  std::string reason = distrustOf(status);
  if (reason.empty())
    return "";
  return "cache directory '" + settings.directory + "' is not used: " + reason +
         "; kernels are compiled and not kept; make it this user's with mode 700, name another one "
         "with HOCKET_CACHE_DIR, or set HOCKET_CACHE=off";
}

std::optional<CacheEntry> DiskCache::load(std::string_view key, std::string *distrusted) const {
  if (!enabled())
    return std::nullopt;
  std::string reason = distrust();
  std::string file = pathOf(contentHash(key));
  EntryFile found;
  if (reason.empty()) {
    found = readEntry(file);
    if (!found.distrust.empty())
      reason = "cache entry '" + file + "' is not used: " + found.distrust +
               "; the kernel is compiled instead; 'hocket-run cache verify' removes such entries";
  }
  if (distrusted)
    *distrusted = std::move(reason);
  if (!found.entry || !found.entry->ok() || (*found.entry)->key != key)
    return std::nullopt;
  markUsed(file);
  return **std::move(found.entry);
}

/// Writes `bytes` to a new file in `directory` and returns its path.
static Result<std::string> writeTemporary(const std::string &directory, StringRef bytes) {
  llvm::SmallString<128> model(directory), name;
  path::append(model, kTemporaryPrefix + "%%%%%%%%%%%%");
  int file = -1;
  if (std::error_code code = fs::createUniqueFile(model, file, name, fs::OF_None, 0600))
    return hostError("cannot write to cache directory '" + directory + "': " + code.message());
  llvm::raw_fd_ostream out(file, /*shouldClose=*/true);
  out << bytes;
  out.close();
  if (!out.has_error())
    return name.str().str();
  std::error_code code = out.error();
  out.clear_error();
  (void)fs::remove(name);
  return hostError("cannot write to cache directory '" + directory + "': " + code.message());
}

Status DiskCache::makeDirectory() const {
  if (std::error_code code = fs::create_directories(settings.directory, true, fs::owner_all))
    return hostError("cannot create cache directory '" + settings.directory +
                     "': " + code.message() +
                     "; name one that can be written to, or set HOCKET_CACHE=off");
  std::string reason = distrust();
  return reason.empty() ? Status::success() : hostError(reason);
}

Status DiskCache::checkWritable() const {
  if (!enabled())
    return Status::success();
  if (Status made = makeDirectory(); !made.ok())
    return made;
  Result<std::string> probe = writeTemporary(settings.directory, "");
  if (!probe.ok())
    return probe.error();
  (void)fs::remove(*probe);
  return Status::success();
}

Status DiskCache::store(const CacheEntry &entry) const {
  if (!enabled())
    return Status::success();
  if (Status made = makeDirectory(); !made.ok())
    return made;
  Result<std::string> temporary = writeTemporary(settings.directory, encodeEntry(entry));
  if (!temporary.ok())
    return temporary.error();
  if (std::error_code code = fs::rename(*temporary, pathOf(contentHash(entry.key)))) {
    (void)fs::remove(*temporary);
    return hostError("cannot write to cache directory '" + settings.directory +
                     "': " + code.message());
  }
  sweep();
  return Status::success();
}

/// Calls `visit` with every file of `directory`.
template <typename Visit> static std::error_code forEachFile(StringRef directory, Visit visit) {
  std::error_code code;
  for (fs::directory_iterator file(directory, code), end; file != end && !code;
       file.increment(code))
    visit(file->path());
  return code;
}

void DiskCache::sweep() const {
  llvm::CachePruningPolicy policy;
  policy.Interval = std::chrono::seconds(0);
  policy.Expiration = std::chrono::seconds(0);
  policy.MaxSizePercentageOfAvailableSpace = 75;
  policy.MaxSizeBytes = settings.maxBytes;
  llvm::pruneCache(settings.directory, policy);
  auto oldest = std::chrono::system_clock::now() - kLongestWrite;
  forEachFile(settings.directory, [&](const std::string &file) {
    fs::file_status status;
    if (path::filename(file).starts_with(kTemporaryPrefix) && !fs::status(file, status) &&
        status.getLastModificationTime() < oldest)
      (void)fs::remove(file);
  });
}

DiskCache::WorkLock::~WorkLock() {
  if (file >= 0)
    ::close(file);
}

DiskCache::WorkLock DiskCache::lockWork(std::string_view key) const {
  if (!enabled() || !makeDirectory().ok())
    return WorkLock();
  llvm::SmallString<128> name(settings.directory);
  // One lock for many keys: two kernels that share one are merely made one after the other.
  path::append(name, "lock-" + StringRef(contentHash(key)).take_front(2));
  int file = ::open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0)
    return WorkLock();
  auto giveUp = std::chrono::steady_clock::now() + kLongestWait;
  for (std::chrono::milliseconds pause(1); ::flock(file, LOCK_EX | LOCK_NB) != 0;
       pause = std::min(2 * pause, std::chrono::milliseconds(50))) {
    if ((errno != EWOULDBLOCK && errno != EINTR) || std::chrono::steady_clock::now() > giveUp) {
      ::close(file);
      return WorkLock();
    }
    std::this_thread::sleep_for(pause);
  }
  return WorkLock(file);
}

Result<std::vector<CacheListing>> DiskCache::list() const {
  std::vector<CacheListing> entries;
  if (!enabled())
    return entries;
  std::error_code code = forEachFile(settings.directory, [&](const std::string &file) {
    StringRef name = path::filename(file);
    fs::file_status status;
    if (!name.consume_front(kEntryPrefix) || fs::status(file, status))
      return;
    CacheListing &listing = entries.emplace_back();
    listing.hash = name.str();
    listing.bytes = status.getSize();
    listing.lastUse = llvm::sys::toTimeT(status.getLastModificationTime());
    auto [entry, distrust] = readEntry(file);
    if (!entry && distrust.empty()) // removed meanwhile
      return entries.pop_back();
    if (!distrust.empty())
      listing.damage = distrust;
    else if (!entry->ok())
      listing.damage = entry->error().message;
    else if (contentHash((*entry)->key) != listing.hash)
      listing.damage = "it is not what its name says";
    else
      listing.description = (*entry)->description;
  });
  if (code && code != std::errc::no_such_file_or_directory)
    return hostError("cannot read cache directory '" + settings.directory + "': " + code.message());
  std::sort(entries.begin(), entries.end(),
            [](const CacheListing &a, const CacheListing &b) { return a.hash < b.hash; });
  return entries;
}

Result<unsigned> DiskCache::clear() const {
  unsigned count = 0;
  std::string failure;
  if (!enabled())
    return count;
  std::error_code code = forEachFile(settings.directory, [&](const std::string &file) {
    StringRef name = path::filename(file);
    bool isEntry = name.starts_with(kEntryPrefix);
    if (!isEntry && !name.starts_with(kTemporaryPrefix))
      return;
    std::error_code removal = fs::remove(file);
    if (removal)
      failure = "cannot remove '" + file + "': " + removal.message();
    else
      count += isEntry;
  });
  if (!failure.empty())
    return hostError(failure);
  if (code && code != std::errc::no_such_file_or_directory)
    return hostError("cannot read cache directory '" + settings.directory + "': " + code.message());
  return count;
}

Result<std::vector<CacheListing>> DiskCache::repair() const {
  Result<std::vector<CacheListing>> all = list();
  if (!all.ok())
    return all;
  std::vector<CacheListing> damaged;
  for (const CacheListing &entry : *all) {
    if (entry.damage.empty())
      continue;
    (void)fs::remove(pathOf(entry.hash));
    damaged.push_back(entry);
  }
  if (enabled() && fs::exists(settings.directory))
    sweep();
  return damaged;
}
