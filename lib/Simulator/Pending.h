// Memory operations that were issued and have not landed.
//
// vmcnt counts vector memory operations, which land in order; lgkmcnt counts LDS operations, which
// land in order among themselves, and scalar loads, which land in any order and are therefore
// certain only at lgkmcnt(0). An operation lands as late as its wait allows: its addresses and
// store data are taken at issue, its memory is read or written when it lands, and its destination
// holds a poison pattern until then. A full counter stalls the issue, that is, it lands the oldest.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hocket::sim {

struct Wave;
struct Instruction;
struct PendingOp;

/// Performs the access of `op` and writes its results.
using LandFunction = void (*)(Wave &, PendingOp &);

/// One operation in flight. What the fields mean beyond the first group is up to its family.
struct PendingOp {
  LandFunction land = nullptr;
  const Instruction *instruction = nullptr;
  uint64_t mask = 0;        ///< lanes that take part
  uint32_t scalar = 0;      ///< anything wave-uniform: an LDS base, a dword count
  uint16_t destination = 0; ///< first VGPR or SGPR of the result
  uint8_t counters = 1;     ///< queues that still hold it (2 for FLAT loads)
  bool hasResult = true;    ///< writes registers; those land late whatever the seed
  bool landed = false;      ///< had its effect early and only counts
  /// FLAT: the access happens when vmcnt passes it, with its results going to `data`; the registers
  /// get them when lgkmcnt has passed it too.
  bool deferred = false;
  uint8_t resultRows = 0; ///< registers that a deferred operation writes
  bool linear = false;    ///< all 64 lanes active and lane-linear from lane 0's address
  uint8_t slot = 0;
  bool partial = false; ///< some lanes' accesses are not wholly in range: see `inRange`
  /// On cache lines of their own, like the data behind it.
  union alignas(64) {
    std::byte *host[64];     ///< where each lane's access is on the host
    uint32_t ldsAddress[64]; ///< LDS byte addresses
    uint64_t address[64];    ///< device addresses
  };
  /// Where LDS and global parts are both needed (LDS DMA uses `host` and `scalar`).
  alignas(64) uint32_t data[4][64]; ///< store data, atomic operands
  /// Dwords in range of each lane's access, for buffers; only read if `partial`.
  uint8_t inRange[64];
};

inline constexpr unsigned maxVectorMemory = 63, maxLdsAndScalar = 15;
inline constexpr unsigned pendingSlots = maxVectorMemory + 2 * maxLdsAndScalar + 2;

/// First in, first out; at most 64.
struct PendingQueue {
  uint8_t slots[64];
  uint8_t head = 0, count = 0;
};

struct PendingQueues {
  PendingOp *pool = nullptr; ///< [pendingSlots]
  uint8_t freeSlots[pendingSlots];
  uint8_t freeCount = 0;
  PendingQueue vectorMemory; ///< vmcnt
  PendingQueue lds;          ///< lgkmcnt, in order
  PendingQueue scalar;       ///< lgkmcnt, any order
};

/// Queues `op`, which `beginPending` (PendingIssue.h) has started, under vmcnt. May land older
/// operations.
void issueVectorMemory(Wave &wave, PendingOp &op);
/// Queues `op` under lgkmcnt as a scalar operation. May land older ones.
void issueScalar(Wave &wave, PendingOp &op);
/// Queues `op` under both counters. Its access keeps its place among the vector memory operations;
/// its `op.resultRows` result registers are written when both counters have passed it.
void issueFlat(Wave &wave, PendingOp &op);
/// For an operation without register results, before it is queued: if the seed says so, its effect
/// happens now, after that of everything older under vmcnt. With seed 0, or behind an operation
/// whose registers have to wait, it stays late.
void maybeLandEarly(Wave &wave, PendingOp &op);

/// s_waitcnt: lands what must have landed when the counters are at most these.
void waitVectorMemory(Wave &wave, unsigned atMost);
void waitLdsAndScalar(Wave &wave, unsigned atMost);
/// Lands everything: the end of the wave.
void landAll(Wave &wave);
/// Forgets everything in flight and makes all slots free.
void resetPending(Wave &wave);

} // namespace hocket::sim
