// Operands that a wave lays aside in LDS: where the parts of one lane lie.
#pragma once

#include "Tile/IR/FragmentMap.h"
#include "Tile/IR/Tile.h"

namespace hocket::tile {

/// A lane's pieces, 16 bytes each, lie as far apart as the wave's lanes need, in the order of the fragment's pieces: an
/// access of the wave is to consecutive bytes.
struct StashLayout {
  static constexpr int64_t kPieceBytes = 16;
  int64_t pieces = 0;

  explicit StashLayout(FragType frag) : pieces(FragmentMap(frag).count()) {}
  int64_t waveBytes() const { return pieces * kPieceBytes * kWaveLanes; }
  static int64_t offset(int64_t piece) { return piece * kPieceBytes * kWaveLanes; }
};

} // namespace hocket::tile
