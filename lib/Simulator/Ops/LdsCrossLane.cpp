// The DS instructions that move data between lanes without touching LDS: ds_permute_b32,
// ds_bpermute_b32, ds_swizzle_b32 (CDNA3 ISA 11.4, docs/Hardware.md 2.5).
//
// They count under lgkmcnt like LDS reads, so the result is computed at issue and lands later. An
// inactive source lane gives 0.
#include "Families.h"
#include "LdsAccess.h"

namespace hocket::sim::HOCKET_SIM_ISA {

static void landData(Wave &wave, PendingOp &op) {
  blend(wave.vgpr[op.destination], op.data[0], op.mask);
}

static void issueData(Wave &wave, const Instruction &in, PendingOp &op) {
  u64 mask = op.mask;
  op.destination = in.destination;
  issueLds(wave, op);
  poisonRegisters(wave, in.destination, 1, mask);
}

/// The lane that address register `address` plus the offset names.
static unsigned namedLane(const Instruction &in, u32 address) {
  return (address + static_cast<u32>(in.memory.offset)) / 4 % 64;
}

/// Every lane reads from the lane its address names.
static void backwardPermute(Wave &wave, const Instruction &in) {
  PendingOp &op = beginPending(wave, in, landData);
  const u32 *address = wave.vgpr[in.memory.address], *data = wave.vgpr[in.memory.data];
  for (unsigned lane = 0; lane < 64; ++lane) {
    unsigned source = namedLane(in, address[lane]);
    op.data[0][lane] = op.mask >> source & 1 ? data[source] : 0;
  }
  issueData(wave, in, op);
}

/// Every active lane sends to the lane its address names; the highest sender wins, and a lane that
/// nobody sends to gets 0.
static void forwardPermute(Wave &wave, const Instruction &in) {
  PendingOp &op = beginPending(wave, in, landData);
  const u32 *address = wave.vgpr[in.memory.address], *data = wave.vgpr[in.memory.data];
  for (unsigned lane = 0; lane < 64; ++lane)
    op.data[0][lane] = 0;
  for (u64 left = op.mask; left; left &= left - 1) {
    unsigned lane = __builtin_ctzll(left);
    op.data[0][namedLane(in, address[lane])] = data[lane];
  }
  issueData(wave, in, op);
}

static unsigned reverseFiveBits(unsigned value) {
  unsigned result = 0;
  for (unsigned bit = 0; bit < 5; ++bit)
    result |= (value >> bit & 1) << (4 - bit);
  return result;
}

/// The lane of the same 32 that lane `lane` (0..31) reads under swizzle pattern `offset`.
static unsigned swizzleSource(unsigned offset, unsigned lane) {
  unsigned low = offset & 31;
  if (offset >= 0xe000) // FFT: bit reversal of what the mask leaves
    return (reverseFiveBits(lane) >> __builtin_popcount(low)) | (lane & low);
  if (offset >= 0xc000) { // rotation of what the mask leaves
    unsigned amount = offset >> 5 & 31;
    unsigned rotated = offset >> 10 & 1 ? lane - amount : lane + amount;
    return (lane & low) | (rotated & 31 & ~low);
  }
  if (offset & 0x8000) // four lanes among themselves
    return (lane & ~3u) | (offset >> (2 * (lane & 3)) & 3);
  return ((lane & low) | (offset >> 5 & 31)) ^ (offset >> 10 & 31);
}

static void swizzle(Wave &wave, const Instruction &in) {
  PendingOp &op = beginPending(wave, in, landData);
  // The one operand is encoded where others have their address.
  const u32 *data = wave.vgpr[in.memory.address];
  for (unsigned lane = 0; lane < 64; ++lane) {
    unsigned source =
        (lane & 32) | swizzleSource(static_cast<unsigned>(in.memory.offset), lane & 31);
    op.data[0][lane] = op.mask >> source & 1 ? data[source] : 0;
  }
  issueData(wave, in, op);
}

void registerLdsCrossLane(OpTable &table) {
  table.add("ds_bpermute_b32", backwardPermute);
  table.add("ds_permute_b32", forwardPermute);
  table.add("ds_swizzle_b32", swizzle);
}

} // namespace hocket::sim::HOCKET_SIM_ISA
