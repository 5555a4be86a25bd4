// Who accessed which bytes of a memory within one workgroup, and whether anybody else may have at
// the same time.
//
// All waves of a workgroup meet at barriers, so two accesses of different waves are ordered exactly
// if one of them was complete before a barrier that the other's wave had passed when it began. Time
// is therefore counted in barriers (epochs): an access covers the epochs from its issue to its
// completion, and two accesses may overlap if they share an epoch. An access that is still in
// flight when a barrier releases is entered again for the new epoch (`extend`).
//
// A cell stands for 16 bytes until something accesses other than multiples of that; then all cells
// of the memory are split into 8 bytes, dwords or bytes, whatever the access is made of. So a cell
// is always accessed as a whole, and how coarse cells are makes no difference to what is found.
#pragma once

#include "../HostIsa.h"
#include "FindingLog.h"

#include <algorithm>
#include <bit>
#include <vector>

namespace hocket::sim::check {

/// The last accesses of the bytes of one cell.
struct alignas(32) Cell {
  uint32_t writeEpoch = 0; ///< plus 1; 0: never written
  uint32_t writeIndex = 0;
  uint32_t readEpoch = 0; ///< plus 1
  uint32_t readIndex = 0;
  uint32_t otherReadIndex = 0; ///< of the last reader that is not `readWave`
  uint16_t readers = 0;        ///< waves that read in `readEpoch`
  uint8_t writeWave = 0, readWave = 0, otherReadWave = 0;
  bool atomic = false;    ///< the last write
  bool undefined = false; ///< what was written is
};

/// What an access found: at most one conflict.
struct Conflict {
  bool found = false, withWrite = false;
  uint32_t index = 0;
  uint32_t epoch = 0;
  uint8_t wave = 0;
};

/// One access of a wave. An atomic read is compared with plain writes before it, but not kept for
/// those after it.
struct Access {
  uint32_t index = 0;
  uint32_t epoch = 0;
  uint8_t wave = 0;
  bool write = false, atomic = false;
};

class AccessShadow {
public:
  void resize(uint32_t bytes) {
    size = bytes;
    shift = coarsest;
    cells.assign(cellsFor(shift), Cell());
  }
  uint32_t bytes() const { return size; }
  void clear() {
    // A workgroup starts afresh; splitting is not undone.
    std::fill(cells.begin(), cells.end(), Cell());
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
  /// Marks what was just written as undefined or not.
  void setUndefined(uint32_t address, uint32_t bytes, bool undefined) {
    splitFor(address, bytes);
    uint32_t first = address >> shift,
             end = std::min(count(), ((address + bytes - 1) >> shift) + 1);
    for (uint32_t i = first; i < end; ++i)
      cells[i].undefined = undefined;
  }
  /// The access is still in flight in the epoch `access.epoch`.
  void extend(const Access &access, uint32_t address, uint32_t bytes) {
    uint32_t first = address >> shift,
             end = std::min(count(), ((address + bytes - 1) >> shift) + 1);
    for (uint32_t i = first; i < end; ++i) {
      Cell &cell = cells[i];
      if (!access.write && !access.atomic)
        enterRead(access, cell);
      else if (cell.writeWave == access.wave && cell.writeIndex == access.index)
        cell.writeEpoch = access.epoch + 1;
    }
  }

private:
  uint32_t count() const { return static_cast<uint32_t>(cells.size()); }
  /// The most frequent access by far: the wave has read the cell in this epoch, and no one has
  /// written it since the epoch began.
  static bool readsAgain(const Access &access, Cell &cell) {
    const uint32_t now = access.epoch + 1;
    if (access.write || cell.readEpoch != now || cell.readWave != access.wave ||
        cell.writeEpoch == 0 || cell.writeEpoch == now || cell.undefined)
      return false;
    cell.readIndex = access.index;
    return true;
  }
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
  HOCKET_SIM_INLINE static void enterRead(const Access &access, Cell &cell) {
    if (cell.readEpoch != access.epoch + 1) {
      cell.readEpoch = access.epoch + 1;
      cell.readers = 0;
    }
    if (cell.readers && cell.readWave != access.wave) {
      cell.otherReadIndex = cell.readIndex;
      cell.otherReadWave = cell.readWave;
    }
    cell.readers |= uint16_t(1u << access.wave);
    cell.readWave = access.wave;
    cell.readIndex = access.index;
  }
  /// Whether another wave has written the cell in this epoch.
  HOCKET_SIM_INLINE static bool meetsWrite(const Access &access, const Cell &cell) {
    return cell.writeEpoch == access.epoch + 1 && cell.writeWave != access.wave &&
           !(cell.atomic && access.atomic);
  }
  static void noteWrite(const Access &access, const Cell &cell, Conflict &conflict) {
    if (!conflict.found)
      conflict = {true, true, cell.writeIndex, access.epoch, cell.writeWave};
  }
  /// Inline, since most of what a checked run does is to enter reads of LDS.
  HOCKET_SIM_INLINE static void readCell(const Access &access, Cell &cell, Conflict &conflict,
                                         bool &written, bool &defined) {
    if (meetsWrite(access, cell)) [[unlikely]]
      noteWrite(access, cell, conflict);
    written &= cell.writeEpoch != 0;
    defined &= !cell.undefined;
    if (!access.atomic)
      enterRead(access, cell);
  }
  static void writeCell(const Access &access, Cell &cell, Conflict &conflict) {
    if (meetsWrite(access, cell)) [[unlikely]]
      noteWrite(access, cell, conflict);
    const uint32_t now = access.epoch + 1;
    if (cell.readEpoch == now && (cell.readers & ~(1u << access.wave))) [[unlikely]] {
      bool last = cell.readWave != access.wave;
      if (!conflict.found)
        conflict = {true, false, last ? cell.readIndex : cell.otherReadIndex, access.epoch,
                    last ? cell.readWave : cell.otherReadWave};
    }
    cell.writeEpoch = now;
    cell.writeIndex = access.index;
    cell.writeWave = access.wave;
    cell.atomic = access.atomic;
    cell.undefined = false;
  }

  static constexpr unsigned coarsest = 4;

  uint32_t size = 0;
  unsigned shift = coarsest; ///< a cell is 2^shift bytes
  std::vector<Cell> cells;
};

} // namespace hocket::sim::check
