// Bounds of accesses to rows of views and tiles of rings: descriptors end with the last row, and
// offsets of columns that do not exist are moved beyond every descriptor.
#pragma once

#include "Lowering.h"

#include <limits>

namespace hocket::lowering {

/// The bytes of a row that exist, for accesses that may reach behind them.
class RowBounds {
public:
  explicit RowBounds(tile::ViewType view)
      : rowBytes(view.getShape().back() * view.getElementType().getIntOrFloatBitWidth() / 8) {}
  /// Rows without an end.
  RowBounds() : rowBytes(std::numeric_limits<int64_t>::max()) {}

  /// `offset`, or one that is out of bounds where the piece at byte `laneByte` + `step` of its row
  /// does not exist. `reach` has every bit that `laneByte` may have.
  mlir::Value within(Emitter &emit, mlir::Value offset, mlir::Value laneByte, uint64_t reach,
                     int64_t step) const {
    if (step + static_cast<int64_t>(reach) < rowBytes)
      return offset;
    mlir::Value exists = mlir::arith::CmpIOp::create(emit, mlir::arith::CmpIPredicate::slt,
                                                     laneByte, emit.i32(rowBytes - step));
    return mlir::arith::SelectOp::create(emit, exists, offset,
                                         emit.i32(static_cast<int32_t>(kOutOfBounds)));
  }
  const int64_t rowBytes;
};

} // namespace hocket::lowering
