// What hides keys from queries, of an expansion: the masks of `mask_mod`, and what `mask` says.
//
// Every mask is a program (ModificationProgram.h). Which tiles are visited, and which of those a mask cuts, follows from
// the inequalities of its predicate (MaskBounds.h). Two kinds have a faster lowering, for which no predicate is evaluated:
// the end of the keys, and `mask` where it hides the keys beyond a diagonal, since `tile.mask` compares numbers that a wave
// has once and the loop knows from the tile's number which tiles they cut (Visibility.h).
#pragma once

#include "LoopContext.h"
#include "MaskBounds.h"
#include "ModificationProgram.h"
#include "Visibility.h"

namespace hocket {

class Masks {
public:
  struct Options {
    Orientation orientation = Orientation::QueriesInRows;
    bool ownLengths = false; ///< sequences have lengths of their own
    bool listed = false;     ///< tiles come in any order
    bool keysHeld = false;   ///< queries pass: `mask` is the loop's business, unless tiles come in any order
    bool narrows = false;    ///< `visible` is asked for
    int64_t rows = 0;        ///< of a workgroup
    bool ofPairs = false;    ///< rows are pairs of a query and a head, so that a diagonal has steps
  };
  /// `symbols` are those of `op`'s `mask_mod`.
  Masks(mlir::Operation *op, attn::VisibilityAttr mask, std::optional<mlir::ArrayAttr> symbols, tile::FragType scores,
        const Options &options);

  bool any() const { return !mods.empty(); }
  /// The programs of `mask`, and those of `mask_mod`, that a kernel has.
  llvm::SmallVector<ModificationProgram *> own() const;
  llvm::SmallVector<ModificationProgram *> custom() const;

  /// Emits, in front of the loop, what all tiles need, and what is known of the wave's rows.
  void prepare(ExpansionBuilder &builder, const ScorePlace &place);
  void prepareCuts(ExpansionBuilder &builder, QueryRange rows);
  /// Ranges outside of which no query of `rows` sees a key, one at least.
  llvm::SmallVector<KeyBounds> visible(ExpansionBuilder &builder, const ScorePlace &place, QueryRange rows);
  /// The same of queries that see one of `keys`.
  llvm::SmallVector<KeyBounds> visibleQueries(ExpansionBuilder &builder, QueryRange keys, QueryRange queries);

  /// Where tiles come in any order: the scores `here` of keys up to `last`, whether they exist or not, hidden by `mask`
  /// and where keys end, which `mayEnd` (i1) in the tile.
  mlir::Value hideOwn(ExpansionBuilder &builder, mlir::Value scores, const ScorePlace &here, mlir::Value last,
                      llvm::function_ref<mlir::Value()> mayEnd) const;
  /// The scores `here` of keys up to `last`, hidden by `mask_mod`, which counts where `counts` (i1; null: it does).
  mlir::Value hide(ExpansionBuilder &builder, mlir::Value scores, const ScorePlace &here, mlir::Value last,
                   mlir::Value counts) const;
  /// The bounds of `custom()`.
  llvm::ArrayRef<MaskBounds> bounds() const { return modBounds; }

  /// Where keys end, and the diagonal beyond which they are hidden.
  Visibility range;

private:
  using Programs = llvm::SmallVector<std::unique_ptr<ModificationProgram>>;
  void add(Programs &programs, mlir::Operation *mask, bool isMade);

  tile::FragType scores;
  Options options;
  Programs mods, ofMask;
  llvm::SmallVector<MaskBounds> modBounds, maskBounds;
  std::unique_ptr<ModificationProgram> end;    ///< of the keys, where tiles come in any order
  std::unique_ptr<ModificationProgram> beside; ///< the diagonal, where it and other masks narrow what is visited
};

} // namespace hocket
