// A kernel that is under way has a slot: the first thread fills it, the others wait on its lock.
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
  return {memoryHits.load(), diskHits.load(), compilations.load(), unstored.load(),
          forgotten.load()};
}

std::string KernelCache::lastProblem() const {
  std::lock_guard lock(mutex);
  return problem;
}

void KernelCache::noteProblem(const std::string &text) {
  {
    std::lock_guard lock(mutex);
    if (problem == text)
      return;
    problem = text;
  }
  if (onProblem)
    onProblem(text);
}

/// What a kept kernel counts for.
static uint64_t weigh(const std::string &key, const CompiledKernel &kernel) {
  return key.size() + kernel.codeObject.size() + kernel.reportJson.size();
}

Result<KernelCache::Kernel> KernelCache::get(const std::string &key, std::string_view description,
                                             const Make &make) {
  std::shared_ptr<Slot> slot;
  {
    std::lock_guard lock(mutex);
    if (const Kernel *known = kept.find(key)) {
      ++memoryHits;
      return *known;
    }
    std::shared_ptr<Slot> &known = underWay[key];
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
  // Those who wait get the result from the slot, an error too; those who come later find the kernel
  // among those that are kept, or try again.
  std::lock_guard all(mutex);
  underWay.erase(key);
  if (slot->result->ok())
    forgotten += kept.insert(key, **slot->result, weigh(key, ***slot->result));
  return *slot->result;
}

/// Nothing if the disk does not have it.
std::optional<Result<KernelCache::Kernel>> KernelCache::fromDisk(const std::string &key) {
  std::string distrusted;
  std::optional<CacheEntry> entry = files.load(key, &distrusted);
  if (!distrusted.empty())
    noteProblem(distrusted);
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
    noteProblem(status.error().message);
  }
  return Kernel(std::make_shared<CompiledKernel>(*std::move(made)));
}
