// DS atomics, with and without the old value returned (CDNA3 ISA 11.3).
//
// Lanes go in order and the whole instruction lands at once: waves of a workgroup share one host
// thread, so nothing comes in between. M0 is not a limit on these chips.
#include "Atomics.h"
#include "Families.h"
#include "LdsAccess.h"

#include <cstdio>

namespace hocket::sim::HOCKET_SIM_ISA {

template <class T> HOCKET_SIM_INLINE T loadLds(const Wave &wave, u32 address) {
  T value;
  __builtin_memcpy(&value, wave.group->lds + address, sizeof(T));
  return value;
}
template <class T> HOCKET_SIM_INLINE void storeLds(Wave &wave, u32 address, T value) {
  __builtin_memcpy(wave.group->lds + address, &value, sizeof(T));
}

/// Operand `index` of a lane: the first or second data register tuple.
template <class T>
HOCKET_SIM_INLINE T operandOf(const PendingOp &op, unsigned index, unsigned lane) {
  constexpr unsigned words = sizeof(T) / 4;
  return fromWords<T>(op.data[index * words][lane], op.data[index * words + words - 1][lane]);
}

template <class T>
HOCKET_SIM_INLINE void writeResult(Wave &wave, const PendingOp &op, unsigned lane, unsigned first,
                                   T value) {
  wave.vgpr[op.destination + first][lane] = lowWord(value);
  if constexpr (sizeof(T) == 8)
    wave.vgpr[op.destination + first + 1][lane] = highWord(value);
}

/// `F(old, data)` or `F(old, data, data1)` is the new value; `op.scalar`: return the old one.
template <class T, unsigned Operands, auto F> static void landAtomic(Wave &wave, PendingOp &op) {
  for (u64 left = op.mask; left; left &= left - 1) {
    unsigned lane = __builtin_ctzll(left);
    u32 address = op.ldsAddress[lane];
    T old = loadLds<T>(wave, address);
    if constexpr (Operands == 1)
      storeLds<T>(wave, address, F(old, operandOf<T>(op, 0, lane)));
    else
      storeLds<T>(wave, address, F(old, operandOf<T>(op, 0, lane), operandOf<T>(op, 1, lane)));
    if (op.scalar)
      writeResult(wave, op, lane, 0, old);
  }
}

static void captureOperands(Wave &wave, const Instruction &in, PendingOp &op, unsigned words,
                            unsigned operands) {
  captureData(wave, op, in.memory.data, words);
  if (operands == 2)
    for (unsigned i = 0; i < words; ++i)
      __builtin_memcpy(op.data[words + i], wave.vgpr[in.memory.data1 + i], sizeof(op.data[0]));
}

template <class T, unsigned Operands, auto F, bool Return>
static void atomic(Wave &wave, const Instruction &in) {
  constexpr unsigned words = sizeof(T) / 4;
  PendingOp &op = beginPending(wave, in, landAtomic<T, Operands, F>);
  if (!resolveLds(wave, in, op, in.memory.offset, sizeof(T), "updates"))
    return;
  captureOperands(wave, in, op, words, Operands);
  u64 mask = op.mask;
  op.scalar = Return;
  op.destination = in.destination;
  issueLds(wave, op);
  if (Return)
    poisonRegisters(wave, in.destination, words, mask);
}

/// Two locations are exchanged with two data operands; the second is `op.scalar` bytes further.
template <class T> static void landExchange2(Wave &wave, PendingOp &op) {
  for (u64 left = op.mask; left; left &= left - 1) {
    unsigned lane = __builtin_ctzll(left);
    for (unsigned i = 0; i < 2; ++i) {
      u32 address = op.ldsAddress[lane] + (i ? op.scalar : 0);
      T old = loadLds<T>(wave, address);
      storeLds<T>(wave, address, operandOf<T>(op, i, lane));
      writeResult(wave, op, lane, i * sizeof(T) / 4, old);
    }
  }
}

template <class T, unsigned Unit> static void exchange2(Wave &wave, const Instruction &in) {
  constexpr unsigned words = sizeof(T) / 4;
  u32 first = firstOffset(in, sizeof(T) * Unit), second = secondOffset(in, sizeof(T) * Unit);
  PendingOp &op = beginPending(wave, in, landExchange2<T>);
  if (!resolveLds(wave, in, op, second, sizeof(T), "updates") ||
      !resolveLds(wave, in, op, first, sizeof(T), "updates"))
    return;
  captureOperands(wave, in, op, words, 2);
  u64 mask = op.mask;
  op.scalar = second - first;
  op.destination = in.destination;
  issueLds(wave, op);
  poisonRegisters(wave, in.destination, 2 * words, mask);
}

/// ds_append and ds_consume: one location at M0 plus the offset counts the active lanes.
static void landCount(Wave &wave, PendingOp &op) {
  u32 old = loadLds<u32>(wave, op.ldsAddress[0]);
  storeLds<u32>(wave, op.ldsAddress[0], old + op.scalar);
  for (u64 left = op.mask; left; left &= left - 1)
    wave.vgpr[op.destination][__builtin_ctzll(left)] = old;
}

template <int Sign> static void count(Wave &wave, const Instruction &in) {
  u32 address = wave.m0() + static_cast<u32>(in.memory.offset);
  if (address >= ldsLimit(wave, 4)) {
    failLds(wave, in, "updates", 0, address, 4);
    return;
  }
  PendingOp &op = beginPending(wave, in, landCount);
  u64 mask = op.mask;
  op.ldsAddress[0] = address;
  op.scalar = static_cast<u32>(Sign * __builtin_popcountll(mask));
  op.destination = in.destination;
  issueLds(wave, op);
  poisonRegisters(wave, in.destination, 1, mask);
}

/// Registers `ds_<name>_<type>` and `ds_<name>_rtn_<type>`. No std::string here: its inline
/// functions must not be compiled for one host instruction set and used by all (HostIsa.h).
template <class T, unsigned Operands, auto F>
static void addBoth(OpTable &table, const char *name, const char *type) {
  char mnemonic[40];
  std::snprintf(mnemonic, sizeof(mnemonic), "ds_%s_%s", name, type);
  table.add(mnemonic, atomic<T, Operands, F, false>);
  std::snprintf(mnemonic, sizeof(mnemonic), "ds_%s_rtn_%s", name, type);
  table.add(mnemonic, atomic<T, Operands, F, true>);
}

/// Comparand first, new value second, unlike global memory's.
template <class T>
static constexpr auto compareStore =
    [](T old, T comparand, T value) { return old == comparand ? value : old; };
template <class T, class F>
static constexpr auto compareStoreFloat = [](T old, T comparand, T value) {
  return bitCast<F>(old) == bitCast<F>(comparand) ? value : old;
};
template <class T>
static constexpr auto maskedOr = [](T old, T mask, T value) -> T { return (old & ~mask) | value; };
static constexpr auto wrap = [](u32 old, u32 amount, u32 limit) {
  return old >= amount ? old - amount : old + limit;
};
/// Each half's upper bit is the permission to write the lower 31.
static constexpr auto conditionalExchange = [](u64 old, u64 data) -> u64 {
  auto half = [](u32 before, u32 word) { return word >> 31 ? word & 0x7fffffff : before; };
  return half(static_cast<u32>(old), static_cast<u32>(data)) |
         u64(half(static_cast<u32>(old >> 32), static_cast<u32>(data >> 32))) << 32;
};

template <class T> static void registerWidth(OpTable &table) {
  using A = AtomicFunctions<T>;
  constexpr bool wide = sizeof(T) == 8;
  const char *u = wide ? "u64" : "u32", *i = wide ? "i64" : "i32";
  const char *b = wide ? "b64" : "b32", *f = wide ? "f64" : "f32";
  addBoth<T, 1, A::add>(table, "add", u);
  addBoth<T, 1, A::sub>(table, "sub", u);
  addBoth<T, 1, A::rsub>(table, "rsub", u);
  addBoth<T, 1, A::inc>(table, "inc", u);
  addBoth<T, 1, A::dec>(table, "dec", u);
  addBoth<T, 1, A::smin>(table, "min", i);
  addBoth<T, 1, A::smax>(table, "max", i);
  addBoth<T, 1, A::umin>(table, "min", u);
  addBoth<T, 1, A::umax>(table, "max", u);
  addBoth<T, 1, A::bitAnd>(table, "and", b);
  addBoth<T, 1, A::bitOr>(table, "or", b);
  addBoth<T, 1, A::bitXor>(table, "xor", b);
  addBoth<T, 1, A::addFloat>(table, "add", f);
  addBoth<T, 1, A::minFloat>(table, "min", f);
  addBoth<T, 1, A::maxFloat>(table, "max", f);
  addBoth<T, 2, compareStore<T>>(table, "cmpst", b);
  addBoth<T, 2, compareStoreFloat<T, typename A::F>>(table, "cmpst", f);
  addBoth<T, 2, maskedOr<T>>(table, "mskor", b);
  table.add(wide ? "ds_wrxchg_rtn_b64" : "ds_wrxchg_rtn_b32", atomic<T, 1, A::swap, true>);
  table.add(wide ? "ds_wrxchg2_rtn_b64" : "ds_wrxchg2_rtn_b32", exchange2<T, 1>);
  table.add(wide ? "ds_wrxchg2st64_rtn_b64" : "ds_wrxchg2st64_rtn_b32", exchange2<T, 64>);
}

static void doNothing(Wave &, const Instruction &) {}

void registerLdsAtomic(OpTable &table) {
  registerWidth<u32>(table);
  registerWidth<u64>(table);
  addBoth<u32, 1, addPackedHalf>(table, "pk_add", "f16");
  addBoth<u32, 1, addPackedBfloat>(table, "pk_add", "bf16");
  table.add("ds_wrap_rtn_b32", atomic<u32, 2, wrap, true>);
  table.add("ds_condxchg32_rtn_b64", atomic<u64, 1, conditionalExchange, true>);
  table.add("ds_append", count<1>);
  table.add("ds_consume", count<-1>);
  table.add("ds_nop", doNothing);
}

} // namespace hocket::sim::HOCKET_SIM_ISA
