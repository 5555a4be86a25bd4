// SMEM: scalar loads, scalar buffer loads, cache control, clocks (CDNA3 ISA 8).
//
// Addresses are checked when the load is issued; the value is read and the registers written when
// lgkmcnt(0) is waited for. Scalar stores and atomics do not exist on gfx940.
#include "../Workgroup.h"
#include "Families.h"
#include "Scalar.h"

#include <cstring>

using namespace hocket::sim;

static void landScalarLoad(Wave &wave, PendingOp &op) {
  std::memcpy(&wave.sgpr[op.destination], op.host[0], op.scalar * 4);
}

/// Dwords that were out of a buffer's range stay zero.
static void landScalarBuffer(Wave &wave, PendingOp &op) {
  uint32_t inRange = op.inRange[0];
  for (uint32_t i = 0; i < op.scalar; ++i)
    wave.sgpr[op.destination + i] = 0;
  if (inRange)
    std::memcpy(&wave.sgpr[op.destination], op.host[0], inRange * 4);
}

static uint64_t scalarOffset(const Wave &wave, const Instruction &in) {
  const Operand &operand = in.memory.scalarOffset;
  uint64_t offset = static_cast<uint64_t>(static_cast<int64_t>(in.memory.offset));
  if (operand.kind != OperandKind::None)
    offset += readScalar<uint32_t>(wave, operand);
  return offset;
}

static std::byte *translate(Wave &wave, uint64_t address, uint64_t bytes) {
  const Allocation *allocation = wave.cachedAllocation;
  if (!allocation || !allocation->contains(address, bytes)) {
    allocation = wave.group->context.memory->find(address);
    if (!allocation || !allocation->contains(address, bytes))
      return nullptr;
    wave.cachedAllocation = allocation;
  }
  return allocation->host + (address - allocation->base);
}

static void issue(Wave &wave, PendingOp &op, unsigned destination, uint32_t dwords) {
  op.destination = static_cast<uint16_t>(destination);
  op.scalar = dwords;
  issueScalar(wave, op);
  for (uint32_t i = 0; i < dwords; ++i)
    wave.sgpr[destination + i] = pendingPattern;
}

template <unsigned Dwords> static void load(Wave &wave, const Instruction &in) {
  // The hardware drops the two low address bits.
  uint64_t address = (wave.pair(in.memory.scalarAddress) + scalarOffset(wave, in)) & ~uint64_t(3);
  std::byte *host = translate(wave, address, Dwords * 4);
  if (!host) {
    failAddress(wave, in, "loads", 0, address, Dwords * 4);
    return;
  }
  PendingOp &op = beginPending(wave, in, landScalarLoad);
  op.host[0] = host;
  issue(wave, op, in.destination, Dwords);
}

template <unsigned Dwords> static void bufferLoad(Wave &wave, const Instruction &in) {
  const uint32_t *descriptor = &wave.sgpr[in.memory.scalarAddress];
  uint64_t base = descriptor[0] | uint64_t(descriptor[1] & 0xffff) << 32;
  uint64_t stride = descriptor[1] >> 16 & 0x3fff;
  uint64_t bytes = uint64_t(descriptor[2]) * (stride ? stride : 1);
  uint64_t offset = scalarOffset(wave, in) & ~uint64_t(3);
  uint64_t available = offset < bytes ? (bytes - offset) / 4 : 0;
  unsigned inRange = static_cast<unsigned>(available < Dwords ? available : Dwords);
  uint64_t address = (base + offset) & ~uint64_t(3);
  std::byte *host = inRange ? translate(wave, address, inRange * 4) : nullptr;
  if (inRange && !host) {
    failAddress(wave, in, "loads", 0, address, inRange * 4);
    return;
  }
  PendingOp &op = beginPending(wave, in, landScalarBuffer);
  op.host[0] = host;
  op.inRange[0] = static_cast<uint8_t>(inRange);
  issue(wave, op, in.destination, Dwords);
}

/// A clock that only the wave's own progress moves: the same in every run.
static void landClock(Wave &wave, PendingOp &op) { wave.setPair(op.destination, op.address[0]); }

static void readClock(Wave &wave, const Instruction &in) {
  PendingOp &op = beginPending(wave, in, landClock);
  wave.clock += 64;
  op.address[0] = wave.clock;
  issue(wave, op, in.destination, 2);
}

void hocket::sim::registerScalarMemory(OpTable &table) {
  table.add("s_load_dword", load<1>);
  table.add("s_load_dwordx2", load<2>);
  table.add("s_load_dwordx4", load<4>);
  table.add("s_load_dwordx8", load<8>);
  table.add("s_load_dwordx16", load<16>);
  table.add("s_buffer_load_dword", bufferLoad<1>);
  table.add("s_buffer_load_dwordx2", bufferLoad<2>);
  table.add("s_buffer_load_dwordx4", bufferLoad<4>);
  table.add("s_buffer_load_dwordx8", bufferLoad<8>);
  table.add("s_buffer_load_dwordx16", bufferLoad<16>);
  table.add("s_memtime", readClock);
  table.add("s_memrealtime", readClock);
  // Memory is coherent here.
  auto nothing = [](Wave &, const Instruction &) {};
  for (const char *name : {"s_dcache_inv", "s_dcache_wb", "s_dcache_inv_vol", "s_dcache_wb_vol"})
    table.add(name, nothing);
}
