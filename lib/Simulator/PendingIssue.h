// Putting memory operations into the queues of Pending.h: what every LDS and vector memory
// instruction does, inline.
#pragma once

#include "Wave.h"

namespace hocket::sim {

/// Takes the oldest operation of `queue` out of it; it lands when no other queue holds it.
void landOldest(Wave &wave, PendingQueue &queue);
/// Tells the observer, of which there must be one.
void tellIssued(Wave &wave, const PendingOp &op, bool early);

HOCKET_SIM_INLINE void pushPending(PendingQueue &queue, unsigned slot) {
  queue.slots[(queue.head + queue.count) & 63] = static_cast<uint8_t>(slot);
  ++queue.count;
}

/// Starts an operation: returns a slot with `instruction`, `mask` (exec) and `land` set. Then fill
/// in the rest and hand it to one of the issue functions.
HOCKET_SIM_INLINE PendingOp &beginPending(Wave &wave, const Instruction &instruction,
                                          LandFunction land) {
  PendingQueues &pending = wave.pending;
  // More slots exist than the queues can hold, so one is free.
  PendingOp &op = pending.pool[pending.freeSlots[--pending.freeCount]];
  op.land = land;
  op.instruction = &instruction;
  op.mask = wave.exec();
  op.counters = 1;
  op.linear = false;
  op.partial = false;
  op.hasResult = true;
  op.landed = false;
  op.deferred = false;
  op.resultRows = 0;
  return op;
}

/// Lands the oldest operation if lgkmcnt is full.
HOCKET_SIM_INLINE void makeRoomForLdsAndScalar(Wave &wave) {
  PendingQueues &pending = wave.pending;
  if (pending.lds.count + pending.scalar.count >= maxLdsAndScalar)
    landOldest(wave, pending.lds.count ? pending.lds : pending.scalar);
}

/// Queues `op` under lgkmcnt as an LDS operation. May land older ones.
HOCKET_SIM_INLINE void issueLds(Wave &wave, PendingOp &op) {
  makeRoomForLdsAndScalar(wave);
  pushPending(wave.pending.lds, op.slot);
  if (wave.observer) [[unlikely]]
    tellIssued(wave, op, /*early=*/false);
}

} // namespace hocket::sim
