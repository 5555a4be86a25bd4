// Races between workgroups: which workgroups read and wrote each byte of global memory.
//
// Workgroups of a launch are not ordered, so two of them race where both touch a byte and one
// writes it, unless both do so atomically. Of the accesses of a byte only the lowest and the
// highest are kept, by workgroup, wave, instruction and lane: enough to know whether there are two
// workgroups, and the same whatever the order in which threads come along. What a workgroup does
// after an atomic of its own may be ordered by it and is left out. Only pages that are touched cost
// memory, the less the larger the pieces in which they are accessed; beyond a limit races between
// workgroups are not looked for, and the report says so.
#pragma once

#include "InstructionInfo.h"
#include "ShadowCell.h"

#include <atomic>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>

namespace hocket::sim {
class Memory;
}

namespace hocket::sim::check {

/// Workgroup (26 bits), wave (4), instruction (24) and byte of the wave's access (10, as
/// `Access::byte`) in one number.
using AccessKey = uint64_t;
inline constexpr unsigned workgroupShift = 38;
inline AccessKey accessKey(const Access &access, uint64_t workgroup) {
  return workgroup << workgroupShift | uint64_t(access.wave) << 34 |
         uint64_t(access.index & 0xffffff) << 10 | access.byte;
}

enum class GlobalAccess : uint8_t { Read, Write, Atomic, AtomicRead };

class GlobalShadow {
  struct Page;

public:
  /// Pages that one thread has met of late, so that it need not look them up under a lock.
  class PageCache {
    friend class GlobalShadow;
    struct Entry {
      uint64_t number = ~uint64_t(0);
      Page *page = nullptr;
    };
    Entry entries[4096];
  };
  /// Enters an access of [host, host + bytes), whose first byte is that of `key`.
  void touch(const std::byte *host, uint32_t bytes, GlobalAccess kind, AccessKey key,
             PageCache &cache);
  /// For a launch of `workgroups` of a text of `dwords`: whether their numbers fit into keys.
  void begin(uint64_t workgroups, uint64_t dwords) {
    exhausted = workgroups > uint64_t(1) << (64 - workgroupShift) || dwords > 1 << 24;
  }
  /// Adds the races to `findings`; `instructions` are those of the launch's text.
  void report(const Memory &memory, const InstructionTable &instructions,
              FindingMap &findings) const;
  bool full() const { return exhausted; }

  static constexpr uint64_t pageBytes = 4096;
  /// Of shadow: an eighth of what the kernel touches where it does so in large pieces, up to some
  /// thirty times as much where in single bytes.
  static constexpr uint64_t limitBytes = uint64_t(2) << 30;

private:
  struct Range {
    AccessKey low = ~AccessKey(0), high = 0;
    bool any() const { return low <= high; }
    /// What is known of the byte `offset` bytes further on.
    Range behind(uint64_t offset) const {
      return any() ? Range{low + offset, high + offset} : Range();
    }
    void add(AccessKey key) {
      low = key < low ? key : low;
      high = key > high ? key : high;
    }
  };
  /// Held for a few instructions at a time, and taken millions of times a second.
  class PageLock {
  public:
    void lock() {
      for (unsigned tries = 0; taken.exchange(true, std::memory_order_acquire); ++tries)
        if (tries >= 64)
          std::this_thread::yield();
    }
    void unlock() { taken.store(false, std::memory_order_release); }

  private:
    std::atomic<bool> taken = false;
  };
  struct Page {
    PageLock lock;
    unsigned shift = 8;                 ///< a unit is 2^shift bytes: as coarse as accesses allow
    std::unique_ptr<Range[]> ranges[4]; ///< by kind of access; null: none yet
  };
  static constexpr unsigned shards = 64;
  struct Shard {
    std::mutex mutex;
    std::unordered_map<uint64_t, std::unique_ptr<Page>> pages;
  };
  Page *pageOf(uint64_t number, PageCache &cache);
  void splitPage(Page &page, unsigned bits);
  bool charge(uint64_t bytes);

  Shard table[shards];
  std::atomic<uint64_t> used = 0;
  std::atomic<bool> exhausted = false;
};

} // namespace hocket::sim::check
