// SMEM: scalar loads, scalar buffer loads, cache control, clocks (CDNA3 ISA 8).
//
// Addresses are checked when the load is issued; the value is read and the registers written when
// lgkmcnt(0) is waited for. Stores and atomics: ScalarStore.cpp.
#include "../PendingIssue.h"
#include "../Workgroup.h"
#include "Families.h"
#include "Scalar.h"
#include "ScalarAccess.h"

#include <cstring>

using namespace hocket::sim;

/// Dwords that were out of a buffer's range are zero.
static void landScalarLoad(Wave &wave, PendingOp &op) {
  uint32_t inRange = op.inRange[0];
  for (uint32_t i = inRange; i < op.scalar; ++i)
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

bool hocket::sim::resolveScalar(Wave &wave, const Instruction &in, bool buffer, uint32_t dwords,
                                const char *what, ScalarTarget &target) {
  target.inRange = dwords;
  uint64_t offset = scalarOffset(wave, in);
  if (buffer) {
    const uint32_t *descriptor = &wave.sgpr[in.memory.scalarAddress];
    uint64_t base = descriptor[0] | uint64_t(descriptor[1] & 0xffff) << 32;
    uint64_t stride = descriptor[1] >> 16 & 0x3fff;
    uint64_t bytes = uint64_t(descriptor[2]) * (stride ? stride : 1);
    offset &= ~uint64_t(3);
    uint64_t available = offset < bytes ? (bytes - offset) / 4 : 0;
    target.inRange = static_cast<uint32_t>(available < dwords ? available : dwords);
    target.address = (base + offset) & ~uint64_t(3);
  } else {
    target.address = (wave.pair(in.memory.scalarAddress) + offset) & ~uint64_t(3);
  }
  if (target.inRange == 0)
    return true;
  target.host = translate(wave, target.address, target.inRange * 4);
  if (!target.host)
    failAddress(wave, in, what, 0, target.address, target.inRange * 4);
  return target.host;
}

static void issue(Wave &wave, PendingOp &op, unsigned destination, uint32_t dwords) {
  op.destination = static_cast<uint16_t>(destination);
  op.scalar = dwords;
  issueScalar(wave, op);
  for (uint32_t i = 0; i < dwords; ++i)
    wave.sgpr[destination + i] = pendingPattern;
}

template <bool Buffer, unsigned Dwords> static void load(Wave &wave, const Instruction &in) {
  ScalarTarget target;
  if (!resolveScalar(wave, in, Buffer, Dwords, "loads", target))
    return;
  PendingOp &op = beginPending(wave, in, landScalarLoad);
  op.host[0] = target.host;
  op.inRange[0] = static_cast<uint8_t>(target.inRange);
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
  table.add("s_load_dword", load<false, 1>);
  table.add("s_load_dwordx2", load<false, 2>);
  table.add("s_load_dwordx4", load<false, 4>);
  table.add("s_load_dwordx8", load<false, 8>);
  table.add("s_load_dwordx16", load<false, 16>);
  table.add("s_buffer_load_dword", load<true, 1>);
  table.add("s_buffer_load_dwordx2", load<true, 2>);
  table.add("s_buffer_load_dwordx4", load<true, 4>);
  table.add("s_buffer_load_dwordx8", load<true, 8>);
  table.add("s_buffer_load_dwordx16", load<true, 16>);
  table.add("s_memtime", readClock);
  table.add("s_memrealtime", readClock);
  // Memory is coherent and has no translation to wait for.
  auto nothing = [](Wave &, const Instruction &) {};
  for (const char *name :
       {"s_dcache_inv", "s_dcache_wb", "s_dcache_inv_vol", "s_dcache_wb_vol", "s_dcache_discard",
        "s_dcache_discard_x2", "s_atc_probe", "s_atc_probe_buffer"})
    table.add(name, nothing);
}
