// The queues behind vmcnt and lgkmcnt; see Pending.h for the rules.
#include "Pending.h"

#include "Workgroup.h"

#include <bit>

using namespace hocket::sim;

static void push(PendingQueue &queue, unsigned slot) {
  queue.slots[(queue.head + queue.count) & 63] = static_cast<uint8_t>(slot);
  ++queue.count;
}

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

static void tellIssued(Wave &wave, const PendingOp &op, bool early) {
  if (wave.observer) [[unlikely]]
    wave.observer->issued(wave, op, early);
}

/// Takes the oldest of `queue` out of it; it lands when no other queue holds it.
static void landOldest(Wave &wave, PendingQueue &queue) {
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

PendingOp &hocket::sim::beginPending(Wave &wave, const Instruction &instruction,
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

void hocket::sim::issueVectorMemory(Wave &wave, PendingOp &op) {
  PendingQueue &queue = wave.pending.vectorMemory;
  if (queue.count == maxVectorMemory)
    landOldest(wave, queue);
  push(queue, op.slot);
  if (!op.landed)
    tellIssued(wave, op, /*early=*/false);
}

static void makeRoomForLdsAndScalar(Wave &wave) {
  PendingQueues &pending = wave.pending;
  if (pending.lds.count + pending.scalar.count < maxLdsAndScalar)
    return;
  landOldest(wave, pending.lds.count ? pending.lds : pending.scalar);
}

void hocket::sim::issueLds(Wave &wave, PendingOp &op) {
  makeRoomForLdsAndScalar(wave);
  push(wave.pending.lds, op.slot);
  tellIssued(wave, op, /*early=*/false);
}

void hocket::sim::issueScalar(Wave &wave, PendingOp &op) {
  makeRoomForLdsAndScalar(wave);
  push(wave.pending.scalar, op.slot);
  tellIssued(wave, op, /*early=*/false);
}

void hocket::sim::issueFlat(Wave &wave, PendingOp &op) {
  op.counters = 2;
  op.deferred = true;
  issueVectorMemory(wave, op);
  makeRoomForLdsAndScalar(wave);
  push(wave.pending.lds, op.slot);
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
