// The OCP formats as tables of values, for tests: written from their definition.
#pragma once

#include <cmath>
#include <cstdint>

namespace hocket::sim::test {

struct OcpFormat {
  const char *name;
  unsigned bits, mantissa;
  int bias;
  bool infinity, nan;
  double largest;
};

inline const OcpFormat ocpFormats[5] = {{"e4m3", 8, 3, 7, false, true, 448},
                                        {"e5m2", 8, 2, 15, true, true, 57344},
                                        {"e2m3", 6, 3, 1, false, false, 7.5},
                                        {"e3m2", 6, 2, 3, false, false, 28},
                                        {"e2m1", 4, 1, 1, false, false, 6}};

inline double ocpValue(const OcpFormat &f, uint32_t bits) {
  uint32_t magnitude = bits & ((1u << (f.bits - 1)) - 1);
  int exponent = int(magnitude >> f.mantissa);
  double mantissa = std::ldexp(double(magnitude & ((1u << f.mantissa) - 1)), -int(f.mantissa));
  double value = exponent == 0 ? std::ldexp(mantissa, 1 - f.bias)
                               : std::ldexp(1 + mantissa, exponent - f.bias);
  if (value > f.largest)
    value = f.infinity && mantissa == 0 ? INFINITY : NAN;
  return bits >> (f.bits - 1) & 1 ? -value : value;
}

} // namespace hocket::sim::test
