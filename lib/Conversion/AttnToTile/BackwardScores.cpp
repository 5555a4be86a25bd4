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

BackwardScores::BackwardScores(attn::BackwardOp op, const ArchInfo &arch, TileShape shape)
    : op(op), arch(arch), shape(shape), builder(op.getLoc(), op), element(op.getElementType()),
      visibility(op.getKeyVisibility(), shape.waves * kWaveRows), problem(op) {
  scoresType = builder.frag(shape.kvTile, kWaveRows, builder.getF32Type(), FragLayout::Acc);
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
  for (const auto &mask : masks)
    all.push_back(mask.get());
  if (ownMask)
    all.push_back(ownMask.get());
  return all;
}

/// Which tiles of lists the mask cuts is not known from their numbers: it is a predicate as any other.
void BackwardScores::findOwnMask() {
  auto orientation = holdsKeys() ? Orientation::KeysInRows : Orientation::QueriesInRows;
  bool isCausal = op.getKeyVisibility().isCausal();
  // Keys that are held and do not exist are not stored.
  if (!isCausal && holdsKeys())
    return;
  OpBuilder atModule(op);
  attn::MaskModOp mask = isCausal ? createWindow(atModule, op.getLoc(), std::nullopt, 0)
                                  : createEnd(atModule, op.getLoc());
  ownMask = std::make_unique<ModificationProgram>(mask, scoresType, orientation);
  mask.erase();
  if (isCausal && !holdsKeys())
    ownBounds.emplace(*ownMask);
}

/// Where queries are held a causal mask is the forward's and a window is a modification.
void BackwardScores::findMasks() {
  if (op.getKeyBlock()) {
    lists.emplace(*op.getQueryBlock(), *op.getKeyBlock(), shape.kvTile, holdsKeys() ? ListsOf::Queries : ListsOf::Keys);
    findOwnMask();
  }
  auto orientation = holdsKeys() ? Orientation::KeysInRows : Orientation::QueriesInRows;
  auto add = [&](Operation *mask) {
    masks.push_back(
        std::make_unique<ModificationProgram>(mask, scoresType, orientation, hasOwnLengths()));
  };
  if (auto symbols = op.getMaskMods())
    for (auto symbol : symbols->getAsRange<FlatSymbolRefAttr>())
      add(SymbolTable::lookupNearestSymbolFrom(op, symbol));
  attn::VisibilityAttr window = op.getKeyVisibility();
  if ((!holdsKeys() || lists) && !window.isAll() && !window.isCausal()) {
    OpBuilder atModule(op);
    attn::MaskModOp mask =
        createWindow(atModule, op.getLoc(), window.getLeft(), window.getRight());
    add(mask);
    mask.erase();
    visibility = Visibility(attn::VisibilityAttr::get(op.getContext(), std::nullopt, std::nullopt),
                            shape.waves * kWaveRows);
  }
  for (const auto &program : masks)
    maskBounds.emplace_back(*program);
}

/// What the last positions are, for masks, and where the first scores stand.
void BackwardScores::preparePositions(Value query, Value key) {
  Value one = builder.constant(int64_t(1));
  Value queries = tile::DimOp::create(builder, q, 1);
  Value keys = tile::DimOp::create(builder, k, 1);
  lastQuery = arith::SubIOp::create(builder, queries, one);
  lastKey = arith::SubIOp::create(builder, keys, one);
  first = {batch, head, query, key};
  if (hasOwnLengths())
    first.seqQ = queries, first.seqKv = keys;
  for (ModificationProgram *program : programs())
    program->prepare(builder, first);
  if (dropout)
    dropout->prepare(builder, q, batch, head);
  Value behind = arith::AddIOp::create(builder, query, builder.constant(kWaveRows - 1));
  for (MaskBounds &bounds : maskBounds) {
    bounds.prepare(first);
    if (!holdsKeys())
      bounds.prepareCuts(builder, {query, arith::MinSIOp::create(builder, behind, lastQuery)});
  }
  if (!ownBounds)
    return;
  ownBounds->prepare(first);
  ownBounds->prepareCuts(builder, {query, arith::MinSIOp::create(builder, behind, lastQuery)});
}

/// Where the wave's scores of tile `t` stand.
ScorePlace BackwardScores::placeOf(Value t) {
  Value before = arith::MulIOp::create(builder, t, builder.constant(shape.kvTile));
  ScorePlace here = first;
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

/// The exponents of tile `t` of queries, -inf where a query does not see a key or is not there.
Value BackwardScores::maskQueries(Value scaled, Value t) {
  auto mask = tile::MaskOp::create(builder, scaled, t, queryCount, diagonal, above);
  if (isFused())
    mask->setAttr(tile::kFoundInPlace, builder.getUnitAttr());
  return mask;
}

/// The exponents of tile `t` of those that lists name, -inf where a query does not see a key or is not there.
Value BackwardScores::hideListed(Value scaled, Value t, Listed listed) {
  ScorePlace here = placeOf(t);
  if (holdsKeys()) {
    if (!scores.empty())
      scaled = maskQueries(scaled, t);
    if (ownMask)
      scaled = ownMask->hide(builder, scaled, ownMask->yielded(), Value(), here);
    for (const auto &program : masks)
      scaled = program->hide(builder, scaled, program->yielded(), listed.isPartial, here);
    return scaled;
  }
  Value behind = arith::AddIOp::create(builder, here.key, builder.constant(shape.kvTile - 1));
  if (ownBounds)
    scaled = ownBounds->hide(builder, scaled, here, behind, Value());
  else // In the block in which keys end all tiles ask.
    scaled = ownMask->hide(builder, scaled, ownMask->yielded(), lists->isBehindWhole(builder, listed.block), here,
                           /*rarely=*/true);
  Value last = arith::MinSIOp::create(builder, behind, lastKey);
  for (const MaskBounds &bounds : maskBounds)
    scaled = bounds.hide(builder, scaled, here, last, listed.isPartial);
  return scaled;
}

/// The exponents of the weights of tile `t`, -inf where a query does not see a key: masked last, when they are scaled
/// and LSE is subtracted, so that the scale may have any sign. And the derivative of modified scores, if it is not 1.
SmallVector<Value> BackwardScores::exponents(Value raw, Value minusLogSum, Value t, Listed listed) {
  Value slope, scaled;
  if (scores.empty())
    scaled = mapScores({raw, log2Scale, minusLogSum}, [&](ValueRange e) -> Value {
      return math::FmaOp::create(builder, e[0], e[1], e[2]);
    });
  else
    scaled = modified(raw, minusLogSum, placeOf(t), slope);
  if (lists)
    scaled = hideListed(scaled, t, listed);
  else if (!holdsKeys())
    scaled = visibility.mask(builder, scaled, t);
  else if (above || diagonal || !scores.empty())
    scaled = maskQueries(scaled, t);
  auto results = [&]() -> SmallVector<Value> {
    if (slope)
      return {scaled, slope};
    return {scaled};
  };
  if (masks.empty() || lists)
    return results();
  ScorePlace here = placeOf(t);
  Value last;
  if (!holdsKeys()) {
    Value behind = arith::AddIOp::create(builder, here.key, builder.constant(shape.kvTile - 1));
    last = arith::MinSIOp::create(builder, behind, lastKey);
  }
  // Where queries pass, what would tell the tiles that are cut takes scalar registers that the loop does not have.
  for (auto [program, bounds] : llvm::zip_equal(masks, maskBounds))
    scaled = program->hide(builder, scaled, program->yielded(),
                           holdsKeys() ? Value() : bounds.isCut(builder, here.key, last), here);
  return results();
}

/// Slopes of weights that are zero are not looked at: those may be of places that do not exist.
SmallVector<Value> BackwardScores::weights(ValueRange exponents, Value slope, Value t) {
  Type packedType = builder.frag(shape.kvTile, kWaveRows, element, FragLayout::RhsAcc);
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
