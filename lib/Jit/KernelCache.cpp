// One slot a key: the first thread fills it, the others wait on its lock.
#include "hocket/Jit/KernelCache.h"

using namespace hocket;
using namespace hocket::jit;
using attention::CompiledKernel;
using attention::KernelOrigin;

/// Filled under its own lock, so that making one kernel holds up nobody who wants another.
struct KernelCache::Slot {
  std::mutex mutex;
  std::optional<Result<Kernel>> result;
};

CacheCounts KernelCache::counts() const {
  return {memoryHits.load(), diskHits.load(), compilations.load(), unstored.load()};
}

std::string KernelCache::lastProblem() const {
  std::lock_guard lock(mutex);
  return problem;
}

Result<KernelCache::Kernel> KernelCache::get(const std::string &key, std::string_view description,
                                             const Make &make) {
  std::shared_ptr<Slot> slot;
  {
    std::lock_guard lock(mutex);
    std::shared_ptr<Slot> &known = slots[key];
    if (!known)
      known = std::make_shared<Slot>();
    slot = known;
  }
  std::lock_guard lock(slot->mutex);
  if (slot->result) {
    ++memoryHits;
    return *slot->result;
  }
  slot->result = produce(key, description, make);
  if (!slot->result->ok()) {
    // Those who wait get the error from the slot; those who come later try again.
    std::lock_guard all(mutex);
    if (auto known = slots.find(key); known != slots.end() && known->second == slot)
      slots.erase(known);
  }
  return *slot->result;
}

/// Nothing if the disk does not have it.
std::optional<Result<KernelCache::Kernel>> KernelCache::fromDisk(const std::string &key) {
  std::optional<CacheEntry> entry = files.load(key);
  if (!entry)
    return std::nullopt;
  auto kernel = std::make_shared<CompiledKernel>();
  if (!entry->manifest.empty()) {
    Result<manifest::Manifest> manifest =
        manifest::parseManifest(entry->manifest, "of a cached kernel");
    if (!manifest.ok())
      return std::nullopt;
    kernel->manifest = *std::move(manifest);
  }
  kernel->codeObject = std::move(entry->codeObject);
  kernel->reportJson = std::move(entry->report);
  kernel->origin = KernelOrigin::Disk;
  ++diskHits;
  return Result<Kernel>(Kernel(std::move(kernel)));
}

Result<KernelCache::Kernel> KernelCache::produce(const std::string &key,
                                                 std::string_view description, const Make &make) {
  if (auto kernel = fromDisk(key))
    return *std::move(kernel);
  DiskCache::WorkLock lock = files.lockWork(key);
  // Whoever had the lock before may have made it.
  if (files.enabled())
    if (auto kernel = fromDisk(key))
      return *std::move(kernel);
  ++compilations;
  Result<CompiledKernel> made = make();
  if (!made.ok())
    return made.error();
  std::string manifest =
      made->manifest.kernel.empty() ? "" : manifest::writeManifest(made->manifest);
  CacheEntry entry{key, std::string(description), std::move(manifest), made->reportJson,
                   made->codeObject};
  if (Status status = files.store(entry); !status.ok()) {
    ++unstored;
    std::lock_guard all(mutex);
    problem = status.error().message;
  }
  return Kernel(std::make_shared<CompiledKernel>(*std::move(made)));
}
