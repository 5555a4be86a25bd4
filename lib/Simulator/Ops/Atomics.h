// What an atomic does to one location, for global memory, scratch and LDS alike.
//
// Lanes go in order. Global memory is shared with other workgroups on other host threads, so the
// update is atomic on the host as well; operations the host lacks are compare-and-swap loops.
#pragma once

#include "Half.h"
#include "Lanes.h"

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

} // namespace hocket::sim::HOCKET_SIM_ISA
