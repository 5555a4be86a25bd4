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
      : pageRows(op.getPageSize().value_or(0)), isLists(op.getPageLists()), far(op.getFarPages()),
        inVectors(op.getVectorPages()) {}

  bool isThere() const { return pageRows != 0; }
  /// Whether pools may be of any size.
  bool isFar() const { return far; }
  /// Whether elements of K lie in vectors of columns, and those of V in vectors of rows.
  bool isInVectors() const { return inVectors; }
  /// How many tiles ahead of the fetch pages are looked up: as many as rings hold, so that waiting for the numbers waits
  /// for no tile that is still on its way.
  static constexpr int64_t kAhead = 2;
  /// Places of rows can be found a tile ahead, too: where nothing hides what a fetch does before it asks for something.
  static constexpr int64_t kLocated = 1;

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

  /// A ring of tiles of `view`, which is K (`ofKeys`) or V, of `kvHead`.
  mlir::Value ring(ExpansionBuilder &builder, mlir::Type type, mlir::Value view, mlir::Value kvHead, bool ofKeys) const;
  /// The number of tile `t` in the sequence.
  mlir::Value number(ExpansionBuilder &builder, mlir::Value t) const;
  /// Where tile `t` of `ring` is.
  mlir::Value lookUp(ExpansionBuilder &builder, mlir::Value ring, mlir::Value t) const;
  /// Where its rows lie, of which `pages` were looked up, for kernels of so many waves.
  mlir::Value locate(ExpansionBuilder &builder, mlir::Value ring, mlir::Value pages, mlir::Value t, int64_t waves) const;

private:
  int64_t pageRows = 0;
  bool isLists = false, far = false, inVectors = false;
  mlir::Value table, keys, firstTile;
};

} // namespace hocket
