// The last accesses of some bytes of a memory, and what a further access makes of them.
//
// Time is counted in barriers, as AccessShadow.h explains: an access covers the epochs from its
// issue to its completion, and two accesses of different waves may overlap if they share an epoch.
#pragma once

#include "../HostIsa.h"
#include "Origin.h"

namespace hocket::sim::check {

/// Marks of a cell.
enum CellMark : uint8_t {
  AtomicWrite = 1, ///< the last write was atomic
  // The access was issued before the barrier with which the epoch began, and not waited for there.
  LateWrite = 2,
  LateRead = 4,
  LateOtherRead = 8,
};

/// The last accesses of the bytes of one cell.
struct alignas(32) Cell {
  uint32_t writeEpoch = 0; ///< plus 1; 0: never written
  uint32_t writeIndex = 0;
  uint32_t readEpoch = 0; ///< plus 1
  uint32_t readIndex = 0;
  uint32_t otherReadIndex = 0; ///< of the last reader that is not `readWave`
  uint16_t readers = 0;        ///< waves that read in `readEpoch`
  OriginId origin = 0;         ///< of what was written; 0: it is defined
  uint8_t writeWave = 0, readWave = 0, otherReadWave = 0;
  uint8_t marks = 0; ///< of CellMark
  /// Which byte of the wave's access the cell begins with, as AccessShadow keeps it.
  uint32_t writeByte : 10 = 0, readByte : 10 = 0, otherReadByte : 10 = 0;
};
static_assert(sizeof(Cell) == 32);

/// What an access found: at most one conflict, its first.
struct Conflict {
  bool found = false, withWrite = false;
  bool late = false; ///< the other access was issued in an earlier epoch
  uint32_t index = 0;
  uint32_t epoch = 0;
  uint8_t wave = 0;
  uint16_t byte = 0;   ///< of the other wave's access, in global memory
  uint32_t offset = 0; ///< where it is, from the first byte of the access
};

/// What it read: the first part that is undefined.
struct Contents {
  bool written = true;
  OriginId origin = 0; ///< 0: all that was written is defined
  uint32_t store = 0;  ///< the instruction that wrote what is undefined
  uint8_t storeWave = 0;
  bool defined() const { return written && origin == 0; }
};

/// One access of a wave. An atomic read is compared with plain writes before it, but not kept for
/// those after it.
struct Access {
  uint32_t index = 0;
  uint32_t epoch = 0;
  uint8_t wave = 0;
  bool write = false, atomic = false;
  /// Global memory: bytes from the beginning of lane 0's data to those touched first, where lanes
  /// are `InstructionInfo::laneStride` apart.
  uint16_t byte = 0;
};

/// The most frequent access by far: the wave has read the cell in this epoch, and no one has
/// written it since the epoch began.
HOCKET_SIM_INLINE bool readsAgain(const Access &access, Cell &cell) {
  const uint32_t now = access.epoch + 1;
  if (access.write || cell.readEpoch != now || cell.readWave != access.wave ||
      cell.writeEpoch == 0 || cell.writeEpoch == now || cell.origin != 0 || (cell.marks & LateRead))
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
    cell.marks = static_cast<uint8_t>((cell.marks & ~LateOtherRead) |
                                      (cell.marks & LateRead ? LateOtherRead : 0));
  }
  cell.readers |= uint16_t(1u << access.wave);
  cell.readWave = access.wave;
  cell.readIndex = access.index;
  cell.marks &= static_cast<uint8_t>(~LateRead);
}
/// Whether another wave has written the cell in this epoch.
HOCKET_SIM_INLINE bool meetsWrite(const Access &access, const Cell &cell) {
  return cell.writeEpoch == access.epoch + 1 && cell.writeWave != access.wave &&
         !((cell.marks & AtomicWrite) && access.atomic);
}
/// Whether another wave has read it in this epoch.
HOCKET_SIM_INLINE bool meetsRead(const Access &access, const Cell &cell) {
  return cell.readEpoch == access.epoch + 1 && (cell.readers & ~(1u << access.wave));
}
inline void noteWrite(const Access &access, const Cell &cell, Conflict &conflict) {
  if (!conflict.found)
    conflict = {
        true,           true,          (cell.marks & LateWrite) != 0, cell.writeIndex, access.epoch,
        cell.writeWave, cell.writeByte};
}
inline void noteRead(const Access &access, const Cell &cell, Conflict &conflict) {
  if (conflict.found)
    return;
  if (cell.readWave != access.wave)
    conflict = {true,           false,        (cell.marks & LateRead) != 0,
                cell.readIndex, access.epoch, cell.readWave,
                cell.readByte};
  else
    conflict = {true,
                false,
                (cell.marks & LateOtherRead) != 0,
                cell.otherReadIndex,
                access.epoch,
                cell.otherReadWave,
                cell.otherReadByte};
}
inline void noteContents(const Cell &cell, Contents &contents) {
  contents.written &= cell.writeEpoch != 0;
  if (cell.origin == 0 || contents.origin != 0)
    return;
  contents.origin = cell.origin;
  contents.store = cell.writeIndex;
  contents.storeWave = cell.writeWave;
}
HOCKET_SIM_INLINE void readCell(const Access &access, Cell &cell, Conflict &conflict,
                                Contents &contents) {
  if (meetsWrite(access, cell)) [[unlikely]]
    noteWrite(access, cell, conflict);
  noteContents(cell, contents);
  if (!access.atomic)
    enterRead(access, cell);
}
/// The access is still in flight in the epoch `access.epoch`.
inline void extendCell(const Access &access, Cell &cell) {
  if (!access.write && !access.atomic) {
    enterRead(access, cell);
    cell.marks |= LateRead;
  } else if (cell.writeWave == access.wave && cell.writeIndex == access.index) {
    cell.writeEpoch = access.epoch + 1;
    cell.marks |= LateWrite;
  }
}
/// Makes `access` the last write.
HOCKET_SIM_INLINE void enterWrite(const Access &access, Cell &cell) {
  cell.writeEpoch = access.epoch + 1;
  cell.writeIndex = access.index;
  cell.writeWave = access.wave;
  cell.origin = 0;
  cell.marks = static_cast<uint8_t>((cell.marks & ~(AtomicWrite | LateWrite)) |
                                    (access.atomic ? AtomicWrite : 0));
}
inline void writeCell(const Access &access, Cell &cell, Conflict &conflict) {
  if (meetsWrite(access, cell)) [[unlikely]]
    noteWrite(access, cell, conflict);
  if (meetsRead(access, cell)) [[unlikely]]
    noteRead(access, cell, conflict);
  enterWrite(access, cell);
}

} // namespace hocket::sim::check
