// Scores and weights of a forward.
#include "ForwardScores.h"

#include "Tile/IR/MemoryAccess.h"

using namespace mlir;
using namespace hocket;

static Orientation orientationOf(attn::ForwardOp op) {
  return WorkPartition::hasRowPlaces(op) ? Orientation::Mixed : Orientation::QueriesInRows;
}

static Masks::Options masksOf(attn::ForwardOp op, const LoopContext &loop, bool ownLengths) {
  Masks::Options options;
  options.orientation = orientationOf(op);
  options.ownLengths = ownLengths;
  options.listed = op.getKeyBlock().has_value();
  options.narrows = true;
  options.rows = WorkPartition::queriesOfBlock(loop.waveBlocks(), /*areHeads=*/false);
  options.ofPairs = op.getGroupRows();
  return options;
}

bool ForwardScores::beginsProducts(attn::ForwardOp op) {
  std::optional<ArrayAttr> symbols = op.getScoreMods();
  return symbols && !HeadElements(op).areIntegers() && llvm::all_of(symbols->getAsRange<FlatSymbolRefAttr>(), [&](FlatSymbolRefAttr symbol) {
           return ModificationProgram::onlyAdds(SymbolTable::lookupNearestSymbolFrom(op, symbol));
         });
}

ForwardScores::ForwardScores(attn::ForwardOp op, const LoopContext &loop, bool ownLengths)
    : masks(op, op.getKeyVisibility(), op.getMaskMods(), loop.scores(), masksOf(op, loop, ownLengths)), op(op), loop(loop),
      ownLengths(ownLengths) {
  if (std::optional<ArrayAttr> symbols = op.getScoreMods())
    for (auto symbol : symbols->getAsRange<FlatSymbolRefAttr>())
      mods.push_back(std::make_unique<ModificationProgram>(SymbolTable::lookupNearestSymbolFrom(op, symbol),
                                                           loop.scores(), orientationOf(op), ownLengths));
  hasTail = !mods.empty() && !beginsProducts(op) && mods.back()->splitTail();
  // Else the last makes log2 units of scores, or leaves that to the one before.
  bool isAsked = !beginsProducts(op) && !hasTail;
  for (auto &program : llvm::reverse(mods))
    isAsked = isAsked && program->scaleYield(Softmax::kScaledUnit, /*asksOfScores=*/program != mods.front());
}

void ForwardScores::addDropout(KernelFrame &frame) {
  if (op.getDropout())
    addDropoutArguments(frame);
}

LogicalResult ForwardScores::addArguments(KernelFrame &frame) {
  SmallVector<ModificationProgram *> programs = masks.own();
  for (const auto &program : mods)
    programs.push_back(program.get());
  llvm::append_range(programs, masks.custom());
  return failure(llvm::any_of(programs, [&](ModificationProgram *program) { return failed(program->addArguments(frame)); }));
}

void ForwardScores::bindArguments(const KernelFrame &frame) {
  if (op.getDropout())
    dropout.emplace(frame);
  for (const auto &program : mods)
    program->bindArguments(frame);
  for (const auto &programs : {masks.own(), masks.custom()})
    for (ModificationProgram *program : programs)
      program->bindArguments(frame);
}

/// The `count` queries from `first` on that exist.
QueryRange ForwardScores::rowsFrom(Value first, Value count) {
  ExpansionBuilder &builder = loop.builder;
  Value behindFirst = builder.createOrFold<arith::SubIOp>(count, builder.constant(int64_t(1)));
  Value last = arith::AddIOp::create(builder, first, behindFirst);
  return {first, arith::MinSIOp::create(builder, last, lastQuery)};
}

void ForwardScores::prepare(const WorkPartition &work, Value q, Value keys) {
  ExpansionBuilder &builder = loop.builder;
  masks.range.measure(builder, q, keys);
  if (dropout)
    dropout->prepare(builder, q, work.batch, work.head);
  place = {work.batch, work.head, work.row, builder.constant(int64_t(0)), {}};
  if (work.hasRowPlaces())
    place.numbers = work.rowPlaces(builder);
  if (ownLengths)
    place.seqQ = tile::DimOp::create(builder, q, 1), place.seqKv = keys;
  Value one = builder.constant(int64_t(1));
  lastQuery = arith::SubIOp::create(builder, tile::DimOp::create(builder, q, 1), one);
  lastKey = arith::SubIOp::create(builder, keys, one);
  for (const auto &program : mods)
    program->prepare(builder, place);
  masks.prepare(builder, place);
  waveRows = rowsFrom(work.row, work.waveQueries(builder));
  masks.prepareCuts(builder, waveRows);
}

SmallVector<KeyBounds> ForwardScores::visibleTo(const WorkPartition &work) {
  return masks.visible(loop.builder, place, rowsFrom(work.blockRow, work.blockQueries(loop.builder)));
}

void ForwardScores::moveTailTo(Softmax &softmax) {
  if (hasTail)
    softmax.multiplyBy(loop.builder, mods.back()->tailFactor(loop.builder, place), mods.back()->tailAddend(loop.builder, place));
}

/// Where the wave's scores of the tile with so many tiles in front of it are.
ScorePlace ForwardScores::placeOf(Value number) {
  ScorePlace here = place;
  Value size = loop.builder.constant(loop.waveKeys());
  Value before = arith::MulIOp::create(loop.builder, loop.waveTile(number), size);
  here.key = arith::AddIOp::create(loop.builder, place.key, before);
  return here;
}

TileExtent ForwardScores::extentOf(const ScorePlace &here) {
  ExpansionBuilder &builder = loop.builder;
  Value last = arith::AddIOp::create(builder, here.key, builder.constant(loop.waveKeys() - 1));
  return {waveRows.first, waveRows.last, here.key, arith::MinSIOp::create(builder, last, lastKey)};
}

void ForwardScores::loadStep(const TileVisit &visit, Value t) {
  SmallVector<ModificationProgram *> programs;
  for (const auto &program : mods)
    programs.push_back(program.get());
  llvm::append_range(programs, masks.custom());
  llvm::erase_if(programs, [](ModificationProgram *program) { return !program->loadsAhead(); });
  if (programs.empty())
    return;
  ValueRange begun = loop.builder.step("load", [&] {
    ScorePlace here = placeOf(visit.number(loop.builder, t));
    SmallVector<Value> pending;
    for (ModificationProgram *program : programs)
      llvm::append_range(pending, program->beginLoads(loop.builder, here, t));
    return pending;
  });
  for (ModificationProgram *program : programs)
    begun = program->takeLoads(begun, t);
}

Value ForwardScores::startStep(const TileVisit &visit, Value t) {
  if (!perScale)
    return noScores;
  return loop.builder.step("start", [&]() -> SmallVector<Value> {
    ScorePlace here = placeOf(visit.number(loop.builder, t));
    TileExtent extent = extentOf(here);
    Value sums = noScores;
    for (const auto &program : mods)
      sums = program->addTo(loop.builder, sums, /*first=*/sums == noScores, perScale, here, extent);
    return {sums};
  })[0];
}

Value ForwardScores::modify(const TileVisit &visit, Value raw, Value t) {
  ExpansionBuilder &builder = loop.builder;
  Value number = visit.number(builder, t);
  auto masked = [&](Value of) -> Value {
    Value result = masks.range.mask(builder, of, loop.waveTile(number));
    if (visit.hasGaps() || loop.splitsWaves)
      result.getDefiningOp()->setAttr(tile::kRisesWithLoop, builder.getUnitAttr());
    return result;
  };
  if (mods.empty() && !masks.any() && !visit.isListed())
    return masked(raw);
  ScorePlace here = placeOf(number);
  Value scores = raw, factor = scale;
  TileExtent extent = extentOf(here);
  if (!perScale)
    for (const auto &program : mods) {
      scores = program->modify(builder, scores, factor, here, &extent);
      factor = Value();
    }
  if (visit.isListed()) {
    Value last = arith::AddIOp::create(builder, here.key, builder.constant(loop.shape.kvTile - 1));
    scores = masks.hideOwn(builder, scores, here, last, [&] { return visit.mayEnd(builder); });
    return masks.hide(builder, scores, here, extent.lastKey, visit.countsMasks(builder, t));
  }
  return masks.hide(builder, masked(scores), here, extent.lastKey, Value());
}

Value ForwardScores::drop(const TileVisit &visit, Value weights, Value t, int64_t firstKey) {
  Value first = placeOf(visit.number(loop.builder, t)).key;
  Value key = arith::AddIOp::create(loop.builder, first, loop.builder.constant(firstKey));
  return dropout->keep(loop.builder, weights, place.row, key);
}
