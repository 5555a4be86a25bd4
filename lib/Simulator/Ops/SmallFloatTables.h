// Tables from the bits of 8-, 6- and 4-bit floats to their values, for the matrix instructions.
#pragma once

#include "SmallFloat.h"

namespace hocket::sim::HOCKET_SIM_ISA {

/// The first five are the format codes of cbsz and blgp of the f8f6f4 instructions.
enum class SmallCode : unsigned { Fp8, Bf8, Fp6, Bf6, Fp4, Fp8Fnuz, Bf8Fnuz };

struct DecodeTables {
  f32 value[7][256];
  unsigned bits[7] = {8, 8, 6, 6, 4, 8, 8};
  DecodeTables() {
    for (u32 i = 0; i < 256; ++i) {
      value[0][i] = decodeSmall<e4m3>(i);
      value[1][i] = decodeSmall<e5m2>(i);
      value[2][i] = decodeSmall<e2m3>(i);
      value[3][i] = decodeSmall<e3m2>(i);
      value[4][i] = decodeSmall<e2m1>(i);
      value[5][i] = decodeSmall<e4m3Fnuz>(i);
      value[6][i] = decodeSmall<e5m2Fnuz>(i);
    }
  }
};

inline const DecodeTables &decodeTables() {
  static const DecodeTables tables;
  return tables;
}

} // namespace hocket::sim::HOCKET_SIM_ISA
