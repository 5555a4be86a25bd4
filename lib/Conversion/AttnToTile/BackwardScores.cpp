// The weights of a tile and the gradients of its scores.
#include "BackwardScores.h"

#include "Attn/Transforms/DeriveScoreMods.h"
#include "Tile/IR/MemoryAccess.h"

#include "mlir/Dialect/Math/IR/Math.h"

#include <numbers>

using namespace mlir;
using namespace hocket;
using attn::BackwardPart;
using tile::FragLayout;

bool hocket::areKeysHeld(attn::BackwardOp op) {
  return op.getPart() != BackwardPart::Dq && op.getPart() != BackwardPart::Captured;
}

/// Where queries are held a diagonal is the forward's.
static Masks::Options masksOf(attn::BackwardOp op, TileShape shape) {
  Masks::Options options;
  options.keysHeld = areKeysHeld(op);
  options.orientation = options.keysHeld ? Orientation::KeysInRows : Orientation::QueriesInRows;
  options.ownLengths = SequenceViews(op).hasOwnLengths();
  options.listed = op.getKeyBlock().has_value();
  options.narrows = op.getPart() == BackwardPart::Dq && !options.listed;
  options.rows = shape.waves * kWaveRows;
  return options;
}

BackwardScores::BackwardScores(attn::BackwardOp op, const ArchInfo &arch, TileShape shape)
    : op(op), arch(arch), shape(shape), builder(op.getLoc(), op),
      scoresType(builder.frag(shape.kvTile, kWaveRows, builder.getF32Type(), FragLayout::Acc)),
      masks(op, op.getKeyVisibility(), op.getMaskMods(), scoresType, masksOf(op, shape)), problem(op),
      shown(op.getKeyVisibility(), op.getKeyBlock().has_value(), op.getPart() == BackwardPart::Fused) {
  if (op.getKeyBlock())
    lists.emplace(*op.getQueryBlock(), *op.getKeyBlock(), shape.kvTile, holdsKeys() ? ListsOf::Queries : ListsOf::Keys);
}

LogicalResult BackwardScores::findScores() {
  auto orientation = holdsKeys() ? Orientation::KeysInRows : Orientation::QueriesInRows;
  auto symbols = op.getScoreMods();
  if (!symbols)
    return success();
  std::optional<StringRef> captured = op.getGradientOf();
  bool isReached = !captured;
  for (auto symbol : symbols->getAsRange<FlatSymbolRefAttr>()) {
    auto mod = SymbolTable::lookupNearestSymbolFrom<attn::ScoreModOp>(op, symbol);
    // Of a captured tensor's gradient, what comes before the modification that reads it has no part in the slope.
    bool isReader = captured && !attn::readsOf(mod, *captured).empty();
    isReached |= isReader;
    FailureOr<OwningOpRef<attn::ScoreModOp>> derivative =
        isReader ? attn::deriveByTensor(mod, *captured) : attn::deriveScoreMod(mod);
    if (failed(derivative))
      return failure();
    ScoreProgram program{std::make_unique<ModificationProgram>(mod, scoresType, orientation, hasOwnLengths()), nullptr};
    if (!attn::yieldsOne(derivative->get()) && wantsFirst() && isReached)
      program.derivative =
          std::make_unique<ModificationProgram>(derivative->get(), scoresType, orientation, hasOwnLengths());
    scores.push_back(std::move(program));
  }
  return success();
}

/// All of them.
SmallVector<ModificationProgram *> BackwardScores::programs() {
  SmallVector<ModificationProgram *> all;
  for (const ScoreProgram &score : scores)
    for (ModificationProgram *program : {score.value.get(), score.derivative.get()})
      if (program)
        all.push_back(program);
  for (const auto &ofMasks : {masks.custom(), masks.own()})
    llvm::append_range(all, ofMasks);
  return all;
}

LogicalResult BackwardScores::addArguments() {
  KernelFrame &frame = problem.kernelFrame();
  if (lists)
    lists->addArguments(frame);
  return failure(llvm::any_of(programs(), [&](ModificationProgram *program) { return failed(program->addArguments(frame)); }));
}

void BackwardScores::bindArguments() {
  const KernelFrame &frame = problem.kernelFrame();
  if (lists)
    lists->bindArguments(frame);
  for (ModificationProgram *program : programs())
    program->bindArguments(frame);
  if (op.getDropout())
    dropout.emplace(frame);
}

void BackwardScores::setAttributes(tile::KernelOp kernel, std::optional<int64_t> workgroups) {
  // What gradients are written by would else take a quarter of the scalar registers of the loop.
  kernel->setAttr("tile.late_arguments", builder.getUnitAttr());
  if (isFused() || workgroups || (holdsKeys() && (lists || op.getDropout() || !programs().empty())))
    kernel->setAttr("tile.turn_arguments", builder.getUnitAttr());
  if (holdsKeys() && op.getDropout() && !programs().empty())
    kernel->setAttr("tile.turn_scalars", builder.getUnitAttr());
  if (workgroups)
    kernel->setAttr(tile::kWorkgroupsAttr, builder.getI64IntegerAttr(*workgroups));
}

/// What the last positions are, for masks, and where the first scores stand.
void BackwardScores::preparePositions(Value query, Value key) {
  Value one = builder.constant(int64_t(1));
  Value queries = tile::DimOp::create(builder, q, 1);
  Value keys = tile::DimOp::create(builder, k, 1);
  fixed.lastQuery = arith::SubIOp::create(builder, queries, one);
  fixed.lastKey = arith::SubIOp::create(builder, keys, one);
  fixed.first = {batch, head, query, key};
  if (hasOwnLengths())
    fixed.first.seqQ = queries, fixed.first.seqKv = keys;
  for (const ScoreProgram &score : scores)
    for (ModificationProgram *program : {score.value.get(), score.derivative.get()})
      if (program)
        program->prepare(builder, fixed.first);
  masks.prepare(builder, fixed.first);
  if (dropout)
    dropout->prepare(builder, q, batch, head);
  if (holdsKeys())
    return;
  Value behind = arith::AddIOp::create(builder, query, builder.constant(kWaveRows - 1));
  masks.prepareCuts(builder, {query, arith::MinSIOp::create(builder, behind, fixed.lastQuery)});
}

/// Where the wave's scores of tile `t` stand.
ScorePlace BackwardScores::placeOf(Value t) {
  Value before = arith::MulIOp::create(builder, t, builder.constant(shape.kvTile));
  ScorePlace here = fixed.first;
  Value &moves = holdsKeys() ? here.row : here.key;
  moves = arith::AddIOp::create(builder, moves, before);
  return here;
}

/// The exponents of the weights before masks, where scores are modified; `slope` becomes the derivative of the
/// modified scores, null where that is 1.
Value BackwardScores::modified(Value raw, Value minusLogSum, const ScorePlace &here, Value &slope) {
  Value current = raw, scale = problem.kernelFrame().argument("scale");
  for (const ScoreProgram &program : scores) {
    if (program.derivative) {
      Value own = program.derivative->modify(builder, current, scale, here);
      slope = !slope ? own : mapScores({slope, own}, [&](ValueRange e) -> Value {
        return arith::MulFOp::create(builder, e[0], e[1]);
      });
    }
    current = program.value->modify(builder, current, scale, here);
    scale = Value();
  }
  return mapScores({current, minusLogSum}, [&](ValueRange e) -> Value {
    return math::FmaOp::create(builder, e[0], builder.constant(std::numbers::log2e_v<float>), e[1]);
  });
}

/// The exponents of tile `t` of those that lists name, -inf where a query does not see a key or is not there.
Value BackwardScores::hideListed(Value scaled, Value t, Listed listed) {
  ScorePlace here = placeOf(t);
  if (holdsKeys() && !scores.empty())
    scaled = shown.mask(builder, scaled, t);
  Value behind = holdsKeys() ? Value() : arith::AddIOp::create(builder, here.key, builder.constant(shape.kvTile - 1));
  scaled = masks.hideOwn(builder, scaled, here, behind, [&] { return lists->isBehindWhole(builder, listed.block); });
  Value last = holdsKeys() ? Value() : arith::MinSIOp::create(builder, behind, fixed.lastKey);
  return masks.hide(builder, scaled, here, last, listed.isPartial);
}

/// The exponents of tile `t` of keys, -inf where keys end and where `mask` hides them.
Value BackwardScores::hideBeyond(Value scaled, Value t) {
  Value hidden = masks.range.mask(builder, scaled, t);
  if (fixed.hasGaps && hidden != scaled)
    hidden.getDefiningOp()->setAttr(tile::kRisesWithLoop, builder.getUnitAttr());
  return hidden;
}

/// The exponents of the weights of tile `t`, -inf where a query does not see a key: masked last, when they are scaled
/// and LSE is subtracted, so that the scale may have any sign. And the derivative of modified scores, if it is not 1.
SmallVector<Value> BackwardScores::exponents(Value raw, Value minusLogSum, Value t, Listed listed) {
  Value slope, scaled;
  if (scores.empty())
    scaled = mapScores({raw, fixed.log2Scale, minusLogSum}, [&](ValueRange e) -> Value {
      return math::FmaOp::create(builder, e[0], e[1], e[2]);
    });
  else
    scaled = modified(raw, minusLogSum, placeOf(t), slope);
  if (lists)
    scaled = hideListed(scaled, t, listed);
  else if (!holdsKeys())
    scaled = hideBeyond(scaled, t);
  else if (shown.areCut() || !scores.empty())
    scaled = shown.mask(builder, scaled, t);
  auto results = [&]() -> SmallVector<Value> {
    if (slope)
      return {scaled, slope};
    return {scaled};
  };
  if (!masks.any() || lists)
    return results();
  ScorePlace here = placeOf(t);
  if (holdsKeys()) {
    scaled = masks.hide(builder, scaled, here, Value(), Value());
    return results();
  }
  Value behind = arith::AddIOp::create(builder, here.key, builder.constant(shape.kvTile - 1));
  Value last = arith::MinSIOp::create(builder, behind, fixed.lastKey);
  for (auto [program, bounds] : llvm::zip_equal(masks.custom(), masks.bounds()))
    scaled = program->hide(builder, scaled, program->yielded(), bounds.isCut(builder, here.key, last), here);
  return results();
}

/// Slopes of weights that are zero are not looked at: those may be of places that do not exist.
SmallVector<Value> BackwardScores::weights(ValueRange exponents, Value slope, Value t) {
  Type packedType = builder.frag(shape.kvTile, kWaveRows, elementType(), FragLayout::RhsAcc);
  auto withSlope = [&](ValueRange e) -> Value {
    Value none = arith::CmpFOp::create(builder, arith::CmpFPredicate::OEQ, e[0], builder.constant(0.0f));
    Value product = arith::MulFOp::create(builder, e[0], e[1]);
    return arith::SelectOp::create(builder, none, e[0], product);
  };
  Value marked = mapScores(exponents, [&](ValueRange e) -> Value {
    return math::Exp2Op::create(builder, e[0]);
  });
  Value kept = marked;
  if (dropout) {
    ScorePlace here = placeOf(t);
    std::tie(kept, marked) = dropout->keepAndMark(builder, marked, here.row, here.key, holdsKeys());
  } else if (slope && wantsFirst()) {
    marked = mapScores({marked, slope}, withSlope);
  }
  SmallVector<Value> results;
  if (wantsFirst())
    results.push_back(marked);
  if (wantsSecond())
    results.push_back(tile::PackOp::create(builder, packedType, kept));
  return results;
}

/// A weight that was dropped (and is negative) has dP = 0.
Value BackwardScores::gradients(Value weightGradients, Value minusDelta, Value marked, Value slope) {
  if (!minusDelta)
    return mapScores({weightGradients, marked}, [&](ValueRange e) -> Value {
      return arith::MulFOp::create(builder, e[0], e[1]);
    });
  SmallVector<Value> inputs = {weightGradients, minusDelta, marked};
  if (slope)
    inputs.push_back(slope);
  return mapScores(inputs, [&](ValueRange e) -> Value {
    Value above = arith::AddFOp::create(builder, e[0], e[1]);
    Value zero = dropout ? Value(builder.constant(0.0f)) : Value();
    if (dropout) {
      Value dropped = arith::CmpFOp::create(builder, arith::CmpFPredicate::OLT, e[2], zero);
      above = arith::SelectOp::create(builder, dropped, arith::NegFOp::create(builder, e[1]), above);
    }
    Value product = arith::MulFOp::create(builder, above, e[2]);
    if (!slope)
      return product;
    Value none = arith::CmpFOp::create(builder, arith::CmpFPredicate::OEQ, e[2], zero);
    Value sloping = arith::MulFOp::create(builder, product, e[3]);
    return arith::SelectOp::create(builder, none, zero, sloping);
  });
}

/// One of the row statistics of the head's queries, as a view.
Value BackwardScores::statistic(int64_t number) {
  SmallVector<Value> place = {batch, head, builder.constant(number)};
  Type view =
      tile::ViewType::get(op.getContext(), {ShapedType::kDynamic}, builder.getF32Type());
  return tile::SelectOp::create(builder, view, statistics, place);
}
