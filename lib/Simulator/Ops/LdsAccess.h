// LDS operations between issue and landing (CDNA3 ISA 11): lane addresses, their check, and the
// moving of a register tuple's lanes to and from memory, which is a transposition.
//
// Addresses are taken and checked at issue; LDS is read or written when the operation lands.
// Alignment is not required (HSA runs these chips in unaligned mode).
#pragma once

#include "Access.h"
#include "LdsTranspose.h"

namespace hocket::sim::HOCKET_SIM_ISA {

using Registers = u32 (*)[waveSize];

/// Checks the addresses of the lanes in `op.mask` one by one and reports the first bad one.
HOCKET_SIM_INLINE void failLdsLanes(Wave &wave, const Instruction &in, PendingOp &op, u32 limit,
                                    unsigned bytes, const char *what) {
  u64 left = op.mask;
  while (op.ldsAddress[__builtin_ctzll(left)] < limit)
    left &= left - 1;
  unsigned lane = __builtin_ctzll(left);
  failLds(wave, in, what, lane, op.ldsAddress[lane], bytes);
  wave.pending.freeSlots[wave.pending.freeCount++] = op.slot;
}

/// The first address from which `bytes` bytes do not fit any more.
HOCKET_SIM_INLINE u32 ldsLimit(const Wave &wave, unsigned bytes) {
  u32 size = wave.group->ldsBytes;
  return size < bytes ? 0 : size - bytes + 1;
}

/// Fills `op.ldsAddress` with each lane's address plus `offset`; `bytes` from there must be inside
/// of the workgroup's LDS. False: the wave has failed and `op` is given back.
HOCKET_SIM_INLINE bool resolveLds(Wave &wave, const Instruction &in, PendingOp &op, u32 offset,
                                  unsigned bytes, const char *what) {
  const u32 *base = wave.vgpr[in.memory.address];
  u32 limit = ldsLimit(wave, bytes), highest = 0;
  u32 *to = op.ldsAddress;
  u64 mask = op.mask;
  HOCKET_LANE_LOOP
  for (unsigned i = 0; i < 64; ++i) {
    u32 address = base[i] + offset;
    to[i] = address;
    highest = address > highest ? address : highest;
  }
  if (highest < limit) [[likely]]
    return true;
  bool bad = false;
  for (unsigned i = 0; i < 64; ++i)
    bad |= to[i] >= limit && (mask >> i & 1);
  if (!bad)
    return true;
  failLdsLanes(wave, in, op, limit, bytes, what);
  return false;
}

/// The same for the forms without an address register: M0 plus 4 times the lane.
HOCKET_SIM_INLINE bool resolveLdsLinear(Wave &wave, const Instruction &in, PendingOp &op,
                                        const char *what) {
  u32 limit = ldsLimit(wave, 4), base = wave.m0() + static_cast<u32>(in.memory.offset);
  for (unsigned i = 0; i < 64; ++i)
    op.ldsAddress[i] = base + 4 * i;
  for (u64 left = op.mask; left; left &= left - 1)
    if (op.ldsAddress[__builtin_ctzll(left)] >= limit) {
      failLdsLanes(wave, in, op, limit, 4, what);
      return false;
    }
  return true;
}

/// The two offsets of read2 and write2 forms, in bytes: units of `unit` bytes.
HOCKET_SIM_INLINE u32 firstOffset(const Instruction &in, unsigned unit) {
  return (static_cast<u32>(in.memory.offset) & 0xff) * unit;
}
HOCKET_SIM_INLINE u32 secondOffset(const Instruction &in, unsigned unit) {
  return in.memory.offset1 * unit;
}

/// All lanes' `Words` consecutive words at `lds + address[lane] + offset` to `Words` registers.
template <unsigned Words>
HOCKET_SIM_INLINE void gatherLds(const std::byte *lds, const u32 *address, u32 offset,
                                 Registers to) {
  const std::byte *base = lds + offset;
  if constexpr (Words == 4) {
    gatherFourWords([&](unsigned lane) { return base + address[lane]; }, to);
  } else {
    for (unsigned lane = 0; lane < 64; ++lane) {
      u32 words[Words];
      __builtin_memcpy(words, base + address[lane], sizeof(words));
      for (unsigned i = 0; i < Words; ++i)
        to[i][lane] = words[i];
    }
  }
}

/// The same for the lanes of `mask` only.
template <unsigned Words>
HOCKET_SIM_INLINE void gatherLdsMasked(const std::byte *lds, const u32 *address, u32 offset,
                                       Registers to, u64 mask) {
  for (u64 left = mask; left; left &= left - 1) {
    unsigned lane = __builtin_ctzll(left);
    u32 words[Words];
    __builtin_memcpy(words, lds + offset + address[lane], sizeof(words));
    for (unsigned i = 0; i < Words; ++i)
      to[i][lane] = words[i];
  }
}

/// `Words` registers' lanes to `Words` consecutive words of each lane of `mask`, in lane order.
template <unsigned Words>
HOCKET_SIM_INLINE void scatterLds(std::byte *lds, const u32 *address, u32 offset,
                                  const u32 (*from)[64], u64 mask) {
  std::byte *base = lds + offset;
  if (Words == 4 && mask == allLanes) {
    for (unsigned lane = 0; lane < 64; lane += 4) {
      FourWords m[4];
      for (unsigned i = 0; i < 4; ++i)
        m[i] = *reinterpret_cast<const FourWords *>(&from[i][lane]);
      transpose(m);
      for (unsigned i = 0; i < 4; ++i)
        *reinterpret_cast<FourWords *>(base + address[lane + i]) = m[i];
    }
    return;
  }
  auto one = [&](unsigned lane) {
    u32 words[Words];
    for (unsigned i = 0; i < Words; ++i)
      words[i] = from[i][lane];
    __builtin_memcpy(base + address[lane], words, sizeof(words));
  };
  if (mask == allLanes)
    for (unsigned lane = 0; lane < 64; ++lane)
      one(lane);
  else
    for (u64 left = mask; left; left &= left - 1)
      one(__builtin_ctzll(left));
}

} // namespace hocket::sim::HOCKET_SIM_ISA
