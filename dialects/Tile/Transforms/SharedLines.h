// Operands that are loaded in lines, and pass through LDS that waves of both groups share.
//
// Lanes could exchange registers, but the vector unit is what is busy where items join, and LDS is not.
#pragma once

#include "Tile/IR/Tile.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

#include <optional>

namespace hocket::tile {

/// A part of LDS for a wave of each of two groups: bytes from `offset` on, and how many a part has.
struct SharedPart {
  int64_t offset = 0, bytes = 0;
};

/// How the rows and columns of memory of `frag` lie in registers if lanes lie along lines.
FragType linesOf(FragType frag);
/// Whether `value` is an operand that is loaded from whole rows.
bool isLoadedOperand(mlir::Value value);
/// What those of `loaded` that are such operands pass through, from byte `offset` of LDS on; none if there are none, or
/// LDS ends before.
std::optional<SharedPart> findSharedPart(KernelOp kernel, mlir::ValueRange loaded, int64_t offset);
/// `value` in another layout, by way of `part`.
mlir::Value convertThrough(mlir::ImplicitLocOpBuilder &builder, const SharedPart &part, mlir::Value value, FragType type);

} // namespace hocket::tile
