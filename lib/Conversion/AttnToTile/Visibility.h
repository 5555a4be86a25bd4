// Which keys a query sees, as code: one definition from which the tiles to visit, the masks, what
// the loop knows of its tiles, and what the kernel asks of a problem come.
#pragma once

#include "ExpansionBuilder.h"
#include "KernelFrame.h"

#include "Attn/IR/Attn.h"

namespace hocket {

/// The visibility of one workgroup: rows `blockRow` to `blockRow` + `rows` - 1 of Q, and keys that
/// count from the first of the view of K that the workgroup works on.
class Visibility {
public:
  Visibility(attn::VisibilityAttr attr, int64_t rows) : attr(attr), rows(rows) {}

  /// Whether all rows of a wave are of one query, and the workgroup has `queries` of them, is known in the kernel
  /// (`isGroup`, i1); otherwise it is as if there were no such thing.
  void mix(mlir::Value isGroup, int64_t queries) { ofGroup = isGroup, groupQueries = queries; }

  /// What a range of keys does not say is a modification's business (ModificationProgram.h).
  bool isWindow() const { return attr.getLeft() || (attr.getRight() && !attr.isCausal()); }
  /// How many keys there are, after `measure` or `moveTo`.
  mlir::Value keyCount() const { return keys; }
  /// Whether later rows see more keys, so that their workgroups have more to do.
  bool laterRowsSeeMore() const { return attr.getRight().has_value(); }
  void addRequirements(KernelFrame &frame) const;

  /// There are `count` keys; and where the last visible keys of q's rows are. Once only.
  void measure(ExpansionBuilder &builder, mlir::Value q, mlir::Value count);
  /// Behind the last of the keys that a row of the workgroup sees.
  mlir::Value end(ExpansionBuilder &builder, mlir::Value blockRow);
  /// From here on keys count from `firstKey` of those before; `count` are left of them.
  void moveTo(ExpansionBuilder &builder, mlir::Value firstKey, mlir::Value count);
  /// What masks need, for the rows from `row` on, those of a wave.
  void prepareMasks(ExpansionBuilder &builder, mlir::Value row);

  /// The scores of tile number `tile` with those hidden that their row does not see.
  mlir::Value mask(ExpansionBuilder &builder, mlir::Value scores, mlir::Value tile);
  /// Which bounds cut the tiles of a loop that visits all keys up to `end`.
  llvm::SmallVector<tile::TileCut> cuts() const;

private:
  /// Behind the last key that one of `count` rows from `first` on sees.
  mlir::Value behindRows(ExpansionBuilder &builder, mlir::Value first, mlir::Value count);

  attn::VisibilityAttr attr;
  int64_t rows;
  mlir::Value ofGroup; ///< whether a wave has one query, where that is known in the kernel
  int64_t groupQueries = 0;
  mlir::Value below;    ///< of the wave's one query: behind the last key that it sees
  mlir::Value keys;     ///< how many there are
  mlir::Value shift;    ///< row i of Q sees keys up to i + shift; null: all
  mlir::Value diagonal; ///< the last key that the wave's first row sees; null: all
};

} // namespace hocket
