// Scales of blocks of Q and K.
#include "BlockScales.h"

using namespace mlir;
using namespace hocket;
using tile::FragLayout;

/// Elements that share a scale, and the dimensions of scales along which blocks and rows of Q and K lie.
static constexpr int64_t kScaledElements = 32, kAlongBlocks = 2, kAlongRows = 3;

int64_t BlockScales::blocks() const { return static_cast<int64_t>(op.getHeadDim()) / kScaledElements; }

/// A tensor of `rows` rows of each of so many `heads`; packed rows have no batch.
static void addScales(KernelFrame &frame, StringRef name, StringRef heads, StringRef rows, bool isPacked) {
  constexpr int64_t dynamic = ShapedType::kDynamic;
  MLIRContext *context = frame.context();
  auto kept = [&](const Twine &text) { return StringAttr::get(context, text).getValue(); };
  StringRef blocks = kept("head_dim / " + Twine(kScaledElements));
  StringRef ofHead = kept(blocks + " * " + rows), ofSequence = isPacked ? "0" : kept(heads + " * " + blocks + " * " + rows);
  frame.addTensor(tile::ViewType::get(context, SmallVector<int64_t>(4, dynamic), Float8E8M0FNUType::get(context)),
                  {name, {ofSequence, ofHead, rows}, {"batch", heads, blocks, rows}});
}

void BlockScales::addTensors(KernelFrame &frame) const {
  if (!op.getMxScales())
    return;
  addScales(frame, "q_scale", "heads", op.getPackedQueries() ? "total_q" : "seq_q", op.getPackedQueries());
  addScales(frame, "k_scale", "kv_heads", op.getPackedKeys() ? "total_kv" : "seq_kv", op.getPackedKeys());
}

void BlockScales::bindArguments(const KernelFrame &frame) { q = frame.argument("q_scale"), k = frame.argument("k_scale"); }

void BlockScales::enter() {
  if (!op.getMxScales())
    return;
  q = sequences.ofQueries(loop.builder, q, kAlongRows);
  k = sequences.ofKeys(loop.builder, k, kAlongRows);
}

Type BlockScales::fragment(int64_t rows, int64_t columns, FragLayout layout) const {
  MLIRContext *context = loop.builder.getContext();
  return loop.builder.frag(rows, columns, Float8E8M0FNUType::get(context), layout);
}

Value BlockScales::load(Type type, Value view, Value batch, Value head, Value row) const {
  Value place[] = {batch, head, loop.builder.constant(int64_t(0)), row};
  return tile::LoadOp::create(loop.builder, type, view, ValueRange(place),
                              loop.builder.getI64IntegerAttr(kAlongBlocks));
}

void BlockScales::find(const WorkPartition &work, Value kvHead) {
  if (!op.getMxScales())
    return;
  batch = work.batch, head = kvHead;
  q = load(fragment(blocks(), kWaveRows, FragLayout::RhsScale), q, batch, work.head, work.row);
}

SmallVector<Value> BlockScales::steps(function_ref<Value()> firstKey) const {
  if (!op.getMxScales())
    return {};
  Type type = fragment(loop.waveKeys(), blocks(), FragLayout::LhsScale);
  ValueRange ofKeys = loop.builder.step("load_scales", [&]() -> SmallVector<Value> { return {load(type, k, batch, head, firstKey())}; });
  return {ofKeys.front(), q};
}
