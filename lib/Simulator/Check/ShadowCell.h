// The last accesses of some bytes of a memory, and what a further access makes of them.
//
// Time is counted in barriers, as AccessShadow.h explains: an access covers the epochs from its
// issue to its completion, and two accesses of different waves may overlap if they share an epoch.
#pragma once

#include "../HostIsa.h"
#include "FindingLog.h"

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

/// The most frequent access by far: the wave has read the cell in this epoch, and no one has
/// written it since the epoch began.
HOCKET_SIM_INLINE bool readsAgain(const Access &access, Cell &cell) {
  const uint32_t now = access.epoch + 1;
  if (access.write || cell.readEpoch != now || cell.readWave != access.wave ||
      cell.writeEpoch == 0 || cell.writeEpoch == now || cell.undefined)
    return false;
  cell.readIndex = access.index;
  return true;
}
/// Makes `access` the last read.
HOCKET_SIM_INLINE void enterRead(const Access &access, Cell &cell) {
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
HOCKET_SIM_INLINE bool meetsWrite(const Access &access, const Cell &cell) {
  return cell.writeEpoch == access.epoch + 1 && cell.writeWave != access.wave &&
         !(cell.atomic && access.atomic);
}
/// Whether another wave has read it in this epoch.
HOCKET_SIM_INLINE bool meetsRead(const Access &access, const Cell &cell) {
  return cell.readEpoch == access.epoch + 1 && (cell.readers & ~(1u << access.wave));
}
inline void noteWrite(const Access &access, const Cell &cell, Conflict &conflict) {
  if (!conflict.found)
    conflict = {true, true, cell.writeIndex, access.epoch, cell.writeWave};
}
HOCKET_SIM_INLINE void readCell(const Access &access, Cell &cell, Conflict &conflict, bool &written,
                                bool &defined) {
  if (meetsWrite(access, cell)) [[unlikely]]
    noteWrite(access, cell, conflict);
  written &= cell.writeEpoch != 0;
  defined &= !cell.undefined;
  if (!access.atomic)
    enterRead(access, cell);
}
/// The access is still in flight in the epoch `access.epoch`.
inline void extendCell(const Access &access, Cell &cell) {
  if (!access.write && !access.atomic)
    enterRead(access, cell);
  else if (cell.writeWave == access.wave && cell.writeIndex == access.index)
    cell.writeEpoch = access.epoch + 1;
}
inline void writeCell(const Access &access, Cell &cell, Conflict &conflict) {
  if (meetsWrite(access, cell)) [[unlikely]]
    noteWrite(access, cell, conflict);
  if (meetsRead(access, cell)) [[unlikely]] {
    bool last = cell.readWave != access.wave;
    if (!conflict.found)
      conflict = {true, false, last ? cell.readIndex : cell.otherReadIndex, access.epoch,
                  last ? cell.readWave : cell.otherReadWave};
  }
  cell.writeEpoch = access.epoch + 1;
  cell.writeIndex = access.index;
  cell.writeWave = access.wave;
  cell.atomic = access.atomic;
  cell.undefined = false;
}

} // namespace hocket::sim::check
