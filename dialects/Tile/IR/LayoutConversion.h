// tile.convert_layout: which number is where before and after, and what passes through LDS.
#pragma once

#include "Tile/IR/FragmentMap.h"

namespace hocket::tile {

/// The numbers of a fragment, or of its rows or columns, as converted values hold them. The other
/// coordinate of row and column values is 0.
struct HeldNumbers {
  explicit HeldNumbers(mlir::Type type);

  PieceMap piece;
  int64_t count = 0;     ///< converted values
  int64_t registers = 0; ///< numbers of a lane in each
  int64_t run = 1;       ///< consecutive registers with consecutive columns
  int64_t rows = 0, columns = 0;
  std::vector<RowAndColumn> origins; ///< of each value

  /// Where number `index` of value `value` is, less what the lane adds.
  RowAndColumn place(int64_t value, int64_t index) const;
  /// What bit `bit` of the lane's number adds.
  RowAndColumn laneBasis(unsigned bit) const;
};

struct LayoutConversion {
  LayoutConversion(mlir::Type from, mlir::Type to);
  explicit LayoutConversion(ConvertLayoutOp op)
      : LayoutConversion(op.getSource().getType(), op.getResult().getType()) {}

  /// Whether every number is in its lane already.
  bool staysInLane() const;
  /// Bytes of LDS that a wave needs.
  int64_t waveBytes() const;
  /// Where a number lies in the wave's part while its block passes.
  int64_t byteOf(RowAndColumn place) const;
  int64_t rowPitch() const;

  HeldNumbers from, to;
  RowAndColumn block; ///< what passes at once
  int64_t elementBytes;
};

} // namespace hocket::tile
