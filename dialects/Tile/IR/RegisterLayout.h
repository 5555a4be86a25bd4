// How numbers are spread over registers and lanes: the layout of fragments, rows and columns.
// Included by Tile.h; FragmentMap.h says what a layout means as a map over bits.
#pragma once

#include "Layout/Wave.h"

#include "llvm/ADT/Hashing.h"
#include "llvm/Support/MathExtras.h"

#include <cstdint>

namespace hocket::tile {
enum class FragLayout : uint32_t;

/// What is meant where a layout of an operand has elements of another type, which do not say it.
inline constexpr unsigned kUsualOperandBits = 16;

/// A layout and, of `lines`, its two numbers: consecutive elements in a lane, and lanes along a
/// memory row, both powers of two. They are 0 for layouts of the matrix instruction, but for `acc(8)` and `lhs_acc(8)`:
/// in those the operand's rows are in an order by which the accumulator has runs of 8 in a lane, not of 4.
struct RegisterLayout {
  FragLayout kind;
  int64_t run = 0, lanes = 0;
  /// Of layouts of operands: bits of the elements that the matrix instruction takes there, which say how many a lane has
  /// side by side. What else lies in such a layout (an f32 beside each element) lies as those do.
  unsigned operandBits = kUsualOperandBits;

  bool operator==(const RegisterLayout &) const = default;
  friend llvm::hash_code hash_value(const RegisterLayout &layout) {
    return llvm::hash_combine(static_cast<uint32_t>(layout.kind), layout.run, layout.lanes, layout.operandBits);
  }
};

} // namespace hocket::tile
