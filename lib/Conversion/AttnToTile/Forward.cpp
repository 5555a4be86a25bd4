// O = softmax(scale Q K^T) V, tile by tile, in named steps.
//
// It says nothing about order beyond data flow: which step runs in which cluster for which tile is
// the schedule's business. Everything that a step needs of another travels as a value, so that
// moving steps apart cannot change the arithmetic.
//
// Scores are computed transposed (keys x queries), so that a query is one lane's column in every
// fragment: row maxima and sums are chains within a lane, and the packed score accumulator is the
// second product's right operand as it lies.
//
// The producer of split KV is the same kernel on a slice of the keys: only the views of K and V and
// where the result goes differ. What folds the slices is in Combine.cpp.
#include "Forward.h"

#include "Combine.h"
#include "KernelFrame.h"
#include "Softmax.h"
#include "Visibility.h"
#include "WorkPartition.h"

#include "Tile/IR/FragmentAccess.h"

using namespace mlir;
using namespace hocket;
using tile::FragLayout;

/// Columns of Q and K that one step of their product takes.
static constexpr int64_t kDepthStep = 16;
/// Row numbers and their sums stay within 32 bits.
static constexpr int64_t kMaxSequence = int64_t(1) << 30;

namespace {
class ForwardExpansion {
public:
  ForwardExpansion(attn::ForwardOp op, FlatSymbolRefAttr schedule, const ArchInfo &arch,
                   TileShape shape)
      : op(op), schedule(schedule), arch(arch), shape(shape), builder(op.getLoc(), op),
        element(op.getElementType()), headDim(op.getHeadDim()), headDimV(op.getValueHeadDim()),
        depth(llvm::alignTo(headDim, kHeadBlock)), depthV(llvm::alignTo(headDimV, kHeadBlock)),
        visibility(op.getKeyVisibility(), shape.waves * kWaveRows),
        softmax(Softmax::create(op.getFastScale(), {shape.kvTile, element, op.getLse()})) {}

  tile::KernelOp expand();

private:
  bool isSplit() { return op.getSplit(); }
  tile::KernelOp createFrame();
  Value withoutPadding(Value operand);
  Value prepare(WorkPartition &work);
  Value ring(Value view, int64_t columns, ValueRange indices);
  void fetchSteps(Value t);
  tile::ForTilesOp createLoop(Value count);
  SmallVector<Value> iterate(Value t, Value output, ValueRange state);
  void finish(tile::ForTilesOp loop, const WorkPartition &work);

  attn::ForwardOp op;
  FlatSymbolRefAttr schedule;
  const ArchInfo &arch;
  TileShape shape;
  ExpansionBuilder builder;
  Type element;
  /// Elements of a head of Q and K, and of V and O; and the same in whole blocks, where the
  /// elements that do not exist are zero.
  int64_t headDim, headDimV, depth, depthV;
  Visibility visibility;
  std::unique_ptr<Softmax> softmax;

  // Kernel arguments, and what the loop uses of the values in front of it.
  Value q, k, v, o, lse, scale, splits;
  Value query, keys, values;
};
} // namespace

tile::KernelOp ForwardExpansion::createFrame() {
  constexpr int64_t dynamic = ShapedType::kDynamic;
  auto viewOf = [&](int64_t dim, Type type) -> Type {
    return tile::ViewType::get(op.getContext(), {dynamic, dynamic, dynamic, dim}, type);
  };
  Type f32 = builder.getF32Type();
  Type rows = tile::ViewType::get(op.getContext(), {dynamic, dynamic, dynamic}, f32);
  KernelFrame frame(op.getContext());
  frame.addTensor(viewOf(headDim, element),
                  {"q", {"q_stride_b", "q_stride_s", "q_stride_h"}, {"batch", "seq_q", "heads"}});
  frame.addTensor(
      viewOf(headDim, element),
      {"k", {"k_stride_b", "k_stride_s", "k_stride_h"}, {"batch", "seq_kv", "kv_heads"}});
  frame.addTensor(
      viewOf(headDimV, element),
      {"v", {"v_stride_b", "v_stride_s", "v_stride_h"}, {"batch", "seq_kv", "kv_heads"}});
  if (isSplit()) {
    frame.addTensor(viewOf(headDimV, f32), partialTensor());
    frame.addTensor(rows, partialLseTensor());
    frame.setWorkspace(kPartialBytes);
  } else {
    frame.addTensor(viewOf(headDimV, element), outputTensor());
    if (op.getLse())
      frame.addTensor(rows, lseTensor());
  }
  frame.addScalar(f32, "scale");
  if (isSplit())
    frame.addScalar(builder.getI32Type(), "num_splits");

  frame.require("head_dim == " + Twine(headDim), "head_dim must be " + Twine(headDim));
  frame.require("head_dim_v == " + Twine(headDimV), "head_dim_v must be " + Twine(headDimV));
  visibility.addRequirements(frame);
  frame.require("heads % kv_heads == 0", "heads must be a multiple of kv_heads");
  frame.require("max(seq_q, seq_kv) <= " + Twine(kMaxSequence),
                "seq_q and seq_kv may be at most " + Twine(kMaxSequence));
  for (StringRef tensor : {"q", "k", "v", "o"})
    frame.requireWideStrides(tensor);

  tile::KernelOp kernel = frame.create(builder, op.getSymName(), arch.name, shape.waves);
  q = frame.argument("q"), k = frame.argument("k"), v = frame.argument("v");
  o = frame.argument(isSplit() ? "partial" : "o");
  lse = frame.argument(isSplit() ? "partial_lse" : "lse");
  scale = frame.argument("scale"), splits = frame.argument("num_splits");
  return kernel;
}

/// `operand` without the steps of the depth in which all columns are padding: neither read nor
/// multiplied, since what they would add is zero.
Value ForwardExpansion::withoutPadding(Value operand) {
  auto type = cast<tile::FragType>(operand.getType());
  int64_t needed = llvm::alignTo(headDim, kDepthStep);
  if (needed == depth)
    return operand;
  Type narrow = type.isLeft() ? builder.frag(type.getRows(), needed, element, type.getLayout())
                              : builder.frag(needed, type.getColumns(), element, type.getLayout());
  return tile::SliceDepthOp::create(builder, narrow, operand, /*first=*/0);
}

Value ForwardExpansion::ring(Value view, int64_t columns, ValueRange indices) {
  Type type = tile::RingType::get(op.getContext(), {shape.kvTile, columns}, element);
  return tile::RingOp::create(builder, type, view, indices, IntegerAttr(), IntegerAttr(), nullptr);
}

/// Everything in front of the loop; returns how many tiles it visits.
Value ForwardExpansion::prepare(WorkPartition &work) {
  work.place(builder, isSplit() ? o : q, visibility);
  Value kvHead = tile::GroupHeadOp::create(builder, work.head, q, k);
  if (isSplit()) {
    visibility.measure(builder, q, k);
    work.takeSlice(builder, visibility, k, v);
  }
  SmallVector<Value> indices = {work.batch, kvHead};
  keys = ring(k, depth, indices);
  values = ring(v, depthV, indices);
  query = softmax->prepareQuery(builder, scale, [&] {
    Type operand = builder.frag(depth, kWaveRows, element, FragLayout::Rhs);
    return withoutPadding(
        tile::LoadOp::create(builder, operand, q, work.batch, work.row, work.head));
  });
  if (!isSplit())
    visibility.measure(builder, q, k);
  visibility.prepareMasks(builder, work.row);
  return work.tilesUpTo(builder, visibility.end(builder, work.blockRow));
}

/// Tiles of K and V to LDS: in one step each where a load can write there, else a step that loads
/// parts into registers and one that puts them.
void ForwardExpansion::fetchSteps(Value t) {
  const std::pair<StringRef, Value> rings[] = {{"k", keys}, {"v", values}};
  if (arch.hasLdsDma(tile::kDmaBytes)) {
    for (auto [tensor, ring] : rings)
      builder.step(("fetch_" + tensor).str(), [&, ring = ring] {
        tile::FetchOp::create(builder, ring, t, Value());
        return SmallVector<Value>();
      });
    return;
  }
  SmallVector<Value> parts;
  for (auto [tensor, ring] : rings)
    parts.push_back(
        builder.step(("fetch_" + tensor).str(), [&, ring = ring]() -> SmallVector<Value> {
          auto type = cast<tile::RingType>(ring.getType());
          Type part = tile::PartType::get(op.getContext(), type.getShape(), element, shape.waves);
          return {tile::LoadPartOp::create(builder, part, ring, t)};
        })[0]);
  for (auto [part, entry] : llvm::zip_equal(parts, rings))
    builder.step(("put_" + entry.first).str(), [&, part = part, ring = entry.second] {
      tile::PutOp::create(builder, ring, t, Value(), part);
      return SmallVector<Value>();
    });
}

/// One tile of keys: S = K Q^T, P = exp2(S - reference), O = O shrunk + V^T P. Returns the next
/// output and state.
SmallVector<Value> ForwardExpansion::iterate(Value t, Value output, ValueRange state) {
  fetchSteps(t);
  Value keyTile = builder.step("read_k", [&]() -> SmallVector<Value> {
    Type type = builder.frag(shape.kvTile, depth, element, FragLayout::Lhs);
    return {withoutPadding(tile::ReadOp::create(builder, type, keys, t, Value()))};
  })[0];
  Value raw = builder.step("qk", [&]() -> SmallVector<Value> {
    Value first = softmax->firstScores(builder, state);
    return {tile::MmaOp::create(builder, keyTile, query, first)};
  })[0];
  Value scores = builder.step(
      "mask", [&]() -> SmallVector<Value> { return {visibility.mask(builder, raw, t)}; })[0];
  Softmax::Settled settled = softmax->settleStep(builder, scores, state);
  Softmax::Weights weights = softmax->weightSteps(builder, settled);
  Value rescaled = builder.step("rescale", [&]() -> SmallVector<Value> {
    return {tile::RescaleOp::create(builder, TypeRange(output.getType()), ValueRange(output),
                                    settled.factor, settled.moved)
                .getResult(0)};
  })[0];
  Value valueTile = builder.step("read_v", [&]() -> SmallVector<Value> {
    Type type = builder.frag(depthV, shape.kvTile, element, FragLayout::LhsAcc);
    return {tile::ReadTransposedOp::create(builder, type, values, t, Value())};
  })[0];
  Value next = builder.step("pv", [&]() -> SmallVector<Value> {
    return {tile::MmaOp::create(builder, valueTile, weights.packed, rescaled)};
  })[0];
  SmallVector<Value> carried = {next, settled.reference, settled.bound};
  llvm::append_range(carried, weights.sums);
  return carried;
}

tile::ForTilesOp ForwardExpansion::createLoop(Value count) {
  softmax->prepareLoop(builder);
  Type outputType = builder.frag(depthV, kWaveRows, builder.getF32Type(), FragLayout::Acc);
  SmallVector<Value> inits = {builder.fill(outputType, 0.0f)};
  Value zero = builder.fill(builder.rows(), 0.0f);
  llvm::append_range(inits, softmax->initialState(builder, zero));
  auto loop = tile::ForTilesOp::create(builder, count, inits, visibility.cuts(), schedule);
  Block &body = loop.getBody().emplaceBlock();
  Value t = body.addArgument(builder.getI32Type(), op.getLoc());
  for (Value init : inits)
    body.addArgument(init.getType(), op.getLoc());
  builder.setInsertionPointToStart(&body);
  ValueRange carried = body.getArguments().drop_front();
  tile::YieldOp::create(builder, iterate(t, carried.front(), carried.drop_front()));
  builder.setInsertionPointAfter(loop);
  return loop;
}

void ForwardExpansion::finish(tile::ForTilesOp loop, const WorkPartition &work) {
  ValueRange state = loop.getResults().drop_front();
  Value sum = softmax->total(builder, state);
  Value output = tile::NormalizeOp::create(builder, loop.getResult(0), sum);
  tile::StoreOp::create(builder, output, o, work.outputBatch, work.row, work.head);
  if (lse)
    tile::StoreRowsOp::create(builder, softmax->logSumExp(builder, state, sum), lse,
                              work.outputBatch, work.head, work.row);
  tile::ReturnOp::create(builder);
}

tile::KernelOp ForwardExpansion::expand() {
  tile::KernelOp kernel = createFrame();
  WorkPartition work(
      {shape.waves, shape.kvTile, op.getBlockOrder(), static_cast<int64_t>(arch.chip.xcds)},
      splits);
  Value count = prepare(work);
  finish(createLoop(count), work);
  return kernel;
}

tile::KernelOp hocket::buildForward(attn::ForwardOp op, FlatSymbolRefAttr schedule,
                                    const ArchInfo &arch, TileShape shape) {
  return ForwardExpansion(op, schedule, arch, shape).expand();
}
