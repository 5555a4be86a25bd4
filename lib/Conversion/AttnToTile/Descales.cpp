// What the numbers of Q, K, V and O count.
#include "Descales.h"

#include "Tile/IR/FragmentMap.h"

#include <numeric>

using namespace mlir;
using namespace hocket;

/// Keys of a part with a number of each: a block of an accumulator.
static constexpr int64_t kPartKeys = 32;
/// The dimension of numbers of keys that follow one another along which they lie.
static constexpr int64_t kAlongKeys = 2;

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

/// A tensor of a number for each key: packed without a batch, in pages of a head with strides of its own, and then a
/// dimension of 1 that loads take for consecutive.
static void addNumbersOfKeys(KernelFrame &frame, attn::ForwardOp op, StringRef name) {
  constexpr int64_t dynamic = ShapedType::kDynamic;
  MLIRContext *context = frame.context();
  Type f32 = Float32Type::get(context);
  auto kept = [&](const Twine &text) { return StringAttr::get(context, text).getValue(); };
  if (op.getPageSize())
    return frame.addTensor(tile::ViewType::get(context, {dynamic, dynamic, dynamic, 1}, f32),
                           {name, {kept(name + "_stride_h"), kept(name + "_stride_b"), kept(name + "_stride_s")},
                            {"kv_heads", "num_pages", "page_size"}});
  if (!op.getPackedKeys())
    return addNumbers(frame, name, "kv_heads", "seq_kv");
  frame.addTensor(tile::ViewType::get(context, {dynamic, dynamic, dynamic}, f32),
                  {name, {"0", "total_kv"}, {"batch", "kv_heads", "total_kv"}});
}

void Descales::addTensors(KernelFrame &frame) const {
  if (op.getDescale()) {
    addNumbers(frame, "q_descale", op.getDescaleRows() ? "heads" : "kv_heads", blocksOf("seq_q", op.getDescaleRows()));
    if (op.getDescaleKeys() == 1)
      addNumbersOfKeys(frame, op, "k_descale");
    else
      addNumbers(frame, "k_descale", "kv_heads", blocksOf("seq_kv", op.getDescaleKeys()));
    if (areOfValues())
      addNumbersOfKeys(frame, op, "v_descale");
    else
      addNumbers(frame, "v_descale", "kv_heads", op.getDescaleChannels() ? "head_dim_v" : "");
  }
  if (op.getOutputScale())
    frame.addTensor(tile::ViewType::get(frame.context(), {ShapedType::kDynamic}, Float32Type::get(frame.context())),
                    {"output_scale", {}, {"1"}});
}

void Descales::bindArguments(const KernelFrame &frame) {
  q = frame.argument("q_descale"), k = frame.argument("k_descale"), v = frame.argument("v_descale");
  output = frame.argument("output_scale");
}

void Descales::enter() {
  if (op.getPageSize())
    return;
  if (op.getDescaleKeys() == 1)
    k = sequences.ofKeys(loop.builder, k, kAlongKeys);
  if (areOfValues())
    v = sequences.ofKeys(loop.builder, v, kAlongKeys);
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
  else if (op.getDescaleKeys() == 1)
    k = ofHead(k);
  if (areOfValues())
    v = ofHead(v);
  else if (!op.getDescaleChannels())
    v = load(v, {batch, head});
}

/// Of numbers of keys those of the KV head: (keys), or (pages, rows of one, 1).
Value Descales::ofHead(Value view) const {
  SmallVector<Value> indices = {batch, head};
  if (op.getPageSize())
    indices.erase(indices.begin());
  auto type = cast<tile::ViewType>(view.getType());
  Type left = tile::ViewType::get(loop.builder.getContext(), type.getShape().drop_front(indices.size()), type.getElementType());
  return tile::SelectOp::create(loop.builder, left, view, indices);
}

Value Descales::ofScores(Value scale) const {
  if (!op.getDescale())
    return scale;
  Value ofProduct = areOfKeys() ? q : Value(arith::MulFOp::create(loop.builder, q, k));
  return arith::MulFOp::create(loop.builder, scale, ofProduct);
}

SmallVector<Value> Descales::ofBlocks(Value view, Value first) const {
  const auto size = static_cast<int64_t>(*op.getDescaleKeys());
  const int64_t part = std::gcd(size, loop.waveKeys());
  SmallVector<Value> numbers;
  for (int64_t key = 0; key != loop.waveKeys(); key += part) {
    Value at = arith::AddIOp::create(loop.builder, first, loop.builder.constant(key));
    numbers.push_back(load(view, {batch, head, blockOf(loop.builder, at, *op.getDescaleKeys())}));
  }
  return numbers;
}

/// Those of the keys from `first` on, which lie in pages: in one, or each is looked up. What pages have behind the last key
/// may be anything, and tables, too: that gets numbers of keys that there are, or 0.
Value Descales::inPages(Value view, tile::FragType part, Value first) const {
  ExpansionBuilder &builder = loop.builder;
  const auto pageRows = static_cast<int64_t>(*op.getPageSize());
  Type type = tile::columnsOf(part, builder.getF32Type()), indices = tile::columnsOf(part, builder.getI32Type());
  Value table = source.pageTable(), zero = builder.constant(int64_t(0)), one = builder.constant(int64_t(1));
  Value last = arith::MaxSIOp::create(builder, arith::SubIOp::create(builder, source.count(), one), zero);
  if (pageRows % kPartKeys == 0) {
    Value rows = builder.constant(pageRows), known = arith::MinSIOp::create(builder, first, last);
    Value number = arith::DivUIOp::create(builder, known, rows), slot = arith::RemUIOp::create(builder, first, rows);
    Value page = tile::LoadOp::create(builder, builder.getI32Type(), table, ValueRange(number), IntegerAttr());
    Value loaded = tile::LoadOp::create(builder, type, view, ValueRange{page, slot, zero}, builder.getI64IntegerAttr(1));
    Value inputs[] = {loaded, last};
    return builder.mapPlaced(type, inputs, [&](ValueRange e, Value, Value key) -> Value {
      Value exists = arith::CmpIOp::create(builder, arith::CmpIPredicate::sle, key, e[1]);
      return arith::SelectOp::create(builder, exists, e[0], builder.constant(0.0f));
    }, Value(), first);
  }
  auto ofKeys = [&](function_ref<Value(Value)> index) {
    return builder.mapPlaced(indices, last, [&](ValueRange e, Value, Value key) {
      return index(arith::MinSIOp::create(builder, key, e[0]));
    }, Value(), first);
  };
  Value numbers = ofKeys([&](Value key) -> Value { return arith::DivUIOp::create(builder, key, builder.constant(pageRows)); });
  Value slots = ofKeys([&](Value key) -> Value { return arith::RemUIOp::create(builder, key, builder.constant(pageRows)); });
  Value pages = tile::GatherOp::create(builder, indices, table, ValueRange(numbers));
  return tile::GatherOp::create(builder, type, view, ValueRange{pages, slots, zero});
}

SmallVector<Value> Descales::ofEachKey(Value view, Value first) const {
  ExpansionBuilder &builder = loop.builder;
  tile::FragType part = builder.frag(kPartKeys, kWaveRows, builder.getF32Type(), tile::FragLayout::Acc);
  Type type = tile::columnsOf(part, builder.getF32Type());
  SmallVector<Value> numbers;
  for (int64_t key = 0; key != loop.waveKeys(); key += kPartKeys) {
    Value at = arith::AddIOp::create(builder, first, builder.constant(key));
    numbers.push_back(op.getPageSize() ? inPages(view, part, at)
                                       : Value(tile::LoadOp::create(builder, type, view, ValueRange(at), IntegerAttr())));
  }
  return numbers;
}

Descales::Factors Descales::loadStep(function_ref<Value()> firstKey) const {
  Factors factors;
  if (!areOfKeys() && !areOfValues())
    return factors;
  size_t count = 0;
  ValueRange loaded = loop.builder.step("scale", [&] {
    Value first = firstKey();
    SmallVector<Value> numbers;
    if (areOfKeys())
      numbers = op.getDescaleKeys() == 1 ? ofEachKey(k, first) : ofBlocks(k, first);
    count = numbers.size();
    if (areOfValues())
      llvm::append_range(numbers, ofEachKey(v, first));
    return numbers;
  });
  factors.scores = llvm::to_vector_of<Value>(loaded.take_front(count));
  factors.weights = llvm::to_vector_of<Value>(loaded.drop_front(count));
  return factors;
}

Value Descales::ofOutput(Value means) const {
  if (op.getDescaleChannels()) {
    auto type = cast<tile::FragType>(means.getType());
    Value zero = loop.builder.constant(int64_t(0));
    Value numbers = tile::LoadOp::create(loop.builder, tile::columnsOf(type, loop.builder.getF32Type()), v, ValueRange{batch, head, zero},
                                         IntegerAttr());
    Value inputs[] = {means, numbers};
    means = loop.builder.map(type, inputs, [&](ValueRange e) -> Value { return arith::MulFOp::create(loop.builder, e[0], e[1]); });
  }
  const bool isOfHead = op.getDescale() && !op.getDescaleChannels() && !areOfValues();
  Value factor = isOfHead ? v : Value();
  if (op.getOutputScale()) {
    Value unit = load(output, loop.builder.constant(int64_t(0)));
    factor = arith::DivFOp::create(loop.builder, factor ? factor : loop.builder.constant(1.0f), unit);
  }
  return factor ? Value(tile::ScaleOp::create(loop.builder, means.getType(), means, factor)) : means;
}
