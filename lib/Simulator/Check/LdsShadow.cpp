// See LdsShadow.h.
#include "LdsShadow.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

using namespace hocket::sim;
using namespace hocket::sim::check;

void LdsShadow::resize(uint32_t bytes) {
  size = bytes;
  shift = coarsest;
  groupOf.assign((size + (1u << shift) - 1) >> shift, 0);
  groups.assign(1, Cell());
  groupCells.assign(1, cellCount());
  touchedCells.assign(1, 0);
  replacement.assign(1, 0);
  cellMark.assign(cellCount(), 0);
  known.reset();
  mark = 0;
  splits = 1;
}

void LdsShadow::splitCells(unsigned bits) {
  bits = bits < 2 ? 0 : bits; // 16-bit accesses come with 8-bit ones
  std::vector<uint32_t> parts((size + (uint64_t(1) << bits) - 1) >> bits);
  std::fill(groupCells.begin(), groupCells.end(), 0);
  for (size_t i = 0; i < parts.size(); ++i) {
    parts[i] = groupOf[i >> (shift - bits)];
    ++groupCells[parts[i]];
  }
  groupOf = std::move(parts);
  cellMark.assign(groupOf.size(), 0);
  mark = 0;
  shift = bits;
}

LdsShadow::Range LdsShadow::cellsOf(uint32_t address, uint32_t bytes) {
  if ((address | bytes) & ((1u << shift) - 1)) [[unlikely]]
    splitCells(static_cast<unsigned>(std::countr_zero(address | bytes)));
  return {address >> shift, std::min(cellCount(), ((address + bytes - 1) >> shift) + 1)};
}

/// Takes `count` cells out of `group` for a new one with the same past.
uint32_t LdsShadow::divide(uint32_t group, uint32_t count) {
  ++splits;
  groups.push_back(Cell(groups[group]));
  groupCells[group] -= count;
  groupCells.push_back(count);
  touchedCells.push_back(0);
  replacement.push_back(0);
  return static_cast<uint32_t>(groups.size() - 1);
}

uint32_t LdsShadow::single(uint32_t cell) {
  if (groupCells[groupOf[cell]] != 1)
    groupOf[cell] = divide(groupOf[cell], 1);
  return groupOf[cell];
}

/// Where addresses never repeat, every cell comes to have a group of its own, and there is nothing
/// to divide. False: it is not so here.
bool LdsShadow::findSingles(const InstructionInfo &info, const PendingOp &op,
                            LdsFootprint &footprint) {
  ++mark;
  bool singles = true;
  forEachLds(info, op, [&](unsigned, uint32_t address, unsigned bytes) {
    const uint32_t end = std::min(cellCount(), ((address + bytes - 1) >> shift) + 1);
    for (uint32_t cell = address >> shift; cell < end; ++cell) {
      const uint32_t group = groupOf[cell];
      singles &= groupCells[group] == 1;
      if (!singles)
        return;
      if (cellMark[cell] != mark)
        footprint.groups.push_back(group);
      cellMark[cell] = mark;
    }
  });
  return singles;
}

void LdsShadow::findGroups(const InstructionInfo &info, const PendingOp &op,
                           LdsFootprint &footprint) {
  footprint.groups.clear();
  // Cells first become fine enough for all of it.
  const uint32_t bits = footprint.addressBits | (info.lds == MemoryKind::LdsDma ? dmaStride(info)
                                                 : info.ldsOneLane              ? 4
                                                                                : info.ldsBytes);
  if (bits & ((1u << shift) - 1)) [[unlikely]]
    splitCells(static_cast<unsigned>(std::countr_zero(bits)));
  if (findSingles(info, op, footprint))
    return;
  footprint.groups.clear();
  ++mark;
  cells.clear();
  forEachLds(info, op, [&](unsigned, uint32_t address, unsigned bytes) {
    auto [first, end] = cellsOf(address, bytes);
    for (uint32_t cell = first; cell < end; ++cell) {
      if (cellMark[cell] == mark)
        continue;
      cellMark[cell] = mark;
      cells.push_back(cell);
      if (touchedCells[groupOf[cell]]++ == 0)
        footprint.groups.push_back(groupOf[cell]);
    }
  });
  bool divided = false;
  for (uint32_t &group : footprint.groups) {
    uint32_t touched = std::exchange(touchedCells[group], 0);
    bool part = touched != groupCells[group];
    uint32_t own = part ? divide(group, touched) : group;
    replacement[group] = own;
    divided |= part;
    group = own;
  }
  if (divided)
    for (uint32_t cell : cells)
      groupOf[cell] = replacement[groupOf[cell]];
}

bool LdsShadow::isOf(const Known &known, const InstructionInfo &info, const PendingOp &op) const {
  if (known.mask != op.mask || known.kind != info.lds)
    return false;
  if (info.lds == MemoryKind::LdsDma)
    return known.scalar == op.scalar && known.bytes == dmaStride(info);
  return known.bytes == info.ldsBytes && known.two == info.ldsTwo &&
         known.oneLane == info.ldsOneLane && (!info.ldsTwo || known.scalar == op.scalar) &&
         std::memcmp(known.addresses, op.ldsAddress, sizeof(known.addresses)) == 0;
}

void LdsShadow::remember(Known &known, const InstructionInfo &info, const PendingOp &op) {
  bool dma = info.lds == MemoryKind::LdsDma;
  known.mask = op.mask;
  known.kind = info.lds;
  known.scalar = op.scalar;
  known.bytes = static_cast<uint8_t>(dma ? dmaStride(info) : info.ldsBytes);
  known.two = info.ldsTwo;
  known.oneLane = info.ldsOneLane;
  if (!dma)
    std::memcpy(known.addresses, op.ldsAddress, sizeof(known.addresses));
  LdsFootprint &footprint = known.footprint;
  footprint.begin = ~0u;
  footprint.end = footprint.addressBits = 0;
  auto add = [&](unsigned, uint32_t address, unsigned bytes) {
    footprint.begin = std::min(footprint.begin, address);
    footprint.end = std::max(footprint.end, address + bytes);
    footprint.addressBits |= address;
  };
  if (dma || info.ldsTwo || info.ldsOneLane || op.mask != allLanes)
    return forEachLds(info, op, add);
  for (unsigned lane = 0; lane < 64; ++lane)
    add(lane, op.ldsAddress[lane], info.ldsBytes);
}

/// A hash of what the footprint of `op` is made from.
static uint64_t keyOf(const InstructionInfo &info, const PendingOp &op) {
  uint64_t key = op.mask;
  auto add = [&](uint64_t value) {
    key = (key ^ value) * 0x9e3779b97f4a7c15;
    key ^= key >> 32;
  };
  if (info.lds == MemoryKind::LdsDma) {
    add(op.scalar);
  } else {
    add(op.ldsAddress[0] | uint64_t(op.ldsAddress[63]) << 32);
    add(op.ldsAddress[21] | uint64_t(op.ldsAddress[42]) << 32);
    add(info.ldsBytes | (info.ldsTwo ? uint64_t(op.scalar) << 32 : 0));
  }
  return key * 0x9e3779b97f4a7c15;
}

/// The known footprint of `op`, or another one that it may replace.
LdsShadow::Known &LdsShadow::find(const InstructionInfo &info, const PendingOp &op) {
  if (!known) [[unlikely]]
    known = std::make_unique<Bucket[]>(size_t(1) << bucketBits);
  uint64_t key = keyOf(info, op);
  Bucket &bucket = known[key >> (64 - bucketBits)];
  for (Known &way : bucket.ways)
    if (way.key == key && way.made != 0)
      return way;
  Known &replaced = bucket.ways[bucket.oldest++ % std::size(bucket.ways)];
  replaced.key = key;
  replaced.made = 0;
  return replaced;
}

const LdsFootprint &LdsShadow::footprint(const InstructionInfo &info, const PendingOp &op) {
  Known &entry = find(info, op);
  bool same = entry.made != 0 && isOf(entry, info, op);
  if (same && entry.made == splits) [[likely]]
    return entry.footprint;
  if (!same)
    remember(entry, info, op);
  findGroups(info, op, entry.footprint);
  entry.made = splits;
  return entry.footprint;
}

bool LdsShadow::enter(const Access &access, const LdsFootprint &footprint) {
  if (!access.write) {
    for (uint32_t group : footprint.groups) {
      const Cell &cell = groups[group];
      if (meetsWrite(access, cell) || cell.writeEpoch == 0 || cell.origin != 0)
        return false;
    }
    for (uint32_t group : footprint.groups)
      if (!readsAgain(access, groups[group]) && !access.atomic)
        enterRead(access, groups[group]);
    return true;
  }
  for (uint32_t group : footprint.groups)
    if (meetsWrite(access, groups[group]) || meetsRead(access, groups[group]))
      return false;
  for (uint32_t group : footprint.groups)
    enterWrite(access, groups[group]);
  return true;
}

void LdsShadow::extend(const Access &access, const LdsFootprint &footprint) {
  for (uint32_t group : footprint.groups)
    extendCell(access, groups[group]);
}

void LdsShadow::touch(const Access &access, uint32_t address, uint32_t bytes, Conflict &conflict,
                      Contents &contents) {
  auto [first, end] = cellsOf(address, bytes);
  for (uint32_t i = first; i < end; ++i) {
    const bool before = conflict.found;
    Cell &cell = groups[single(i)];
    if (access.write)
      writeCell(access, cell, conflict);
    else if (!readsAgain(access, cell))
      readCell(access, cell, conflict, contents);
    if (conflict.found != before)
      conflict.offset = (i << shift) - address;
  }
}

void LdsShadow::setUndefined(uint32_t address, uint32_t bytes, OriginId origin) {
  auto [first, end] = cellsOf(address, bytes);
  for (uint32_t i = first; i < end; ++i)
    groups[single(i)].origin = origin;
}

void LdsShadow::extend(const Access &access, uint32_t address, uint32_t bytes) {
  auto [first, end] = cellsOf(address, bytes);
  for (uint32_t i = first; i < end; ++i)
    extendCell(access, groups[single(i)]);
}
