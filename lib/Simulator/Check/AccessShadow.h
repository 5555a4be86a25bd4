// Who accessed which bytes of a page of global memory within one workgroup, and whether anybody
// else may have at the same time.
//
// All waves of a workgroup meet at barriers, so two accesses of different waves are ordered exactly
// if one of them was complete before a barrier that the other's wave had passed when it began. Time
// is therefore counted in barriers (epochs): an access covers the epochs from its issue to its
// completion, and two accesses may overlap if they share an epoch. An access that is still in
// flight when a barrier releases is entered again for the new epoch (`extend`).
//
// A cell stands for 16 bytes until something accesses other than multiples of that; then all cells
// of the page are split into 8 bytes, dwords or bytes, whatever the access is made of. So a cell
// is always accessed as a whole, and how coarse cells are makes no difference to what is found.
#pragma once

#include "ShadowCell.h"

#include <algorithm>
#include <bit>
#include <vector>

namespace hocket::sim::check {

class AccessShadow {
public:
  void resize(uint32_t bytes) {
    size = bytes;
    shift = coarsest;
    cells.assign(cellsFor(shift), Cell());
  }
  /// Enters the access of [address, address + bytes); `access.byte` is that of `address`.
  void touch(const Access &access, uint32_t address, uint32_t bytes, Conflict &conflict) {
    splitFor(address, bytes);
    used = true;
    Contents contents;
    forEachCell(address, bytes, [&](Cell &cell, uint32_t offset) {
      const bool before = conflict.found;
      if (!access.write)
        keepByte(access, cell, offset);
      if (access.write)
        writeCell(access, cell, conflict);
      else if (!readsAgain(access, cell))
        readCell(access, cell, conflict, contents);
      if (access.write)
        cell.writeByte = access.byte + offset;
      if (conflict.found != before) [[unlikely]]
        conflict.offset = offset;
    });
  }
  /// The access is still in flight in the epoch `access.epoch`.
  void extend(const Access &access, uint32_t address, uint32_t bytes) {
    forEachCell(address, bytes, [&](Cell &cell, uint32_t offset) {
      if (!access.write)
        keepByte(access, cell, offset);
      extendCell(access, cell);
    });
  }

private:
  /// Before `access`, a read, becomes the cell's last one.
  static void keepByte(const Access &access, Cell &cell, uint32_t offset) {
    if (access.atomic)
      return;
    if (cell.readWave != access.wave)
      cell.otherReadByte = cell.readByte;
    cell.readByte = access.byte + offset;
  }
  template <class Visit>
  HOCKET_SIM_INLINE void forEachCell(uint32_t address, uint32_t bytes, Visit visit) {
    uint32_t end = std::min(count(), ((address + bytes - 1) >> shift) + 1);
    for (uint32_t i = address >> shift; i < end; ++i)
      visit(cells[i], (i << shift) - address);
  }
  uint32_t count() const { return static_cast<uint32_t>(cells.size()); }
  size_t cellsFor(unsigned bits) const { return (size + (uint64_t(1) << bits) - 1) >> bits; }
  /// Makes cells that the access covers as a whole.
  HOCKET_SIM_INLINE void splitFor(uint32_t address, uint32_t bytes) {
    if ((address | bytes) & ((1u << shift) - 1)) [[unlikely]]
      split(static_cast<unsigned>(std::countr_zero(address | bytes)));
  }
  void split(unsigned bits) {
    bits = bits < 2 ? 0 : bits; // 16-bit accesses come with 8-bit ones
    std::vector<Cell> parts(cellsFor(bits));
    for (size_t i = 0; i < parts.size() && used; ++i) {
      parts[i] = cells[i >> (shift - bits)];
      const auto inside = static_cast<uint32_t>(i << bits) & ((1u << shift) - 1);
      parts[i].writeByte += inside;
      parts[i].readByte += inside;
      parts[i].otherReadByte += inside;
    }
    cells = std::move(parts);
    shift = bits;
  }

  static constexpr unsigned coarsest = 4;

  uint32_t size = 0;
  unsigned shift = coarsest; ///< a cell is 2^shift bytes
  bool used = false;         ///< some cell is
  std::vector<Cell> cells;
};

} // namespace hocket::sim::check
