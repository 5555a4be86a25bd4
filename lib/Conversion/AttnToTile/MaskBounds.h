// Where a predicate on queries and keys can be true, and where it must be: interval analysis of its
// region, as code that computes with numbers.
//
// *Which keys.* Each comparison of a sum with the key in it, or with the key divided by a constant,
// bounds the keys that a block of rows can see; `and` intersects such ranges, `or` unites them, up to
// two, and what is not understood bounds nothing. Sums are of positions, constants and whatever does not
// depend on the key.
//
// *Which tiles whole.* A predicate that must be true of the rows of a wave and the keys of a tile
// needs no mask. Intervals of both sides of each comparison say so, in three values.
//
// Numbers are 32 bits wide here as in the region. What might wrap in either is not understood.
#pragma once

#include "ModificationProgram.h"

namespace hocket {

/// The integers [min, max] that a number is known to lie in whatever the problem, and two numbers that
/// it lies between in this one.
struct Interval {
  mlir::Value lo, hi;
  int64_t min = 0, max = 0;
  bool isKnown() const { return lo != nullptr; }
};

/// Keys [lo, hi); null: without a bound on that side.
struct KeyBounds {
  mlir::Value lo, hi;
};

/// Queries and keys, both ends included; without keys only what does not depend on them is known.
struct PositionBox {
  mlir::Value firstQuery, lastQuery, firstKey, lastKey;
};

class MaskBounds {
public:
  explicit MaskBounds(ModificationProgram &program) : program(program) {}

  /// Emits the numbers that the others need, where they stand for all tiles.
  void prepare(ExpansionBuilder &builder, const ScorePlace &place);
  /// One or two ranges outside of which no query of `box` sees a key.
  llvm::SmallVector<KeyBounds, 2> visible(ExpansionBuilder &builder, const PositionBox &box);
  /// Whether (i1) not all pairs of `box` are known to be seen.
  mlir::Value isCut(ExpansionBuilder &builder, const PositionBox &box);

private:
  class Analysis;
  ModificationProgram &program;
  llvm::DenseMap<mlir::Value, mlir::Value> numbers;
};

/// The keys in both, and in either: at most two ranges.
llvm::SmallVector<KeyBounds, 2> intersect(ExpansionBuilder &builder,
                                          llvm::ArrayRef<KeyBounds> a,
                                          llvm::ArrayRef<KeyBounds> b);
llvm::SmallVector<KeyBounds, 2> unite(ExpansionBuilder &builder, llvm::ArrayRef<KeyBounds> a,
                                      llvm::ArrayRef<KeyBounds> b);

} // namespace hocket
