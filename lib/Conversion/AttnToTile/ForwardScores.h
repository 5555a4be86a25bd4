// What becomes of a tile's scores before the softmax, and of its weights after it, in a forward: modifications, masks and
// dropout.
#pragma once

#include "Dropout.h"
#include "Masks.h"
#include "Softmax.h"
#include "TileSides.h"
#include "TileVisit.h"
#include "WorkPartition.h"

namespace hocket {

class ForwardScores {
public:
  ForwardScores(attn::ForwardOp op, const LoopContext &loop, bool ownLengths);

  /// Whether all that modifications do is adding to scores, and these are sums of floats that nothing multiplies: products
  /// begin with that.
  static bool beginsProducts(attn::ForwardOp op);
  /// Whether modifications leave scores in log2 units.
  bool areScaled() { return op.getScoreMods().has_value() && !beginsProducts(op); }
  /// Has `softmax` do what the last modification ends with, in place of the modification. After `prepare`.
  void moveTailTo(Softmax &softmax);
  /// Whether there is more than `mask`, so that positions count.
  bool areModified() {
    return op.getDropout() || op.getKeyBlock() || op.getDescaleKeys() || op.getDescaleValues() || op.getMx() || !mods.empty() || masks.any();
  }
  /// Whether later rows see more keys, as far as is known, so that their workgroups have more to do.
  bool laterRowsSeeMore() const { return masks.range.laterRowsSeeMore() || masks.any(); }

  /// What dropout takes, and what modifications capture.
  void addDropout(KernelFrame &frame);
  mlir::LogicalResult addArguments(KernelFrame &frame);
  void bindArguments(const KernelFrame &frame);

  /// Emits, in front of the loop, where the wave's scores of the `keys` keys are, and what follows for all tiles. Only
  /// where they are modified.
  void prepare(const WorkPartition &work, mlir::Value q, mlir::Value keys);
  /// From here on keys count from `firstKey`.
  void moveTo(mlir::Value firstKey) { place.key = firstKey; }
  /// What makes scores of products.
  void setScale(mlir::Value ofProducts) { scale = ofProducts; }
  /// Products begin with what modifications add; `ofScale` is 1 / scale. And what they begin with otherwise.
  void beginProducts(mlir::Value ofScale) { perScale = ofScale; }
  void startFrom(mlir::Value none) { noScores = none; }
  /// Where rows of the workgroup, or of the wave, may see keys.
  llvm::SmallVector<KeyBounds> visibleTo(const WorkPartition &work);
  llvm::SmallVector<KeyBounds> visibleToWave() { return masks.visible(loop.builder, place, waveRows); }

  // Steps, or parts of them, of tile `t` of a visit.
  /// Begins to load what modifications read for each score, in a step of its own, if there is any.
  void loadStep(const TileVisit &visit, mlir::Value t);
  /// What the product begins with, in a step of its own, if there is any.
  mlir::Value startStep(const TileVisit &visit, mlir::Value t);
  /// The first key of the wave's scores.
  mlir::Value firstKey(const TileVisit &visit, mlir::Value t) { return placeOf(visit.number(loop.builder, t)).key; }
  /// The scores modified, and masked last.
  mlir::Value modify(const TileVisit &visit, mlir::Value raw, mlir::Value t);
  /// The weights of keys from number `firstKey` of the tile on that meet V.
  mlir::Value drop(const TileVisit &visit, mlir::Value weights, mlir::Value t, int64_t firstKey);
  /// Of a sum of weights what those that are kept make of it.
  mlir::Value kept(mlir::Value sum) { return dropout ? dropout->shareOf(loop.builder, sum) : sum; }
  bool drops() { return op.getDropout(); }

  Masks masks;

private:
  QueryRange rowsFrom(mlir::Value first, mlir::Value count);
  ScorePlace placeOf(mlir::Value number);
  TileExtent extentOf(const ScorePlace &here);

  attn::ForwardOp op;
  const LoopContext &loop;
  bool ownLengths;
  llvm::SmallVector<std::unique_ptr<ModificationProgram>> mods;
  std::optional<Dropout> dropout;
  ScorePlace place;             ///< of the first key
  mlir::Value lastQuery, lastKey; ///< that there are
  QueryRange waveRows;
  mlir::Value scale, perScale, noScores;
  bool hasTail = false; ///< whether the last modification leaves a product and a sum to the softmax
};

} // namespace hocket
