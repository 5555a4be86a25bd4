// What plans and kernels agree on: the rows of a wave, and the heads that there are.
#pragma once

#include <cstdint>

namespace hocket {

/// Query rows of one wave: the columns of one accumulator block.
inline constexpr int64_t kWaveRows = 32;
/// Heads are whole loads of 16 bytes, computed in whole accumulator blocks.
inline constexpr int64_t kHeadUnit = 8, kHeadBlock = 32, kMaxHead = 256;

} // namespace hocket
