// dQ in the loop of a fused backward, which holds keys.
//
// A wave has dS of its own keys only, and dQ is a sum over all of the workgroup: waves put dS into LDS and read that of
// all keys, each for some queries and some columns of dQ, and multiply it with K, which stands in LDS for the whole loop.
// An iteration goes through several tiles of 32 queries, so that there are as many blocks of dQ as waves. Keys beyond the
// end would count there, so their dS is zero.
#pragma once

#include "BackwardProducts.h"
#include "QuerySums.h"

namespace hocket {

class FusedQueries {
public:
  FusedQueries(attn::BackwardOp op, const LoopContext &loop, const TileInTurn &turn) : sums(op), loop(loop), turn(turn) {}

  /// K of all waves to LDS, where it stays, and which keys there are: of the workgroup and the wave those from
  /// `blockRow` and `row` on. Returns how waves share the rows.
  tile::WaveGridOp hold(Operand &keys, mlir::Value batch, mlir::Value kvHead, mlir::Value blockRow, mlir::Value row);
  /// Where the wave's sums begin in iteration 0, of which `firstQuery` is the first query.
  void place(mlir::Value firstQuery);
  /// From here on sums are those of a head: `ofHead` is a view of `QuerySums`.
  void enterHead(mlir::Value ofHead) { sumsOfHead = ofHead; }

  /// `ds` of a tile, zero for keys that do not exist.
  mlir::Value existing(mlir::Value ds) const;
  /// Steps that add to dQ, times `scale` where sums are packed, what the workgroup's keys make of iteration `t`, of whose
  /// tiles `ofTiles` are dS of the wave's keys.
  void addSteps(mlir::Value t, const Operand &keys, mlir::ValueRange ofTiles, mlir::Value scale);

  const QuerySums sums;

private:
  void add(mlir::Value t, mlir::Value sum, int64_t count, mlir::Value scale) const;

  const LoopContext &loop;
  const TileInTurn &turn;
  tile::WaveGridOp waves, queryParts; ///< one behind the other, and over dQ's columns and queries
  mlir::Value keyExists;              ///< i32 for each key: all bits, or none
  mlir::Value dsRing;
  mlir::Value sumsOfHead, firstSums; ///< what dQ is added to, and where the wave's begins
};

} // namespace hocket
