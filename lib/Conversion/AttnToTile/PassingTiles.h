// The tiles that pass through LDS in a backward's loop: Q and dO where keys are held, else K and V.
#pragma once

#include "BackwardProducts.h"
#include "RingSteps.h"

namespace hocket {

/// One number for each query: LSE and delta, negated; where queries pass, views, or, of a tile, column values. Of delta
/// null where it is not needed.
struct RowNumbers {
  mlir::Value logSum, delta;
};

/// Those of the queries from `query` on, as `type`.
mlir::Value loadNumbers(ExpansionBuilder &builder, mlir::Value view, mlir::Type type, mlir::Value query);

class PassingTiles {
public:
  /// S is made of the first, dP of the second.
  PassingTiles(const LoopContext &loop, TileInTurn &turn, Operand first, Operand second)
      : loop(loop), turn(turn), operands{std::move(first), std::move(second)} {}

  Operand &operator[](size_t number) { return operands[number]; }
  /// Leaves of them the `count` rows from `first` on.
  void narrow(mlir::Value first, mlir::Value count);
  /// The rings of `head`; gradients of the first and of the second are wanted.
  void makeRings(mlir::Value batch, mlir::Value head, bool wantsFirst, bool wantsSecond);
  /// From here on tile `number` of those of an iteration is written.
  void take(int64_t number);
  /// Steps that fetch the tiles of iteration `t`; returns what `visit` carries to the next one. Of several tiles of an
  /// iteration those in turn.
  llvm::SmallVector<mlir::Value> fetchSteps(const TileVisit &visit, mlir::Value t);
  /// The numbers of the queries of tile `t`, of which `numbers` are views whose tile 0 begins with query `first`.
  RowNumbers numberSteps(const TileVisit &visit, mlir::Value t, mlir::Value first, const RowNumbers &numbers) const;

private:
  const LoopContext &loop;
  TileInTurn &turn;
  Operand operands[2];
};

} // namespace hocket
