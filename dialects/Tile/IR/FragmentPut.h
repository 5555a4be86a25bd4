// How a fragment that a wave has computed is stored into its share of a ring's tile: one definition
// for the search of the ring's layout and for the lowering.
#pragma once

#include "Tile/IR/FragmentMap.h"
#include "Tile/IR/Tile.h"
#include "Layout/LdsSearch.h"

namespace hocket::tile {

/// The stores of one wave into one panel of the tile; panels are alike.
struct FragmentStores {
  /// (register = store, lane, wave) -> (row, byte) of the first element.
  LinearLayout access;
  int64_t elements = 1; ///< of one store
  int64_t panels = 1;

  /// What one store takes: registers `first` to `first` + elements - 1 of a piece.
  struct Source {
    int64_t piece = 0, first = 0;
  };
  Source source(int64_t store, int64_t panel) const;
  int64_t stores() const { return int64_t(1) << access.inputBits(dims::Register); }
  int64_t bytes() const { return elements * elementBytes; }

private:
  friend Result<FragmentStores> fragmentStores(PutOp put, bool byElement);
  explicit FragmentStores(FragType frag) : map(frag) {}
  FragmentMap map;
  int64_t columnPieces = 1; ///< of one panel
  int64_t elementBytes = 0; ///< of the ring
};

/// The stores of `put`, whose part is a fragment: of runs of consecutive columns, 16 bytes at most,
/// or `byElement`. An error where parts of the tile's columns do not fit its panels.
Result<FragmentStores> fragmentStores(PutOp put, bool byElement);

/// What the layout of the ring should suit; nothing for a fragment whose lanes hold no two columns
/// side by side.
Result<std::optional<LdsUse>> fragmentStoresUse(PutOp put);

/// Whether waves put into the ring what they have computed.
bool isComputed(RingOp ring);

} // namespace hocket::tile
