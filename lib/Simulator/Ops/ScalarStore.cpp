// SMEM that writes memory: scalar stores and atomics (CDNA3 ISA 8; LLVM assembles them for gfx940
// chips and emits none).
//
// They count in lgkmcnt and take effect when it is waited for, like everything scalar. An atomic
// with glc returns the old value.
#include "../PendingIssue.h"
#include "../Workgroup.h"
#include "Families.h"
#include "Scalar.h"
#include "ScalarAccess.h"

#include <cstring>

using namespace hocket::sim;

/// Copies `dwords` of data into `op`, as they are at issue.
static void captureScalars(const Wave &wave, PendingOp &op, unsigned first, uint32_t dwords) {
  for (uint32_t i = 0; i < dwords; ++i)
    op.data[0][i] = wave.sgpr[first + i];
}

static void landStore(Wave &, PendingOp &op) {
  if (op.inRange[0])
    std::memcpy(op.host[0], op.data[0], op.inRange[0] * 4u);
}

template <bool Buffer, unsigned Dwords> static void store(Wave &wave, const Instruction &in) {
  ScalarTarget target;
  if (!resolveScalar(wave, in, Buffer, Dwords, "stores", target))
    return;
  PendingOp &op = beginPending(wave, in, landStore);
  op.host[0] = target.host;
  op.inRange[0] = static_cast<uint8_t>(target.inRange);
  op.hasResult = false;
  captureScalars(wave, op, in.destination, Dwords);
  issueScalar(wave, op);
}

/// The value of `T` in the data from word `first` on.
template <class T> static T dataOf(const PendingOp &op, unsigned first) {
  T value;
  std::memcpy(&value, &op.data[0][first], sizeof(T));
  return value;
}

template <class T> static void writeOld(Wave &wave, const PendingOp &op, T old) {
  if (op.scalar)
    writeScalar<T>(wave, op.destination, old);
}

template <class T, auto F> static void landUpdate(Wave &wave, PendingOp &op) {
  T old = 0;
  if (op.inRange[0]) {
    auto *location = reinterpret_cast<T *>(op.host[0]);
    old = __atomic_load_n(location, __ATOMIC_SEQ_CST);
    while (!__atomic_compare_exchange_n(location, &old, F(old, dataOf<T>(op, 0)), false,
                                        __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
    }
  }
  writeOld(wave, op, old);
}

/// The new value comes first, then what is compared with.
template <class T> static void landCompareSwap(Wave &wave, PendingOp &op) {
  T old = 0;
  if (op.inRange[0]) {
    old = dataOf<T>(op, sizeof(T) / 4);
    __atomic_compare_exchange_n(reinterpret_cast<T *>(op.host[0]), &old, dataOf<T>(op, 0), false,
                                __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
  }
  writeOld(wave, op, old);
}

template <class T, bool Buffer, unsigned DataWords, LandFunction Land>
static void atomic(Wave &wave, const Instruction &in) {
  constexpr uint32_t dwords = sizeof(T) / 4;
  ScalarTarget target;
  if (!resolveScalar(wave, in, Buffer, dwords, "updates", target))
    return;
  if (target.inRange && target.address % sizeof(T) != 0) {
    failWave(wave, in, "is an atomic on an address that is not a multiple of its size");
    return;
  }
  PendingOp &op = beginPending(wave, in, Land);
  op.host[0] = target.host;
  op.inRange[0] = target.inRange == dwords;
  op.scalar = in.memory.sc0; // glc
  op.destination = in.destination;
  captureScalars(wave, op, in.destination, DataWords);
  issueScalar(wave, op);
  for (uint32_t i = 0; i < dwords && in.memory.sc0; ++i)
    wave.sgpr[in.destination + i] = pendingPattern;
}

/// One atomic on 32 and 64 bits, by address and by buffer descriptor.
template <template <class> class Function>
static void addAtomic(OpTable &table, const char *const (&names)[4]) {
  table.add(names[0], atomic<uint32_t, false, 1, landUpdate<uint32_t, Function<uint32_t>::apply>>);
  table.add(names[1], atomic<uint64_t, false, 2, landUpdate<uint64_t, Function<uint64_t>::apply>>);
  table.add(names[2], atomic<uint32_t, true, 1, landUpdate<uint32_t, Function<uint32_t>::apply>>);
  table.add(names[3], atomic<uint64_t, true, 2, landUpdate<uint64_t, Function<uint64_t>::apply>>);
}

namespace {
template <class T> using Signed = std::make_signed_t<T>;
template <class T> struct Swap {
  static T apply(T, T b) { return b; }
};
template <class T> struct Add {
  static T apply(T a, T b) { return a + b; }
};
template <class T> struct Subtract {
  static T apply(T a, T b) { return a - b; }
};
template <class T> struct SignedMin {
  static T apply(T a, T b) { return Signed<T>(a) < Signed<T>(b) ? a : b; }
};
template <class T> struct Min {
  static T apply(T a, T b) { return a < b ? a : b; }
};
template <class T> struct SignedMax {
  static T apply(T a, T b) { return Signed<T>(a) > Signed<T>(b) ? a : b; }
};
template <class T> struct Max {
  static T apply(T a, T b) { return a > b ? a : b; }
};
template <class T> struct And {
  static T apply(T a, T b) { return a & b; }
};
template <class T> struct Or {
  static T apply(T a, T b) { return a | b; }
};
template <class T> struct Xor {
  static T apply(T a, T b) { return a ^ b; }
};
/// Wraps to 0 above the operand.
template <class T> struct Increment {
  static T apply(T a, T b) { return a >= b ? 0 : a + 1; }
};
/// Wraps to the operand at 0 or above it.
template <class T> struct Decrement {
  static T apply(T a, T b) { return a == 0 || a > b ? b : a - 1; }
};
} // namespace

#define HOCKET_SCALAR_ATOMIC(function, name)                                                       \
  addAtomic<function>(table, {"s_atomic_" name, "s_atomic_" name "_x2", "s_buffer_atomic_" name,   \
                              "s_buffer_atomic_" name "_x2"})

void hocket::sim::registerScalarStore(OpTable &table) {
  table.add("s_store_dword", store<false, 1>);
  table.add("s_store_dwordx2", store<false, 2>);
  table.add("s_store_dwordx4", store<false, 4>);
  table.add("s_buffer_store_dword", store<true, 1>);
  table.add("s_buffer_store_dwordx2", store<true, 2>);
  table.add("s_buffer_store_dwordx4", store<true, 4>);
  HOCKET_SCALAR_ATOMIC(Swap, "swap");
  HOCKET_SCALAR_ATOMIC(Add, "add");
  HOCKET_SCALAR_ATOMIC(Subtract, "sub");
  HOCKET_SCALAR_ATOMIC(SignedMin, "smin");
  HOCKET_SCALAR_ATOMIC(Min, "umin");
  HOCKET_SCALAR_ATOMIC(SignedMax, "smax");
  HOCKET_SCALAR_ATOMIC(Max, "umax");
  HOCKET_SCALAR_ATOMIC(And, "and");
  HOCKET_SCALAR_ATOMIC(Or, "or");
  HOCKET_SCALAR_ATOMIC(Xor, "xor");
  HOCKET_SCALAR_ATOMIC(Increment, "inc");
  HOCKET_SCALAR_ATOMIC(Decrement, "dec");
  table.add("s_atomic_cmpswap", atomic<uint32_t, false, 2, landCompareSwap<uint32_t>>);
  table.add("s_atomic_cmpswap_x2", atomic<uint64_t, false, 4, landCompareSwap<uint64_t>>);
  table.add("s_buffer_atomic_cmpswap", atomic<uint32_t, true, 2, landCompareSwap<uint32_t>>);
  table.add("s_buffer_atomic_cmpswap_x2", atomic<uint64_t, true, 4, landCompareSwap<uint64_t>>);
}
