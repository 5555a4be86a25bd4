// The online softmax of a loop over tiles of keys.
#include "Softmax.h"

#include "Sink.h"

#include <limits>
#include <numbers>

using namespace mlir;
using namespace hocket;
using tile::FragLayout;

/// How far, in log2 units, a row's scores may grow past its reference before it moves. Weights of 2^20 leave room in
/// f32 for sums over 2^20 keys of values up to 2^87; in fp16, whose largest number is below 2^16, they must stay below.
static constexpr float kThreshold = 20.0f, kThresholdFp16 = 14.0f;
/// The smallest scale used. Keeps (-inf) * scale at -inf when the user's scale is 0.
static constexpr float kMinScale = 0x1p-100f;
/// Both halves of a tile are whole accumulator blocks; of a single one, the second is empty.
static constexpr int64_t kKeyBlock = 32;

/// A negative scale moves its sign into Q, so that the maximum of the scaled scores is the scaled
/// maximum.
Value Softmax::prepareQuery(ExpansionBuilder &builder, Value userScale, function_ref<Value()> load) {
  if (options.isScaled) {
    // References are subtracted as they are: a row's largest score counts as 1 whatever its size, where a scale would
    // round the two differently.
    scale = builder.constant(1.0f);
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

void Softmax::multiplyBy(ExpansionBuilder &builder, Value factor, Value addend) {
  Value log2e = builder.constant(kScaledUnit);
  Value inLog2 = arith::MulFOp::create(builder, factor, log2e);
  scale = arith::MaxNumFOp::create(builder, inLog2, builder.constant(kMinScale));
  if (!addend)
    return;
  // By the share of the factor that it is, so that what rounding does to the factor cancels where the sum does.
  constexpr float kTiny = 0x1p-64f;
  Value share = arith::DivFOp::create(builder, addend, factor);
  Value ofScale = arith::MulFOp::create(builder, scale, share), alone = arith::MulFOp::create(builder, addend, log2e);
  Value isTiny = arith::CmpFOp::create(builder, arith::CmpFPredicate::OLT, factor, builder.constant(kTiny));
  moved = arith::SelectOp::create(builder, isTiny, alone, ofScale);
}

Value Softmax::reference(ExpansionBuilder &builder, ValueRange state) const {
  if (!moved)
    return state[0];
  Value inputs[] = {state[0], moved};
  return builder.map(state[0].getType(), inputs, [&](ValueRange numbers) -> Value {
    return arith::AddFOp::create(builder, numbers[0], numbers[1]);
  });
}

Value Softmax::perScale(ExpansionBuilder &builder) const {
  return arith::DivFOp::create(builder, builder.constant(std::numbers::log2e_v<float>), scale);
}

Value Softmax::noScores(ExpansionBuilder &builder) const {
  return builder.fill(
      builder.frag(options.kvTile, kWaveRows, builder.getF32Type(), FragLayout::Acc), 0.0f);
}

SmallVector<Value> Softmax::initialState(ExpansionBuilder &builder, Value zero) const {
  SmallVector<Value> state = {
      zero, builder.fill(builder.rows(), -std::numeric_limits<float>::infinity()), zero};
  if (options.exactSum)
    state.push_back(zero);
  return state;
}

Softmax::Settled Softmax::settleStep(ExpansionBuilder &builder, Value scores, ValueRange state) const {
  ValueRange values = builder.step("settle", [&]() -> SmallVector<Value> {
    Value max = tile::RowMaxOp::create(builder, builder.rows(), scores);
    auto settle = tile::SettleOp::create(builder, max, state[0], state[1], scale,
                                         builder.getF32FloatAttr(options.element.isF16() ? kThresholdFp16 : kThreshold));
    SmallVector<Value> results = {settle.getNewReference(), settle.getNewBound(), settle.getFactor(),
                                  settle.getMoved()};
    ValueRange sums = state.drop_front(2);
    auto rescaled = tile::RescaleOp::create(builder, sums.getTypes(), sums, settle.getFactor(),
                                            settle.getMoved());
    llvm::append_range(results, rescaled.getResults());
    return results;
  });
  return {scores,    values[0], values[1], values[2],
          values[3], llvm::to_vector_of<Value>(values.drop_front(4))};
}

/// The weights of `rows` keys of a tile, packed, and their sums.
SmallVector<Value> Softmax::weigh(ExpansionBuilder &builder, Value scores, int64_t firstRow,
                                  int64_t rows, Value reference, ValueRange sumsBefore, Drop drop) const {
  Type part = builder.frag(rows, kWaveRows, builder.getF32Type(), FragLayout::Acc);
  Type packedPart = builder.frag(rows, kWaveRows, options.element, FragLayout::RhsAcc);
  Value slice = tile::SliceOp::create(builder, part, scores, firstRow);
  Value wide = tile::Exp2Op::create(builder, slice, scale, reference);
  Value packed = tile::PackOp::create(builder, packedPart, wide);
  SmallVector<Value> results = {packed, tile::RowSumOp::create(builder, packed, sumsBefore[0])};
  if (options.exactSum)
    results.push_back(tile::RowSumOp::create(builder, wide, sumsBefore[1]));
  if (drop)
    results[0] = drop(packed, firstRow);
  return results;
}

Softmax::Weights Softmax::weightSteps(ExpansionBuilder &builder, const Settled &settled, Drop drop) const {
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

Value Softmax::total(ExpansionBuilder &builder, ValueRange state) const {
  return tile::UnifyOp::create(builder, state[2]);
}

Value Softmax::logSumExp(ExpansionBuilder &builder, ValueRange state, Value total, Value sink) const {
  if (options.exactSum)
    total = tile::UnifyOp::create(builder, state.back());
  if (sink)
    return logSumWithSink(builder, total, reference(builder, state), sink);
  return tile::LogSumOp::create(builder, total, reference(builder, state));
}
