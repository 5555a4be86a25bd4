// DS reads into registers: ds_read_*, ds_read2_*, and the reads that transpose between lanes
// (CDNA3 ISA 11, CDNA4 ISA 11.4, docs/Hardware.md 2.3).
//
// A transposing read treats 16 lanes as a matrix of 16 columns: laid one after the other, their
// elements are its rows. Lane j of the 16 receives column j. LDS is read at landing, like any read.
#include "Families.h"
#include "LdsAccess.h"

namespace hocket::sim::HOCKET_SIM_ISA {

template <LoadKind Kind, unsigned Words> static void landRead(Wave &wave, PendingOp &op) {
  const std::byte *lds = wave.group->lds;
  Registers to = &wave.vgpr[op.destination];
  if constexpr (Kind == LoadKind::Dwords) {
    if (op.mask == allLanes)
      gatherLds<Words>(lds, op.ldsAddress, 0, to);
    else
      gatherLdsMasked<Words>(lds, op.ldsAddress, 0, to, op.mask);
  } else {
    for (u64 left = op.mask; left; left &= left - 1) {
      unsigned lane = __builtin_ctzll(left);
      u32 raw = 0;
      __builtin_memcpy(&raw, lds + op.ldsAddress[lane], loadBytes(Kind, 1));
      to[0][lane] = extend<Kind>(raw, to[0][lane]);
    }
  }
}

/// Queues a read of `words` registers, which are poisoned unless the read keeps part of them.
static void issueRead(Wave &wave, const Instruction &in, PendingOp &op, unsigned words,
                      bool poison) {
  u64 mask = op.mask;
  op.destination = in.destination;
  issueLds(wave, op);
  if (poison)
    poisonRegisters(wave, in.destination, words, mask);
}

template <LoadKind Kind, unsigned Words = 1> static void read(Wave &wave, const Instruction &in) {
  PendingOp &op = beginPending(wave, in, landRead<Kind, Words>);
  if (resolveLds(wave, in, op, in.memory.offset, loadBytes(Kind, Words), "reads"))
    issueRead(wave, in, op, Words, !loadKeepsHalf(Kind));
}

/// The first address is in the operation, the second is the first plus `op.scalar`.
template <unsigned Words> static void landRead2(Wave &wave, PendingOp &op) {
  const std::byte *lds = wave.group->lds;
  Registers to = &wave.vgpr[op.destination];
  alignas(64) u32 second[64];
  for (unsigned i = 0; i < 64; ++i)
    second[i] = op.ldsAddress[i] + op.scalar;
  if (op.mask == allLanes) {
    gatherLds<Words>(lds, op.ldsAddress, 0, to);
    gatherLds<Words>(lds, second, 0, to + Words);
  } else {
    gatherLdsMasked<Words>(lds, op.ldsAddress, 0, to, op.mask);
    gatherLdsMasked<Words>(lds, second, 0, to + Words, op.mask);
  }
}

/// Offsets count `Unit` elements of `Words` words.
template <unsigned Words, unsigned Unit> static void read2(Wave &wave, const Instruction &in) {
  u32 first = firstOffset(in, Words * 4 * Unit), second = secondOffset(in, Words * 4 * Unit);
  PendingOp &op = beginPending(wave, in, landRead2<Words>);
  // The second address is checked first: what stays in the operation is the first.
  if (!resolveLds(wave, in, op, second, Words * 4, "reads") ||
      !resolveLds(wave, in, op, first, Words * 4, "reads"))
    return;
  op.scalar = second - first;
  issueRead(wave, in, op, 2 * Words, true);
}

/// 64 bits of four 16-bit elements in each lane: row r is lanes 4r to 4r + 3.
static void landTransposed16(Wave &wave, PendingOp &op) {
  gatherTransposed16(wave.group->lds, op.ldsAddress, &wave.vgpr[op.destination]);
}

/// The general transposition: `Bits` bits an element, `Words` words a lane.
template <unsigned Bits, unsigned Words> static void landTransposed(Wave &wave, PendingOp &op) {
  constexpr unsigned perLane = Words * 32 / Bits;
  const std::byte *lds = wave.group->lds;
  Registers to = &wave.vgpr[op.destination];
  for (unsigned group = 0; group < 64; group += 16) {
    u8 elements[16 * perLane];
    for (unsigned lane = 0; lane < 16; ++lane) {
      u8 bytes[Words * 4 + 1] = {};
      __builtin_memcpy(bytes, lds + op.ldsAddress[group + lane], Words * 4);
      for (unsigned e = 0; e < perLane; ++e) {
        unsigned bit = e * Bits;
        u32 pair = bytes[bit / 8] | u32(bytes[bit / 8 + 1]) << 8;
        elements[lane * perLane + e] = pair >> (bit % 8) & ((1u << Bits) - 1);
      }
    }
    for (unsigned lane = 0; lane < 16; ++lane) {
      u64 bits[2] = {0, 0};
      for (unsigned e = 0; e < perLane; ++e) {
        unsigned bit = e * Bits;
        u64 element = elements[e * 16 + lane];
        bits[bit / 64] |= element << (bit % 64);
        if (bit / 64 != (bit + Bits - 1) / 64)
          bits[bit / 64 + 1] |= element >> (64 - bit % 64);
      }
      for (unsigned w = 0; w < Words; ++w)
        to[w][group + lane] = static_cast<u32>(bits[w / 2] >> (32 * (w % 2)));
    }
  }
}

template <LandFunction Land, unsigned Words>
static void readTransposed(Wave &wave, const Instruction &in) {
  if (wave.exec() != allLanes) {
    failWave(wave, in, "moves data between lanes and needs EXEC all ones");
    return;
  }
  PendingOp &op = beginPending(wave, in, Land);
  if (resolveLds(wave, in, op, in.memory.offset, Words * 4, "reads"))
    issueRead(wave, in, op, Words, true);
}

/// ds_read_addtid_b32: M0 is the base and the lane number the index.
static void readAddThread(Wave &wave, const Instruction &in) {
  PendingOp &op = beginPending(wave, in, landRead<LoadKind::Dwords, 1>);
  if (resolveLdsLinear(wave, in, op, "reads"))
    issueRead(wave, in, op, 1, true);
}

void registerLdsLoad(OpTable &table) {
  table.add("ds_read_b32", read<LoadKind::Dwords, 1>);
  table.add("ds_read_b64", read<LoadKind::Dwords, 2>);
  table.add("ds_read_b96", read<LoadKind::Dwords, 3>);
  table.add("ds_read_b128", read<LoadKind::Dwords, 4>);
  table.add("ds_read_u8", read<LoadKind::ZeroByte>);
  table.add("ds_read_i8", read<LoadKind::SignByte>);
  table.add("ds_read_u16", read<LoadKind::ZeroShort>);
  table.add("ds_read_i16", read<LoadKind::SignShort>);
  table.add("ds_read_u8_d16", read<LoadKind::ZeroByteLow>);
  table.add("ds_read_u8_d16_hi", read<LoadKind::ZeroByteHigh>);
  table.add("ds_read_i8_d16", read<LoadKind::SignByteLow>);
  table.add("ds_read_i8_d16_hi", read<LoadKind::SignByteHigh>);
  table.add("ds_read_u16_d16", read<LoadKind::ShortLow>);
  table.add("ds_read_u16_d16_hi", read<LoadKind::ShortHigh>);
  table.add("ds_read_addtid_b32", readAddThread);

  table.add("ds_read2_b32", read2<1, 1>);
  table.add("ds_read2_b64", read2<2, 1>);
  table.add("ds_read2st64_b32", read2<1, 64>);
  table.add("ds_read2st64_b64", read2<2, 64>);

  table.add("ds_read_b64_tr_b16", readTransposed<landTransposed16, 2>);
  table.add("ds_read_b64_tr_b8", readTransposed<landTransposed<8, 2>, 2>);
  table.add("ds_read_b64_tr_b4", readTransposed<landTransposed<4, 2>, 2>);
  table.add("ds_read_b96_tr_b6", readTransposed<landTransposed<6, 3>, 3>);
}

} // namespace hocket::sim::HOCKET_SIM_ISA
