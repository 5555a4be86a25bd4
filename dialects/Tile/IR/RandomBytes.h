// tile.random_bytes: how a wave's bytes lie in LDS while a block of them passes.
#pragma once

#include "Layout/Wave.h"

#include <cstdint>

namespace hocket::tile {

/// Rows and columns of a block, whose bytes the lanes of a wave compute together.
inline constexpr int64_t kRandomBlock = 32;
/// Bytes that a lane computes at once, of `kRandomBytes` rows of one column.
inline constexpr int64_t kRandomBytes = 16;

/// Where in LDS a lane's bytes begin. Lanes of the second half lie further down, so that what lanes read together
/// is in different banks.
inline int64_t randomByteOfLane(int64_t lane) {
  return lane * kRandomBytes + lane / kRandomBlock * (2 * kRandomBytes);
}
/// Where the byte of an element of the block lies. For places whose bits are divided between two, the sum of both.
inline int64_t randomByteOf(int64_t row, int64_t column) {
  int64_t lane = row / 8 % 2 * kRandomBlock + column;
  return randomByteOfLane(lane) + row / 16 * 8 + row % 8;
}
/// Bytes of LDS that a wave needs.
inline constexpr int64_t kRandomWaveBytes = kWaveLanes * kRandomBytes + 2 * kRandomBytes;

} // namespace hocket::tile
