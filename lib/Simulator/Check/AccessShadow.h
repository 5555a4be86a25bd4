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
  /// Enters the access of [address, address + bytes). False in `defined`: some byte holds nothing
  /// that was written.
  void touch(const Access &access, uint32_t address, uint32_t bytes, Conflict &conflict,
             bool &written, bool &defined) {
    splitFor(address, bytes);
    uint32_t first = address >> shift,
             end = std::min(count(), ((address + bytes - 1) >> shift) + 1);
    Cell *cell = cells.data();
    if (access.write)
      for (uint32_t i = first; i < end; ++i)
        writeCell(access, cell[i], conflict);
    else
      for (uint32_t i = first; i < end; ++i)
        if (!readsAgain(access, cell[i]))
          readCell(access, cell[i], conflict, written, defined);
  }
  /// The access is still in flight in the epoch `access.epoch`.
  void extend(const Access &access, uint32_t address, uint32_t bytes) {
    uint32_t first = address >> shift,
             end = std::min(count(), ((address + bytes - 1) >> shift) + 1);
    for (uint32_t i = first; i < end; ++i)
      extendCell(access, cells[i]);
  }

private:
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
    for (size_t i = 0; i < parts.size(); ++i)
      parts[i] = cells[i >> (shift - bits)];
    cells = std::move(parts);
    shift = bits;
  }

  static constexpr unsigned coarsest = 4;

  uint32_t size = 0;
  unsigned shift = coarsest; ///< a cell is 2^shift bytes
  std::vector<Cell> cells;
};

} // namespace hocket::sim::check
