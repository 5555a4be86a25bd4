// Waves count weights from references of their own. The largest of them becomes the reference of all; what a wave has
// summed shrinks accordingly, and is then added up through LDS, in the order of the waves.
#include "JoinWaves.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include <limits>

using namespace mlir;
using namespace hocket;

static Value reduceWaves(ExpansionBuilder &builder, tile::Reduction kind, Value numbers) {
  return tile::ReduceWavesOp::create(builder, numbers.getType(), kind, numbers, Value(), IntegerAttr());
}

/// `numbers`, of which each row is multiplied by its number in `factors`, summed over the waves.
static Value sumOfWaves(ExpansionBuilder &builder, Value numbers, Value factors) {
  Value inputs[] = {numbers, factors};
  Value scaled = builder.map(numbers.getType(), inputs, [&](ValueRange e) -> Value {
    return arith::MulFOp::create(builder, e[0], e[1]);
  });
  return reduceWaves(builder, tile::Reduction::Sum, scaled);
}

Value hocket::joinWaves(ExpansionBuilder &builder, SmallVectorImpl<Value> &state, Value output) {
  auto isNone = [&](Value number) -> Value {
    Value none = builder.constant(-std::numeric_limits<float>::infinity());
    return arith::CmpFOp::create(builder, arith::CmpFPredicate::OEQ, number, none);
  };
  Type rows = state[0].getType();
  // Of a row that has seen nothing the bound is -inf, and the reference 0.
  Value own[] = {state[0], state[1]};
  Value seen = builder.map(rows, own, [&](ValueRange e) -> Value {
    return arith::SelectOp::create(builder, isNone(e[1]), e[1], e[0]);
  });
  Value largest = reduceWaves(builder, tile::Reduction::Max, seen);
  Value both[] = {seen, largest};
  Value factors = builder.map(rows, both, [&](ValueRange e) -> Value {
    Value ratio = math::Exp2Op::create(builder, arith::SubFOp::create(builder, e[0], e[1]));
    return arith::SelectOp::create(builder, isNone(e[0]), builder.constant(0.0f), ratio);
  });
  state[0] = builder.map(rows, largest, [&](ValueRange e) -> Value {
    return arith::SelectOp::create(builder, isNone(e[0]), builder.constant(0.0f), e[0]);
  });
  state[1] = largest;
  for (Value &sum : MutableArrayRef<Value>(state).drop_front(2))
    sum = sumOfWaves(builder, sum, factors);
  return sumOfWaves(builder, output, factors);
}
