// The online softmax of a loop over tiles of keys.
#include "Softmax.h"

#include "Sink.h"

#include <limits>
#include <numbers>

using namespace mlir;
using namespace hocket;
using tile::FragLayout;

/// How far, in log2 units, a row's scores may grow past its reference before it moves.
static constexpr float kThreshold = 8.0f;
/// The smallest scale used. Keeps (-inf) * scale at -inf when the user's scale is 0.
static constexpr float kMinScale = 0x1p-100f;
/// Both halves of a tile are whole accumulator blocks; of a single one, the second is empty.
static constexpr int64_t kKeyBlock = 32;

Softmax::~Softmax() = default;

/// `first`, and behind it the sums as they are after a move by `factor`.
static SmallVector<Value> withRescaledSums(ExpansionBuilder &builder, SmallVector<Value> first,
                                           ValueRange sums, Value factor, Value moved) {
  auto rescaled = tile::RescaleOp::create(builder, sums.getTypes(), sums, factor, moved);
  llvm::append_range(first, rescaled.getResults());
  return first;
}

namespace {
class ExactSoftmax : public Softmax {
public:
  explicit ExactSoftmax(const Options &options) : Softmax(options) {}

  /// A negative scale moves its sign into Q, so that the maximum of the scaled scores is the scaled
  /// maximum.
  Value prepareQuery(ExpansionBuilder &builder, Value userScale,
                     function_ref<Value()> load) override {
    if (options.isScaled) {
      scale = builder.constant(std::numbers::log2e_v<float>);
      return load();
    }
    Value zero = builder.constant(0.0f);
    Value negative = arith::CmpFOp::create(builder, arith::CmpFPredicate::OLT, userScale, zero);
    Value opposite = arith::NegFOp::create(builder, userScale);
    Value magnitude = arith::SelectOp::create(builder, negative, opposite, userScale);
    Value inLog2 =
        arith::MulFOp::create(builder, magnitude, builder.constant(std::numbers::log2e_v<float>));
    scale = arith::MaxNumFOp::create(builder, inLog2, builder.constant(kMinScale));
    return tile::NegateOp::create(builder, load(), negative);
  }

  void prepareLoop(ExpansionBuilder &builder) override {
    noScores = builder.fill(scoresType(builder), 0.0f);
  }

  SmallVector<Value> initialState(ExpansionBuilder &builder, Value zero) override {
    SmallVector<Value> state = {
        zero, builder.fill(builder.rows(), -std::numeric_limits<float>::infinity()), zero};
    if (options.exactSum)
      state.push_back(zero);
    return state;
  }

  Value firstScores(ExpansionBuilder &, ValueRange) override { return noScores; }

  SmallVector<Value> settle(ExpansionBuilder &builder, Value scores, ValueRange state) override {
    Value max = tile::RowMaxOp::create(builder, builder.rows(), scores);
    auto settle = tile::SettleOp::create(builder, max, state[0], state[1], scale,
                                         builder.getF32FloatAttr(kThreshold));
    return withRescaledSums(
        builder,
        {settle.getNewReference(), settle.getNewBound(), settle.getFactor(), settle.getMoved()},
        state.drop_front(2), settle.getFactor(), settle.getMoved());
  }
  bool settlesScores() const override { return false; }

  Value exponentiate(ExpansionBuilder &builder, Value scores, Value reference) override {
    return tile::Exp2Op::create(builder, scores, scale, reference);
  }
  Value rowReference(ExpansionBuilder &, Value reference) override { return reference; }

private:
  Value scale, noScores;
};

class FastSoftmax : public Softmax {
public:
  explicit FastSoftmax(const Options &options) : Softmax(options) {}

  /// The scale may have any sign.
  Value prepareQuery(ExpansionBuilder &builder, Value userScale,
                     function_ref<Value()> load) override {
    Value inLog2 =
        arith::MulFOp::create(builder, userScale, builder.constant(std::numbers::log2e_v<float>));
    return tile::ScaleOp::create(builder, load(), inLog2);
  }

  void prepareLoop(ExpansionBuilder &) override {}

  SmallVector<Value> initialState(ExpansionBuilder &builder, Value zero) override {
    Value reference = builder.fill(
        builder.frag(kWaveRows, kWaveRows, builder.getF32Type(), FragLayout::Acc), 0.0f);
    return {reference, builder.fill(builder.rows(), -std::numeric_limits<float>::infinity()), zero};
  }

  Value firstScores(ExpansionBuilder &builder, ValueRange state) override {
    SmallVector<Value> blocks(options.kvTile / kWaveRows, state[0]);
    return tile::ConcatOp::create(builder, scoresType(builder), blocks);
  }

  /// The scores count from the reference, so they are counted anew where it moves.
  SmallVector<Value> settle(ExpansionBuilder &builder, Value scores, ValueRange state) override {
    Value max = tile::RowMaxOp::create(builder, builder.rows(), scores);
    auto settle =
        tile::SettleRelativeOp::create(builder, max, state[1], builder.getF32FloatAttr(kThreshold));
    SmallVector<Value> values = {state[0], scores};
    auto shifted = tile::ShiftOp::create(builder, ValueRange(values).getTypes(), values,
                                         settle.getStep(), settle.getMoved());
    SmallVector<Value> results = withRescaledSums(
        builder,
        {shifted.getResult(0), settle.getNewBound(), settle.getFactor(), settle.getMoved()},
        state.drop_front(2), settle.getFactor(), settle.getMoved());
    results.push_back(shifted.getResult(1));
    return results;
  }
  bool settlesScores() const override { return true; }

  Value exponentiate(ExpansionBuilder &builder, Value scores, Value) override {
    return tile::Exp2Op::create(builder, scores, Value(), Value());
  }
  Value rowReference(ExpansionBuilder &builder, Value reference) override {
    return tile::NegatedRowOp::create(builder, builder.rows(), reference);
  }
};
} // namespace

std::unique_ptr<Softmax> Softmax::create(bool fast, const Options &options) {
  if (!fast)
    return std::make_unique<ExactSoftmax>(options);
  // It rounds more than the weights' rounding does: the sum that O is divided by serves LSE too.
  Options rounded = options;
  rounded.exactSum = false;
  return std::make_unique<FastSoftmax>(rounded);
}

Softmax::Settled Softmax::settleStep(ExpansionBuilder &builder, Value scores, ValueRange state) {
  ValueRange values = builder.step("settle", [&] { return settle(builder, scores, state); });
  Settled settled{scores, values[0], values[1], values[2], values[3], {}};
  ValueRange rest = values.drop_front(4);
  if (settlesScores()) {
    settled.scores = rest.back();
    rest = rest.drop_back();
  }
  settled.sums.assign(rest.begin(), rest.end());
  return settled;
}

/// The weights of `rows` keys of a tile, packed, and their sums.
SmallVector<Value> Softmax::weigh(ExpansionBuilder &builder, Value scores, int64_t firstRow,
                                  int64_t rows, Value reference, ValueRange sumsBefore, Drop drop) {
  Type part = builder.frag(rows, kWaveRows, builder.getF32Type(), FragLayout::Acc);
  Type packedPart = builder.frag(rows, kWaveRows, options.element, FragLayout::RhsAcc);
  Value wide =
      exponentiate(builder, tile::SliceOp::create(builder, part, scores, firstRow), reference);
  Value packed = tile::PackOp::create(builder, packedPart, wide);
  SmallVector<Value> results = {packed, tile::RowSumOp::create(builder, packed, sumsBefore[0])};
  if (options.exactSum)
    results.push_back(tile::RowSumOp::create(builder, wide, sumsBefore[1]));
  if (drop)
    results[0] = tile::PackOp::create(builder, packedPart, drop(wide, firstRow));
  return results;
}

Softmax::Weights Softmax::weightSteps(ExpansionBuilder &builder, const Settled &settled, Drop drop) {
  int64_t firstRows = llvm::alignTo(options.kvTile / 2, kKeyBlock);
  ValueRange head = builder.step("head", [&] {
    return weigh(builder, settled.scores, 0, firstRows, settled.reference, settled.sums, drop);
  });
  ValueRange tail = builder.step("tail", [&]() -> SmallVector<Value> {
    if (firstRows == options.kvTile)
      return head;
    SmallVector<Value> both = weigh(builder, settled.scores, firstRows, options.kvTile - firstRows,
                                    settled.reference, head.drop_front(), drop);
    SmallVector<Value> halves = {head[0], both[0]};
    Type whole = builder.frag(options.kvTile, kWaveRows, options.element, FragLayout::RhsAcc);
    both[0] = tile::ConcatOp::create(builder, whole, halves);
    return both;
  });
  return {tail[0], llvm::to_vector_of<Value>(tail.drop_front())};
}

Value Softmax::total(ExpansionBuilder &builder, ValueRange state) {
  return tile::UnifyOp::create(builder, state[2]);
}

Value Softmax::logSumExp(ExpansionBuilder &builder, ValueRange state, Value total, Value sink) {
  Value reference = rowReference(builder, state[0]);
  if (options.exactSum)
    total = tile::UnifyOp::create(builder, state.back());
  if (sink)
    return logSumWithSink(builder, total, reference, sink);
  return tile::LogSumOp::create(builder, total, reference);
}
