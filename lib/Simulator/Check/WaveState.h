// What the checks remember of one wave: operations in flight, and which registers hold something.
#pragma once

#include "../Wave.h"
#include "InstructionInfo.h"
#include "Origin.h"

#include <bit>

namespace hocket::sim::check {

/// One memory operation between issue and the wait that covers it.
struct InFlight {
  bool active = false;
  uint32_t index = 0;
  uint32_t epoch = 0;
  uint64_t mask = 0;
  const InstructionInfo *info = nullptr;
  const PendingOp *op = nullptr;
  uint32_t ldsBegin = 0, ldsEnd = 0; ///< the LDS bytes that it touches lie in between

  /// Where it was issued; `now` is a place of the same wave.
  Place place(const Place &now) const {
    Place place = now;
    place.index = index;
    place.lane = -1;
    if (epoch != now.epoch)
      place.barrier = noInstruction;
    place.epoch = epoch;
    return place;
  }
};

/// A set of slots of operations, visited in ascending order.
class SlotSet {
public:
  void clear() { words[0] = words[1] = 0; }
  void insert(unsigned slot) { words[slot / 64] |= uint64_t(1) << slot % 64; }
  void erase(unsigned slot) { words[slot / 64] &= ~(uint64_t(1) << slot % 64); }
  template <class Visit> void forEach(Visit visit) const {
    for (unsigned i = 0; i < 2; ++i)
      for (uint64_t left = words[i]; left; left &= left - 1)
        visit(64 * i + static_cast<unsigned>(std::countr_zero(left)));
  }

private:
  static_assert(pendingSlots <= 128);
  uint64_t words[2] = {0, 0};
};

/// The instructions that a wave executed last, and whether it jumped among them.
struct LatestInstructions {
  static constexpr unsigned windowSize = 32;
  uint32_t window[windowSize]; ///< slots
  unsigned windowCount = 0;    ///< in all; the window is a ring
  unsigned straight = 0;       ///< instructions since the last jump
  uint64_t way = 0;            ///< hash of the jumps within the window; 0: none
  uint32_t expected = 0;       ///< the slot that follows the last instruction
};

struct WaveState {
  /// Registers that need a closer look where they are used: an operation in flight will write them,
  /// or they are undefined somewhere. Bits.
  uint64_t watched[(vectorRegisters + 63) / 64];
  uint64_t watchedScalar[2]; ///< not defined, or about to be written
  /// Lanes of each register that hold something.
  uint64_t defined[vectorRegisters];
  uint32_t scalarDefined[144]; ///< bits of each scalar register that do
  bool sccDefined = false;
  /// Of registers that are undefined somewhere: where that comes from, and the instruction that
  /// wrote it; `noInstruction` if none did.
  OriginId origin[registerNumbers];
  uint32_t writer[registerNumbers];
  /// Slot + 1 of the operation in flight that will write a register, 0: none.
  uint8_t pendingVector[vectorRegisters];
  uint8_t pendingScalar[144];
  InFlight inFlight[pendingSlots];
  unsigned registersInFlight = 0; ///< operations with register results
  unsigned ldsInFlight = 0;       ///< operations that touch LDS
  unsigned dmaInFlight = 0;       ///< loads to LDS among them
  SlotSet dmaSlots, ldsSlots;     ///< loads to LDS, and the other operations that touch LDS
  uint32_t current = 0;           ///< the instruction in execution
  uint32_t barrier = 0;           ///< the barrier passed last, or `noInstruction`

  LatestInstructions latest; ///< for hazards

  void reset(const Wave &wave);
  /// The instruction in execution leaves `reg` undefined somewhere.
  void setOrigin(RegisterNumber reg, OriginId from) {
    origin[reg] = from;
    writer[reg] = current;
  }
  /// After a change of what is known of a register.
  void watchVector(unsigned reg) {
    bool on = pendingVector[reg] || ~defined[reg];
    uint64_t bit = uint64_t(1) << reg % 64, &word = watched[reg / 64];
    word = on ? word | bit : word & ~bit;
  }
  void watchScalar(unsigned reg) {
    if (reg >= 128)
      return;
    bool on = pendingScalar[reg] || ~scalarDefined[reg];
    uint64_t bit = uint64_t(1) << reg % 64, &word = watchedScalar[reg / 64];
    word = on ? word | bit : word & ~bit;
  }
  /// All registers of the instruction are defined and free, before it and after it.
  bool isQuiet(const InstructionInfo &info) const {
    const RegisterMask &mask = info.mask;
    uint64_t found = (watchedScalar[0] & mask.scalar[0]) | (watchedScalar[1] & mask.scalar[1]);
    for (unsigned i = 0; i < mask.words; ++i)
      found |= watched[mask.word[i]] & mask.vector[i];
    return found == 0 && mask.complete && (sccDefined || !info.readsScc);
  }
};

} // namespace hocket::sim::check
