// How numbers are spread over registers and lanes: the layout of fragments, rows and columns.
// Included by Tile.h; FragmentMap.h says what a layout means as a map over bits.
#pragma once

#include "llvm/ADT/Hashing.h"

#include <cstdint>

namespace hocket::tile {
enum class FragLayout : uint32_t;

/// A layout and, of `lines`, its two numbers: consecutive elements in a lane, and lanes along a
/// memory row, both powers of two. They are 0 for layouts of the matrix instruction, but for `acc(8)` and `lhs_acc(8)`:
/// in those the operand's rows are in an order by which the accumulator has runs of 8 in a lane, not of 4.
struct RegisterLayout {
  FragLayout kind;
  int64_t run = 0, lanes = 0;

  bool operator==(const RegisterLayout &) const = default;
  friend llvm::hash_code hash_value(const RegisterLayout &layout) {
    return llvm::hash_combine(static_cast<uint32_t>(layout.kind), layout.run, layout.lanes);
  }
};

} // namespace hocket::tile
