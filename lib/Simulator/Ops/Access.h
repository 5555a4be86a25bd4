// From lane addresses to host memory, checked, and the moving of lane data: shared by the FLAT and
// MUBUF families.
//
// Addresses are resolved when an instruction issues, so an error names the instruction that made
// the address and not the wait. What lands later works on host pointers only.
#pragma once

#include "../PendingIssue.h"
#include "../Workgroup.h"
#include "LdsTranspose.h"

#include <cstring>

namespace hocket::sim::HOCKET_SIM_ISA {

struct alignas(64) LaneAddresses {
  u64 lane[64];
};

/// The live allocation that holds [address, address + bytes), or null.
HOCKET_SIM_INLINE const Allocation *allocationOf(Wave &wave, u64 address, u64 bytes) {
  const Allocation *cached = wave.cachedAllocation;
  auto inside = [&](const Allocation *a) {
    return address >= a->base && bytes <= a->size && address - a->base <= a->size - bytes;
  };
  if (cached && inside(cached))
    return cached;
  const Allocation *found = findAllocation(wave, address);
  if (!found || !inside(found))
    return nullptr;
  wave.cachedAllocation = found;
  return found;
}

/// Fills `op.host` for the lanes of `op.mask`, each of which accesses `bytes` bytes of global
/// memory at its address, and sets `op.linear`. False: the wave has failed; `what` is the verb.
bool resolveGlobal(Wave &wave, const Instruction &in, PendingOp &op, const LaneAddresses &addresses,
                   unsigned bytes, const char *what);

/// One lane of the same, for callers that go lane by lane.
bool resolveGlobalLane(Wave &wave, const Instruction &in, PendingOp &op, unsigned lane, u64 address,
                       unsigned bytes, const char *what);
/// One lane of scratch; `offset` is the byte within the lane's private segment.
bool resolveScratchLane(Wave &wave, const Instruction &in, PendingOp &op, unsigned lane, u64 offset,
                        unsigned bytes, const char *what);
/// All lanes of a scratch instruction.
bool resolveScratch(Wave &wave, const Instruction &in, PendingOp &op, unsigned bytes,
                    const char *what);
/// One lane of LDS.
bool resolveLdsLane(Wave &wave, const Instruction &in, PendingOp &op, unsigned lane, u64 offset,
                    unsigned bytes, const char *what);

/// Tiles stream through the host's caches: what a load of `bytes` per lane reads when it lands is
/// fetched now.
HOCKET_SIM_INLINE void fetchAhead(const PendingOp &op, unsigned bytes) {
  if (op.mask != allLanes || op.partial)
    return;
  for (unsigned lane = 0; lane < 64; lane += 64 / bytes)
    __builtin_prefetch(op.linear ? op.host[0] + lane * bytes : op.host[lane]);
}

/// Writes the poison pattern to the active lanes of `count` registers.
HOCKET_SIM_INLINE void poisonRegisters(Wave &wave, unsigned first, unsigned count, u64 mask) {
  if (mask == allLanes) [[likely]] {
    for (unsigned i = 0; i < count; ++i)
      for (unsigned lane = 0; lane < waveSize; ++lane)
        wave.vgpr[first + i][lane] = pendingPattern;
    return;
  }
  LaneWords pattern;
  splat(pattern, pendingPattern);
  for (unsigned i = 0; i < count; ++i)
    blend(wave.vgpr[first + i], pattern.lane, mask);
}

/// How a loaded element becomes a register's content.
enum class LoadKind : u8 {
  Dwords, ///< 1 to 4 whole registers
  ZeroByte,
  SignByte,
  ZeroShort,
  SignShort,
  ZeroByteLow,
  SignByteLow,
  ShortLow, ///< d16: the low half, the high half stays
  ZeroByteHigh,
  SignByteHigh,
  ShortHigh,
};

constexpr unsigned loadBytes(LoadKind kind, unsigned dwords) {
  switch (kind) {
  case LoadKind::Dwords:
    return dwords * 4;
  case LoadKind::ZeroShort:
  case LoadKind::SignShort:
  case LoadKind::ShortLow:
  case LoadKind::ShortHigh:
    return 2;
  default:
    return 1;
  }
}

/// Whether the load replaces only half of the register.
constexpr bool loadKeepsHalf(LoadKind kind) { return kind >= LoadKind::ZeroByteLow; }

/// What the register holds after the load of `raw` (zero-extended).
template <LoadKind Kind> HOCKET_SIM_INLINE u32 extend(u32 raw, u32 old) {
  u32 signedByte = static_cast<u32>(static_cast<i32>(static_cast<i8>(raw)));
  switch (Kind) {
  case LoadKind::Dwords:
  case LoadKind::ZeroByte:
  case LoadKind::ZeroShort:
    return raw;
  case LoadKind::SignByte:
    return signedByte;
  case LoadKind::SignShort:
    return static_cast<u32>(static_cast<i32>(static_cast<i16>(raw)));
  case LoadKind::ZeroByteLow:
  case LoadKind::ShortLow:
    return (old & 0xffff0000) | raw;
  case LoadKind::SignByteLow:
    return (old & 0xffff0000) | (signedByte & 0xffff);
  case LoadKind::ZeroByteHigh:
  case LoadKind::ShortHigh:
    return (old & 0xffff) | raw << 16;
  case LoadKind::SignByteHigh:
    return (old & 0xffff) | signedByte << 16;
  }
}

/// Where an operation that lands puts its results.
HOCKET_SIM_INLINE u32 (*resultRows(Wave &wave, PendingOp &op))[64] {
  return op.deferred ? op.data : &wave.vgpr[op.destination];
}

/// Lands a load: host memory to registers.
template <LoadKind Kind, unsigned Dwords> void landLoad(Wave &wave, PendingOp &op) {
  u32(*to)[64] = resultRows(wave, op);
  if constexpr (Kind != LoadKind::Dwords) {
    constexpr unsigned bytes = loadBytes(Kind, 1);
    for (u64 left = op.mask; left; left &= left - 1) {
      unsigned lane = __builtin_ctzll(left);
      u32 raw = 0;
      if (!op.partial || op.inRange[lane])
        __builtin_memcpy(&raw, op.host[lane], bytes);
      to[0][lane] = extend<Kind>(raw, to[0][lane]);
    }
    return;
  }
  if (op.linear) {
    const std::byte *from = op.host[0];
    for (unsigned lane = 0; lane < 64; ++lane) {
      u32 words[Dwords];
      __builtin_memcpy(words, from + lane * (Dwords * 4), sizeof(words));
      for (unsigned i = 0; i < Dwords; ++i)
        to[i][lane] = words[i];
    }
    return;
  }
  if constexpr (Dwords == 4)
    if (op.mask == allLanes && !op.partial)
      return gatherFourWords([&](unsigned lane) { return op.host[lane]; }, to);
  for (u64 left = op.mask; left; left &= left - 1) {
    unsigned lane = __builtin_ctzll(left);
    u32 words[Dwords] = {};
    if (!op.partial)
      __builtin_memcpy(words, op.host[lane], sizeof(words));
    else if (op.inRange[lane])
      __builtin_memcpy(words, op.host[lane], op.inRange[lane] * 4);
    for (unsigned i = 0; i < Dwords; ++i)
      to[i][lane] = words[i];
  }
}

/// Lands a store of `Bytes` bytes of each lane's `op.data`.
template <unsigned Bytes> void landStore(Wave &, PendingOp &op) {
  for (u64 left = op.mask; left; left &= left - 1) {
    unsigned lane = __builtin_ctzll(left);
    u32 words[4];
    for (unsigned i = 0; i < (Bytes + 3) / 4; ++i)
      words[i] = op.data[i][lane];
    if (!op.partial)
      __builtin_memcpy(op.host[lane], words, Bytes);
    else if (op.inRange[lane])
      __builtin_memcpy(op.host[lane], words, Bytes < 4 ? Bytes : op.inRange[lane] * 4u);
  }
}

/// Copies `count` data registers of the store or atomic into `op`.
HOCKET_SIM_INLINE void captureData(Wave &wave, PendingOp &op, unsigned first, unsigned count) {
  for (unsigned i = 0; i < count; ++i)
    __builtin_memcpy(op.data[i], wave.vgpr[first + i], 256);
}

/// Gives the slot of an operation that failed at issue back.
HOCKET_SIM_INLINE void dropPending(Wave &wave, PendingOp &op) {
  wave.pending.freeSlots[wave.pending.freeCount++] = op.slot;
}

/// Whether the resolved addresses of an atomic suit its size; if not, the wave has failed.
bool atomicsAligned(Wave &wave, const Instruction &in, const PendingOp &op, unsigned bytes);

/// `scalarAddress` of a FLAT instruction without an SGPR.
inline constexpr unsigned noScalarAddress = 0x7f;

/// The addresses of a FLAT or GLOBAL instruction.
void globalAddresses(const Wave &wave, const Instruction &in, LaneAddresses &addresses);

} // namespace hocket::sim::HOCKET_SIM_ISA
