// How device addresses are handed out and mapped to the host.
//
// The address of an allocation only ever grows, so a freed range is never met again and a stale
// pointer is recognised. Host pages come from mmap without reservation. The host address agrees
// with the device address in its low 12 bits: an operand that is naturally aligned on the device
// is so on the host, as atomic operations need.
#include "Simulator/Memory.h"

#include "Simulator/Hex.h"

#include "llvm/Support/MathExtras.h"

#include <cerrno>
#include <cstring>
#include <sys/mman.h>

using namespace hocket;
using namespace hocket::sim;

static constexpr uint64_t pageSize = 4096;
static constexpr uint64_t firstBase = uint64_t(0x10) << 32;
static constexpr uint64_t endOfAddresses = uint64_t(1) << 46;
/// Nobody's bytes between two allocations.
static constexpr uint64_t guardBytes = uint64_t(16) << 20;
static constexpr uint64_t maxAlignment = uint64_t(1) << 30;


static std::string nameRange(std::string_view label, uint64_t base, uint64_t size) {
  std::string text = "allocation ";
  if (!label.empty())
    text += "'" + std::string(label) + "' ";
  return text + "[" + hex(base) + ", " + hex(base + size) + ")";
}

Memory::Memory(uint64_t limit) : nextBase(firstBase), limit(limit) {}

Memory::~Memory() {
  for (auto &[base, mapping] : allocations)
    if (mapping.map)
      munmap(mapping.map, mapping.mapBytes);
}

Result<uint64_t> Memory::allocate(uint64_t bytes, uint64_t alignment, std::string_view label) {
  if (bytes == 0)
    return invalidInput("an allocation of 0 bytes was asked for, wanted at least 1");
  if (!llvm::isPowerOf2_64(alignment) || alignment > maxAlignment)
    return invalidInput("alignment " + std::to_string(alignment) +
                        " is not a power of two of at most 1 GiB");
  if (bytes > limit - live)
    return hostError("an allocation of " + std::to_string(bytes) +
                     " bytes passes the simulator's " + std::to_string(limit) +
                     " bytes of memory, of which " + std::to_string(live) +
                     " are in use; free some");
  alignment = std::max<uint64_t>(alignment, 16);
  // An odd multiple of the alignment: a kernel that assumes more than was asked for does not pass.
  uint64_t base = llvm::alignTo(nextBase, 2 * alignment) + alignment;
  if (base + bytes + guardBytes > endOfAddresses)
    return hostError("the simulator has no addresses left for " + std::to_string(bytes) + " bytes");

  uint64_t skew = base % pageSize;
  uint64_t mapBytes = llvm::alignTo(bytes + skew, pageSize);
  void *map = mmap(nullptr, mapBytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (map == MAP_FAILED)
    return hostError("the host cannot map " + std::to_string(bytes) +
                     " bytes of device memory: " + std::strerror(errno));
  Mapping mapping;
  mapping.allocation = {base, bytes, static_cast<std::byte *>(map) + skew, std::string(label)};
  mapping.map = map;
  mapping.mapBytes = mapBytes;
  allocations.emplace(base, std::move(mapping));
  nextBase = base + bytes + guardBytes;
  live += bytes;
  return base;
}

Result<uint64_t> Memory::share(std::span<std::byte> host, std::string_view label) {
  const uint64_t base = reinterpret_cast<uintptr_t>(host.data());
  if (host.empty() || base == 0)
    return invalidInput("host memory of " + std::to_string(host.size()) + " bytes at " + hex(base) +
                        " cannot be shared with the device, wanted at least 1 byte");
  auto next = allocations.lower_bound(base + 1);
  const bool overlaps =
      (next != allocations.end() && next->second.allocation.base - base < host.size()) ||
      (next != allocations.begin() && std::prev(next)->second.allocation.end() > base);
  if (overlaps)
    return invalidInput("host memory [" + hex(base) + ", " + hex(base + host.size()) +
                        ") overlaps device memory: it is " + describe(base));
  Mapping mapping;
  mapping.allocation = {base, host.size(), host.data(), std::string(label)};
  allocations.emplace(base, std::move(mapping));
  return base;
}

Status Memory::free(uint64_t address) {
  auto it = allocations.find(address);
  if (it == allocations.end())
    return invalidInput("no allocation starts at " + hex(address) + ": " + describe(address));
  Mapping &mapping = it->second;
  // The host may use shared addresses for anything else, so they are not remembered.
  if (mapping.map) {
    munmap(mapping.map, mapping.mapBytes);
    live -= mapping.allocation.size;
    freed.push_back({mapping.allocation.base, mapping.allocation.size, mapping.allocation.label});
  }
  allocations.erase(it);
  return Status::success();
}

const Memory::Mapping *Memory::lookup(uint64_t address) const {
  auto it = allocations.upper_bound(address);
  if (it == allocations.begin())
    return nullptr;
  const Mapping &mapping = std::prev(it)->second;
  return mapping.allocation.contains(address, 1) ? &mapping : nullptr;
}

const Allocation *Memory::find(uint64_t address) const {
  const Mapping *mapping = lookup(address);
  return mapping ? &mapping->allocation : nullptr;
}

std::byte *Memory::translate(uint64_t address, uint64_t bytes) const {
  const Allocation *allocation = find(address);
  if (!allocation || !allocation->contains(address, bytes))
    return nullptr;
  return allocation->host + (address - allocation->base);
}

const Allocation *Memory::findHost(const std::byte *host) const {
  auto address = reinterpret_cast<uintptr_t>(host);
  for (const auto &[base, mapping] : allocations) {
    auto begin = reinterpret_cast<uintptr_t>(mapping.allocation.host);
    if (address >= begin && address - begin < mapping.allocation.size)
      return &mapping.allocation;
  }
  return nullptr;
}

Status Memory::outside(std::string_view what, uint64_t address, uint64_t bytes) const {
  return invalidInput("cannot " + std::string(what) + " " + std::to_string(bytes) +
                      " bytes at device address " + hex(address) + ": it is " + describe(address));
}

Status Memory::read(std::span<std::byte> to, uint64_t from) const {
  if (to.empty())
    return Status::success();
  std::byte *host = translate(from, to.size());
  if (!host)
    return outside("read", from, to.size());
  std::memcpy(to.data(), host, to.size());
  return Status::success();
}

Status Memory::write(uint64_t to, std::span<const std::byte> from) {
  if (from.empty())
    return Status::success();
  std::byte *host = translate(to, from.size());
  if (!host)
    return outside("write", to, from.size());
  std::memcpy(host, from.data(), from.size());
  return Status::success();
}

Status Memory::fill(uint64_t to, uint8_t value, uint64_t bytes) {
  if (bytes == 0)
    return Status::success();
  std::byte *host = translate(to, bytes);
  if (!host)
    return outside("fill", to, bytes);
  // Shared pages may be a file's.
  if (value != 0 || !lookup(to)->map) {
    std::memset(host, value, bytes);
    return Status::success();
  }
  // Anonymous pages read as zero after they are given back; only the ragged ends need a write.
  auto begin = reinterpret_cast<uintptr_t>(host), end = begin + bytes;
  uintptr_t firstPage = llvm::alignTo(begin, pageSize), lastPage = llvm::alignDown(end, pageSize);
  if (firstPage >= lastPage ||
      madvise(reinterpret_cast<void *>(firstPage), lastPage - firstPage, MADV_DONTNEED) != 0) {
    std::memset(host, 0, bytes);
    return Status::success();
  }
  std::memset(host, 0, firstPage - begin);
  std::memset(reinterpret_cast<void *>(lastPage), 0, end - lastPage);
  return Status::success();
}

/// Distance of `address` to [base, base + size) and on which side it is.
static uint64_t distance(uint64_t address, uint64_t base, uint64_t size) {
  if (address < base)
    return base - address;
  return address - base < size ? 0 : address - (base + size);
}

std::string Memory::describe(uint64_t address) const {
  struct Nearest {
    std::string_view label;
    uint64_t base = 0, size = 0, distance = ~uint64_t(0);
    bool freed = false;
  } nearest;
  auto consider = [&](std::string_view label, uint64_t base, uint64_t size, bool isFreed) {
    uint64_t d = distance(address, base, size);
    if (d < nearest.distance)
      nearest = {label, base, size, d, isFreed};
  };
  auto it = allocations.upper_bound(address);
  if (it != allocations.end())
    consider(it->second.allocation.label, it->first, it->second.allocation.size, false);
  if (it != allocations.begin()) {
    const Allocation &before = std::prev(it)->second.allocation;
    consider(before.label, before.base, before.size, false);
  }
  for (const Freed &range : freed)
    consider(range.label, range.base, range.size, true);

  if (nearest.distance == ~uint64_t(0))
    return "in no allocation; there is none";
  std::string range = nameRange(nearest.label, nearest.base, nearest.size);
  std::string which = nearest.freed ? "the freed " : "the ";
  if (address < nearest.base)
    return std::to_string(nearest.distance) + " bytes before " + which + range;
  if (address - nearest.base < nearest.size)
    return std::to_string(address - nearest.base) + " bytes into " + which + range;
  return std::to_string(nearest.distance) + " bytes past the end of " + which + range;
}
