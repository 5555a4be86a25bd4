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
// What options change is said elsewhere, by parts that the loop is made of: where keys come from (KeySource.h), which
// tiles are visited (KeyVisit.h), what becomes of scores (ForwardScores.h) and where results go (Output.h). What folds
// the slices of split KV is in Combine.cpp.
#include "Forward.h"

#include "BlockScales.h"
#include "Descales.h"
#include "ForwardScores.h"
#include "JoinWaves.h"
#include "KeySource.h"
#include "KeyVisit.h"
#include "Output.h"
#include "RingSteps.h"
#include "Sink.h"
#include "Softmax.h"

#include "Tile/IR/FragmentAccess.h"

using namespace mlir;
using namespace hocket;
using tile::FragLayout;

/// Whether a tile is a single block of scores of short heads: vector instructions take longer than its products.
static bool hasFewProducts(attn::ForwardOp op, const LoopContext &loop) {
  constexpr uint64_t mostElements = 64;
  return op.getGroupRows() && loop.waveKeys() <= kWaveRows && op.getHeadDim() <= mostElements;
}

namespace {
class ForwardLoop {
public:
  ForwardLoop(attn::ForwardOp op, FlatSymbolRefAttr schedule, const ArchInfo &arch, TileShape shape)
      : op(op), schedule(schedule), builder(op.getLoc(), op), loop{builder, arch, shape, HeadElements(op), op.getSplitWaves()},
        frame(op.getContext()), sequences(op), scores(op, loop, sequences.hasOwnLengths()),
        source(KeySource::create(op, loop, sequences)), visit(KeyVisit::create(op, schedule, loop, scores, *source)),
        output(Output::create(op)), softmax({loop.beside(loop.waveKeys(), kWaveRows, loop.element.weights(), loop.element.v, FragLayout::RhsAcc),
                 op.getLse() && !op.getDescaleValues(), loop.element.areIntegers(), hasFewProducts(op, loop), scores.areScaled()}),
        descales(op, loop, sequences, *source), blockScales(op, loop, sequences) {}

  FailureOr<tile::KernelOp> build();

private:
  FailureOr<tile::KernelOp> createFrame();
  void addRequirements();
  WorkPartition place();
  Value loadQuery(const WorkPartition &work);
  Value prepare(WorkPartition &work);
  SmallVector<Value> seenTiles(const WorkPartition &work, Value count);
  tile::ForTilesOp createLoop(Value count, ValueRange seen);
  SmallVector<Value> iterate(Value t, Value sum, ValueRange state, ValueRange ahead);
  void finish(tile::ForTilesOp tiles, WorkPartition work);

  attn::ForwardOp op;
  FlatSymbolRefAttr schedule;
  ExpansionBuilder builder;
  LoopContext loop;
  KernelFrame frame;
  SequenceViews sequences;
  ForwardScores scores;
  std::unique_ptr<KeySource> source;
  std::unique_ptr<KeyVisit> visit;
  std::unique_ptr<Output> output;
  Softmax softmax;
  Descales descales;
  BlockScales blockScales;
  Value q, query; ///< the sequence's queries, and those of the wave as an operand
  size_t aheadCount = 0; ///< how many of the loop's values say where the next tiles are
};
} // namespace

FailureOr<tile::KernelOp> ForwardLoop::createFrame() {
  constexpr int64_t dynamic = ShapedType::kDynamic;
  Type f32 = builder.getF32Type();
  int64_t shape[] = {dynamic, dynamic, dynamic, countInMemory(loop.element.q, source->headDim)};
  frame.addTensor(tile::ViewType::get(op.getContext(), shape, inMemory(loop.element.q)),
                  sequences.tensor(frame, "q"));
  source->addTensors(frame);
  frame.addScalar(f32, "scale");
  descales.addTensors(frame);
  blockScales.addTensors(frame);
  output->addArguments(frame, sequences);
  scores.addDropout(frame);
  visit->addArguments(frame);
  if (op.getSink())
    frame.addTensor(tile::ViewType::get(op.getContext(), {dynamic}, f32), {"sink", {}, {"heads"}});
  if (op.getPackedQueries())
    frame.addScalar(builder.getI32Type(), "min_seqlen_q");
  sequences.addArguments(frame);
  source->addArguments(frame);
  WorkPartition::addArguments(frame, op);
  if (failed(scores.addArguments(frame)))
    return failure();
  addRequirements();
  tile::KernelOp kernel = frame.create(builder, op.getSymName(), loop.arch.name, loop.shape.waves);
  q = frame.argument("q");
  descales.bindArguments(frame);
  blockScales.bindArguments(frame);
  source->bindArguments(frame);
  output->bindArguments(frame);
  visit->bindArguments(frame);
  scores.bindArguments(frame);
  return kernel;
}

/// What it asks of a problem.
void ForwardLoop::addRequirements() {
  frame.require("head_dim == " + Twine(source->headDim), "head_dim must be " + Twine(source->headDim));
  frame.require("head_dim_v == " + Twine(source->headDimV), "head_dim_v must be " + Twine(source->headDimV));
  Visibility(op.getKeyVisibility(), 0).addRequirements(frame);
  frame.require("heads % kv_heads == 0", "heads must be a multiple of kv_heads");
  frame.require("max(seq_q, seq_kv) <= " + Twine(kMaxSequence),
                "seq_q and seq_kv may be at most " + Twine(kMaxSequence));
  for (StringRef name : {"q", "k", "v", "o"})
    sequences.requireWideStrides(frame, name, inMemory(op.getTensorType(name)));
}

/// The workgroup's rows. From here on tensors are those of its sequence.
WorkPartition ForwardLoop::place() {
  if (loop.splitsWaves)
    loop.keyPart = tile::WaveGridOp::create(builder, /*rows=*/1, /*columns=*/loop.shape.waves).getColumn();
  WorkPartition work({loop.waveBlocks(),
                      loop.shape.kvTile,
                      {op.getBlockOrder(), static_cast<int64_t>(loop.arch.chip.xcds)},
                      op.getGroupRows(),
                      op.getWorkList(),
                      WorkPartition::isMixed(op)},
                     frame.argument("num_splits"));
  bool laterRowsSeeMore = scores.laterRowsSeeMore();
  if (op.getWorkList()) {
    work.placeEntry(builder, frame.argument("work_list"), q, source->k, op.getSplit());
    if (work.isGroup)
      scores.masks.range.mix(work.isGroup, WorkPartition::queriesOfBlock(loop.shape.waves, /*areHeads=*/true));
  } else if (op.getGroupRows()) {
    work.placeGroups(builder, frame.argument("group_grid"), q, source->k, laterRowsSeeMore);
  } else {
    Value grid = output->grid();
    work.place(builder, grid ? grid : q, grid ? Value() : sequences.rowCount(frame),
               laterRowsSeeMore && !visit->ordersRows());
  }
  if (visit->ordersRows())
    visit->takeRow(work);
  if (!sequences.hasOwnLengths())
    return work;
  sequences.enter(builder, frame, work.batch);
  source->find(frame, work.batch);
  q = sequences.ofQueries(builder, q);
  source->enter();
  descales.enter();
  blockScales.enter();
  output->enter(builder, sequences);
  return work;
}

/// The wave's rows of Q as an operand. What memory has as bytes of several is loaded as such.
Value ForwardLoop::loadQuery(const WorkPartition &work) {
  Type own = loop.element.q, stored = inMemory(own), other = isSmall(own) ? own : loop.element.k;
  Type operand = loop.beside(source->depth, kWaveRows, own, other, FragLayout::Rhs);
  if (stored == own)
    return work.load(builder, operand, q);
  Type bytes = builder.frag(countInMemory(own, source->depth), kWaveRows, stored, FragLayout::Rhs);
  return tile::RelabelOp::create(builder, operand, work.load(builder, bytes, q));
}

/// Everything else in front of the loop; returns how many tiles it visits.
Value ForwardLoop::prepare(WorkPartition &work) {
  Value kvHead = work.kvHead(builder, q, source->k);
  visit->find(work, q);
  source->makeRings(work.batch, kvHead);
  descales.find(work, kvHead);
  blockScales.find(work, kvHead);
  Value scale = descales.ofScores(frame.argument("scale"));
  scores.setScale(scale);
  query = softmax.prepareQuery(builder, scale, [&] {
    return withoutPadding(builder, loadQuery(work), source->headDim);
  });
  scores.moveTailTo(softmax);
  if (descales.areOfValues())
    softmax.scaleWeights(builder);
  if (ForwardScores::beginsProducts(op))
    scores.beginProducts(softmax.perScale(builder));
  return visit->count(work, q);
}

/// Of the `count` tiles that are visited those that the wave sees. Few queries of a group are rows of some of the waves;
/// the others bring tiles, and compute nothing.
SmallVector<Value> ForwardLoop::seenTiles(const WorkPartition &work, Value count) {
  SmallVector<Value> seen = visit->seen();
  if (loop.splitsWaves || (!op.getGroupRows() && !op.getWorkList()))
    return seen;
  Value zero = builder.constant(int64_t(0));
  if (seen.empty())
    seen = {zero, count};
  Value rows = tile::DimOp::create(builder, q, 1);
  Value hasRows = arith::CmpIOp::create(builder, arith::CmpIPredicate::slt, work.row, rows);
  seen.back() = arith::SelectOp::create(builder, hasRows, seen.back(), zero);
  return seen;
}

/// One tile of keys: S = K Q^T, P = exp2(S - reference), O = O shrunk + V^T P. Returns the next output and state, and
/// what is known of tiles `ahead`.
SmallVector<Value> ForwardLoop::iterate(Value t, Value sum, ValueRange state, ValueRange ahead) {
  TileVisit &tiles = visit->tiles();
  tiles.enter(ahead);
  SmallVector<Value> next = source->fetchSteps(tiles, t, ahead);
  auto step = [&](StringRef name, function_ref<Value()> body) -> Value {
    return builder.step(name, [&]() -> SmallVector<Value> { return {body()}; })[0];
  };
  Value keyTile = step("read_k", [&] { return source->readKeys(t); });
  scores.loadStep(tiles, t);
  Value start = scores.startStep(tiles, t);
  SmallVector<Value> words = blockScales.loadStep([&] { return scores.firstKey(tiles, t); });
  Value raw = step("qk", [&] {
    return tile::MmaOp::create(builder, start.getType(), keyTile, query, start, blockScales.ofProduct(words));
  });
  SmallVector<Value> valueWords = blockScales.loadValuesStep([&] { return scores.firstKey(tiles, t); });
  Descales::Factors factors = descales.loadStep([&] { return scores.firstKey(tiles, t); });
  Value masked = step("mask", [&] { return scores.modify(tiles, softmax.scoresOf(builder, raw, factors.scores), t); });
  auto dropSome = [&](Value weights, int64_t firstKey) { return scores.drop(tiles, weights, t, firstKey); };
  Softmax::Changes changes = {scores.drops() ? Softmax::Drop(dropSome) : Softmax::Drop(), factors.weights};
  Softmax::Settled settled = softmax.settleStep(builder, masked, state, changes);
  Softmax::Weights weights = softmax.weightSteps(builder, settled, changes);
  const bool sumsRows = softmax.sumsWithProduct(changes);
  ValueRange rescaled = builder.step("rescale", [&]() -> SmallVector<Value> {
    SmallVector<Value> sums = {sum};
    if (sumsRows)
      sums.push_back(settled.sums.front());
    auto shrunk = tile::RescaleOp::create(builder, ValueRange(sums).getTypes(), sums, settled.factor, settled.moved);
    return llvm::to_vector_of<Value>(shrunk.getResults());
  });
  Value valueTile = step("read_v", [&] { return source->readValues(tiles, t, scores.masks.range.keyCount()); });
  ValueRange product = builder.step("pv", [&]() -> SmallVector<Value> {
    Value ofWeights = softmax.blockScales(builder, settled);
    SmallVector<Value> scales;
    if (ofWeights)
      scales = {blockScales.ofValues(valueWords), ofWeights};
    SmallVector<Value> results = {tile::MmaOp::create(builder, rescaled[0].getType(), valueTile, weights.packed, rescaled[0], scales)};
    if (sumsRows)
      results.push_back(tile::RowSumOp::create(builder, rescaled[1].getType(), weights.packed, rescaled[1], ofWeights));
    return results;
  });
  SmallVector<Value> carried = {product[0], settled.reference, settled.bound};
  if (sumsRows)
    weights.sums.front() = product[1];
  llvm::append_range(carried, weights.sums);
  llvm::append_range(carried, next);
  return carried;
}

tile::ForTilesOp ForwardLoop::createLoop(Value count, ValueRange seen) {
  scores.startFrom(softmax.noScores(builder));
  Type sums = builder.frag(source->depthV, kWaveRows, builder.getF32Type(), FragLayout::Acc, source->outputRun());
  SmallVector<Value> inits = {builder.fill(sums, 0.0f)};
  Value zero = builder.fill(builder.rows(), 0.0f);
  llvm::append_range(inits, softmax.initialState(builder, zero));
  SmallVector<Value> ahead = source->first(visit->tiles());
  aheadCount = ahead.size();
  llvm::append_range(inits, ahead);
  auto tiles = tile::ForTilesOp::create(builder, count, inits, visit->cuts(), schedule, seen);
  Block &body = tiles.getBody().emplaceBlock();
  Value t = body.addArgument(builder.getI32Type(), op.getLoc());
  for (Value init : inits)
    body.addArgument(init.getType(), op.getLoc());
  builder.setInsertionPointToStart(&body);
  ValueRange carried = body.getArguments().drop_front();
  ValueRange state = carried.drop_front().drop_back(aheadCount);
  tile::YieldOp::create(builder, iterate(t, carried.front(), state, carried.take_back(aheadCount)));
  builder.setInsertionPointAfter(tiles);
  return tiles;
}

void ForwardLoop::finish(tile::ForTilesOp tiles, WorkPartition work) {
  SmallVector<Value> state = llvm::to_vector_of<Value>(tiles.getResults().drop_front().drop_back(aheadCount));
  Value computed = tiles.getResult(0);
  if (loop.splitsWaves) {
    computed = joinWaves(builder, state, computed);
    work.leaveToFirst(builder, loop.keyPart);
  }
  Value ofKeys = softmax.total(builder, state), sum = ofKeys, ofSink;
  if (op.getSink()) {
    ofSink = work.ofFirstSlice(builder, work.loadOfHeads(builder, frame.argument("sink")));
    sum = sumWithSink(builder, sum, softmax.reference(builder, state), ofSink);
  }
  // Of all weights; LSE is theirs, too.
  Value means = tile::NormalizeOp::create(builder, computed, scores.kept(sum));
  Value rows = descales.ofOutput(means);
  output->store(builder, work, rows, [&] { return softmax.logSumExp(builder, state, ofKeys, ofSink); });
  source->leave(tiles.getResults().take_back(aheadCount));
  tile::ReturnOp::create(builder);
}

FailureOr<tile::KernelOp> ForwardLoop::build() {
  FailureOr<tile::KernelOp> kernel = createFrame();
  if (failed(kernel))
    return failure();
  WorkPartition work = place();
  Value count = prepare(work);
  finish(createLoop(count, seenTiles(work, count)), work);
  return kernel;
}

FailureOr<tile::KernelOp> hocket::buildForward(attn::ForwardOp op, FlatSymbolRefAttr schedule,
                                    const ArchInfo &arch, TileShape shape) {
  return ForwardLoop(op, schedule, arch, shape).build();
}
