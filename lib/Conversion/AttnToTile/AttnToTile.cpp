// attn -> tile: writes the attention algorithm, tile by tile, in named steps.
//
// The one author of the algorithm. It says nothing about order beyond data flow: which step runs in
// which cluster for which tile is the schedule's business. Everything that a step needs of another
// travels as a value, so that moving steps apart cannot change the arithmetic.
//
// Scores are computed transposed (keys x queries), so that a query is one lane's column in every
// fragment: row maxima and sums are chains within a lane, and the packed score accumulator is the
// second product's right operand as it lies.
//
// The producer of split KV is the same kernel on a slice of the keys: only the views of K and V and
// where the result goes differ. What folds the slices is in Combine.cpp.
#include "hocket/Conversion/Passes.h"

#include "Combine.h"
#include "TileShape.h"

#include "Attn/IR/Attn.h"
#include "Tile/IR/FragmentAccess.h"
#include "Tile/IR/Tile.h"
#include "hocket/Target/Arch/ArchInfo.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

#include <numbers>

namespace hocket {
#define GEN_PASS_DEF_CONVERTATTNTOTILEPASS
#include "hocket/Conversion/Passes.h.inc"
} // namespace hocket

#define DEBUG_TYPE "convert-attn-to-tile"

using namespace mlir;
using namespace hocket;
using tile::FragLayout;

/// Query rows of one wave: the columns of one accumulator block.
static constexpr int64_t kWaveRows = 32;
/// Heads are whole loads of 16 bytes, computed in whole accumulator blocks.
static constexpr int64_t kHeadUnit = 8, kHeadBlock = 32, kLargestHead = 256;
/// Columns of Q and K that one step of their product takes.
static constexpr int64_t kDepthStep = 16;
/// How far, in log2 units, a row's scores may grow past its reference before it moves.
static constexpr float kThreshold = 8.0f;
/// The smallest scale used. Keeps (-inf) * scale at -inf when the user's scale is 0.
static constexpr float kSmallestScale = 0x1p-100f;

/// A workgroup has at most 1024 work-items.
static constexpr int64_t kMostWaves = 16;
/// Both halves of a tile are whole accumulator blocks; of a single one, the second is empty.
static constexpr int64_t kKeyBlock = 32;
static constexpr int64_t kMostKeys = 256;

/// Row numbers and their sums stay within 32 bits.
static constexpr int64_t kLongestSequence = int64_t(1) << 30;

namespace {
/// Expands one problem. Members are the types and values that several steps share.
class ForwardExpander {
public:
  ForwardExpander(attn::ForwardOp op, FlatSymbolRefAttr schedule, const ArchInfo &arch,
                  int64_t waves, int64_t kvTile)
      : op(op), schedule(schedule), arch(arch), target(StringRef(arch.name)), waves(waves),
        kvTile(kvTile), xcds(arch.chip.xcds), builder(op.getLoc(), op),
        element(op.getElementType()), headDim(op.getHeadDim()), headDimV(op.getValueHeadDim()),
        depth(llvm::alignTo(headDim, kHeadBlock)), depthV(llvm::alignTo(headDimV, kHeadBlock)) {
    f32 = builder.getF32Type();
    rowsType = tile::RowsType::get(op.getContext(), kWaveRows, f32);
    keyRing = tile::RingType::get(op.getContext(), {kvTile, depth}, element);
    valueRing = tile::RingType::get(op.getContext(), {kvTile, depthV}, element);
    scoresType = frag(kvTile, kWaveRows, f32, FragLayout::Acc);
    packedType = frag(kvTile, kWaveRows, element, FragLayout::RhsAcc);
    outputType = frag(depthV, kWaveRows, f32, FragLayout::Acc);
  }

  void expand() {
    createKernel();
    prepare();
    tile::ForTilesOp loop = createLoop();
    finish(loop);
    op.erase();
  }

private:
  tile::FragType frag(int64_t rows, int64_t columns, Type type, FragLayout layout) {
    return tile::FragType::get(op.getContext(), {rows, columns}, type, layout);
  }
  bool isFast() { return op.getFastScale(); }
  bool isSplit() { return op.getSplit(); }
  /// Whether the sum of the weights before rounding is kept too, for LSE. With fast_scale, which
  /// rounds more than that, the other sum serves.
  bool hasExactSum() { return op.getLse() && !isFast(); }
  bool isCausal() { return op.getMask() == attn::Mask::Causal; }
  Value constant(int64_t value) {
    return arith::ConstantOp::create(builder, builder.getI32IntegerAttr(value));
  }
  Value constant(float value) {
    return arith::ConstantOp::create(builder, builder.getF32FloatAttr(value));
  }
  Value fill(Type type, float value) {
    return tile::FillOp::create(builder, type, builder.getF32FloatAttr(value));
  }

  void createKernel();
  SmallVector<std::pair<Type, Tensor>> tensors();
  ArrayAttr requirements();
  void prepare();
  Value withoutPadding(Value operand);
  Value loadQuery();
  void prepareScale();
  void prepareFastScale();
  void prepareLength();
  void prepareSlice();
  void prepareKeys();
  Value visibleEnd();
  Value tilesUpTo(Value end);
  tile::ForTilesOp createLoop();
  Value firstScores(Value minus);
  SmallVector<Value> settle(Value scores, ValueRange carried);
  SmallVector<Value> exponentiate(Value scores, int64_t firstRow, int64_t rows, Value reference,
                                  ValueRange sumsBefore);
  void fetchSteps(Value t);
  void finish(tile::ForTilesOp loop);

  /// Appends a step that runs `body`; the values that `body` returns become the step's results.
  ValueRange step(StringRef name, function_ref<SmallVector<Value>()> body);

  attn::ForwardOp op;
  FlatSymbolRefAttr schedule;
  const ArchInfo &arch;
  StringRef target;
  int64_t waves, kvTile, xcds;
  ImplicitLocOpBuilder builder;
  Type element, f32;
  /// Elements of a head of Q and K, and of V and O; and the same in whole blocks, where the
  /// elements that do not exist are zero.
  int64_t headDim, headDimV, depth, depthV;
  tile::RowsType rowsType;
  tile::RingType keyRing, valueRing;
  tile::FragType scoresType, packedType, outputType;

  // Kernel arguments.
  Value q, k, v, o, lse, userScale, splits;
  // Values of the workgroup and the wave.
  Value batch, head, blockRow, row, sequenceKv, shift, diagonal, scale, count, query, keys, values;
  /// The batch of what is written: with split KV there is one for each slice of each batch.
  Value outputBatch;
  Value slice; ///< the number of the workgroup's slice of the keys, if they are split
  Value noScores;
};
} // namespace

SmallVector<std::pair<Type, Tensor>> ForwardExpander::tensors() {
  constexpr int64_t dynamic = ShapedType::kDynamic;
  auto viewOf = [&](int64_t dim, Type type) -> Type {
    return tile::ViewType::get(op.getContext(), {dynamic, dynamic, dynamic, dim}, type);
  };
  Type view = viewOf(headDim, element), valueView = viewOf(headDimV, element);
  Type rows = tile::ViewType::get(op.getContext(), {dynamic, dynamic, dynamic}, f32);
  SmallVector<std::pair<Type, Tensor>> tensors = {
      {view, {"q", {"q_stride_b", "q_stride_s", "q_stride_h"}, {"batch", "seq_q", "heads"}}},
      {view, {"k", {"k_stride_b", "k_stride_s", "k_stride_h"}, {"batch", "seq_kv", "kv_heads"}}},
      {valueView,
       {"v", {"v_stride_b", "v_stride_s", "v_stride_h"}, {"batch", "seq_kv", "kv_heads"}}}};
  if (isSplit()) {
    tensors.push_back({viewOf(headDimV, f32), partialTensor()});
    tensors.push_back({rows, partialLseTensor()});
    return tensors;
  }
  tensors.push_back(
      {valueView, {"o", {"o_stride_b", "o_stride_s", "o_stride_h"}, {"batch", "seq_q", "heads"}}});
  if (op.getLse())
    tensors.push_back({rows, {"lse", {"heads * seq_q", "seq_q"}, {"batch", "heads", "seq_q"}}});
  return tensors;
}

void ForwardExpander::createKernel() {
  SmallVector<std::pair<Type, Tensor>> views = tensors();
  SmallVector<Type> types;
  for (auto &[type, tensor] : views)
    types.push_back(type);
  types.push_back(f32);
  if (isSplit())
    types.push_back(builder.getI32Type());
  auto kernel = tile::KernelOp::create(builder, op.getSymName(), builder.getFunctionType(types, {}),
                                       target, waves, ArrayAttr(), ArrayAttr());
  kernel->setAttr("tile.requires", requirements());
  Block &body = kernel.getBody().emplaceBlock();
  for (Type type : types)
    body.addArgument(type, op.getLoc());
  for (auto [index, entry] : llvm::enumerate(views))
    bindTensor(kernel, index, entry.second);
  kernel.setArgAttr(views.size(), "tile.bind", builder.getStringAttr("scale"));
  q = body.getArgument(0), k = body.getArgument(1), v = body.getArgument(2),
  o = body.getArgument(3);
  lse = op.getLse() || isSplit() ? body.getArgument(4) : Value();
  userScale = body.getArgument(views.size());
  if (isSplit()) {
    kernel.setArgAttr(views.size() + 1, "tile.bind", builder.getStringAttr("num_splits"));
    kernel->setAttr("tile.workspace", builder.getStringAttr(kPartialBytes));
    splits = body.getArguments().back();
  }
  builder.setInsertionPointToStart(&body);
}

/// What a problem must fulfil for this kernel, as [condition, message].
ArrayAttr ForwardExpander::requirements() {
  std::string dim = std::to_string(headDim), dimV = std::to_string(headDimV);
  std::string causal = isCausal() ? "1" : "0";
  SmallVector<std::pair<std::string, std::string>> list = {
      {"head_dim == " + dim, "head_dim must be " + dim},
      {"head_dim_v == " + dimV, "head_dim_v must be " + dimV},
      {"causal == " + causal, isCausal() ? "the kernel is causal" : "the kernel has no mask"},
      {"heads % kv_heads == 0", "heads must be a multiple of kv_heads"},
      {"max(seq_q, seq_kv) <= " + std::to_string(kLongestSequence),
       "seq_q and seq_kv may be at most " + std::to_string(kLongestSequence)}};
  // Loads of rows are 16 bytes wide.
  for (StringRef stride :
       {"q_stride_b", "q_stride_s", "q_stride_h", "k_stride_b", "k_stride_s", "k_stride_h",
        "v_stride_b", "v_stride_s", "v_stride_h", "o_stride_b", "o_stride_s", "o_stride_h"})
    list.push_back(
        {(stride + " % 8 == 0").str(), (stride + " must be a multiple of 8 elements").str()});
  SmallVector<Attribute> result;
  for (const auto &[condition, message] : list)
    result.push_back(builder.getStrArrayAttr({condition, message}));
  return builder.getArrayAttr(result);
}

/// `operand` without the steps of the depth in which all columns are padding: neither read nor
/// multiplied, since what they would add is zero.
Value ForwardExpander::withoutPadding(Value operand) {
  auto type = cast<tile::FragType>(operand.getType());
  int64_t needed = llvm::alignTo(headDim, kDepthStep);
  if (needed == depth)
    return operand;
  Type narrow = type.isLeft() ? frag(type.getRows(), needed, element, type.getLayout())
                              : frag(needed, type.getColumns(), element, type.getLayout());
  return tile::SliceDepthOp::create(builder, narrow, operand, /*first=*/0);
}

Value ForwardExpander::loadQuery() {
  Type operand = frag(depth, kWaveRows, element, FragLayout::Rhs);
  return withoutPadding(tile::LoadOp::create(builder, operand, q, batch, row, head));
}

/// Scores are scaled in f32 after the product, in log2 units. A negative scale moves its sign into
/// Q, so that the maximum of the scaled scores is the scaled maximum.
void ForwardExpander::prepareScale() {
  Value zero = constant(0.0f);
  Value negative = arith::CmpFOp::create(builder, arith::CmpFPredicate::OLT, userScale, zero);
  Value opposite = arith::NegFOp::create(builder, userScale);
  Value magnitude = arith::SelectOp::create(builder, negative, opposite, userScale);
  Value inLog2 = arith::MulFOp::create(builder, magnitude, constant(std::numbers::log2e_v<float>));
  scale = arith::MaxNumFOp::create(builder, inLog2, constant(kSmallestScale));
  query = tile::NegateOp::create(builder, loadQuery(), negative);
}

/// Scores come out of the product in log2 units: the scale, of any sign, is multiplied into Q and
/// rounded with it.
void ForwardExpander::prepareFastScale() {
  Value inLog2 = arith::MulFOp::create(builder, userScale, constant(std::numbers::log2e_v<float>));
  query = tile::ScaleOp::create(builder, loadQuery(), inLog2);
}

/// The keys of `k`; under a causal mask row i of the whole sees those up to i + `shift`.
void ForwardExpander::prepareLength() {
  sequenceKv = tile::DimOp::create(builder, k, 1);
  if (!isCausal() || shift)
    return;
  Value sequenceQ = tile::DimOp::create(builder, q, 1);
  shift = arith::SubIOp::create(builder, sequenceKv, sequenceQ);
}

/// Behind the last of the keys of `k` that some row of the workgroup sees.
Value ForwardExpander::visibleEnd() {
  if (!isCausal())
    return sequenceKv;
  Value blockEnd = arith::AddIOp::create(builder, blockRow, constant(waves * kWaveRows));
  Value visible = arith::AddIOp::create(builder, blockEnd, shift);
  Value atLeastZero = arith::MaxSIOp::create(builder, visible, constant(int64_t(0)));
  return arith::MinSIOp::create(builder, atLeastZero, sequenceKv);
}

Value ForwardExpander::tilesUpTo(Value end) {
  Value roundedUp = arith::AddIOp::create(builder, end, constant(kvTile - 1));
  return arith::DivUIOp::create(builder, roundedUp, constant(kvTile));
}

/// Leaves of K and V what this workgroup works on: the tiles that hold a key which some row sees,
/// dealt to the slices so that none has more than one tile more than another.
void ForwardExpander::prepareSlice() {
  prepareLength();
  Value tiles = tilesUpTo(visibleEnd());
  auto share = tile::DivModOp::create(builder, tiles, splits);
  Value longer = share.getRemainder();
  Value isLonger = arith::CmpIOp::create(builder, arith::CmpIPredicate::slt, slice, longer);
  Value own =
      arith::AddIOp::create(builder, share.getQuotient(),
                            arith::ExtUIOp::create(builder, builder.getI32Type(), isLonger));
  Value even = arith::MulIOp::create(builder, slice, share.getQuotient());
  Value firstTile =
      arith::AddIOp::create(builder, even, arith::MinSIOp::create(builder, slice, longer));
  Value firstKey = arith::MulIOp::create(builder, firstTile, constant(kvTile));
  Value size = arith::MulIOp::create(builder, own, constant(kvTile));
  k = tile::SliceRowsOp::create(builder, k, firstKey, size);
  v = tile::SliceRowsOp::create(builder, v, firstKey, size);
  if (isCausal())
    shift = arith::SubIOp::create(builder, shift, firstKey);
}

/// The keys to work on, and which of them a row sees.
void ForwardExpander::prepareKeys() {
  prepareLength();
  if (isCausal())
    diagonal = arith::AddIOp::create(builder, row, shift);
  count = tilesUpTo(visibleEnd());
}

void ForwardExpander::prepare() {
  bool heavyFirst = op.getBlockOrder() == attn::BlockOrder::HeavyFirst;
  auto block = tile::BlockIdOp::create(
      builder, isSplit() ? o : q, waves * kWaveRows, /*last_rows_first=*/heavyFirst && isCausal(),
      heavyFirst && xcds > 1 ? builder.getI64IntegerAttr(xcds) : IntegerAttr());
  batch = outputBatch = block.getBatch(), head = block.getHead(), blockRow = block.getRow();
  if (isSplit()) {
    auto place = tile::DivModOp::create(builder, outputBatch, splits);
    batch = place.getQuotient(), slice = place.getRemainder();
  }
  row = tile::WaveRowOp::create(builder, blockRow, kWaveRows);
  Value kvHead = tile::GroupHeadOp::create(builder, head, q, k);
  if (isSplit())
    prepareSlice();
  SmallVector<Value> indices = {batch, kvHead};
  keys = tile::RingOp::create(builder, keyRing, k, indices, IntegerAttr(), IntegerAttr(), nullptr);
  values =
      tile::RingOp::create(builder, valueRing, v, indices, IntegerAttr(), IntegerAttr(), nullptr);
  if (isFast())
    prepareFastScale();
  else
    prepareScale();
  prepareKeys();
}

ValueRange ForwardExpander::step(StringRef name, function_ref<SmallVector<Value>()> body) {
  OpBuilder::InsertPoint after = builder.saveInsertionPoint();
  auto scratch = tile::StepOp::create(builder, TypeRange(), name);
  Block &block = scratch.getBody().emplaceBlock();
  builder.setInsertionPointToStart(&block);
  SmallVector<Value> results = body();
  tile::YieldOp::create(builder, results);
  builder.restoreInsertionPoint(after);
  if (results.empty()) {
    builder.setInsertionPointAfter(scratch);
    return {};
  }
  // The result types are known only now: move the body into a step that declares them.
  builder.setInsertionPoint(scratch);
  auto step = tile::StepOp::create(builder, ValueRange(results).getTypes(), name);
  step.getBody().takeBody(scratch.getBody());
  scratch.erase();
  builder.setInsertionPointAfter(step);
  return step.getResults();
}

/// What the scores of a tile start from: nothing, or the negative reference.
Value ForwardExpander::firstScores(Value minus) {
  if (!isFast())
    return noScores;
  SmallVector<Value> blocks(kvTile / kWaveRows, minus);
  return tile::ConcatOp::create(builder, scoresType, blocks);
}

/// The new reference and bound, the factor by which what was summed shrinks, whether anything
/// moved; the sums so shrunk; and the scores from which weights are made: where they count from the
/// reference, counted from the new one, else of saturated rows the maximum alone.
SmallVector<Value> ForwardExpander::settle(Value scores, ValueRange carried) {
  Value reference = carried[0], bound = carried[1];
  ValueRange sums = carried.drop_front(2);
  Value max = tile::RowMaxOp::create(builder, rowsType, scores);
  FloatAttr threshold = builder.getF32FloatAttr(kThreshold);
  auto rescaleSums = [&](SmallVector<Value> first, Value factor, Value moved) {
    llvm::append_range(
        first, tile::RescaleOp::create(builder, sums.getTypes(), sums, factor, moved).getResults());
    return first;
  };
  if (!isFast()) {
    auto settle = tile::SettleOp::create(builder, max, reference, bound, scale, threshold);
    Value saturate = tile::SaturateOp::create(builder, scores, settle.getNewReference(),
                                              settle.getNewBound(), settle.getMoved());
    SmallVector<Value> results = rescaleSums(
        {settle.getNewReference(), settle.getNewBound(), settle.getFactor(), settle.getMoved()},
        settle.getFactor(), settle.getMoved());
    results.push_back(saturate);
    return results;
  }
  auto settle = tile::SettleRelativeOp::create(builder, max, bound, threshold);
  SmallVector<Value> values = {reference, scores};
  auto shifted = tile::ShiftOp::create(builder, ValueRange(values).getTypes(), values,
                                       settle.getStep(), settle.getMoved());
  SmallVector<Value> results = rescaleSums(
      {shifted.getResult(0), settle.getNewBound(), settle.getFactor(), settle.getMoved()},
      settle.getFactor(), settle.getMoved());
  results.push_back(shifted.getResult(1));
  return results;
}

/// The weights of `rows` keys of a tile, packed, and their sums. O is divided by the sum of the
/// weights as they are multiplied with V: what rounding does to them cancels in the quotient, also
/// where one key has nearly all the weight. LSE is the logarithm of what was not rounded.
SmallVector<Value> ForwardExpander::exponentiate(Value scores, int64_t firstRow, int64_t rows,
                                                 Value reference, ValueRange sumsBefore) {
  Type halfScores = frag(rows, kWaveRows, f32, FragLayout::Acc);
  Type halfPacked = frag(rows, kWaveRows, element, FragLayout::RhsAcc);
  Value half = tile::SliceOp::create(builder, halfScores, scores, firstRow);
  Value wide = tile::Exp2Op::create(builder, half, scale, scale ? reference : Value());
  Value packed = tile::PackOp::create(builder, halfPacked, wide);
  SmallVector<Value> results = {packed, tile::RowSumOp::create(builder, packed, sumsBefore[0])};
  if (hasExactSum())
    results.push_back(tile::RowSumOp::create(builder, wide, sumsBefore[1]));
  return results;
}

/// Tiles of K and V to LDS: in one step each where a load can write there, else a step that loads
/// parts into registers and one that puts them.
void ForwardExpander::fetchSteps(Value t) {
  const std::pair<StringRef, Value> rings[] = {{"k", keys}, {"v", values}};
  if (arch.hasLdsDma(tile::kDmaBytes)) {
    for (auto [tensor, ring] : rings)
      step(("fetch_" + tensor).str(), [&, ring = ring] {
        tile::FetchOp::create(builder, ring, t, Value());
        return SmallVector<Value>();
      });
    return;
  }
  SmallVector<Value> parts;
  for (auto [tensor, ring] : rings)
    parts.push_back(step(("fetch_" + tensor).str(), [&, ring = ring]() -> SmallVector<Value> {
      auto type = cast<tile::RingType>(ring.getType());
      Type part = tile::PartType::get(op.getContext(), type.getShape(), element, waves);
      return {tile::LoadPartOp::create(builder, part, ring, t)};
    })[0]);
  for (auto [part, entry] : llvm::zip_equal(parts, rings))
    step(("put_" + entry.first).str(), [&, part = part, ring = entry.second] {
      tile::PutOp::create(builder, ring, t, Value(), part);
      return SmallVector<Value>();
    });
}

tile::ForTilesOp ForwardExpander::createLoop() {
  if (!isFast())
    noScores = fill(scoresType, 0.0f);
  Value noOutput = fill(outputType, 0.0f), zero = fill(rowsType, 0.0f);
  // The reference is kept negated and spread over a block of scores if products start from it.
  Value first = isFast() ? fill(frag(kWaveRows, kWaveRows, f32, FragLayout::Acc), 0.0f) : zero;
  SmallVector<Value> inits = {noOutput, first,
                              fill(rowsType, -std::numeric_limits<float>::infinity()), zero};
  if (hasExactSum())
    inits.push_back(zero);
  auto loop =
      tile::ForTilesOp::create(builder, ValueRange(inits).getTypes(), count, inits, schedule);
  Block &body = loop.getBody().emplaceBlock();
  Value t = body.addArgument(builder.getI32Type(), op.getLoc());
  for (Value init : inits)
    body.addArgument(init.getType(), op.getLoc());
  Value output = body.getArgument(1);
  ValueRange state = body.getArguments().drop_front(2);
  builder.setInsertionPointToStart(&body);

  fetchSteps(t);
  Value keyTile = step("read_k", [&]() -> SmallVector<Value> {
    Type type = frag(kvTile, depth, element, FragLayout::Lhs);
    return {withoutPadding(tile::ReadOp::create(builder, type, keys, t, Value()))};
  })[0];
  Value raw = step("qk", [&]() -> SmallVector<Value> {
    Value first = firstScores(state[0]);
    return {tile::MmaOp::create(builder, keyTile, query, first)};
  })[0];
  Value scores = step("mask", [&]() -> SmallVector<Value> {
    return {tile::MaskOp::create(builder, raw, t, sequenceKv, diagonal)};
  })[0];
  ValueRange settled = step("settle", [&] { return settle(scores, state); });
  Value reference = settled[0], factor = settled[2], moved = settled[3];
  ValueRange scaledSums = settled.slice(4, hasExactSum() ? 2 : 1);
  scores = settled.back();
  int64_t firstRows = llvm::alignTo(kvTile / 2, kKeyBlock);
  ValueRange firstHalf =
      step("head", [&] { return exponentiate(scores, 0, firstRows, reference, scaledSums); });
  ValueRange weights = step("tail", [&]() -> SmallVector<Value> {
    if (firstRows == kvTile)
      return firstHalf;
    SmallVector<Value> both =
        exponentiate(scores, firstRows, kvTile - firstRows, reference, firstHalf.drop_front());
    SmallVector<Value> halves = {firstHalf[0], both[0]};
    both[0] = tile::ConcatOp::create(builder, packedType, halves);
    return both;
  });
  Value rescaled = step("rescale", [&]() -> SmallVector<Value> {
    auto scaled =
        tile::RescaleOp::create(builder, TypeRange(outputType), ValueRange(output), factor, moved);
    return {scaled.getResult(0)};
  })[0];
  Value valueTile = step("read_v", [&]() -> SmallVector<Value> {
    Type type = frag(depthV, kvTile, element, FragLayout::LhsAcc);
    return {tile::ReadTransposedOp::create(builder, type, values, t, Value())};
  })[0];
  Value newOutput = step("pv", [&]() -> SmallVector<Value> {
    return {tile::MmaOp::create(builder, valueTile, weights[0], rescaled)};
  })[0];
  SmallVector<Value> next = {newOutput, reference, settled[1]};
  llvm::append_range(next, weights.drop_front());
  tile::YieldOp::create(builder, next);
  builder.setInsertionPointAfter(loop);
  return loop;
}

void ForwardExpander::finish(tile::ForTilesOp loop) {
  Value sum = tile::UnifyOp::create(builder, loop.getResult(3));
  Value output = tile::NormalizeOp::create(builder, loop.getResult(0), sum);
  tile::StoreOp::create(builder, output, o, outputBatch, row, head);
  if (lse) {
    Value reference = loop.getResult(1);
    if (isFast())
      reference = tile::NegatedRowOp::create(builder, rowsType, reference);
    else
      reference = tile::UnsaturateOp::create(builder, reference, loop.getResult(2), scale);
    if (hasExactSum())
      sum = tile::UnifyOp::create(builder, loop.getResults().back());
    Value logSum = tile::LogSumOp::create(builder, sum, reference);
    tile::StoreRowsOp::create(builder, logSum, lse, outputBatch, head, row);
  }
  tile::ReturnOp::create(builder);
}

/// What the expansion cannot do, by name.
static LogicalResult verifyExpandable(attn::ForwardOp op) {
  for (auto [region, name] :
       {std::pair(&op.getScoreMod(), "score_mod"), std::pair(&op.getMaskMod(), "mask_mod")})
    if (!region->empty())
      return op.emitOpError()
             << "'" << name << "' of '" << op.getSymName()
             << "' cannot be expanded yet; remove the region to compile without it";
  for (auto [name, dim] : op.getHeadDims())
    if (dim % kHeadUnit != 0 || dim > kLargestHead)
      return op.emitOpError() << name << "(" << dim << ") of '" << op.getSymName()
                              << "' is not supported, use a multiple of " << kHeadUnit << " up to "
                              << kLargestHead;
  return success();
}

namespace {
struct ConvertAttnToTilePass : hocket::impl::ConvertAttnToTilePassBase<ConvertAttnToTilePass> {
  using Base::Base;

  LogicalResult expand(attn::ForwardOp op) {
    FlatSymbolRefAttr symbol = op.getScheduleAttr();
    if (!symbol && !schedule.empty())
      symbol = FlatSymbolRefAttr::get(op.getContext(), schedule);
    if (!symbol)
      return op.emitOpError() << "'" << op.getSymName()
                              << "' names no schedule; add schedule(@name) or give the pass one";
    if (failed(verifyExpandable(op)))
      return failure();
    Result<const ArchInfo *> arch = findArch(target);
    if (!arch)
      return op.emitOpError() << arch.error().message;
    TileShape shape =
        chooseTileShape(**arch, llvm::alignTo(op.getHeadDim(), kHeadBlock),
                        llvm::alignTo(op.getValueHeadDim(), kHeadBlock), wishes(op, symbol));
    if (failed(verifyShape(op, shape.waves, shape.kvTile)))
      return failure();
    ForwardExpander(op, symbol, **arch, shape.waves, shape.kvTile).expand();
    return success();
  }

  /// What the op asks for, else the schedule, else the pass's options.
  TileShapeWishes wishes(attn::ForwardOp op, FlatSymbolRefAttr symbol) {
    TileShapeWishes result{op.getWaves(), op.getKvTile()};
    auto found = SymbolTable::lookupNearestSymbolFrom<tile::ScheduleOp>(op, symbol);
    if (!result.waves && found)
      result.waves = found.getWaves();
    if (!result.waves && waves != 0)
      result.waves = waves;
    if (!result.kvTile && kvTile != 0)
      result.kvTile = kvTile;
    result.bothOperands = found && holdsBothOperands(found);
    return result;
  }

  static LogicalResult verifyShape(attn::ForwardOp op, int64_t waves, int64_t keys) {
    if (waves < 1 || waves > kMostWaves)
      return op.emitOpError() << "'" << op.getSymName() << "' has " << waves
                              << " waves, expected 1 to " << kMostWaves;
    if (keys >= kKeyBlock && keys <= kMostKeys && llvm::isPowerOf2_64(keys))
      return success();
    return op.emitOpError() << "'" << op.getSymName() << "' has tiles of " << keys
                            << " keys, expected " << kKeyBlock << ", 64, 128 or " << kMostKeys;
  }

  void runOnOperation() override {
    SmallVector<attn::ForwardOp> problems(getOperation().getOps<attn::ForwardOp>());
    for (attn::ForwardOp problem : problems)
      if (failed(expand(problem)))
        return signalPassFailure();
    SmallVector<attn::CombineOp> combines(getOperation().getOps<attn::CombineOp>());
    for (attn::CombineOp combine : combines)
      if (failed(expandCombine(combine, target)))
        return signalPassFailure();
  }
};
} // namespace
