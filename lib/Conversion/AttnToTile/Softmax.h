// The online softmax of a loop over tiles of keys.
//
// Scores are scaled in f32 after the product. The running reference is a number for each row, subtracted in `exp2`.
#pragma once

#include "ExpansionBuilder.h"

#include <numbers>

namespace hocket {

class Softmax {
public:
  struct Options {
    tile::FragType weights; ///< those of a tile as they are multiplied with V
    bool exactSum = false; ///< the sum of the weights before rounding is kept too, for LSE
    bool integers = false; ///< products are sums in i32
    bool fewProducts = false; ///< of a tile: vector instructions take longer
    bool isScaled = false; ///< scores come scaled, in log2 units: `kScaledUnit` times what the user's are
  };
  static constexpr float kScaledUnit = std::numbers::log2e_v<float>;
  /// What a tile's settling gives to the steps behind it. Of weights of 8 bits `scores` are exponents.
  struct Settled {
    mlir::Value scores, reference, bound, factor, moved;
    llvm::SmallVector<mlir::Value> sums;
    mlir::Value raw, word; ///< the scores, and of weights of 4 bits the powers of their blocks
  };
  /// Packed weights, and their sums so far.
  struct Weights {
    mlir::Value packed;
    llvm::SmallVector<mlir::Value> sums;
  };

  explicit Softmax(const Options &options) : options(options) {}

  /// Q with the sign of the scale; `load` emits its load.
  mlir::Value prepareQuery(ExpansionBuilder &builder, mlir::Value userScale,
                           llvm::function_ref<mlir::Value()> load);
  /// Scores that come scaled are `factor` (positive) times what comes and `addend` (null: 0) more, in natural units;
  /// emitted in front of the loop, behind `prepareQuery`.
  void multiplyBy(ExpansionBuilder &builder, mlir::Value factor, mlir::Value addend);
  /// 1 / the size of the user's scale; emitted in front of the loop, behind `prepareQuery`.
  mlir::Value perScale(ExpansionBuilder &builder) const;
  /// What the products of each tile start from; emitted in front of the loop.
  mlir::Value noScores(ExpansionBuilder &builder) const;
  /// The scores that a tile's products are, in f32: of integers exact, and with the sign of the user's scale. `factors`, if
  /// there are any, are of equal parts of its keys.
  mlir::Value scoresOf(ExpansionBuilder &builder, mlir::Value products, mlir::ValueRange factors) const;
  /// The state that the loop carries, before the first tile: reference, bound and the sums. `zero`
  /// is a number 0 for each row.
  llvm::SmallVector<mlir::Value> initialState(ExpansionBuilder &builder, mlir::Value zero) const;
  /// The steps that make a tile's weights, in two halves, so that a schedule can put work between
  /// them. O is divided by the sum of the weights as they are multiplied with V: what rounding does
  /// to them cancels in the quotient, also where one key has nearly all the weight. LSE is the
  /// logarithm of what was not rounded. `drop(weights, firstKey)`, if given, is what V is multiplied with of the
  /// packed weights of some keys, number `firstKey` of the tile and those behind; sums are those of all.
  using Drop = llvm::function_ref<mlir::Value(mlir::Value weights, int64_t firstKey)>;
  /// How weights differ from those that V is multiplied with: some are dropped, and before that they are multiplied by
  /// `factors` of equal parts of a tile's keys. O is divided by sums of what was not rounded then.
  struct Changes {
    Drop drop;
    mlir::ValueRange factors = {};
  };
  /// The step that moves the reference to a tile's scores, where they grew too much, and what was summed with it.
  Settled settleStep(ExpansionBuilder &builder, mlir::Value scores, mlir::ValueRange state, const Changes &changes) const;
  Weights weightSteps(ExpansionBuilder &builder, const Settled &settled, const Changes &changes) const;
  /// Of weights of 4 bits what `tile.mma` multiplies their blocks by; else null.
  mlir::Value blockScales(ExpansionBuilder &builder, const Settled &settled) const;
  /// Whether the first sum of weights is one more column of O: rescaled with it, and added to where V is multiplied. Of 8
  /// bits, where V meets all as they are, the matrix unit sums, and is no place to wait for in between.
  bool sumsWithProduct(const Changes &changes) const;
  /// Weights have factors; emitted in front of the loop, behind `multiplyBy`.
  void scaleWeights(ExpansionBuilder &builder) { perUnit = mlir::arith::DivFOp::create(builder, builder.constant(1.0f), scale); }
  /// The sum of a row's weights, from what the loop ends with.
  mlir::Value total(ExpansionBuilder &builder, mlir::ValueRange state) const;
  /// What a row's weights count from, in log2 units of its scores.
  mlir::Value reference(ExpansionBuilder &builder, mlir::ValueRange state) const;
  /// The row's log-sum-exp; `total` is what `total` returned. With a number `sink`, that is one more score.
  mlir::Value logSumExp(ExpansionBuilder &builder, mlir::ValueRange state, mlir::Value total,
                        mlir::Value sink) const;

private:
  llvm::SmallVector<mlir::Value> weigh(ExpansionBuilder &builder, const Settled &settled, int64_t firstRow, int64_t rows,
                                       mlir::ValueRange sumsBefore, const Changes &changes) const;
  llvm::SmallVector<mlir::Value> weighBlocks(ExpansionBuilder &builder, const Settled &settled, int64_t firstRow, int64_t rows,
                                             mlir::ValueRange sumsBefore) const;
  bool areOfBlocks() const;
  mlir::Value timesFactors(ExpansionBuilder &builder, mlir::Value weights, int64_t firstRow, mlir::ValueRange factors) const;
  mlir::Value largestProduct(ExpansionBuilder &builder, mlir::Value max, mlir::ValueRange factors) const;

  mlir::Value scoresOfPart(ExpansionBuilder &builder, mlir::Value products, mlir::Value factor) const;
  mlir::Value signedFactors(ExpansionBuilder &builder, mlir::Value factors) const;
  mlir::Type packed(ExpansionBuilder &builder, int64_t keys) const;
  /// How far a row's scores may grow past its reference before it moves, and how far below its first largest score that
  /// begins, in log2 units.
  float threshold() const;
  bool exponentsApart() const;
  float raised() const;

  Options options;
  mlir::Value scale; ///< of scores, to log2 units; since `prepareQuery`
  mlir::Value sign;  ///< of the user's scale, by which products of integers are multiplied; since `prepareQuery`
  mlir::Value perUnit; ///< 1 / `scale`; since `scaleWeights`
  mlir::Value moved; ///< by how much scores are more than what comes, in log2 units; null: not at all
};

} // namespace hocket
