// DS writes: ds_write_*, ds_write2_* (CDNA3 ISA 11). Addresses and data are taken at issue, LDS is
// written when the operation lands; of lanes that hit the same bytes the highest one stays.
#include "Families.h"
#include "LdsAccess.h"

namespace hocket::sim::HOCKET_SIM_ISA {

template <unsigned Words> static void landWrite(Wave &wave, PendingOp &op) {
  scatterLds<Words>(wave.group->lds, op.ldsAddress, 0, op.data, op.mask);
}

template <unsigned Bytes> static void landWriteNarrow(Wave &wave, PendingOp &op) {
  for (u64 left = op.mask; left; left &= left - 1) {
    unsigned lane = __builtin_ctzll(left);
    __builtin_memcpy(wave.group->lds + op.ldsAddress[lane], &op.data[0][lane], Bytes);
  }
}

template <unsigned Words> static void write(Wave &wave, const Instruction &in) {
  PendingOp &op = beginPending(wave, in, landWrite<Words>);
  if (!resolveLds(wave, in, op, in.memory.offset, Words * 4, "writes"))
    return;
  captureData(wave, op, in.memory.data, Words);
  issueLds(wave, op);
}

/// `Shift`: 16 for the forms that write from the upper half.
template <unsigned Bytes, unsigned Shift = 0>
static void writeNarrow(Wave &wave, const Instruction &in) {
  PendingOp &op = beginPending(wave, in, landWriteNarrow<Bytes>);
  if (!resolveLds(wave, in, op, in.memory.offset, Bytes, "writes"))
    return;
  const u32 *from = wave.vgpr[in.memory.data];
  for (unsigned i = 0; i < 64; ++i)
    op.data[0][i] = from[i] >> Shift;
  issueLds(wave, op);
}

template <unsigned Words> static void landWrite2(Wave &wave, PendingOp &op) {
  std::byte *lds = wave.group->lds;
  alignas(64) u32 second[64];
  for (unsigned i = 0; i < 64; ++i)
    second[i] = op.ldsAddress[i] + op.scalar;
  scatterLds<Words>(lds, op.ldsAddress, 0, op.data, op.mask);
  scatterLds<Words>(lds, second, 0, op.data + Words, op.mask);
}

/// Offsets count `Unit` elements of `Words` words.
template <unsigned Words, unsigned Unit> static void write2(Wave &wave, const Instruction &in) {
  u32 first = firstOffset(in, Words * 4 * Unit), second = secondOffset(in, Words * 4 * Unit);
  PendingOp &op = beginPending(wave, in, landWrite2<Words>);
  // The second address is checked first: what stays in the operation is the first.
  if (!resolveLds(wave, in, op, second, Words * 4, "writes") ||
      !resolveLds(wave, in, op, first, Words * 4, "writes"))
    return;
  op.scalar = second - first;
  captureData(wave, op, in.memory.data, Words);
  for (unsigned i = 0; i < Words; ++i)
    __builtin_memcpy(op.data[Words + i], wave.vgpr[in.memory.data1 + i], sizeof(op.data[0]));
  issueLds(wave, op);
}

static void writeAddThread(Wave &wave, const Instruction &in) {
  PendingOp &op = beginPending(wave, in, landWrite<1>);
  if (!resolveLdsLinear(wave, in, op, "writes"))
    return;
  captureData(wave, op, in.memory.data, 1);
  issueLds(wave, op);
}

void registerLdsStore(OpTable &table) {
  table.add("ds_write_b32", write<1>);
  table.add("ds_write_b64", write<2>);
  table.add("ds_write_b96", write<3>);
  table.add("ds_write_b128", write<4>);
  table.add("ds_write_b8", writeNarrow<1>);
  table.add("ds_write_b16", writeNarrow<2>);
  table.add("ds_write_b8_d16_hi", writeNarrow<1, 16>);
  table.add("ds_write_b16_d16_hi", writeNarrow<2, 16>);
  table.add("ds_write_addtid_b32", writeAddThread);

  table.add("ds_write2_b32", write2<1, 1>);
  table.add("ds_write2_b64", write2<2, 1>);
  table.add("ds_write2st64_b32", write2<1, 64>);
  table.add("ds_write2st64_b64", write2<2, 64>);
}

} // namespace hocket::sim::HOCKET_SIM_ISA
