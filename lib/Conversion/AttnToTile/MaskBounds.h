// Where a predicate on queries and keys can be true, and where it must be, as code that computes with numbers.
//
// The terms of a predicate (MaskTerms.h) are inequalities in a query and a key, of which a block of rows knows the
// queries: those that can be seen are found by eliminating the query, one range of keys for each term. That is exact
// where query and key have factors of 1 or -1 (or, in all of a term, the key divided by the same number), and never
// leaves out a key that is seen. The same the other way round: of a block of keys those queries that see one.
//
// *Which keys.* Those in a range of a term of all masks together.
//
// *Which tiles whole.* Those with no key in a range of a term of the opposite: nothing is hidden there.
#pragma once

#include "MaskTerms.h"

namespace hocket {

/// Keys [lo, hi); null: without a bound on that side.
struct KeyBounds {
  mlir::Value lo, hi;
};
/// Of more ranges than these the last ones are joined.
inline constexpr size_t kMaxKeyRanges = 8;

/// Queries, both ends included.
struct QueryRange {
  mlir::Value first, last;
};

class MaskBounds {
public:
  explicit MaskBounds(ModificationProgram &program) : program(program) {}

  /// Where the numbers of the predicate stand, for all tiles.
  void prepare(const ScorePlace &here) { place = here; }
  /// Emits what `isCut` and `hide` need of the wave's rows, in front of the loop.
  void prepareCuts(ExpansionBuilder &builder, QueryRange rows);
  /// Cuts no tile for keys behind a diagonal that `other`, which is asked of the same scores, hides too. Both have
  /// prepared cuts for the same rows.
  void leaveTo(ExpansionBuilder &builder, const MaskBounds &other);
  /// Whether (i1) a pair of the wave's rows and the keys `first` to `last` is hidden. Needs `prepareCuts`.
  mlir::Value isCut(ExpansionBuilder &builder, mlir::Value first, mlir::Value last) const;
  /// The scores `here` of the keys up to `last`, -inf where they are hidden; `counts` (i1, null: always) where the mask
  /// counts at all. Needs `prepareCuts`.
  mlir::Value hide(ExpansionBuilder &builder, mlir::Value scores, const ScorePlace &here, mlir::Value last,
                   mlir::Value counts) const;

  /// Ranges outside of which no query of `rows` sees a key, of all of `masks` together; at most kMaxKeyRanges.
  static llvm::SmallVector<KeyBounds> visible(ExpansionBuilder &builder, llvm::ArrayRef<MaskBounds *> masks,
                                              QueryRange rows);
  /// The same of queries, of which there are `queries`: none outside of the ranges sees one of the keys `keys`, both
  /// ends included.
  static llvm::SmallVector<KeyBounds> visibleQueries(ExpansionBuilder &builder, llvm::ArrayRef<MaskBounds *> masks,
                                                     QueryRange keys, QueryRange queries);

private:
  class Elimination;
  static llvm::SmallVector<KeyBounds> visible(ExpansionBuilder &builder, llvm::ArrayRef<MaskBounds *> masks,
                                              Elimination elimination);
  /// One of the predicates of which all must hold, and what it hides from the wave's rows.
  struct Part {
    mlir::Value predicate;
    llvm::SmallVector<KeyBounds> hidden;
    bool isBehindDiagonal; ///< hidden is a single range without an end, which moves with the query
  };
  mlir::Value isCut(ExpansionBuilder &builder, const Part &part, mlir::Value first, mlir::Value last) const;

  ModificationProgram &program;
  ScorePlace place;
  llvm::SmallVector<Part> parts;
};

} // namespace hocket
