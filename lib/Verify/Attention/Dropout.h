// Which weights are dropped, from the definition (docs/Modifications.md): independent of the compiler's lowering.
#pragma once

#include "hocket/Attention/ForwardProblem.h"

#include <array>

namespace hocket::attention {

/// Philox 4x32 with 7 rounds (Salmon et al., SC 2011): four random words of a counter and a key.
std::array<uint32_t, 4> philox7(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key);

/// The random bytes of one head.
class DropoutBytes {
public:
  /// `state` is the tensor "dropout_state", all zeros if there is none.
  DropoutBytes(const ForwardProblem &problem, std::span<const double> state, int64_t batch, int64_t head);

  uint8_t at(int64_t query, int64_t key) const;
  /// What a weight there is multiplied with: 0, or what makes up for those that are dropped.
  double factor(int64_t query, int64_t key) const { return at(query, key) <= threshold ? kept : 0; }

private:
  uint64_t seed, offset;
  int64_t threshold;
  double kept;
};

} // namespace hocket::attention
