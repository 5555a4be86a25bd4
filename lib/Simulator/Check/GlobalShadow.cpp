// See GlobalShadow.h.
#include "GlobalShadow.h"

#include "Simulator/Memory.h"

#include "llvm/ADT/StringExtras.h"

#include <algorithm>
#include <bit>
#include <utility>

using namespace hocket::sim;
using namespace hocket::sim::check;
using hocket::runtime::FindingKind;
using hocket::runtime::FindingSeverity;

static constexpr unsigned unitsOf(unsigned shift) {
  return static_cast<unsigned>(GlobalShadow::pageBytes >> shift);
}

bool GlobalShadow::charge(uint64_t bytes) {
  if (used.fetch_add(bytes) + bytes <= limitBytes)
    return true;
  exhausted = true;
  return false;
}

GlobalShadow::Page *GlobalShadow::pageOf(uint64_t number, PageCache &cache) {
  PageCache::Entry &known = cache.entries[number % std::size(cache.entries)];
  if (known.number == number)
    return known.page;
  Shard &shard = table[number % shards];
  std::lock_guard lock(shard.mutex);
  std::unique_ptr<Page> &page = shard.pages[number];
  if (!page)
    page = std::make_unique<Page>();
  known = {number, page.get()};
  return known.page;
}

/// Makes units of 2^bits bytes.
void GlobalShadow::splitPage(Page &page, unsigned bits) {
  bits = bits < 2 ? 0 : bits; // 16-bit accesses come with 8-bit ones
  for (std::unique_ptr<Range[]> &ranges : page.ranges) {
    if (!ranges)
      continue;
    if (!charge((unitsOf(bits) - unitsOf(page.shift)) * sizeof(Range)))
      return;
    auto parts = std::make_unique<Range[]>(unitsOf(bits));
    for (unsigned i = 0; i < unitsOf(bits); ++i)
      parts[i] = ranges[i >> (page.shift - bits)].behind((i << bits) & ((1u << page.shift) - 1));
    ranges = std::move(parts);
  }
  page.shift = bits;
}

void GlobalShadow::touch(const std::byte *host, uint32_t bytes, GlobalAccess kind, AccessKey key,
                         PageCache &cache) {
  auto address = reinterpret_cast<uint64_t>(host);
  while (bytes != 0 && !exhausted) {
    auto inPage = static_cast<uint32_t>(address % pageBytes);
    uint32_t here = std::min<uint32_t>(bytes, static_cast<uint32_t>(pageBytes) - inPage);
    Page &page = *pageOf(address / pageBytes, cache);
    std::lock_guard lock(page.lock);
    if ((inPage | here) & ((1u << page.shift) - 1)) [[unlikely]]
      splitPage(page, static_cast<unsigned>(std::countr_zero(inPage | here)));
    if (exhausted)
      return;
    std::unique_ptr<Range[]> &ranges = page.ranges[static_cast<unsigned>(kind)];
    if (!ranges) {
      if (!charge(unitsOf(page.shift) * sizeof(Range)))
        return;
      ranges = std::make_unique<Range[]>(unitsOf(page.shift));
    }
    const unsigned shift = page.shift;
    Range *range = ranges.get() + (inPage >> shift);
    for (uint32_t offset = 0; offset < here; offset += 1u << shift)
      (range++)->add(key + offset);
    key += here;
    address += here;
    bytes -= here;
  }
}

static Place placeOf(AccessKey key, const InstructionTable &table) {
  Place place;
  place.workgroup = key >> workgroupShift;
  place.wave = static_cast<uint8_t>(key >> 34 & 15);
  place.index = static_cast<uint32_t>(key >> 10 & 0xffffff);
  place.lane = laneOf(table.known(place.index), key & 0x3ff);
  place.epoch = noEpoch;
  return place;
}

/// Two accesses of different workgroups out of two sets, the lowest such pair; false: none.
template <class Range>
static bool twoWorkgroups(const Range &a, const Range &b, AccessKey &first, AccessKey &second) {
  if (!a.any() || !b.any())
    return false;
  for (auto [x, y] : {std::pair(a.low, b.low), std::pair(a.low, b.high), std::pair(a.high, b.low)})
    if (x >> workgroupShift != y >> workgroupShift) {
      first = x;
      second = y;
      return true;
    }
  return false;
}

void GlobalShadow::report(const Memory &memory, const InstructionTable &instructions,
                          FindingMap &findings) const {
  if (exhausted)
    return;
  // In the order of device addresses.
  std::map<uint64_t, const Page *> ordered;
  for (const Shard &shard : table)
    for (const auto &[number, page] : shard.pages) {
      if (!page->ranges[1] && !page->ranges[2])
        continue;
      // Pages are shared by no two allocations, but one may begin in the middle of its first.
      for (uint64_t offset = 0; offset < pageBytes; offset += 16) {
        auto *host = reinterpret_cast<const std::byte *>(number * pageBytes + offset);
        const Allocation *allocation = memory.findHost(host);
        if (!allocation)
          continue;
        ordered[allocation->base + static_cast<uint64_t>(host - allocation->host) - offset] =
            page.get();
        break;
      }
    }
  static const Range none;
  static constexpr const char *verbs[] = {"reads", "writes", "updates", "reads"};
  for (const auto &[address, page] : ordered) {
    const uint64_t dwords = page->shift < 2 ? 1 : uint64_t(1) << (page->shift - 2);
    for (unsigned i = 0; i < unitsOf(page->shift); ++i) {
      const Range *sets[4];
      for (unsigned kind = 0; kind < 4; ++kind)
        sets[kind] = page->ranges[kind] ? &page->ranges[kind][i] : &none;
      for (auto [one, two] :
           {std::pair(1, 1), std::pair(0, 1), std::pair(2, 1), std::pair(3, 1), std::pair(0, 2)}) {
        AccessKey first = 0, second = 0;
        if (!twoWorkgroups(*sets[one], *sets[two], first, second))
          continue;
        Place at = placeOf(first, instructions), other = placeOf(second, instructions);
        LoggedFinding &finding =
            findings[{FindingKind::GlobalRace, at.index, other.index, FindingSeverity::Error}];
        // Counted are dwords, or bytes where accesses are that small.
        const uint64_t before = std::exchange(finding.count, finding.count + dwords);
        if (before == 0) {
          finding.at = at;
          finding.other = other;
          finding.what = std::string(verbs[one]) + " device address 0x" +
                         llvm::utohexstr(address + (uint64_t(i) << page->shift), true) +
                         ", which another workgroup " + verbs[two] +
                         "; nothing orders the workgroups of a launch";
        }
        break;
      }
    }
  }
}
