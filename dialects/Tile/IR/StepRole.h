// What steps are for, read off the ops that they hold: passes and rules that want "the step that
// reads K" or "its product" ask this, so that names are for schedules and people alone.
#pragma once

#include "Tile/IR/Tile.h"

namespace hocket::tile {

/// What a step does. Rings are in the order of the ops.
struct StepRole {
  llvm::SmallVector<mlir::Value> brings; ///< rings that it loads, fetches or puts tiles of
  llvm::SmallVector<mlir::Value> reads;  ///< rings that it reads tiles of from LDS
  bool multiplies = false;               ///< on the matrix unit
  int64_t loads = 0; ///< instructions of loads into registers that it begins for others, at least

  /// Whether all that it does is to bring what others need nearer.
  bool onlyBrings() const { return reads.empty() && !multiplies && (loads != 0 || !brings.empty()); }
};

StepRole roleOf(StepOp step);

/// A tile of a ring as an operand in registers: from the step that reads it to the steps that
/// multiply with it.
struct OperandUse {
  mlir::Value ring;
  StepOp read;
  llvm::SmallVector<StepOp> products; ///< in the order of the loop
};

/// The operands that steps of `loop` read from rings and others multiply with, in the loop's order.
llvm::SmallVector<OperandUse> operandUses(ForTilesOp loop);

} // namespace hocket::tile
