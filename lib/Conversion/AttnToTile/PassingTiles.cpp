// The tiles that pass through LDS.
#include "PassingTiles.h"

#include "Tile/IR/FragmentAccess.h"
#include "Tile/IR/MemoryAccess.h"

using namespace mlir;
using namespace hocket;
using tile::FragLayout;

void PassingTiles::narrow(Value first, Value count) {
  for (Operand &operand : operands)
    operand.view = tile::SliceRowsOp::create(loop.builder, operand.view, first, count);
}

void PassingTiles::makeRings(Value batch, Value head, bool wantsFirst, bool wantsSecond) {
  ExpansionBuilder &builder = loop.builder;
  for (Operand &operand : operands) {
    Type type = tile::RingType::get(builder.getContext(), {loop.shape.kvTile, operand.depth}, loop.element.q);
    auto ring = [&] {
      return tile::RingOp::create(builder, type, operand.view, ValueRange({batch, head}), IntegerAttr(), IntegerAttr(),
                                  nullptr);
    };
    // Tiles that pass through registers are stored as they are read, one way or the other.
    bool isFirst = &operand == &operands[0];
    bool isRead = isFirst || wantsFirst, isTurned = isFirst ? wantsFirst : wantsSecond;
    operand.value = operand.turned = ring();
    operand.rings = {operand.value};
    while (static_cast<int64_t>(operand.rings.size()) != turn.ofIteration())
      operand.rings.push_back(ring());
    if (isRead && isTurned && !loop.arch.hasLdsDma(tile::kDmaBytes))
      operand.turned = ring();
  }
}

void PassingTiles::take(int64_t number) {
  turn.take(number);
  for (Operand &operand : operands)
    operand.value = operand.turned = operand.rings[static_cast<size_t>(number)];
}

SmallVector<Value> PassingTiles::fetchSteps(const TileVisit &visit, Value t) {
  if (turn.ofIteration() != 1) {
    for (const Operand &operand : operands)
      turn.step("fetch_" + operand.name, [&]() -> SmallVector<Value> {
        tile::FetchOp::create(loop.builder, operand.value, t, visit.number(loop.builder, t), Value(), Value());
        return {};
      });
    return {};
  }
  SmallVector<NamedRings, 2> tiles;
  for (const Operand &operand : operands) {
    tiles.push_back({operand.name, {operand.value}});
    if (operand.turned != operand.value)
      tiles.back().rings.push_back(operand.turned);
  }
  auto number = [&] { return visit.isInOrder() ? Value() : visit.number(loop.builder, t); };
  auto next = [&] { return visit.next(loop.builder, t); };
  FetchAhead ahead;
  ahead.number = number, ahead.next = next;
  return hocket::fetchSteps(loop.builder, loop.arch, loop.shape.waves, tiles, t, ahead);
}

Value hocket::loadNumbers(ExpansionBuilder &builder, Value view, Type type, Value query) {
  return tile::LoadOp::create(builder, type, view, ValueRange(query), IntegerAttr());
}

/// Each number comes to one lane, and from there to all that hold an element of the query, by way of LDS, which costs a
/// fraction of loading it for each of them.
RowNumbers PassingTiles::numberSteps(const TileVisit &visit, Value t, Value first, const RowNumbers &numbers) const {
  ExpansionBuilder &builder = loop.builder;
  tile::FragType scoresType = loop.scores();
  Type f32 = builder.getF32Type();
  tile::RegisterLayout layout{FragLayout::Lines, 1, std::min<int64_t>(loop.shape.kvTile, kWaveLanes)};
  Type narrow = tile::ColumnsType::get(builder.getContext(), loop.shape.kvTile, f32, layout);
  ValueRange loaded = turn.step("load_rows", [&]() -> SmallVector<Value> {
    Value before = arith::MulIOp::create(builder, visit.number(builder, t), builder.constant(loop.shape.kvTile));
    Value query = arith::AddIOp::create(builder, first, before);
    SmallVector<Value> ofTile = {loadNumbers(builder, numbers.logSum, narrow, query)};
    if (numbers.delta)
      ofTile.push_back(loadNumbers(builder, numbers.delta, narrow, query));
    return ofTile;
  });
  auto spread = [&](StringRef name, Value line) -> Value {
    return turn.step(name, [&]() -> SmallVector<Value> {
      Type wide = tile::columnsOf(scoresType, f32);
      return {tile::ConvertLayoutOp::create(builder, wide, line)};
    })[0];
  };
  return {spread("spread_sums", loaded.front()),
          numbers.delta ? spread("spread_deltas", loaded.back()) : Value()};
}
