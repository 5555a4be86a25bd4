// The simulator's device memory: a sparse 64-bit address space of allocations with gaps between
// them.
//
// Addresses are the device's, not the host's. Every allocation lies above 4 GiB, so that an address
// that lost its upper half is never valid, starts at an address that is aligned as asked and no
// better, and is followed by a gap that belongs to nobody: an access past an end is found, not
// served from the neighbour. Pages that are never touched cost nothing, so allocations may be many
// gigabytes. Freed ranges are remembered for messages and never used again.
#pragma once

#include "hocket/Support/Result.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hocket::sim {

/// One live range of device memory. `host` is where its first byte is on the host.
struct Allocation {
  uint64_t base = 0;
  uint64_t size = 0;
  std::byte *host = nullptr;
  std::string label; ///< for messages; may be empty

  uint64_t end() const { return base + size; }
  /// Whether all of [address, address + bytes) is inside.
  bool contains(uint64_t address, uint64_t bytes) const {
    return address >= base && bytes <= size && address - base <= size - bytes;
  }
};

/// Device memory. Loads and stores of running kernels go through `find`; allocating, freeing and
/// the copying calls must not run at the same time as a launch or as each other.
class Memory {
public:
  /// At most `limit` bytes may be live at a time.
  explicit Memory(uint64_t limit = uint64_t(1) << 40);
  ~Memory();
  Memory(const Memory &) = delete;
  Memory &operator=(const Memory &) = delete;

  /// Allocates `bytes` bytes aligned to `alignment` (a power of two, at least 1; raised to 16),
  /// with unspecified content (zero, in fact). `label` names the allocation in messages. Errors:
  /// zero bytes, an alignment that is no power of two or above 1 GiB, the limit, the host.
  Result<uint64_t> allocate(uint64_t bytes, uint64_t alignment = 256, std::string_view label = {});
  /// Makes `host` device memory whose addresses are the host's, as HIP's pinned host memory is. It
  /// is not owned: `free` and the destructor leave it as it is. Errors: it is empty, or overlaps an
  /// allocation.
  Result<uint64_t> share(std::span<std::byte> host, std::string_view label = {});
  /// Frees the allocation that starts at `address`. Errors: no live allocation starts there.
  Status free(uint64_t address);

  /// Copies between host and device; the device range must lie in one allocation.
  Status read(std::span<std::byte> to, uint64_t from) const;
  Status write(uint64_t to, std::span<const std::byte> from);
  /// Sets `bytes` bytes to `value`. Zeroing gives whole pages back to the host.
  Status fill(uint64_t to, uint8_t value, uint64_t bytes);

  /// The live allocation that holds `address`, or null. The pointer is valid until it is freed.
  const Allocation *find(uint64_t address) const;
  /// The host address of [address, address + bytes), or null if no live allocation holds all of it.
  std::byte *translate(uint64_t address, uint64_t bytes) const;
  /// The live allocation whose host memory holds `host`, or null. Slow: looks at all of them.
  const Allocation *findHost(const std::byte *host) const;

  /// Says where `address` is with respect to the nearest allocation, live or freed:
  /// "16 bytes past the end of the allocation 'k' [0x..., 0x...)". For messages.
  std::string describe(uint64_t address) const;

  uint64_t liveBytes() const { return live; }
  uint64_t limitBytes() const { return limit; }

private:
  struct Mapping {
    Allocation allocation;
    void *map = nullptr; ///< null: shared, not owned
    uint64_t mapBytes = 0;
  };
  struct Freed {
    uint64_t base, size;
    std::string label;
  };
  const Mapping *lookup(uint64_t address) const;
  Status outside(std::string_view what, uint64_t address, uint64_t bytes) const;

  std::map<uint64_t, Mapping> allocations; ///< by base
  std::vector<Freed> freed;
  uint64_t nextBase;
  uint64_t limit;
  uint64_t live = 0;
};

} // namespace hocket::sim
