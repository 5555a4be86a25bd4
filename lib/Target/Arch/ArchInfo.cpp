// The registry of chips and the questions that need more than reading a field.
#include "Target/Arch/ArchInfo.h"

#include "Chips.h"
#include "Target/Arch/KnownChips.h"

#include <algorithm>
#include <cstdio>
#include <string>

using namespace hocket;

namespace {
struct Chip {
  const ArchInfo *info;
  uint64_t memoryBytes;
};
} // namespace

/// All chips; a new one is a file of its own and a line here. The first is the default.
static std::vector<Chip> allChips() {
  return {{&chips::gfx950(), chips::kGfx950MemoryBytes},
          {&chips::gfx942(), chips::kGfx942MemoryBytes}};
}

Result<const ArchInfo *> hocket::findArch(std::string_view name) {
  std::string known;
  for (const Chip &chip : allChips()) {
    if (chip.info->name == name)
      return chip.info;
    known += (known.empty() ? "" : ", ") + std::string(chip.info->name);
  }
  return unsupported("unknown target '" + std::string(name) + "'; known targets: " + known);
}

std::vector<std::string_view> hocket::knownArchs() {
  std::vector<std::string_view> names;
  for (const Chip &chip : allChips())
    names.push_back(chip.info->name);
  return names;
}

const ArchInfo &hocket::defaultArch() { return *allChips().front().info; }

const ArchInfo *hocket::findArchByElf(unsigned machine) {
  for (const Chip &chip : allChips())
    if (chip.info->elfMachine == machine)
      return chip.info;
  return nullptr;
}

std::string hocket::listArchs() {
  std::string list;
  const std::vector<Chip> chips = allChips();
  for (size_t i = 0; i != chips.size(); ++i) {
    char machine[16];
    std::snprintf(machine, sizeof(machine), " (0x%02x)", chips[i].info->elfMachine);
    list += (i == 0 ? "" : i + 1 == chips.size() ? " and " : ", ") +
            std::string(chips[i].info->name) + machine;
  }
  return list;
}

uint64_t hocket::deviceMemoryBytes(const ArchInfo &arch) {
  for (const Chip &chip : allChips())
    if (chip.info == &arch)
      return chip.memoryBytes;
  return 0;
}

bool MfmaInfo::takes(const MatrixTypes &types) const {
  return types.accumulator == accumulator && std::ranges::count(operands, types.a) != 0 &&
         std::ranges::count(operands, types.b) != 0;
}

unsigned MfmaInfo::cycles(const MatrixTypes &types) const {
  bool isNarrow = infoOf(types.a).bits < 8 && infoOf(types.b).bits < 8;
  return isNarrow && passesOfNarrow != 0 ? 4 * passesOfNarrow : cycles();
}

const MfmaHazard *HazardTable::forPasses(unsigned passes) const {
  auto row = std::ranges::find(mfma, passes, &MfmaHazard::passes);
  return row == mfma.end() ? nullptr : &*row;
}

const MfmaInfo *ArchInfo::findMfma(const MatrixTypes &types, unsigned m, unsigned n,
                                   std::optional<unsigned> k) const {
  const MfmaInfo *best = nullptr;
  for (const MfmaInfo &info : mfma) {
    if (!info.takes(types) || info.shape.m != m || info.shape.n != n || (k && info.shape.k != *k))
      continue;
    if (!best || info.shape.k > best->shape.k)
      best = &info;
  }
  return best;
}

bool ArchInfo::hasSmallFloat(ElementType type) const { return std::ranges::count(smallFloats, type) != 0; }

bool ArchInfo::hasLdsDma(unsigned bytesPerLane) const {
  return std::ranges::count(lds.dmaBytes, bytesPerLane) != 0;
}

bool ArchInfo::hasTransposedRead(unsigned elementBits) const {
  return std::ranges::count(lds.transposedBits, elementBits) != 0;
}

// s_waitcnt: vmcnt = {[15:14], [3:0]}, expcnt [6:4], lgkmcnt [11:8].
uint16_t hocket::encodeWait(const WaitCounterLimits &limits, unsigned vmcnt, unsigned expcnt,
                            unsigned lgkmcnt) {
  unsigned vm = std::min(vmcnt, limits.vmcnt), exp = std::min(expcnt, limits.expcnt);
  unsigned lgkm = std::min(lgkmcnt, limits.lgkmcnt);
  return static_cast<uint16_t>((vm & 15) | (vm >> 4 & 3) << 14 | (exp & 7) << 4 | (lgkm & 15) << 8);
}

WaitCounts hocket::decodeWait(uint16_t immediate) {
  return {static_cast<unsigned>((immediate & 15) | (immediate >> 14 & 3) << 4),
          static_cast<unsigned>(immediate >> 4 & 7), static_cast<unsigned>(immediate >> 8 & 15)};
}
