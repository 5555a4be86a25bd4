// Scales of blocks of Q, K and V.
#include "BlockScales.h"

#include "Tile/IR/WorkItems.h"

using namespace mlir;
using namespace hocket;
using tile::FragLayout;

/// Elements that share a scale, scales of a word, and the dimension of scales along which rows lie.
static constexpr int64_t kScaledElements = 32, kScalesOfWord = 4, kAlongRows = 2;

/// Keys of whose blocks a word has the scales.
static constexpr int64_t kWordKeys = kScaledElements * kScalesOfWord;

bool BlockScales::areOfValues() const { return op.getMx() && bitsOf(op.getTensorType("v")) < 8; }

int64_t BlockScales::blocks() const { return static_cast<int64_t>(op.getHeadDim()) / kScaledElements; }

/// A tensor of `rows` rows of `words` words of each of so many `heads`; packed rows have no batch. Single words lie along the
/// last dimension, of which a load knows that they are side by side.
static void addScales(KernelFrame &frame, StringRef name, StringRef heads, StringRef rows, int64_t words, bool isPacked) {
  constexpr int64_t dynamic = ShapedType::kDynamic;
  MLIRContext *context = frame.context();
  auto kept = [&](const Twine &text) { return StringAttr::get(context, text).getValue(); };
  StringRef ofHead = words == 1 ? rows : kept(rows + " * " + Twine(words)), ofSequence = isPacked ? "0" : kept(heads + " * " + ofHead);
  Tensor tensor{name, {ofSequence, ofHead}, {"batch", heads, rows}};
  SmallVector<int64_t> shape(kAlongRows + 1, dynamic);
  if (words != 1) {
    tensor.strides.push_back(kept(Twine(words)));
    shape.push_back(words);
  }
  frame.addTensor(tile::ViewType::get(context, shape, IntegerType::get(context, 32)), std::move(tensor));
}

void BlockScales::addTensors(KernelFrame &frame) const {
  if (!op.getMx())
    return;
  const auto words = static_cast<int64_t>(llvm::divideCeil(blocks(), kScalesOfWord));
  addScales(frame, "q_scale", "heads", op.getPackedQueries() ? "total_q" : "seq_q", words, op.getPackedQueries());
  addScales(frame, "k_scale", "kv_heads", op.getPackedKeys() ? "total_kv" : "seq_kv", words, op.getPackedKeys());
  if (!areOfValues())
    return;
  constexpr int64_t dynamic = ShapedType::kDynamic;
  auto kept = [&](const Twine &text) { return StringAttr::get(frame.context(), text).getValue(); };
  const StringRef tiles = kept("ceildiv(seq_kv, " + Twine(kWordKeys) + ")"), dim = kept(Twine(op.getValueHeadDim()));
  const StringRef ofHead = kept(tiles + " * " + dim);
  frame.addTensor(tile::ViewType::get(frame.context(), {dynamic, dynamic, dynamic, int64_t(op.getValueHeadDim())}, IntegerType::get(frame.context(), 32)),
                  {"v_scale", {kept("kv_heads * " + ofHead), ofHead, dim}, {"batch", "kv_heads", tiles}});
}

void BlockScales::bindArguments(const KernelFrame &frame) {
  q = frame.argument("q_scale"), k = frame.argument("k_scale");
  if (areOfValues())
    v = frame.argument("v_scale");
}

void BlockScales::enter() {
  if (!op.getMx())
    return;
  q = sequences.ofQueries(loop.builder, q, kAlongRows);
  k = sequences.ofKeys(loop.builder, k, kAlongRows);
}

Value BlockScales::ofHead(Value view, Value batch, Value head) const {
  auto type = cast<tile::ViewType>(view.getType());
  Type rows = tile::ViewType::get(loop.builder.getContext(), type.getShape().drop_front(2), type.getElementType());
  return tile::SelectOp::create(loop.builder, rows, view, ValueRange{batch, head});
}

SmallVector<Value> BlockScales::load(Value view, int64_t rows, Value row) const {
  Type type = tile::RowsType::get(loop.builder.getContext(), rows, loop.builder.getI32Type(), {FragLayout::Acc});
  auto shape = cast<tile::ViewType>(view.getType()).getShape();
  if (shape.size() == 1)
    return {tile::LoadOp::create(loop.builder, type, view, ValueRange(row), IntegerAttr())};
  SmallVector<Value> words;
  for (int64_t word = 0; word != shape.back(); ++word) {
    Value place[] = {row, loop.builder.constant(word)};
    words.push_back(tile::LoadOp::create(loop.builder, type, view, ValueRange(place), loop.builder.getI64IntegerAttr(0)));
  }
  return words;
}

Value BlockScales::scalesOf(ValueRange words, int64_t rows, int64_t columns, FragLayout layout) const {
  Type type = loop.builder.frag(rows, columns, Float8E8M0FNUType::get(loop.builder.getContext()), layout);
  return tile::BlockScalesOp::create(loop.builder, type, words);
}

void BlockScales::find(const WorkPartition &work, Value kvHead) {
  if (!op.getMx())
    return;
  k = ofHead(k, work.batch, kvHead);
  if (areOfValues())
    v = ofHead(v, work.batch, kvHead);
  q = scalesOf(load(ofHead(q, work.batch, work.head), kWaveRows, work.row), blocks(), kWaveRows, FragLayout::RhsScale);
}

SmallVector<Value> BlockScales::loadStep(function_ref<Value()> firstKey) const {
  if (!op.getMx())
    return {};
  ValueRange words = loop.builder.step("load_scales", [&] {
    SmallVector<Value> loaded = load(k, loop.waveKeys(), firstKey());
    // One instruction for each 32 keys; of several words a lane may load some at once.
    IntegerAttr instructions = loop.builder.getI64IntegerAttr(loop.waveKeys() / 32);
    loaded.front().getDefiningOp()->setAttr(tile::kCountedAttr, instructions);
    return loaded;
  });
  return llvm::to_vector(words);
}

SmallVector<Value> BlockScales::ofProduct(ValueRange loaded) const {
  if (!op.getMx())
    return {};
  return {scalesOf(loaded, loop.waveKeys(), blocks(), FragLayout::LhsScale), q};
}

SmallVector<Value> BlockScales::loadValuesStep(function_ref<Value()> firstKey) const {
  if (!areOfValues())
    return {};
  ExpansionBuilder &builder = loop.builder;
  ValueRange words = builder.step("load_v_scales", [&]() -> SmallVector<Value> {
    Value key = firstKey();
    Type type = tile::RowsType::get(builder.getContext(), op.getValueHeadDim(), builder.getI32Type(), {FragLayout::Acc});
    Value place[] = {arith::ShRUIOp::create(builder, key, builder.constant(int64_t(llvm::Log2_64(kWordKeys)))), builder.constant(int64_t(0))};
    Value word = tile::LoadOp::create(builder, type, v, ValueRange(place), IntegerAttr());
    IntegerAttr instructions = builder.getI64IntegerAttr(op.getValueHeadDim() / kScaledElements);
    word.getDefiningOp()->setAttr(tile::kCountedAttr, instructions);
    if (loop.waveKeys() == kWordKeys)
      return {word};
    // Tiles of half as many keys begin with either half of a word.
    constexpr int64_t halfBits = 16;
    Value inputs[] = {word, arith::AndIOp::create(builder, key, builder.constant(kWordKeys / 2))};
    return {builder.map(type, inputs, [&](ValueRange e) -> Value {
      Value isUpper = arith::CmpIOp::create(builder, arith::CmpIPredicate::ne, e[1], builder.constant(int64_t(0)));
      Value upper = arith::ShRUIOp::create(builder, e[0], builder.constant(halfBits));
      return arith::SelectOp::create(builder, isUpper, upper, e[0]);
    })};
  });
  return llvm::to_vector(words);
}

Value BlockScales::ofValues(ValueRange loaded) const {
  return scalesOf(loaded, op.getValueHeadDim(), loop.waveKeys() / kScaledElements, FragLayout::LhsScale);
}
