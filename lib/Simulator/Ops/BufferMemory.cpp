// MUBUF: loads, stores and atomics through a buffer descriptor (CDNA3 ISA 9.1; docs/Hardware.md 2.6
// and 7).
//
// The instruction decides what num_records counts, not the descriptor alone. With idxen and a
// stride it is records: an access is in range when its index is. All others are compared in bytes,
// through a descriptor with a stride too: a dword is in range when the offset of its end is at most
// num_records; VGPR offset and immediate wrap at 32 bits, and the SGPR offset is added then. Loads
// out of range give 0, stores and atomics do nothing. What is in range must be allocated.
#include "Access.h"
#include "Atomics.h"
#include "BufferAccess.h"
#include "Families.h"

namespace hocket::sim::HOCKET_SIM_ISA {

static HOCKET_SIM_INLINE u32 scalarOffset(const Wave &wave, const Instruction &in) {
  return scalarWord(wave, in.memory.scalarOffset, 0, 32, false, false);
}

static bool unsupportedDescriptor(Wave &wave, const Instruction &in, const u32 *descriptor) {
  if (descriptor[1] >> 31)
    failWave(wave, in, "uses a swizzled buffer, which the simulator does not implement");
  else if (descriptor[3] >> 23 & 1)
    failWave(wave, in,
             "uses a buffer that adds the thread id, which the simulator does not "
             "implement");
  else
    return false;
  return true;
}

/// What tiles are loaded through: all lanes, offsets from a register that bytes are compared with,
/// everything in range and in one allocation. False: it is not like that, and nothing has been done
/// but to `op.host`.
static bool resolveWhole(Wave &wave, PendingOp &op, const u32 *offsets, u64 start, u64 room,
                         unsigned bytes) {
  u32 lowest = offsets[0], highest = offsets[0], bent = 0;
  for (unsigned i = 0; i < 64; ++i) {
    lowest = offsets[i] < lowest ? offsets[i] : lowest;
    highest = offsets[i] > highest ? offsets[i] : highest;
    bent |= offsets[i] ^ (offsets[0] + i * bytes);
  }
  u64 span = u64(highest) - lowest;
  if (u64(highest) + bytes > room)
    return false;
  const Allocation *allocation = allocationOf(wave, start + lowest, span + bytes);
  if (!allocation)
    return false;
  u64 shift = start + (reinterpret_cast<u64>(allocation->host) - allocation->base);
  for (unsigned i = 0; i < 64; ++i)
    op.address[i] = shift + offsets[i];
  op.linear = bent == 0 && span == 63 * bytes;
  return true;
}

bool resolveBuffer(Wave &wave, const Instruction &in, PendingOp &op, unsigned bytes,
                   const char *what) {
  const MemoryFields &m = in.memory;
  const u32 *descriptor = &wave.sgpr[m.scalarAddress];
  if (unsupportedDescriptor(wave, in, descriptor))
    return false;
  u64 base = descriptor[0] | u64(descriptor[1] & 0xffff) << 32;
  u64 stride = descriptor[1] >> 16 & 0x3fff, records = descriptor[2];
  u32 immediate = static_cast<u32>(m.offset);
  u64 fromScalar = scalarOffset(wave, in), uniform = immediate + fromScalar;
  bool countsRecords = m.indexEnable && stride != 0;
  // idxen and offen together take two registers: index, then offset.
  const u32 *first = wave.vgpr[m.address];
  const u32 *offsets = m.indexEnable ? wave.vgpr[m.address + 1] : first;

  if (op.mask == allLanes && !countsRecords && m.offsetEnable && uniform <= records &&
      resolveWhole(wave, op, offsets, base + uniform, records - uniform, bytes))
    return true;

  LaneAddresses addresses;
  u64 whole = 0, some = 0;
  unsigned unit = bytes < 4 ? bytes : 4, units = bytes < 4 ? 1 : bytes / 4;
  for (unsigned i = 0; i < 64; ++i) {
    u64 index = m.indexEnable ? first[i] : 0;
    u64 offset = fromScalar + static_cast<u32>(immediate + (m.offsetEnable ? offsets[i] : 0));
    u64 end = countsRecords ? (index < records ? ~u64(0) : 0) : records;
    u64 room = end > offset ? (unit == 4 ? (end - offset) / 4 : (end - offset) / unit) : 0;
    unsigned inRange = static_cast<unsigned>(room < units ? room : units);
    op.inRange[i] = static_cast<u8>(inRange);
    whole |= u64(inRange == units) << i;
    some |= u64(inRange != 0) << i;
    addresses.lane[i] = base + offset + index * stride;
  }
  if ((whole & op.mask) == op.mask)
    return resolveGlobal(wave, in, op, addresses, bytes, what);
  op.partial = true;
  wave.idleLanes += static_cast<unsigned>(__builtin_popcountll(op.mask & ~some));
  for (u64 left = op.mask & some; left; left &= left - 1) {
    unsigned lane = __builtin_ctzll(left);
    if (!resolveGlobalLane(wave, in, op, lane, addresses.lane[lane], op.inRange[lane] * unit, what))
      return false;
  }
  return true;
}

template <LoadKind Kind, unsigned Dwords> static void load(Wave &wave, const Instruction &in) {
  if (in.memory.lds)
    return loadToLds(wave, in, loadBytes(Kind, Dwords), Kind);
  PendingOp &op = beginPending(wave, in, landLoad<Kind, Dwords>);
  if (!resolveBuffer(wave, in, op, loadBytes(Kind, Dwords), "loads"))
    return dropPending(wave, op);
  fetchAhead(op, loadBytes(Kind, Dwords));
  op.destination = in.destination;
  u64 mask = op.mask;
  issueVectorMemory(wave, op);
  if constexpr (!loadKeepsHalf(Kind))
    poisonRegisters(wave, in.destination, Dwords, mask);
}

template <unsigned Bytes, unsigned Shift = 0> static void store(Wave &wave, const Instruction &in) {
  PendingOp &op = beginPending(wave, in, landStore<Bytes>);
  if (!resolveBuffer(wave, in, op, Bytes, "stores"))
    return dropPending(wave, op);
  captureData(wave, op, in.memory.data, (Bytes + 3) / 4);
  if constexpr (Shift != 0)
    for (unsigned i = 0; i < 64; ++i)
      op.data[0][i] >>= Shift;
  maybeLandEarly(wave, op);
  issueVectorMemory(wave, op);
}

template <class T, unsigned DataWords, LandFunction Land>
static void atomic(Wave &wave, const Instruction &in) {
  PendingOp &op = beginPending(wave, in, Land);
  if (!resolveBuffer(wave, in, op, sizeof(T), "updates"))
    return dropPending(wave, op);
  // An access that reaches over the end is out of range as a whole.
  for (unsigned i = 0; op.partial && i < 64; ++i)
    op.inRange[i] = op.inRange[i] == sizeof(T) / 4;
  if (!atomicsAligned(wave, in, op, sizeof(T)))
    return dropPending(wave, op);
  captureData(wave, op, in.memory.data, DataWords);
  op.destination = in.destination;
  op.scalar = in.memory.sc0;
  u64 mask = op.mask;
  if (!in.memory.sc0)
    maybeLandEarly(wave, op);
  issueVectorMemory(wave, op);
  if (in.memory.sc0)
    poisonRegisters(wave, in.destination, sizeof(T) / 4, mask);
}

static void registerLoadsAndStores(OpTable &table) {
  table.add("buffer_load_dword", load<LoadKind::Dwords, 1>);
  table.add("buffer_load_dwordx2", load<LoadKind::Dwords, 2>);
  table.add("buffer_load_dwordx3", load<LoadKind::Dwords, 3>);
  table.add("buffer_load_dwordx4", load<LoadKind::Dwords, 4>);
  table.add("buffer_load_ubyte", load<LoadKind::ZeroByte, 1>);
  table.add("buffer_load_sbyte", load<LoadKind::SignByte, 1>);
  table.add("buffer_load_ushort", load<LoadKind::ZeroShort, 1>);
  table.add("buffer_load_sshort", load<LoadKind::SignShort, 1>);
  table.add("buffer_load_ubyte_d16", load<LoadKind::ZeroByteLow, 1>);
  table.add("buffer_load_sbyte_d16", load<LoadKind::SignByteLow, 1>);
  table.add("buffer_load_short_d16", load<LoadKind::ShortLow, 1>);
  table.add("buffer_load_ubyte_d16_hi", load<LoadKind::ZeroByteHigh, 1>);
  table.add("buffer_load_sbyte_d16_hi", load<LoadKind::SignByteHigh, 1>);
  table.add("buffer_load_short_d16_hi", load<LoadKind::ShortHigh, 1>);
  table.add("buffer_store_dword", store<4>);
  table.add("buffer_store_dwordx2", store<8>);
  table.add("buffer_store_dwordx3", store<12>);
  table.add("buffer_store_dwordx4", store<16>);
  table.add("buffer_store_byte", store<1>);
  table.add("buffer_store_short", store<2>);
  table.add("buffer_store_byte_d16_hi", store<1, 16>);
  table.add("buffer_store_short_d16_hi", store<2, 16>);
  // Memory is coherent here: nothing to write back or to invalidate.
  auto nothing = [](Wave &, const Instruction &) {};
  table.add("buffer_wbl2", nothing);
  table.add("buffer_inv", nothing);
}

void registerBufferMemory(OpTable &table) {
  registerLoadsAndStores(table);
  forEachAtomic([&]<class T, unsigned DataWords, LandFunction Land>(const char *name) {
    char text[64] = "buffer_";
    __builtin_strcat(text, name);
    table.add(text, atomic<T, DataWords, Land>);
  });
}

} // namespace hocket::sim::HOCKET_SIM_ISA
