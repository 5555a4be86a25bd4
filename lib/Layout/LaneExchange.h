// Which lanes must exchange which registers so that a fragment can be stored in whole lines.
//
// Memory moves lines; an instruction that touches 32 rows with 16 bytes each moves 32 of them for
// the content of four. Where an element lies is a bit of the lane's number or of the register's
// (LinearLayout.h), and a wave can exchange one of either cheaply: lanes whose numbers differ in
// one bit swap, between registers whose numbers differ in one bit, what the other should have.
// So the accumulator of a 32x32 product, of which a lane holds four columns side by side and two
// lanes eight,
//
//   register: col 0, 1, 3, 4 (and 5 of the next block)      lane: row 0, 1, 2, 3, 4, col 2
//
// becomes, with lane 5 against register bit 2, lane 4 against 3 and lane 3 against 4,
//
//   register: col 0, 1, 2, row 4, 3                         lane: row 0, 1, 2, col 5, 4, 3
//
// eight columns in a lane and eight lanes side by side: rows of 128 bytes.
#pragma once

#include "Layout/LinearLayout.h"

#include <optional>
#include <span>

namespace hocket {

/// Lanes whose numbers differ in bit `laneBit` alone swap registers whose numbers differ in
/// `registerBit` alone: the lane without the bit gives the register with it, and the other way
/// round. Doing it twice changes nothing.
struct LaneExchange {
  unsigned laneBit = 0, registerBit = 0;
  bool operator==(const LaneExchange &) const = default;
};

/// What rearranges registers for stores of lines.
struct LinePlan {
  std::vector<LaneExchange> exchanges; ///< one after the other; of registers as they were numbered
  /// Bit i of a register's new number is bit `order[i]` of the old one.
  std::vector<unsigned> order;
  LinearLayout layout; ///< (new register, lane) -> (row, col)

  unsigned oldRegister(unsigned number) const;
};

/// Bytes of a line of memory, and the widest access of a lane.
inline constexpr unsigned kLineBytes = 128, kWidestAccessBytes = 16;

/// The exchanges after which a lane holds 16 bytes of a row in consecutive registers, and lanes that
/// differ in `laneBits` (the cheapest first) hold what follows, up to a line. `layout`: (register,
/// lane) -> (row, col), an element of `elementBytes` bytes in each register. Elements of less than a
/// dword are exchanged as dwords, so those that share one must lie side by side. Nothing if there
/// are no such exchanges, or none is needed.
std::optional<LinePlan> planLines(const LinearLayout &layout, unsigned elementBytes,
                                  std::span<const unsigned> laneBits);

} // namespace hocket
