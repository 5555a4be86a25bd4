// The queues behind vmcnt and lgkmcnt; see Pending.h for the rules.
#include "Pending.h"

#include "PendingIssue.h"
#include "Workgroup.h"

#include <bit>

using namespace hocket::sim;

static unsigned pop(PendingQueue &queue) {
  unsigned slot = queue.slots[queue.head];
  queue.head = (queue.head + 1) & 63;
  --queue.count;
  return slot;
}

/// Moves the results of a FLAT operation to their registers.
static void writeDeferred(Wave &wave, const PendingOp &op) {
  for (unsigned row = 0; row < op.resultRows; ++row)
    for (uint64_t left = op.mask; left; left &= left - 1) {
      unsigned lane = static_cast<unsigned>(std::countr_zero(left));
      wave.vgpr[op.destination + row][lane] = op.data[row][lane];
    }
}

/// Performs the effect of `op` now.
static void land(Wave &wave, PendingOp &op) {
  if (wave.observer) [[unlikely]]
    wave.observer->landing(wave, op);
  op.land(wave, op);
}

void hocket::sim::tellIssued(Wave &wave, const PendingOp &op, bool early) {
  wave.observer->issued(wave, op, early);
}

void hocket::sim::landOldest(Wave &wave, PendingQueue &queue) {
  PendingOp &op = wave.pending.pool[pop(queue)];
  if (op.deferred && !op.landed && &queue == &wave.pending.vectorMemory)
    land(wave, op);
  if (--op.counters != 0)
    return;
  if (op.deferred)
    writeDeferred(wave, op);
  else if (!op.landed)
    land(wave, op);
  if (wave.observer) [[unlikely]]
    wave.observer->completed(wave, op);
  wave.pending.freeSlots[wave.pending.freeCount++] = op.slot;
}

void hocket::sim::issueVectorMemory(Wave &wave, PendingOp &op) {
  wave.idleLanes += waveSize - static_cast<unsigned>(__builtin_popcountll(op.mask));
  PendingQueue &queue = wave.pending.vectorMemory;
  if (queue.count == maxVectorMemory)
    landOldest(wave, queue);
  pushPending(queue, op.slot);
  if (wave.observer && !op.landed) [[unlikely]]
    tellIssued(wave, op, /*early=*/false);
}

void hocket::sim::issueScalar(Wave &wave, PendingOp &op) {
  makeRoomForLdsAndScalar(wave);
  pushPending(wave.pending.scalar, op.slot);
  if (wave.observer) [[unlikely]]
    tellIssued(wave, op, /*early=*/false);
}

void hocket::sim::issueFlat(Wave &wave, PendingOp &op) {
  op.counters = 2;
  op.deferred = true;
  issueVectorMemory(wave, op);
  makeRoomForLdsAndScalar(wave);
  pushPending(wave.pending.lds, op.slot);
}

void hocket::sim::maybeLandEarly(Wave &wave, PendingOp &op) {
  op.hasResult = false;
  if (wave.randomState == 0 || nextRandom(wave.randomState) & 1)
    return;
  PendingQueues &pending = wave.pending;
  const PendingQueue &queue = pending.vectorMemory;
  auto older = [&](unsigned i) -> PendingOp & {
    return pending.pool[queue.slots[(queue.head + i) & 63]];
  };
  for (unsigned i = 0; i < queue.count; ++i)
    if (older(i).hasResult)
      return;
  for (unsigned i = 0; i < queue.count; ++i) {
    if (!older(i).landed)
      land(wave, older(i));
    older(i).landed = true;
  }
  if (wave.observer) [[unlikely]]
    tellIssued(wave, op, /*early=*/true);
  land(wave, op);
  op.landed = true;
}

void hocket::sim::waitVectorMemory(Wave &wave, unsigned atMost) {
  while (wave.pending.vectorMemory.count > atMost)
    landOldest(wave, wave.pending.vectorMemory);
}

void hocket::sim::waitLdsAndScalar(Wave &wave, unsigned atMost) {
  PendingQueues &pending = wave.pending;
  while (pending.lds.count > atMost)
    landOldest(wave, pending.lds);
  // Scalar loads return in any order: all but the last wait may be satisfied by the others.
  while (atMost == 0 && pending.scalar.count)
    landOldest(wave, pending.scalar);
}

void hocket::sim::landAll(Wave &wave) {
  waitVectorMemory(wave, 0);
  waitLdsAndScalar(wave, 0);
}

void hocket::sim::resetPending(Wave &wave) {
  PendingQueues &pending = wave.pending;
  pending.vectorMemory = {};
  pending.lds = {};
  pending.scalar = {};
  pending.freeCount = pendingSlots;
  for (unsigned i = 0; i < pendingSlots; ++i) {
    pending.freeSlots[i] = static_cast<uint8_t>(i);
    pending.pool[i].slot = static_cast<uint8_t>(i);
  }
}
