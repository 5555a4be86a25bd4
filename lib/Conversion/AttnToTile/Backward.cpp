// dK and dV, or dQ, tile by tile, in named steps.
//
// The two loops are one: a wave *holds* 32 rows of two tensors in registers for the whole loop, and tiles of the two
// of the other side pass through LDS. Queries are held for dQ, keys for dK and dV:
//
//     held                    passing         S          dP           what is summed
//     keys:    K, V           Q, dO           Q K^T      dO V^T       dV += dO^T P,  dK += Q^T dS
//     queries: Q, dO          K, V            K Q^T      V dO^T       dQ += K^T dS
//
// Products are transposed as in the forward: what is held is a lane's column, so that P and dS, packed, are the right
// operand of the next product as they lie, and the passing tile, read transposed, the left one. LSE and delta are row
// values where queries are held; where they pass, column values, loaded for each tile.
//
// Fused, keys are held, and dQ comes out of the same loop (FusedQueries.h).
//
// What options change is said elsewhere, by the parts that the loop is made of: which tiles pass (PassingTiles.h), which
// of them are visited (ShownQueries.h, TileVisit.h), what becomes of scores (BackwardScores.h), the products
// (BackwardProducts.h).
#include "Backward.h"

#include "BackwardScores.h"
#include "Forward.h"
#include "FusedQueries.h"
#include "PassingTiles.h"
#include "VisitedTiles.h"
#include "WorkPartition.h"

#include "Tile/IR/FragmentMap.h"
#include "Tile/IR/MemoryAccess.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

#include <numbers>

using namespace mlir;
using namespace hocket;
using attn::BackwardPart;
using tile::FragLayout;

namespace {
class BackwardLoop : BackwardScores {
public:
  BackwardLoop(attn::BackwardOp op, FlatSymbolRefAttr schedule, const ArchInfo &arch, BackwardShape shape);
  FailureOr<tile::KernelOp> build();

private:
  FailureOr<tile::KernelOp> createFrame();
  void place();
  void enterSequence();
  Value unlessBehind(Value view, Value count);
  void hold();
  Value heldHeads();
  void takePart();
  Value visitQueries();
  Value visitKeys();
  void loopOverKeys();
  void loopOverQueries();
  SmallVector<Value> loopOverTiles(Value count, ValueRange sums);
  SmallVector<Value> iterate(Value t, ValueRange sums);
  SmallVector<Value> iterateTile(Value t, ValueRange sums);
  const TileVisit &visit() const {
    const TileVisit *others = ofLists ? static_cast<const TileVisit *>(&*ofLists) : ofRanges ? &*ofRanges : nullptr;
    return others ? *others : turn;
  }
  Listed listedAt(Value t) { return ofLists ? Listed{ofLists->ofTile(), ofLists->countsMasks(builder, t)} : Listed(); }
  void store(ValueRange sums);

  FlatSymbolRefAttr schedule;
  BackwardShape ofLoop;
  /// What works on keys: which part of the query heads of which KV head, without parts `kvHead`; of parts, the first of
  /// its query heads, and how many it has.
  Value partOfHeads, firstOfPart, headsOfPart;
  LoopContext loop;
  TileInTurn turn;
  std::optional<ListedTiles> ofLists;  ///< neither these nor the next: tiles are visited in turn
  std::optional<RangedTiles> ofRanges; ///< those that masks leave
  Operand held[2]; ///< S is made of the first one, dP of the second one
  PassingTiles passing;
  BackwardProducts products;
  std::optional<FusedQueries> fused;
  RowNumbers numbers;
  Value packedDs; ///< of the tile that was written last
  SmallVector<Value> carried; ///< of the tiles to come
};
} // namespace

BackwardLoop::BackwardLoop(attn::BackwardOp op, FlatSymbolRefAttr schedule, const ArchInfo &arch, BackwardShape shape)
    : BackwardScores(op, arch, shape), schedule(schedule), ofLoop(shape), loop{builder, arch, shape, op.getElementType()},
      turn(builder, shape.tilesAtOnce), held{Operand::of(op, holdsKeys(), true), Operand::of(op, holdsKeys(), false)},
      passing(loop, turn, Operand::of(op, !holdsKeys(), true), Operand::of(op, !holdsKeys(), false)),
      products(loop, turn, isFused() || shape.secondInLds ? 2 : 1) {
  if (isFused())
    fused.emplace(op, loop, turn);
  if (lists)
    ofLists.emplace(*lists);
}

FailureOr<tile::KernelOp> BackwardLoop::createFrame() {
  SmallVector<StringRef> tensors = {"q", "k", "v", "do"}, gradients;
  if (!wantsFirst())
    tensors = {"q", "k", "do"};
  if (wantsFirst())
    gradients.push_back(holdsKeys() ? "dk" : "dq");
  if (wantsSecond())
    gradients.push_back("dv");
  problem.addTensors(tensors);
  op.getGroupParts() ? problem.addParts(gradients) : problem.addTensors(gradients);
  problem.addRowStatistics();
  KernelFrame &frame = problem.kernelFrame();
  if (fused)
    fused->sums.addTo(frame);
  frame.addScalar(builder.getF32Type(), "scale");
  if (op.getDropout()) {
    addDropoutArguments(frame);
    for (StringRef factor : {kScaleOfKept, kOneOfKept})
      frame.addScalar(builder.getF32Type(), factor);
  }
  problem.addSequences(holdsKeys());
  if (failed(addArguments()))
    return failure();
  problem.addRequirements();
  Visibility(op.getKeyVisibility(), 0).addRequirements(frame);
  tile::KernelOp kernel = frame.create(builder, op.getSymName(), arch.name, shape.waves);
  setAttributes(kernel, ofLoop.workgroups);
  for (Operand *operand : {&passing[0], &passing[1], &held[0], &held[1]})
    operand->view = frame.argument(operand->name);
  bindArguments();
  return kernel;
}

/// The rows of what is held. Those with most to do start first: under a causal mask the last queries, and the first
/// keys.
void BackwardLoop::place() {
  bool isMasked = !op.getKeyVisibility().isAll() || masks.any();
  const SequenceViews &sequences = problem.sequences();
  KernelFrame &frame = problem.kernelFrame();
  tile::BlockIdOp block = createBlockId(
      builder, {op.getBlockOrder(), static_cast<int64_t>(arch.chip.xcds)}, heldHeads(), shape.waves * kWaveRows,
      holdsKeys() ? sequences.keyRowCount(frame) : sequences.rowCount(frame), /*laterRowsSeeMore=*/!holdsKeys() && isMasked);
  batch = block.getBatch(), blockRow = block.getRow();
  (holdsKeys() ? kvHead : head) = block.getHead();
  partOfHeads = block.getHead();
  if (op.getGroupParts())
    takePart();
  row = tile::WaveRowOp::create(builder, blockRow, kWaveRows);
}

/// A tensor of which a workgroup has rows of one head: what is held, or the parts that are made for it.
Value BackwardLoop::heldHeads() {
  if (!op.getGroupParts())
    return held[0].view;
  return problem.kernelFrame().argument(BackwardFrame::nameOfParts(wantsFirst() ? "dk" : "dv"));
}

/// A part has some heads of a group, or, where there are more parts than heads, a slice of the queries of one.
void BackwardLoop::takePart() {
  kvHead = tile::GroupHeadOp::create(builder, partOfHeads, heldHeads(), held[0].view);
  Value heads = tile::DimOp::create(builder, passing[0].view, 2), parts = tile::DimOp::create(builder, heldHeads(), 2);
  Value one = builder.constant(int64_t(1));
  auto atLeastOne = [&](Value dividend, Value divisor) -> Value {
    return arith::MaxSIOp::create(builder, tile::DivModOp::create(builder, dividend, divisor).getQuotient(), one);
  };
  headsOfPart = atLeastOne(heads, parts);
  Value slices = atLeastOne(parts, heads);
  auto place = tile::DivModOp::create(builder, partOfHeads, slices);
  firstOfPart = arith::MulIOp::create(builder, place.getQuotient(), headsOfPart);
  if (!op.getKeyBlock())
    shown.take(place.getRemainder(), slices);
}

/// From here on tensors are those of the workgroup's sequence.
void BackwardLoop::enterSequence() {
  problem.enterSequence(builder, batch);
  for (Operand *operand : {&passing[0], &passing[1], &held[0], &held[1]})
    operand->view = problem.view(builder, operand->name);
  q = holdsKeys() ? passing[0].view : held[0].view, k = holdsKeys() ? held[0].view : passing[0].view;
  statistics = problem.rowStatistics(builder);
}

/// `count`, or 0 where the workgroup lies behind the rows of `view`, those of its sequence.
Value BackwardLoop::unlessBehind(Value view, Value count) {
  if (!hasOwnLengths())
    return count;
  Value rows = tile::DimOp::create(builder, view, 1);
  Value exists = arith::CmpIOp::create(builder, arith::CmpIPredicate::slt, blockRow, rows);
  return arith::SelectOp::create(builder, exists, count, builder.constant(int64_t(0)));
}

void BackwardLoop::hold() {
  fixed.log2Scale = arith::MulFOp::create(builder, problem.kernelFrame().argument("scale"),
                                          builder.constant(std::numbers::log2e_v<float>));
  Value heldHead = holdsKeys() ? kvHead : head;
  for (Operand &operand : held) {
    if (!operand.view)
      continue;
    if (fused && &operand == &held[0]) {
      products.divide(fused->hold(operand, batch, kvHead, blockRow, row));
      continue;
    }
    Type type = builder.frag(operand.depth, kWaveRows, elementType(), FragLayout::Rhs);
    Value loaded = tile::LoadOp::create(builder, type, operand.view, batch, row, heldHead);
    operand.value = withoutPadding(builder, loaded, operand.dim);
  }
  if (ofLoop.secondInLds)
    held[1].value = tile::StashOp::create(builder, held[1].value, IntegerAttr());
}

/// How many tiles of queries are visited; from here on passing tensors begin with the first one.
Value BackwardLoop::visitQueries() {
  shown.measure(loop, masks, {blockRow, row, passing[0].view, held[0].view});
  shown.setCount(unlessBehind(k, shown.count()));
  if (shown.areNarrowed(masks))
    passing.narrow(shown.first(), shown.count());
  if (fused)
    fused->place(shown.first());
  return turn.tilesUpTo(shown.count(), shape.kvTile);
}

/// How many tiles of keys hold one that a mask shows to a query of the workgroup; from here on passing tensors begin with
/// the first one.
Value BackwardLoop::visitKeys() {
  Value keys = masks.range.keyCount();
  Value end = unlessBehind(q, masks.range.end(builder, blockRow));
  if (!masks.any())
    return turn.tilesUpTo(end, shape.kvTile);
  Value lastOfBlock = arith::AddIOp::create(builder, blockRow, builder.constant(shape.waves * kWaveRows - 1));
  QueryRange rows{blockRow, arith::MinSIOp::create(builder, lastOfBlock, fixed.lastQuery)};
  SmallVector<KeyBounds> ranges = masks.visible(builder, fixed.first, rows);
  for (KeyBounds &range : ranges)
    range.hi = range.hi ? arith::MinSIOp::create(builder, range.hi, end).getResult() : end;
  VisitedTiles visited = visitTiles(builder, ranges, keys, shape.kvTile);
  Value first = arith::MulIOp::create(builder, visited.first, builder.constant(shape.kvTile));
  Value left = arith::SubIOp::create(builder, keys, first);
  passing.narrow(first, left);
  masks.range.moveTo(builder, first, left);
  fixed.first.key = first;
  ofRanges.emplace(visited);
  fixed.hasGaps = ofRanges->hasGaps();
  return visited.count;
}

/// dQ: the tiles of keys that a query of the workgroup sees.
void BackwardLoop::loopOverKeys() {
  kvHead = tile::GroupHeadOp::create(builder, head, held[0].view, passing[0].view);
  masks.range.measure(builder, held[0].view, tile::DimOp::create(builder, passing[0].view, 1));
  Value first = builder.constant(int64_t(0));
  preparePositions(row, first);
  numbers.logSum = loadNumbers(builder, statistic(BackwardFrame::kMinusLogSum), builder.rows(), row);
  numbers.delta = loadNumbers(builder, statistic(BackwardFrame::kMinusDelta), builder.rows(), row);
  Value count = lists ? lists->prepare(builder, batch, head, blockRow, tile::DimOp::create(builder, passing[0].view, 1))
                      : visitKeys();
  masks.range.prepareMasks(builder, row);
  Type sum = builder.frag(held[0].depth, kWaveRows, builder.getF32Type(), FragLayout::Acc);
  Value zero = builder.fill(sum, 0.0f);
  store(loopOverTiles(count, zero));
}

/// dK and dV: for each query head that shares the keys, the tiles of queries from the first that sees one on.
void BackwardLoop::loopOverQueries() {
  // What a predicate shows may differ by the head.
  bool isOfHead = masks.any() && shown.areNarrowed(masks);
  Value count = isOfHead ? Value() : visitQueries();
  Value firstHead = firstOfPart, headCount = headsOfPart;
  if (!firstHead) {
    Value heads = tile::DimOp::create(builder, passing[0].view, 2), kvHeads = tile::DimOp::create(builder, held[0].view, 2);
    headCount = tile::DivModOp::create(builder, heads, kvHeads).getQuotient();
    firstHead = arith::MulIOp::create(builder, kvHead, headCount);
  }
  SmallVector<Value> sums;
  for (int i : {0, 1})
    if (i == 0 ? wantsFirst() : wantsSecond())
      sums.push_back(builder.fill(
          builder.frag(passing[i].depth, kWaveRows, builder.getF32Type(), FragLayout::Acc), 0.0f));
  auto loop = scf::ForOp::create(builder, builder.constant(int64_t(0)), headCount,
                                 builder.constant(int64_t(1)), sums);
  {
    OpBuilder::InsertionGuard guard(builder);
    Block *body = loop.getBody();
    if (!body->empty())
      body->back().erase();
    builder.setInsertionPointToEnd(body);
    head = arith::AddIOp::create(builder, firstHead, loop.getInductionVar());
    preparePositions(isOfHead ? builder.constant(int64_t(0)) : shown.first(), row);
    if (isOfHead) {
      count = visitQueries();
      fixed.first.row = shown.first();
    }
    if (fused)
      fused->enterHead(
          fused->sums.ofHead(builder, problem.kernelFrame(), batch, head, q, problem.sequences().firstQuery()));
    numbers.logSum = statistic(BackwardFrame::kMinusLogSum);
    numbers.delta = wantsFirst() ? statistic(BackwardFrame::kMinusDelta) : Value();
    if (lists)
      count = lists->prepare(builder, batch, head, blockRow, shown.count());
    scf::YieldOp::create(builder, loopOverTiles(count, loop.getRegionIterArgs()));
  }
  store(loop.getResults());
}

/// Returns `sums` with those of `count` tiles.
SmallVector<Value> BackwardLoop::loopOverTiles(Value count, ValueRange sums) {
  passing.makeRings(batch, holdsKeys() ? head : kvHead, wantsFirst(), wantsSecond());
  fixed.noScores = builder.fill(scoresType, 0.0f);
  SmallVector<tile::TileCut> cuts;
  if (!lists)
    cuts = holdsKeys() ? shown.cuts(shape.waves * kWaveRows, !scores.empty()) : masks.range.cuts();
  SmallVector<Value> inits(sums);
  llvm::append_range(inits, visit().first(builder));
  auto tiles = tile::ForTilesOp::create(builder, count, inits, cuts, schedule);
  Block &body = tiles.getBody().emplaceBlock();
  Value t = body.addArgument(builder.getI32Type(), op.getLoc());
  for (Value init : inits)
    body.addArgument(init.getType(), op.getLoc());
  builder.setInsertionPointToStart(&body);
  ValueRange arguments = body.getArguments().drop_front();
  if (ofLists)
    ofLists->enter(arguments.drop_front(sums.size()));
  SmallVector<Value> next = iterate(t, arguments.take_front(sums.size()));
  llvm::append_range(next, carried);
  tile::YieldOp::create(builder, next);
  builder.setInsertionPointAfter(tiles);
  ValueRange results = tiles.getResults();
  return llvm::to_vector(results.take_front(sums.size()));
}

/// All tiles of an iteration. Returns the next sums.
SmallVector<Value> BackwardLoop::iterate(Value t, ValueRange sums) {
  if (!fused)
    return iterateTile(t, sums);
  SmallVector<Value> next(sums), ofTiles;
  for (int64_t number = 0; number != turn.ofIteration(); ++number) {
    passing.take(number);
    next = iterateTile(t, next);
    ofTiles.push_back(packedDs);
  }
  turn.take(0);
  Value scale = problem.kernelFrame().argument(dropout ? StringRef(kScaleOfKept) : "scale");
  fused->addSteps(t, held[0], ofTiles, scale);
  return next;
}

/// One tile: P = exp2(S scale - LSE), dS = P * (dP - delta), and what is summed. Returns the next sums.
SmallVector<Value> BackwardLoop::iterateTile(Value t, ValueRange sums) {
  carried = passing.fetchSteps(visit(), t);
  RowNumbers ofTile = holdsKeys() ? passing.numberSteps(visit(), t, fixed.first.row, numbers) : numbers;
  auto number = [&] { return visit().number(builder, t); };
  Value raw = products.multiply(passing[0], held[0], t, "qk", [&] { return fixed.noScores; });
  ValueRange masked = turn.step("mask", [&] { return exponents(raw, ofTile.logSum, number(), listedAt(t)); });
  Value slope = masked.size() > 1 ? masked.back() : Value();
  ValueRange weighed = turn.step("p", [&] { return weights(masked, slope, number()); });
  SmallVector<Value> next(sums);
  if (wantsSecond())
    next.back() = products.add(passing[1], t, weighed.back(), sums.back(), "dv");
  if (!wantsFirst())
    return next;
  // Where queries pass, -delta lies as the accumulators of dP do, which then begin with it.
  bool isIncluded = holdsKeys() && !dropout;
  Value weightGradients = products.multiply(passing[1], held[1], t, "dp", [&]() -> Value {
    if (!isIncluded)
      return fixed.noScores;
    return mapScores({ofTile.delta}, [](ValueRange e) -> Value { return e[0]; });
  });
  Type packedType = builder.frag(shape.kvTile, kWaveRows, elementType(), FragLayout::RhsAcc);
  Value packed = turn.step("ds", [&]() -> SmallVector<Value> {
    Value ds = gradients(weightGradients, isIncluded ? Value() : ofTile.delta, weighed.front(),
                         dropout ? slope : Value());
    if (fused)
      ds = fused->existing(ds);
    return {tile::PackOp::create(builder, packedType, ds)};
  })[0];
  packedDs = packed;
  next.front() = products.add(passing[0], t, packed, sums.front(), holdsKeys() ? "dk" : "dq");
  return next;
}

void BackwardLoop::store(ValueRange sums) {
  KernelFrame &frame = problem.kernelFrame();
  auto gradient = [&](StringRef name) {
    return problem.view(builder, op.getGroupParts() ? BackwardFrame::nameOfParts(name) : name);
  };
  if (wantsFirst()) {
    Value scale = frame.argument(dropout ? StringRef(kScaleOfKept) : "scale");
    Value scaled = tile::ScaleOp::create(builder, sums.front(), scale);
    tile::StoreOp::create(builder, scaled, gradient(holdsKeys() ? "dk" : "dq"), batch, row, partOfHeads);
  }
  if (wantsSecond()) {
    Value sum = sums.back();
    if (dropout)
      sum = tile::ScaleOp::create(builder, sum, frame.argument(kOneOfKept));
    tile::StoreOp::create(builder, sum, gradient("dv"), batch, row, partOfHeads);
  }
  tile::ReturnOp::create(builder);
}

FailureOr<tile::KernelOp> BackwardLoop::build() {
  if (failed(findScores()))
    return failure();
  FailureOr<tile::KernelOp> kernel = createFrame();
  if (failed(kernel))
    return failure();
  place();
  enterSequence();
  hold();
  holdsKeys() ? loopOverQueries() : loopOverKeys();
  return kernel;
}

FailureOr<tile::KernelOp> hocket::buildBackwardLoop(attn::BackwardOp op, FlatSymbolRefAttr schedule,
                                                    const ArchInfo &arch, BackwardShape shape) {
  return BackwardLoop(op, schedule, arch, shape).build();
}
