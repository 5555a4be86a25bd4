// The least, the greatest and the middle one of three integers (v_min3, v_max3, v_med3).
#pragma once

#include "Lanes.h"

namespace hocket::sim::HOCKET_SIM_ISA {

template <class T>
inline constexpr auto leastOf3 = [](T a, T b, T c) {
  T m = a < b ? a : b;
  return m < c ? m : c;
};

template <class T>
inline constexpr auto greatestOf3 = [](T a, T b, T c) {
  T m = a > b ? a : b;
  return m > c ? m : c;
};

template <class T>
inline constexpr auto medianOf3 = [](T a, T b, T c) {
  T low = a < b ? a : b, high = a < b ? b : a;
  T inner = high < c ? high : c;
  return low > inner ? low : inner;
};

} // namespace hocket::sim::HOCKET_SIM_ISA
