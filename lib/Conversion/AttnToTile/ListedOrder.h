// Which block of queries a workgroup takes where lists say what each of them sees: those with most blocks of keys first.
//
// A list is data, and so is the order that follows from it. A workgroup finds its own block by itself, from the counts of
// its head's lists, which serves lists from anywhere and asks nothing of who brings them. Whatever the counts are, the
// order has every block once.
#pragma once

#include "ExpansionBuilder.h"

namespace hocket {

/// Where lists say how many blocks of keys a block of queries sees: views [batch, heads, blocks of queries] of i32.
struct BlockCounts {
  mlir::Value partial, full;
  mlir::Value most; ///< more than so many do not count (i32)
};

class ListedOrder {
public:
  /// Of blocks of `rows` queries. `resident`: how many workgroups the chip has room for at least; orders of fewer
  /// matter little, and are left as they are.
  ListedOrder(const BlockCounts &counts, int64_t rows, int64_t resident)
      : counts(counts), rows(rows), resident(resident) {}

  /// The first row of the block that starts as the one at `row` would.
  mlir::Value rowInstead(ExpansionBuilder &builder, mlir::Value batch, mlir::Value head, mlir::Value row) const;

private:
  mlir::Value keysOf(ExpansionBuilder &builder, mlir::Value batch, mlir::Value head, mlir::Value first,
                     mlir::Value count) const;
  mlir::Value blockInstead(ExpansionBuilder &builder, mlir::Value batch, mlir::Value head, mlir::Value block,
                           mlir::Value blocks) const;

  BlockCounts counts;
  int64_t rows, resident;
};

} // namespace hocket
