// Address resolution: the whole wave at once where all lanes hit one allocation, else lane by lane.
#include "Access.h"

namespace hocket::sim::HOCKET_SIM_ISA {

bool resolveGlobalLane(Wave &wave, const Instruction &in, PendingOp &op, unsigned lane, u64 address,
                       unsigned bytes, const char *what) {
  const Allocation *allocation = allocationOf(wave, address, bytes);
  if (!allocation) {
    failAddress(wave, in, what, lane, address, bytes);
    return false;
  }
  op.host[lane] = allocation->host + (address - allocation->base);
  return true;
}

bool resolveScratchLane(Wave &wave, const Instruction &in, PendingOp &op, unsigned lane, u64 offset,
                        unsigned bytes, const char *what) {
  u64 size = wave.group->context.privateBytes;
  if (offset > size || bytes > size - offset) {
    failScratch(wave, in, what, lane, offset, bytes);
    return false;
  }
  op.host[lane] = wave.scratch + lane * size + offset;
  return true;
}

bool resolveScratch(Wave &wave, const Instruction &in, PendingOp &op, unsigned bytes,
                    const char *what) {
  const MemoryFields &m = in.memory;
  u32 uniform = static_cast<u32>(m.offset);
  if (m.scalarAddress != noScalarAddress)
    uniform += wave.sgpr[m.scalarAddress];
  for (u64 left = op.mask; left; left &= left - 1) {
    unsigned lane = __builtin_ctzll(left);
    u32 offset = uniform + (m.scratchVaddr ? wave.vgpr[m.address][lane] : 0);
    if (!resolveScratchLane(wave, in, op, lane, offset, bytes, what))
      return false;
  }
  return true;
}

bool resolveLdsLane(Wave &wave, const Instruction &in, PendingOp &op, unsigned lane, u64 offset,
                    unsigned bytes, const char *what) {
  u64 size = wave.group->ldsBytes;
  if (offset > size || bytes > size - offset) {
    failLds(wave, in, what, lane, static_cast<u32>(offset), bytes);
    return false;
  }
  op.host[lane] = wave.group->lds + offset;
  return true;
}

bool resolveGlobal(Wave &wave, const Instruction &in, PendingOp &op, const LaneAddresses &addresses,
                   unsigned bytes, const char *what) {
  u64 mask = op.mask;
  if (mask == 0)
    return true;
  u64 first = addresses.lane[__builtin_ctzll(mask)];
  u64 lowest = first, highest = first;
  bool linear = true;
  for (unsigned i = 0; i < 64; ++i) {
    u64 address = mask >> i & 1 ? addresses.lane[i] : first;
    lowest = address < lowest ? address : lowest;
    highest = address > highest ? address : highest;
    linear &= address == first + u64(i) * bytes;
  }
  const Allocation *allocation = allocationOf(wave, lowest, 1);
  if (allocation && highest - allocation->base <= allocation->size &&
      bytes <= allocation->size - (highest - allocation->base)) {
    auto shift = reinterpret_cast<u64>(allocation->host) - allocation->base;
    for (unsigned i = 0; i < 64; ++i)
      op.address[i] = addresses.lane[i] + shift;
    op.linear = linear && mask == allLanes;
    return true;
  }
  for (u64 left = mask; left; left &= left - 1) {
    unsigned lane = __builtin_ctzll(left);
    if (!resolveGlobalLane(wave, in, op, lane, addresses.lane[lane], bytes, what))
      return false;
  }
  return true;
}

void globalAddresses(const Wave &wave, const Instruction &in, LaneAddresses &addresses) {
  const MemoryFields &m = in.memory;
  const u32 *low = wave.vgpr[m.address], *high = wave.vgpr[m.address + 1];
  auto offset = static_cast<u64>(static_cast<i64>(m.offset));
  if (m.segment == 2 && m.scalarAddress != noScalarAddress) {
    u64 base = wave.pair(m.scalarAddress) + offset;
    for (unsigned i = 0; i < 64; ++i)
      addresses.lane[i] = base + low[i];
    return;
  }
  for (unsigned i = 0; i < 64; ++i)
    addresses.lane[i] = (u64(high[i]) << 32 | low[i]) + offset;
}

bool atomicsAligned(Wave &wave, const Instruction &in, const PendingOp &op, unsigned bytes) {
  for (u64 left = op.mask; left; left &= left - 1) {
    unsigned lane = __builtin_ctzll(left);
    if ((op.partial && !op.inRange[lane]) || op.address[lane] % bytes == 0)
      continue;
    failWave(wave, in, "is an atomic on an address that is not a multiple of its size");
    return false;
  }
  return true;
}

} // namespace hocket::sim::HOCKET_SIM_ISA
