// The shadow of LDS, which works in groups of bytes, against one record for each byte: random
// operations, some of them again and again, must find the same lane by lane.
#include "Check/LdsShadow.h"

#include <gtest/gtest.h>
#include <random>

using namespace hocket::sim;
using namespace hocket::sim::check;

namespace {
constexpr uint32_t ldsBytes = 4096;

/// What an operation finds, a text for each lane that finds anything.
using Found = std::vector<std::string>;

/// One record for each byte.
class Bytes {
public:
  Bytes() : cells(ldsBytes) {}
  void clear() { cells.assign(ldsBytes, Cell()); }
  void touch(const Access &access, uint32_t address, uint32_t bytes, Conflict &conflict,
             Contents &contents) {
    for (uint32_t i = address; i < std::min(address + bytes, ldsBytes); ++i)
      access.write ? writeCell(access, cells[i], conflict)
                   : readCell(access, cells[i], conflict, contents);
  }
  void extend(const Access &access, uint32_t address, uint32_t bytes) {
    for (uint32_t i = address; i < std::min(address + bytes, ldsBytes); ++i)
      extendCell(access, cells[i]);
  }
  void setUndefined(uint32_t address, uint32_t bytes, OriginId origin) {
    for (uint32_t i = address; i < std::min(address + bytes, ldsBytes); ++i)
      cells[i].origin = origin;
  }

private:
  std::vector<Cell> cells;
};

template <class Shadow>
Found touchLanes(Shadow &shadow, const InstructionInfo &info, const PendingOp &op,
                 const Access &access) {
  Found found;
  forEachLds(info, op, [&](unsigned lane, uint32_t address, unsigned bytes) {
    Conflict conflict;
    Contents contents;
    shadow.touch(access, address, bytes, conflict, contents);
    if (conflict.found || !contents.defined())
      found.push_back(std::to_string(lane) + ": " + std::to_string(conflict.found) +
                      (conflict.withWrite ? " write " : " read ") + std::to_string(conflict.index) +
                      " of wave " + std::to_string(conflict.wave) + (conflict.late ? " late" : "") +
                      (contents.written ? "" : " unwritten") + " origin " +
                      std::to_string(contents.origin));
  });
  return found;
}

struct Operation {
  InstructionInfo info;
  PendingOp op = {};
};

class Operations {
public:
  explicit Operations(uint64_t seed) : random(seed) {}
  unsigned below(unsigned n) { return std::uniform_int_distribution<unsigned>(0, n - 1)(random); }

  /// `finest`: the smallest access.
  Operation make(unsigned finest) {
    Operation made;
    auto &[info, op] = made;
    constexpr MemoryKind kinds[] = {MemoryKind::Load, MemoryKind::Load, MemoryKind::Store,
                                    MemoryKind::Atomic, MemoryKind::LdsDma};
    info.lds = kinds[below(5)];
    unsigned bytes = std::max(finest, 1u << below(5));
    info.ldsBytes =
        static_cast<uint8_t>(info.lds == MemoryKind::Atomic ? std::min(bytes, 8u) : bytes);
    info.globalBytes = info.lds == MemoryKind::LdsDma ? 16 : 0;
    info.ldsTwo = info.lds == MemoryKind::Load && below(4) == 0;
    op.mask =
        below(3) ? allLanes : allLanes << below(64) & ~(uint64_t(below(1u << 16)) << below(48));
    unsigned units = ldsBytes / info.ldsBytes, first = below(units), step = 1 + below(5);
    bool scattered = below(5) == 0;
    for (unsigned lane = 0; lane < 64; ++lane)
      op.ldsAddress[lane] =
          (scattered ? below(units) : (first + lane * step) % units) * info.ldsBytes;
    op.scalar =
        info.lds == MemoryKind::LdsDma ? below(ldsBytes / 16) * 16 : below(units) * info.ldsBytes;
    return made;
  }

private:
  std::mt19937_64 random;
};
} // namespace

static void compare(uint64_t seed, unsigned finest) {
  SCOPED_TRACE("seed " + std::to_string(seed) + ", accesses from " + std::to_string(finest) +
               " bytes on");
  Operations operations(seed);
  std::vector<Operation> program;
  for (unsigned i = 0; i < 40; ++i)
    program.push_back(operations.make(finest));
  LdsShadow groups;
  groups.resize(ldsBytes);
  Bytes bytes;
  uint32_t epoch = 0;
  unsigned quiet = 0, loud = 0;
  std::vector<std::pair<unsigned, Access>> flying;
  for (unsigned step = 0; step < 1500; ++step) {
    if (step % 500 == 499) { // another workgroup
      groups.clear();
      bytes.clear();
      flying.clear();
    }
    if (operations.below(4) == 0) { // a barrier
      ++epoch;
      for (auto &[index, access] : flying) {
        const Operation &of = program[index];
        access.epoch = epoch;
        groups.extend(access, groups.footprint(of.info, of.op));
        forEachLds(of.info, of.op, [&](unsigned, uint32_t address, unsigned count) {
          bytes.extend(access, address, count);
        });
      }
      flying.clear();
    }
    unsigned index = operations.below(static_cast<unsigned>(program.size()));
    const auto &[info, op] = program[index];
    if (op.mask == 0)
      continue;
    Access access{index, epoch, static_cast<uint8_t>(operations.below(4)),
                  info.lds != MemoryKind::Load, info.lds == MemoryKind::Atomic};
    Found expected = touchLanes(bytes, info, op, access), found;
    if (groups.enter(access, groups.footprint(info, op)))
      ++quiet;
    else
      found = touchLanes(groups, info, op, access), ++loud;
    ASSERT_EQ(found, expected) << "at step " << step;
    if (info.lds == MemoryKind::Store && operations.below(8) == 0) {
      uint32_t address = op.ldsAddress[63];
      const auto origin = static_cast<OriginId>(1 + operations.below(3));
      groups.setUndefined(address, info.ldsBytes, origin);
      bytes.setUndefined(address, info.ldsBytes, origin);
    }
    if (operations.below(6) == 0)
      flying.emplace_back(index, access);
  }
  // Both ways were taken, or nothing was compared.
  EXPECT_GT(quiet, 50u);
  EXPECT_GT(loud, 50u);
}

TEST(LdsShadow, FindsWhatSingleBytesWouldFind) {
  for (uint64_t seed = 1; seed <= 12; ++seed)
    for (unsigned finest : {1u, 4u, 8u, 16u})
      compare(seed, finest);
}

TEST(LdsShadow, HasBoundsAndAddressBits) {
  LdsShadow shadow;
  shadow.resize(ldsBytes);
  Operation read;
  read.info.lds = MemoryKind::Load;
  read.info.ldsBytes = 8;
  read.op.mask = 6;
  for (unsigned lane = 0; lane < 64; ++lane)
    read.op.ldsAddress[lane] = 64 + 8 * lane;
  const LdsFootprint &footprint = shadow.footprint(read.info, read.op);
  EXPECT_EQ(footprint.begin, 72u);
  EXPECT_EQ(footprint.end, 88u);
  EXPECT_EQ(footprint.addressBits, 72u | 80u);
  EXPECT_EQ(footprint.groups.size(), 1u);
}
