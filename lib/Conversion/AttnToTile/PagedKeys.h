// K and V in pages: which ones a sequence has, and which rows of them a workgroup works on.
#pragma once

#include "ExpansionBuilder.h"
#include "KernelFrame.h"

#include "Attn/IR/Attn.h"

namespace hocket {

class PagedKeys {
public:
  /// Nothing is looked up without pages.
  PagedKeys() = default;
  explicit PagedKeys(attn::ForwardOp op)
      : pageRows(op.getPageSize().value_or(0)), isLists(op.getPageLists()) {}

  bool isThere() const { return pageRows != 0; }
  /// How many tiles ahead of the fetch pages are looked up: as many as rings hold, so that waiting for the numbers waits
  /// for no tile that is still on its way.
  static constexpr int64_t kAhead = 2;

  /// K or V; `name` is one of these.
  static Tensor tensor(llvm::StringRef name);
  /// The tables, and what they and the pool must fulfil.
  void addArguments(KernelFrame &frame) const;
  /// Finds the pages of sequence `batch`; `used` (null: all) are its rows.
  void enter(ExpansionBuilder &builder, const KernelFrame &frame, mlir::Value batch, mlir::Value used);
  /// The sequence's keys.
  mlir::Value count() const { return keys; }
  /// From here on tiles count from number `first` of those before; `size` keys of theirs are left at most.
  void moveTo(ExpansionBuilder &builder, mlir::Value first, int64_t kvTile, mlir::Value size);
  /// How many keys are left behind `moveTo`.
  mlir::Value left(ExpansionBuilder &builder, int64_t kvTile) const;

  /// A ring of tiles of `view`, of `kvHead`.
  mlir::Value ring(ExpansionBuilder &builder, mlir::Type type, mlir::Value view, mlir::Value kvHead) const;
  /// The number of tile `t` in the sequence.
  mlir::Value number(ExpansionBuilder &builder, mlir::Value t) const;
  /// Where tile `t` of `ring` is.
  mlir::Value lookUp(ExpansionBuilder &builder, mlir::Value ring, mlir::Value t) const;

private:
  int64_t pageRows = 0;
  bool isLists = false;
  mlir::Value table, keys, firstTile;
};

} // namespace hocket
