// Loads from global memory to LDS that bypass registers (docs/Hardware.md 2.4).
//
// Lane l writes its bytes at M0 + immediate offset + l * bytes of LDS; narrow loads are extended
// and write a dword at l * 4. Inactive lanes write nothing, lanes out of a buffer's range write
// zero. They count in vmcnt. The seed decides whether the data moves when the wait lands it or when
// the instruction issues: code that is right does not care.
#include "BufferAccess.h"
#include "Families.h"

namespace hocket::sim::HOCKET_SIM_ISA {

/// M0 as an LDS byte address: 18 bits reach all of the LDS.
static constexpr u32 ldsAddressBits = 0x3ffff;

/// All lanes of 16 bytes. Tiles come in rows of memory, so four neighbours mostly lie side by side.
static void copyQuads(std::byte *to, std::byte *const *from) {
  for (unsigned lane = 0; lane < 64; lane += 4, to += 64) {
    std::byte *first = from[lane];
    bool together = from[lane + 1] == first + 16 && from[lane + 2] == first + 32 &&
                    from[lane + 3] == first + 48;
    if (together) {
      __builtin_memcpy(to, first, 64);
      continue;
    }
    for (unsigned i = 0; i < 4; ++i)
      __builtin_memcpy(to + 16 * i, from[lane + i], 16);
  }
}

/// Whole dwords of each lane.
template <unsigned Dwords> static void landDwords(Wave &wave, PendingOp &op) {
  constexpr unsigned bytes = Dwords * 4;
  std::byte *lds = wave.group->lds + op.scalar;
  if (op.linear) {
    __builtin_memcpy(lds, op.host[0], 64 * bytes);
    return;
  }
  if (Dwords == 4 && op.mask == allLanes && !op.partial)
    return copyQuads(lds, op.host);
  for (u64 left = op.mask; left; left &= left - 1) {
    unsigned lane = __builtin_ctzll(left);
    std::byte *to = lds + lane * bytes;
    if (!op.partial) {
      __builtin_memcpy(to, op.host[lane], bytes);
      continue;
    }
    __builtin_memset(to, 0, bytes);
    if (op.inRange[lane])
      __builtin_memcpy(to, op.host[lane], op.inRange[lane] * 4u);
  }
}

/// One narrow element of each lane, extended to a dword.
template <LoadKind Kind> static void landNarrow(Wave &wave, PendingOp &op) {
  std::byte *lds = wave.group->lds + op.scalar;
  for (u64 left = op.mask; left; left &= left - 1) {
    unsigned lane = __builtin_ctzll(left);
    u32 raw = 0;
    if (!op.partial || op.inRange[lane])
      __builtin_memcpy(&raw, op.host[lane], loadBytes(Kind, 1));
    u32 value = extend<Kind>(raw, 0);
    __builtin_memcpy(lds + lane * 4, &value, 4);
  }
}

static LandFunction landFor(LoadKind kind, unsigned bytes) {
  switch (kind) {
  case LoadKind::ZeroByte:
    return landNarrow<LoadKind::ZeroByte>;
  case LoadKind::SignByte:
    return landNarrow<LoadKind::SignByte>;
  case LoadKind::ZeroShort:
    return landNarrow<LoadKind::ZeroShort>;
  case LoadKind::SignShort:
    return landNarrow<LoadKind::SignShort>;
  case LoadKind::Dwords:
    return bytes == 4    ? landDwords<1>
           : bytes == 12 ? landDwords<3>
           : bytes == 16 ? landDwords<4>
                         : nullptr;
  default:
    return nullptr;
  }
}

/// Sets where in LDS the wave writes, and checks it. Only lanes of `op.mask` count.
static bool resolveDestination(Wave &wave, const Instruction &in, PendingOp &op, unsigned stride) {
  u32 base = (wave.m0() & ldsAddressBits) + static_cast<u32>(in.memory.offset);
  op.scalar = base;
  if (op.mask == 0)
    return true;
  unsigned last = 63 - __builtin_clzll(op.mask);
  u64 end = u64(base) + u64(last + 1) * stride;
  if (end <= wave.group->ldsBytes)
    return true;
  failLds(wave, in, "writes", last, base + last * stride, stride);
  return false;
}

static void issue(Wave &wave, const Instruction &in, PendingOp &op, unsigned bytes) {
  if (!resolveDestination(wave, in, op, bytes < 4 ? 4 : bytes))
    return dropPending(wave, op);
  fetchAhead(op, bytes);
  maybeLandEarly(wave, op);
  issueVectorMemory(wave, op);
}

void loadToLds(Wave &wave, const Instruction &in, unsigned bytes, LoadKind kind) {
  LandFunction land = landFor(kind, bytes);
  if (!land) {
    failWave(wave, in, "loads to LDS with a width that the chip does not have");
    return;
  }
  PendingOp &op = beginPending(wave, in, land);
  if (!resolveBuffer(wave, in, op, bytes, "loads"))
    return dropPending(wave, op);
  issue(wave, in, op, bytes);
}

template <LoadKind Kind, unsigned Dwords>
static void globalLoad(Wave &wave, const Instruction &in) {
  constexpr unsigned bytes = loadBytes(Kind, Dwords);
  PendingOp &op = beginPending(wave, in, landFor(Kind, bytes));
  LaneAddresses addresses;
  globalAddresses(wave, in, addresses);
  if (!resolveGlobal(wave, in, op, addresses, bytes, "loads"))
    return dropPending(wave, op);
  issue(wave, in, op, bytes);
}

template <LoadKind Kind> static void scratchLoad(Wave &wave, const Instruction &in) {
  constexpr unsigned bytes = loadBytes(Kind, 1);
  PendingOp &op = beginPending(wave, in, landFor(Kind, bytes));
  if (!resolveScratch(wave, in, op, bytes, "loads"))
    return dropPending(wave, op);
  issue(wave, in, op, bytes);
}

void registerLdsDma(OpTable &table) {
  table.add("global_load_lds_dword", globalLoad<LoadKind::Dwords, 1>);
  table.add("global_load_lds_dwordx3", globalLoad<LoadKind::Dwords, 3>);
  table.add("global_load_lds_dwordx4", globalLoad<LoadKind::Dwords, 4>);
  table.add("global_load_lds_ubyte", globalLoad<LoadKind::ZeroByte, 1>);
  table.add("global_load_lds_sbyte", globalLoad<LoadKind::SignByte, 1>);
  table.add("global_load_lds_ushort", globalLoad<LoadKind::ZeroShort, 1>);
  table.add("global_load_lds_sshort", globalLoad<LoadKind::SignShort, 1>);
  table.add("scratch_load_lds_dword", scratchLoad<LoadKind::Dwords>);
  table.add("scratch_load_lds_ubyte", scratchLoad<LoadKind::ZeroByte>);
  table.add("scratch_load_lds_sbyte", scratchLoad<LoadKind::SignByte>);
  table.add("scratch_load_lds_ushort", scratchLoad<LoadKind::ZeroShort>);
  table.add("scratch_load_lds_sshort", scratchLoad<LoadKind::SignShort>);
}

} // namespace hocket::sim::HOCKET_SIM_ISA
