// Absolute values of sums of query and key, on tiles of which all lies on one side of 0.
//
// Distances are such: where a tile lies wholly before the diagonal, or behind it, |query - key| is the difference times
// 1 or -1, and what is made of it is linear in registers (tile.map), an instruction for two elements.
#pragma once

#include "ModificationProgram.h"

namespace hocket {

/// Queries and keys of a wave's scores, ends included.
struct TileExtent {
  mlir::Value firstQuery, lastQuery, firstKey, lastKey;
};

/// What absolute values are on a tile.
struct TileSides {
  mlir::Value areKnown; ///< i1: every sum lies on one side of 0
  /// By the op that takes an absolute value: the factor, of its operand's type, that does the same where `areKnown`.
  llvm::DenseMap<mlir::Operation *, mlir::Value> signs;
};

/// Emits what is known of the absolute values that `program` takes in `extent`; nothing if there are none of sums.
std::optional<TileSides> sidesOf(ExpansionBuilder &builder, ModificationProgram &program, const ScorePlace &place,
                                 const TileExtent &extent);

/// Whether reads at computed places may find anything on the tile (i1, emitted), where all of `values` are zero if they do
/// not: reads of `program` that are gathered, and sums of them. Null where that is not known.
mlir::Value mayBeFound(ExpansionBuilder &builder, ModificationProgram &program, llvm::ArrayRef<mlir::Value> values,
                       const ScorePlace &place, const TileExtent &extent);

} // namespace hocket
