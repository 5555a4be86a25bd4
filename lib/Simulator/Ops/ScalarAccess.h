// Addresses of scalar memory instructions, for loads, stores and atomics.
#pragma once

#include "../Wave.h"

namespace hocket::sim {

/// The bytes that a scalar memory instruction accesses.
struct ScalarTarget {
  std::byte *host = nullptr; ///< null: none of them is in range of the buffer
  uint64_t address = 0;
  uint32_t inRange = 0; ///< dwords
};

/// The target of `dwords` dwords at SBASE plus offsets; `buffer`: SBASE is a descriptor, whose
/// range cuts them off. Low address bits are dropped. False: the wave has failed; `what` is the
/// verb.
bool resolveScalar(Wave &wave, const Instruction &in, bool buffer, uint32_t dwords,
                   const char *what, ScalarTarget &target);

} // namespace hocket::sim
