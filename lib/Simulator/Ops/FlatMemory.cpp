// FLAT, GLOBAL and scratch loads, stores and atomics (CDNA3 ISA 9 and 10).
//
// GLOBAL addresses are 64-bit, from a VGPR pair or an SGPR pair plus a 32-bit VGPR. Scratch is
// private to the lane. A FLAT address is one or the other or LDS, lane by lane, by its upper half.
#include "Access.h"
#include "Atomics.h"
#include "Families.h"

#include <type_traits>

namespace hocket::sim::HOCKET_SIM_ISA {

static constexpr unsigned noScalarAddress = 0x7f;

static void globalAddresses(const Wave &wave, const Instruction &in, LaneAddresses &addresses) {
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

static bool resolveScratch(Wave &wave, const Instruction &in, PendingOp &op, unsigned bytes,
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

/// Gives the slot of an operation that failed at issue back.
static void drop(Wave &wave, PendingOp &op) {
  wave.pending.freeSlots[wave.pending.freeCount++] = op.slot;
}

template <LoadKind Kind, unsigned Dwords> static void load(Wave &wave, const Instruction &in) {
  PendingOp &op = beginPending(wave, in, landLoad<Kind, Dwords>);
  if (!resolve(wave, in, op, loadBytes(Kind, Dwords), "loads"))
    return drop(wave, op);
  op.destination = in.destination;
  u64 mask = op.mask;
  issue(wave, in, op);
  if constexpr (!loadKeepsHalf(Kind))
    poisonRegisters(wave, in.destination, Dwords, mask);
}

/// `Shift`: 16 for the forms that store the upper half.
template <unsigned Bytes, unsigned Shift = 0> static void store(Wave &wave, const Instruction &in) {
  PendingOp &op = beginPending(wave, in, landStore<Bytes>);
  if (!resolve(wave, in, op, Bytes, "stores"))
    return drop(wave, op);
  captureData(wave, op, in.memory.data, (Bytes + 3) / 4);
  if constexpr (Shift != 0)
    for (unsigned i = 0; i < 64; ++i)
      op.data[0][i] >>= Shift;
  maybeLandEarly(wave, op);
  issue(wave, in, op);
}

template <class T> HOCKET_SIM_INLINE T dataOf(const PendingOp &op, unsigned lane, unsigned first) {
  return fromWords<T>(op.data[first][lane], op.data[first + (sizeof(T) == 8)][lane]);
}

template <class T>
HOCKET_SIM_INLINE void writeOld(Wave &wave, const PendingOp &op, unsigned lane, T old) {
  wave.vgpr[op.destination][lane] = lowWord(old);
  if constexpr (sizeof(T) == 8)
    wave.vgpr[op.destination + 1][lane] = highWord(old);
}

/// Lands an atomic; `op.scalar`: return the old value.
template <class T, auto F> static void landAtomic(Wave &wave, PendingOp &op) {
  for (u64 left = op.mask; left; left &= left - 1) {
    unsigned lane = __builtin_ctzll(left);
    if (op.partial && !op.inRange[lane]) {
      if (op.scalar)
        writeOld(wave, op, lane, T(0));
      continue;
    }
    T old = atomicUpdate<T, F>(op.host[lane], dataOf<T>(op, lane, 0));
    if (op.scalar)
      writeOld(wave, op, lane, old);
  }
}

/// Compare-and-swap: the new value comes first, then what is compared with.
template <class T> static void landCompareSwap(Wave &wave, PendingOp &op) {
  constexpr unsigned words = sizeof(T) / 4;
  for (u64 left = op.mask; left; left &= left - 1) {
    unsigned lane = __builtin_ctzll(left);
    T old = 0;
    if (!op.partial || op.inRange[lane]) {
      old = dataOf<T>(op, lane, words);
      __atomic_compare_exchange_n(reinterpret_cast<T *>(op.host[lane]), &old,
                                  dataOf<T>(op, lane, 0), false, __ATOMIC_SEQ_CST,
                                  __ATOMIC_SEQ_CST);
    }
    if (op.scalar)
      writeOld(wave, op, lane, old);
  }
}

static bool aligned(Wave &wave, const Instruction &in, const PendingOp &op, unsigned bytes) {
  for (u64 left = op.mask; left; left &= left - 1) {
    unsigned lane = __builtin_ctzll(left);
    if (op.address[lane] % bytes == 0)
      continue;
    failWave(wave, in, "is an atomic on an address that is not a multiple of its size");
    return false;
  }
  return true;
}

template <class T, unsigned DataWords, LandFunction Land>
static void atomic(Wave &wave, const Instruction &in) {
  PendingOp &op = beginPending(wave, in, Land);
  if (!resolve(wave, in, op, sizeof(T), "updates") || !aligned(wave, in, op, sizeof(T)))
    return drop(wave, op);
  captureData(wave, op, in.memory.data, DataWords);
  op.destination = in.destination;
  op.scalar = in.memory.sc0;
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
  bool atomics = false;
  void operator()(const char *suffix, ExecuteFunction execute) const {
    for (const char *segment : {"flat_", "global_", "scratch_"}) {
      if (atomics && segment[0] == 's')
        continue; // scratch has no atomics
      char name[64];
      __builtin_strcpy(name, segment);
      __builtin_strcat(name, suffix);
      table.add(name, execute);
    }
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

template <class T, auto F>
static constexpr ExecuteFunction update = atomic<T, sizeof(T) / 4, landAtomic<T, F>>;

static void registerAtomics(const Names &add) {
  using A = AtomicFunctions<u32>;
  using B = AtomicFunctions<u64>;
  add("atomic_swap", update<u32, A::swap>);
  add("atomic_add", update<u32, A::add>);
  add("atomic_sub", update<u32, A::sub>);
  add("atomic_smin", update<u32, A::smin>);
  add("atomic_umin", update<u32, A::umin>);
  add("atomic_smax", update<u32, A::smax>);
  add("atomic_umax", update<u32, A::umax>);
  add("atomic_and", update<u32, A::bitAnd>);
  add("atomic_or", update<u32, A::bitOr>);
  add("atomic_xor", update<u32, A::bitXor>);
  add("atomic_inc", update<u32, A::inc>);
  add("atomic_dec", update<u32, A::dec>);
  add("atomic_add_f32", update<u32, A::addFloat>);
  add("atomic_pk_add_f16", update<u32, addPackedHalf>);
  add("atomic_pk_add_bf16", update<u32, addPackedBfloat>);
  add("atomic_cmpswap", atomic<u32, 2, landCompareSwap<u32>>);
  add("atomic_swap_x2", update<u64, B::swap>);
  add("atomic_add_x2", update<u64, B::add>);
  add("atomic_sub_x2", update<u64, B::sub>);
  add("atomic_smin_x2", update<u64, B::smin>);
  add("atomic_umin_x2", update<u64, B::umin>);
  add("atomic_smax_x2", update<u64, B::smax>);
  add("atomic_umax_x2", update<u64, B::umax>);
  add("atomic_and_x2", update<u64, B::bitAnd>);
  add("atomic_or_x2", update<u64, B::bitOr>);
  add("atomic_xor_x2", update<u64, B::bitXor>);
  add("atomic_inc_x2", update<u64, B::inc>);
  add("atomic_dec_x2", update<u64, B::dec>);
  add("atomic_add_f64", update<u64, B::addFloat>);
  add("atomic_min_f64", update<u64, B::minFloat>);
  add("atomic_max_f64", update<u64, B::maxFloat>);
  add("atomic_cmpswap_x2", atomic<u64, 4, landCompareSwap<u64>>);
}

void registerFlatMemory(OpTable &table) {
  registerLoads(Names{table});
  registerStores(Names{table});
  registerAtomics(Names{table, true});
}

} // namespace hocket::sim::HOCKET_SIM_ISA
