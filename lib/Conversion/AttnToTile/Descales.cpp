// What the numbers of Q, K and V count.
#include "Descales.h"

using namespace mlir;
using namespace hocket;

void Descales::addTensors(KernelFrame &frame) const {
  if (!areThere)
    return;
  constexpr int64_t dynamic = ShapedType::kDynamic;
  Type numbers = tile::ViewType::get(frame.context(), {dynamic, dynamic}, Float32Type::get(frame.context()));
  for (StringRef name : {"q_descale", "k_descale", "v_descale"})
    frame.addTensor(numbers, {name, {"kv_heads"}, {"batch", "kv_heads"}});
}

void Descales::bindArguments(const KernelFrame &frame) {
  q = frame.argument("q_descale"), k = frame.argument("k_descale"), v = frame.argument("v_descale");
}

void Descales::find(ExpansionBuilder &builder, Value batch, Value kvHead) {
  if (!areThere)
    return;
  for (Value *number : {&q, &k, &v})
    *number = tile::LoadOp::create(builder, builder.getF32Type(), *number, ValueRange{batch, kvHead}, IntegerAttr());
}

Value Descales::ofScores(ExpansionBuilder &builder, Value scale) const {
  if (!areThere)
    return scale;
  Value ofProduct = arith::MulFOp::create(builder, q, k);
  return arith::MulFOp::create(builder, scale, ofProduct);
}

Value Descales::ofOutput(ExpansionBuilder &builder, Value means) const {
  return areThere ? Value(tile::ScaleOp::create(builder, means.getType(), means, v)) : means;
}
