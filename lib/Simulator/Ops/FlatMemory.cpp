// FLAT, GLOBAL and scratch loads, stores and atomics (CDNA3 ISA 9 and 10).
//
// GLOBAL addresses are 64-bit, from a VGPR pair or an SGPR pair plus a 32-bit VGPR. Scratch is
// private to the lane. A FLAT address is one or the other or LDS, lane by lane, by its upper half.
#include "Access.h"
#include "Atomics.h"
#include "Families.h"

#include <type_traits>

namespace hocket::sim::HOCKET_SIM_ISA {

static bool resolveFlatLanes(Wave &wave, const Instruction &in, PendingOp &op,
                             const LaneAddresses &addresses, unsigned bytes, const char *what) {
  for (u64 left = op.mask; left; left &= left - 1) {
    unsigned lane = __builtin_ctzll(left);
    u64 address = addresses.lane[lane], window = address & apertureMask;
    u64 offset = address & ~apertureMask;
    bool ok = window == sharedAperture ? resolveLdsLane(wave, in, op, lane, offset, bytes, what)
              : window == privateAperture
                  ? resolveScratchLane(wave, in, op, lane, offset, bytes, what)
                  : resolveGlobalLane(wave, in, op, lane, address, bytes, what);
    if (!ok)
      return false;
  }
  return true;
}

static bool resolve(Wave &wave, const Instruction &in, PendingOp &op, unsigned bytes,
                    const char *what) {
  if (in.memory.segment == 1)
    return resolveScratch(wave, in, op, bytes, what);
  LaneAddresses addresses;
  globalAddresses(wave, in, addresses);
  if (in.memory.segment == 2)
    return resolveGlobal(wave, in, op, addresses, bytes, what);
  u64 apertures = 0;
  for (unsigned i = 0; i < 64; ++i) {
    u64 window = addresses.lane[i] & apertureMask;
    apertures |= u64(window == sharedAperture || window == privateAperture) << i;
  }
  if (apertures & op.mask)
    return resolveFlatLanes(wave, in, op, addresses, bytes, what);
  return resolveGlobal(wave, in, op, addresses, bytes, what);
}

/// FLAT operations count in both counters, since LDS may be meant.
static void issue(Wave &wave, const Instruction &in, PendingOp &op) {
  if (in.memory.segment == 0)
    issueFlat(wave, op);
  else
    issueVectorMemory(wave, op);
}

template <LoadKind Kind, unsigned Dwords> static void load(Wave &wave, const Instruction &in) {
  PendingOp &op = beginPending(wave, in, landLoad<Kind, Dwords>);
  if (!resolve(wave, in, op, loadBytes(Kind, Dwords), "loads"))
    return dropPending(wave, op);
  fetchAhead(op, loadBytes(Kind, Dwords));
  op.destination = in.destination;
  op.resultRows = Dwords;
  if constexpr (loadKeepsHalf(Kind)) // a FLAT load merges in its own copy
    captureData(wave, op, in.destination, 1);
  u64 mask = op.mask;
  issue(wave, in, op);
  if constexpr (!loadKeepsHalf(Kind))
    poisonRegisters(wave, in.destination, Dwords, mask);
}

/// `Shift`: 16 for the forms that store the upper half.
template <unsigned Bytes, unsigned Shift = 0> static void store(Wave &wave, const Instruction &in) {
  PendingOp &op = beginPending(wave, in, landStore<Bytes>);
  if (!resolve(wave, in, op, Bytes, "stores"))
    return dropPending(wave, op);
  captureData(wave, op, in.memory.data, (Bytes + 3) / 4);
  if constexpr (Shift != 0)
    for (unsigned i = 0; i < 64; ++i)
      op.data[0][i] >>= Shift;
  maybeLandEarly(wave, op);
  issue(wave, in, op);
}

template <class T, unsigned DataWords, LandFunction Land>
static void atomic(Wave &wave, const Instruction &in) {
  PendingOp &op = beginPending(wave, in, Land);
  if (!resolve(wave, in, op, sizeof(T), "updates") || !atomicsAligned(wave, in, op, sizeof(T)))
    return dropPending(wave, op);
  captureData(wave, op, in.memory.data, DataWords);
  op.destination = in.destination;
  op.scalar = in.memory.sc0;
  op.resultRows = in.memory.sc0 ? sizeof(T) / 4 : 0;
  u64 mask = op.mask;
  if (!in.memory.sc0)
    maybeLandEarly(wave, op);
  issue(wave, in, op);
  if (in.memory.sc0)
    poisonRegisters(wave, in.destination, sizeof(T) / 4, mask);
}

namespace {
/// Registers the three segments' spellings of one instruction.
struct Names {
  OpTable &table;
  void operator()(const char *suffix, ExecuteFunction execute) const {
    for (const char *segment : {"flat_", "global_", "scratch_"})
      add(segment, suffix, execute);
  }
  void add(const char *segment, const char *suffix, ExecuteFunction execute) const {
    char name[64];
    __builtin_strcpy(name, segment);
    __builtin_strcat(name, suffix);
    table.add(name, execute);
  }
};
} // namespace

static void registerLoads(const Names &add) {
  add("load_dword", load<LoadKind::Dwords, 1>);
  add("load_dwordx2", load<LoadKind::Dwords, 2>);
  add("load_dwordx3", load<LoadKind::Dwords, 3>);
  add("load_dwordx4", load<LoadKind::Dwords, 4>);
  add("load_ubyte", load<LoadKind::ZeroByte, 1>);
  add("load_sbyte", load<LoadKind::SignByte, 1>);
  add("load_ushort", load<LoadKind::ZeroShort, 1>);
  add("load_sshort", load<LoadKind::SignShort, 1>);
  add("load_ubyte_d16", load<LoadKind::ZeroByteLow, 1>);
  add("load_sbyte_d16", load<LoadKind::SignByteLow, 1>);
  add("load_short_d16", load<LoadKind::ShortLow, 1>);
  add("load_ubyte_d16_hi", load<LoadKind::ZeroByteHigh, 1>);
  add("load_sbyte_d16_hi", load<LoadKind::SignByteHigh, 1>);
  add("load_short_d16_hi", load<LoadKind::ShortHigh, 1>);
}

static void registerStores(const Names &add) {
  add("store_dword", store<4>);
  add("store_dwordx2", store<8>);
  add("store_dwordx3", store<12>);
  add("store_dwordx4", store<16>);
  add("store_byte", store<1>);
  add("store_short", store<2>);
  add("store_byte_d16_hi", store<1, 16>);
  add("store_short_d16_hi", store<2, 16>);
}

void registerFlatMemory(OpTable &table) {
  Names names{table};
  registerLoads(names);
  registerStores(names);
  forEachAtomic([&]<class T, unsigned DataWords, LandFunction Land>(const char *name) {
    // Scratch has no atomics.
    names.add("flat_", name, atomic<T, DataWords, Land>);
    names.add("global_", name, atomic<T, DataWords, Land>);
  });
}

} // namespace hocket::sim::HOCKET_SIM_ISA
