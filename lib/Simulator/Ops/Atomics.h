// What an atomic does to one location, for global memory, scratch and LDS alike.
//
// Lanes go in order. Global memory is shared with other workgroups on other host threads, so the
// update is atomic on the host as well; operations the host lacks are compare-and-swap loops.
#pragma once

#include "Access.h"
#include "Half.h"
#include "Lanes.h"

#include <type_traits>

namespace hocket::sim::HOCKET_SIM_ISA {

/// Applies `F(old, operand)` to the `T` at `where` and returns the old value. `where` must be
/// aligned for `T`.
template <class T, auto F> HOCKET_SIM_INLINE T atomicUpdate(void *where, T operand) {
  auto *location = static_cast<T *>(where);
  T old = __atomic_load_n(location, __ATOMIC_SEQ_CST);
  while (!__atomic_compare_exchange_n(location, &old, F(old, operand), false, __ATOMIC_SEQ_CST,
                                      __ATOMIC_SEQ_CST)) {
  }
  return old;
}

/// The functions, on raw bits of `T` (u32 or u64).
template <class T> struct AtomicFunctions {
  using S = std::conditional_t<sizeof(T) == 8, i64, i32>;
  using F = std::conditional_t<sizeof(T) == 8, f64, f32>;
  static constexpr auto swap = [](T, T b) { return b; };
  static constexpr auto add = [](T a, T b) -> T { return a + b; };
  static constexpr auto sub = [](T a, T b) -> T { return a - b; };
  static constexpr auto rsub = [](T a, T b) -> T { return b - a; };
  static constexpr auto smin = [](T a, T b) { return S(a) < S(b) ? a : b; };
  static constexpr auto umin = [](T a, T b) { return a < b ? a : b; };
  static constexpr auto smax = [](T a, T b) { return S(a) > S(b) ? a : b; };
  static constexpr auto umax = [](T a, T b) { return a > b ? a : b; };
  static constexpr auto bitAnd = [](T a, T b) -> T { return a & b; };
  static constexpr auto bitOr = [](T a, T b) -> T { return a | b; };
  static constexpr auto bitXor = [](T a, T b) -> T { return a ^ b; };
  /// Wraps to 0 above the operand.
  static constexpr auto inc = [](T a, T b) -> T { return a >= b ? 0 : a + 1; };
  /// Wraps to the operand at 0 or above it.
  static constexpr auto dec = [](T a, T b) -> T { return a == 0 || a > b ? b : a - 1; };
  static constexpr auto addFloat = [](T a, T b) {
    return bitCast<T>(bitCast<F>(a) + bitCast<F>(b));
  };
  /// A NaN loses to a number.
  static constexpr auto minFloat = [](T a, T b) {
    F x = bitCast<F>(a), y = bitCast<F>(b);
    return x != x || y < x ? b : a;
  };
  static constexpr auto maxFloat = [](T a, T b) {
    F x = bitCast<F>(a), y = bitCast<F>(b);
    return x != x || y > x ? b : a;
  };
};

inline constexpr auto addPackedHalf = [](u32 a, u32 b) -> u32 {
  auto add = [](u16 x, u16 y) { return floatToHalf(halfToFloat({x}) + halfToFloat({y})).bits; };
  u32 low = add(static_cast<u16>(a), static_cast<u16>(b));
  return low | u32(add(static_cast<u16>(a >> 16), static_cast<u16>(b >> 16))) << 16;
};

inline constexpr auto addPackedBfloat = [](u32 a, u32 b) -> u32 {
  auto add = [](u16 x, u16 y) { return floatToBfloat(bfloatToFloat(x) + bfloatToFloat(y)); };
  u32 low = add(static_cast<u16>(a), static_cast<u16>(b));
  return low | u32(add(static_cast<u16>(a >> 16), static_cast<u16>(b >> 16))) << 16;
};

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
template <class T, auto F> void landAtomic(Wave &wave, PendingOp &op) {
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
template <class T> void landCompareSwap(Wave &wave, PendingOp &op) {
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

/// Calls `add.operator()<T, DataWords, Land>(name)` for every atomic of the memory instructions, by
/// its name without the encoding's prefix.
template <class Add> void forEachAtomic(Add add) {
  using A = AtomicFunctions<u32>;
  using B = AtomicFunctions<u64>;
  add.template operator()<u32, 1, landAtomic<u32, A::swap>>("atomic_swap");
  add.template operator()<u32, 1, landAtomic<u32, A::add>>("atomic_add");
  add.template operator()<u32, 1, landAtomic<u32, A::sub>>("atomic_sub");
  add.template operator()<u32, 1, landAtomic<u32, A::smin>>("atomic_smin");
  add.template operator()<u32, 1, landAtomic<u32, A::umin>>("atomic_umin");
  add.template operator()<u32, 1, landAtomic<u32, A::smax>>("atomic_smax");
  add.template operator()<u32, 1, landAtomic<u32, A::umax>>("atomic_umax");
  add.template operator()<u32, 1, landAtomic<u32, A::bitAnd>>("atomic_and");
  add.template operator()<u32, 1, landAtomic<u32, A::bitOr>>("atomic_or");
  add.template operator()<u32, 1, landAtomic<u32, A::bitXor>>("atomic_xor");
  add.template operator()<u32, 1, landAtomic<u32, A::inc>>("atomic_inc");
  add.template operator()<u32, 1, landAtomic<u32, A::dec>>("atomic_dec");
  add.template operator()<u64, 2, landAtomic<u64, B::swap>>("atomic_swap_x2");
  add.template operator()<u64, 2, landAtomic<u64, B::add>>("atomic_add_x2");
  add.template operator()<u64, 2, landAtomic<u64, B::sub>>("atomic_sub_x2");
  add.template operator()<u64, 2, landAtomic<u64, B::smin>>("atomic_smin_x2");
  add.template operator()<u64, 2, landAtomic<u64, B::umin>>("atomic_umin_x2");
  add.template operator()<u64, 2, landAtomic<u64, B::smax>>("atomic_smax_x2");
  add.template operator()<u64, 2, landAtomic<u64, B::umax>>("atomic_umax_x2");
  add.template operator()<u64, 2, landAtomic<u64, B::bitAnd>>("atomic_and_x2");
  add.template operator()<u64, 2, landAtomic<u64, B::bitOr>>("atomic_or_x2");
  add.template operator()<u64, 2, landAtomic<u64, B::bitXor>>("atomic_xor_x2");
  add.template operator()<u64, 2, landAtomic<u64, B::inc>>("atomic_inc_x2");
  add.template operator()<u64, 2, landAtomic<u64, B::dec>>("atomic_dec_x2");
  add.template operator()<u32, 1, landAtomic<u32, A::addFloat>>("atomic_add_f32");
  add.template operator()<u32, 1, landAtomic<u32, addPackedHalf>>("atomic_pk_add_f16");
  add.template operator()<u32, 1, landAtomic<u32, addPackedBfloat>>("atomic_pk_add_bf16");
  add.template operator()<u64, 2, landAtomic<u64, B::addFloat>>("atomic_add_f64");
  add.template operator()<u64, 2, landAtomic<u64, B::minFloat>>("atomic_min_f64");
  add.template operator()<u64, 2, landAtomic<u64, B::maxFloat>>("atomic_max_f64");
  add.template operator()<u32, 2, landCompareSwap<u32>>("atomic_cmpswap");
  add.template operator()<u64, 4, landCompareSwap<u64>>("atomic_cmpswap_x2");
}

} // namespace hocket::sim::HOCKET_SIM_ISA
