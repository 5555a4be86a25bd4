// The online softmax of a loop over tiles of keys, in two forms that an expansion uses alike.
//
// *Exact*: scores are scaled in f32 after the product. The running reference is a number for each
// row, subtracted in `exp2`.
//
// *Fast*: the scale is multiplied into Q and rounded with it, and the product starts from the
// negated reference, spread over a block of scores, so that scores come out of it in log2 units and
// counted from the reference.
#pragma once

#include "ExpansionBuilder.h"

#include <memory>

namespace hocket {

class Softmax {
public:
  struct Options {
    int64_t kvTile = 0;
    mlir::Type element;    ///< of the weights as they are multiplied with V
    bool exactSum = false; ///< the sum of the weights before rounding is kept too, for LSE
    bool isScaled = false; ///< scores come scaled
  };
  /// What a tile's settling gives to the steps behind it.
  struct Settled {
    mlir::Value scores, reference, bound, factor, moved;
    llvm::SmallVector<mlir::Value> sums;
  };
  /// Packed weights, and their sums so far.
  struct Weights {
    mlir::Value packed;
    llvm::SmallVector<mlir::Value> sums;
  };

  static std::unique_ptr<Softmax> create(bool fast, const Options &options);
  virtual ~Softmax();

  /// Q with the sign, or all, of the scale; `load` emits its load.
  virtual mlir::Value prepareQuery(ExpansionBuilder &builder, mlir::Value scale,
                                   llvm::function_ref<mlir::Value()> load) = 0;
  /// Emits, in front of the loop, what all of its tiles start from.
  virtual void prepareLoop(ExpansionBuilder &builder) = 0;
  /// The state that the loop carries, before the first tile: reference, bound and the sums. `zero`
  /// is a number 0 for each row.
  virtual llvm::SmallVector<mlir::Value> initialState(ExpansionBuilder &builder,
                                                      mlir::Value zero) = 0;
  /// What the scores of a tile start from, given the carried state.
  virtual mlir::Value firstScores(ExpansionBuilder &builder, mlir::ValueRange state) = 0;
  /// The step that moves the reference to a tile's scores, where they grew too much.
  Settled settleStep(ExpansionBuilder &builder, mlir::Value scores, mlir::ValueRange state);
  /// The steps that make a tile's weights, in two halves, so that a schedule can put work between
  /// them. O is divided by the sum of the weights as they are multiplied with V: what rounding does
  /// to them cancels in the quotient, also where one key has nearly all the weight. LSE is the
  /// logarithm of what was not rounded. `drop(weights, firstKey)`, if given, is what V is multiplied with of the
  /// weights (f32) of some keys, number `firstKey` of the tile and those behind; sums are those of all.
  using Drop = llvm::function_ref<mlir::Value(mlir::Value weights, int64_t firstKey)>;
  Weights weightSteps(ExpansionBuilder &builder, const Settled &settled, Drop drop);
  /// The sum of a row's weights, from what the loop ends with.
  mlir::Value total(ExpansionBuilder &builder, mlir::ValueRange state);
  /// What a row's weights count from, in log2 units.
  mlir::Value reference(ExpansionBuilder &builder, mlir::ValueRange state) {
    return rowReference(builder, state[0]);
  }
  /// The row's log-sum-exp; `total` is what `total` returned. With a number `sink`, that is one more score.
  mlir::Value logSumExp(ExpansionBuilder &builder, mlir::ValueRange state, mlir::Value total,
                        mlir::Value sink);

protected:
  explicit Softmax(const Options &options) : options(options) {}
  tile::FragType scoresType(ExpansionBuilder &builder) const {
    return builder.frag(options.kvTile, kWaveRows, builder.getF32Type(), tile::FragLayout::Acc);
  }
  /// The body of the step: reference, bound, factor, moved, sums and, if they change, the scores.
  virtual llvm::SmallVector<mlir::Value> settle(ExpansionBuilder &builder, mlir::Value scores,
                                                mlir::ValueRange state) = 0;
  /// Whether `settle` returns the scores too.
  virtual bool settlesScores() const = 0;
  /// exp2 of scores.
  virtual mlir::Value exponentiate(ExpansionBuilder &builder, mlir::Value scores,
                                   mlir::Value reference) = 0;
  /// The reference as a number for each row.
  virtual mlir::Value rowReference(ExpansionBuilder &builder, mlir::Value reference) = 0;

  Options options;

private:
  llvm::SmallVector<mlir::Value> weigh(ExpansionBuilder &builder, mlir::Value scores,
                                       int64_t firstRow, int64_t rows, mlir::Value reference,
                                       mlir::ValueRange sumsBefore, Drop drop);
};

} // namespace hocket
