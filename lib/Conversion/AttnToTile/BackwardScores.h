// What every kernel of a backward that looks at scores makes of a tile of them: P, recomputed from LSE, masked, dropped
// as in the forward, and dS, the gradient of the scaled scores or of what a modification captures.
//
// Either queries or keys are held, the columns of its fragments; the others pass, a tile at a time.
//
// Rows that do not exist contribute nothing where they pass: queries beyond the end arrive as zeros, with delta and
// LSE of zero, so that P = 1 meets dO = 0, or are masked, where scores are modified; keys beyond the end are masked.
// Held, they are not stored.
//
// With dropout P has the sign of what becomes of a weight: one that is dropped has no part in dV, and dP = 0. All
// gradients are those times the share that is kept until they are stored.
#pragma once

#include "BackwardFrame.h"
#include "BlockLists.h"
#include "Dropout.h"
#include "Masks.h"
#include "ShownQueries.h"

#include "Conversion/TileShape.h"
#include "Target/Arch/ArchInfo.h"

namespace hocket {

/// Whether the part holds keys, so that queries pass.
bool areKeysHeld(attn::BackwardOp op);

class BackwardScores {
protected:
  BackwardScores(attn::BackwardOp op, const ArchInfo &arch, TileShape shape);

  /// A modification of scores and its derivative; none where that is 1 everywhere, or does not count.
  struct ScoreProgram {
    std::unique_ptr<ModificationProgram> value, derivative;
  };

  bool holdsKeys() { return areKeysHeld(op); }
  bool wantsFirst() { return op.getPart() != attn::BackwardPart::Dv; }
  bool wantsSecond() {
    return op.getPart() == attn::BackwardPart::DkDv || op.getPart() == attn::BackwardPart::Dv || isFused();
  }
  mlir::Type elementType() { return op.getElementType(); }
  bool isFused() { return op.getPart() == attn::BackwardPart::Fused; }
  bool hasOwnLengths() const { return problem.sequences().hasOwnLengths(); }

  // In front of the kernel.
  mlir::LogicalResult findScores();
  llvm::SmallVector<ModificationProgram *> programs();
  /// What lists and modifications take; and, of the kernel's arguments, that and what dropout takes.
  mlir::LogicalResult addArguments();
  void bindArguments();
  /// How the arguments of a loop come to it, of which so many workgroups share a compute unit.
  void setAttributes(tile::KernelOp kernel, std::optional<int64_t> workgroups);

  // In front of the loop: positions count from the first `query` and `key`.
  void preparePositions(mlir::Value query, mlir::Value key);
  /// One of the row statistics of the head's queries, as a view.
  mlir::Value statistic(int64_t number);

  // Of tile `t`.
  ScorePlace placeOf(mlir::Value t);
  /// With lists, what they say of a tile: its block, and whether masks count there (i1).
  struct Listed {
    mlir::Value block, isPartial;
  };
  llvm::SmallVector<mlir::Value> exponents(mlir::Value raw, mlir::Value minusLogSum, mlir::Value t, Listed listed = {});
  /// The weights of what `exponents` gave: for dS, in f32, with their dropout's sign and, without dropout, times the
  /// `slope` (null: 1); for dV, packed. Those that are wanted.
  llvm::SmallVector<mlir::Value> weights(mlir::ValueRange exponents, mlir::Value slope, mlir::Value t);
  /// dS in f32 of dP and -delta, or of their sum (`minusDelta` is null then); `slope` only with dropout, where it is not
  /// part of the weights.
  mlir::Value gradients(mlir::Value weightGradients, mlir::Value minusDelta, mlir::Value marked, mlir::Value slope);
  /// A function of the elements of `inputs`, for each score.
  mlir::Value mapScores(mlir::ValueRange inputs, llvm::function_ref<mlir::Value(mlir::ValueRange)> element) {
    return builder.map(scoresType, inputs, element);
  }

  attn::BackwardOp op;
  const ArchInfo &arch;
  TileShape shape;
  ExpansionBuilder builder;
  tile::FragType scoresType;
  llvm::SmallVector<ScoreProgram> scores;
  Masks masks;
  std::optional<Dropout> dropout;
  std::optional<BlockLists> lists;
  BackwardFrame problem;

  mlir::Value batch, head, kvHead, blockRow, row; ///< the first row of the workgroup and of the wave
  mlir::Value q, k, statistics;                   ///< of the sequence
  /// What does not change from tile to tile.
  struct Fixed {
    ScorePlace first; ///< where the wave's scores of tile 0 stand
    mlir::Value lastQuery, lastKey;
    mlir::Value noScores, log2Scale;
    bool hasGaps = false; ///< tiles are left out between others
  } fixed;
  ShownQueries shown; ///< where queries pass

private:
  mlir::Value hideBeyond(mlir::Value scaled, mlir::Value t);
  mlir::Value hideListed(mlir::Value scaled, mlir::Value t, Listed listed);
  mlir::Value modified(mlir::Value raw, mlir::Value minusLogSum, const ScorePlace &here, mlir::Value &slope);
};

} // namespace hocket
