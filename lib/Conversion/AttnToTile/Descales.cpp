// What the numbers of Q, K and V count.
#include "Descales.h"

#include "Tile/IR/FragmentMap.h"

#include <numeric>

using namespace mlir;
using namespace hocket;

/// A tensor of numbers for each of so many `heads` of a sequence: one, or `count` of them.
static void addNumbers(KernelFrame &frame, StringRef name, StringRef heads, StringRef count) {
  constexpr int64_t dynamic = ShapedType::kDynamic;
  MLIRContext *context = frame.context();
  Type f32 = Float32Type::get(context);
  if (count.empty())
    return frame.addTensor(tile::ViewType::get(context, {dynamic, dynamic}, f32), {name, {heads}, {"batch", heads}});
  StringRef numbers = StringAttr::get(context, count).getValue();
  StringRef ofSequence = StringAttr::get(context, heads + " * " + numbers).getValue();
  frame.addTensor(tile::ViewType::get(context, {dynamic, dynamic, dynamic}, f32), {name, {ofSequence, numbers}, {"batch", heads, numbers}});
}

static std::string blocksOf(StringRef rows, std::optional<uint64_t> size) {
  return size ? ("ceildiv(" + rows + ", " + Twine(*size) + ")").str() : std::string();
}

void Descales::addTensors(KernelFrame &frame) const {
  if (!op.getDescale())
    return;
  addNumbers(frame, "q_descale", op.getDescaleRows() ? "heads" : "kv_heads", blocksOf("seq_q", op.getDescaleRows()));
  addNumbers(frame, "k_descale", "kv_heads", blocksOf("seq_kv", op.getDescaleKeys()));
  addNumbers(frame, "v_descale", "kv_heads", op.getDescaleChannels() ? "head_dim_v" : "");
}

void Descales::bindArguments(const KernelFrame &frame) {
  q = frame.argument("q_descale"), k = frame.argument("k_descale"), v = frame.argument("v_descale");
}

Value Descales::load(Value view, ValueRange indices) const {
  return tile::LoadOp::create(loop.builder, loop.builder.getF32Type(), view, indices, IntegerAttr());
}

/// The number of the block of `size` that has `row`.
static Value blockOf(ExpansionBuilder &builder, Value row, uint64_t size) {
  return arith::DivUIOp::create(builder, row, builder.constant(static_cast<int64_t>(size)));
}

void Descales::find(const WorkPartition &work, Value kvHead) {
  if (!op.getDescale())
    return;
  batch = work.batch, head = kvHead;
  q = op.getDescaleRows() ? load(q, {batch, work.head, blockOf(loop.builder, work.row, *op.getDescaleRows())}) : load(q, {batch, head});
  if (!areOfKeys())
    k = load(k, {batch, head});
  if (!op.getDescaleChannels())
    v = load(v, {batch, head});
}

Value Descales::ofScores(Value scale) const {
  if (!op.getDescale())
    return scale;
  Value ofProduct = areOfKeys() ? q : Value(arith::MulFOp::create(loop.builder, q, k));
  return arith::MulFOp::create(loop.builder, scale, ofProduct);
}

SmallVector<Value> Descales::ofTile(Value first) const {
  const auto size = static_cast<int64_t>(*op.getDescaleKeys());
  const int64_t part = std::gcd(size, loop.waveKeys());
  SmallVector<Value> numbers;
  for (int64_t key = 0; key != loop.waveKeys(); key += part) {
    Value at = arith::AddIOp::create(loop.builder, first, loop.builder.constant(key));
    numbers.push_back(load(k, {batch, head, blockOf(loop.builder, at, *op.getDescaleKeys())}));
  }
  return numbers;
}

Value Descales::ofOutput(Value means) const {
  if (!op.getDescale())
    return means;
  if (!op.getDescaleChannels())
    return tile::ScaleOp::create(loop.builder, means.getType(), means, v);
  auto type = cast<tile::FragType>(means.getType());
  Value zero = loop.builder.constant(int64_t(0));
  Value numbers = tile::LoadOp::create(loop.builder, tile::columnsOf(type, loop.builder.getF32Type()), v, ValueRange{batch, head, zero},
                                       IntegerAttr());
  Value inputs[] = {means, numbers};
  return loop.builder.map(type, inputs, [&](ValueRange e) -> Value { return arith::MulFOp::create(loop.builder, e[0], e[1]); });
}
