// dQ in the loop of a fused backward.
#include "FusedQueries.h"

#include "Forward.h"

#include "Tile/IR/FragmentAccess.h"
#include "Tile/IR/FragmentMap.h"
#include "Tile/IR/MemoryAccess.h"

using namespace mlir;
using namespace hocket;
using tile::FragLayout;

/// -1, all bits, for each of the rows whose number is below `count`, else 0.
static Value existence(ExpansionBuilder &builder, Type numbers, Value count) {
  return builder.mapPlaced(numbers, count, [&](ValueRange e, Value row, Value) -> Value {
    Value isThere = arith::CmpIOp::create(builder, arith::CmpIPredicate::slt, row, e[0]);
    return arith::ExtSIOp::create(builder, builder.getI32Type(), isThere);
  });
}

tile::WaveGridOp FusedQueries::hold(Operand &keys, Value batch, Value kvHead, Value blockRow, Value row) {
  ExpansionBuilder &builder = loop.builder;
  waves = tile::WaveGridOp::create(builder, loop.shape.waves, 1);
  queryParts = tile::WaveGridOp::create(builder, loop.shape.waves / turn.ofIteration(), turn.ofIteration());
  int64_t rows = loop.shape.waves * kWaveRows;
  auto typeOf = [&](int64_t columns) { return tile::RingType::get(builder.getContext(), {rows, columns}, loop.element.q); };
  auto ds = tile::RingOp::create(builder, typeOf(turn.ofIteration() * loop.shape.kvTile), Value(), ValueRange(), IntegerAttr(),
                                 IntegerAttr(), nullptr);
  ds.setNameAttr(builder.getStringAttr("ds"));
  dsRing = ds;
  keys.value = tile::RingOp::create(builder, typeOf(keys.depth), keys.view, ValueRange({batch, kvHead}),
                                       IntegerAttr(), IntegerAttr(), nullptr);
  Value zero = builder.constant(int64_t(0));
  Value block = arith::DivUIOp::create(builder, blockRow, builder.constant(rows));
  tile::FetchOp::create(builder, keys.value, zero, block, Value(), zero);
  tile::AwaitOp::create(builder, /*fetches=*/true, ValueRange(), /*reads=*/false);
  tile::BarrierOp::create(builder, IntegerAttr());
  Type numbers = tile::rowsOf(loop.scores(), builder.getI32Type());
  Value count = tile::DimOp::create(builder, keys.view, 1);
  Value left = arith::SubIOp::create(builder, count, row);
  keyExists = existence(builder, numbers, left);
  return waves;
}

Value FusedQueries::existing(Value ds) const {
  ExpansionBuilder &builder = loop.builder;
  // A select would keep what it goes by in two scalar registers.
  return builder.map(loop.scores(), {ds, keyExists}, [&](ValueRange e) -> Value {
    Value bits = arith::BitcastOp::create(builder, builder.getI32Type(), e[0]);
    return arith::BitcastOp::create(builder, builder.getF32Type(), arith::AndIOp::create(builder, bits, e[1]));
  });
}

void FusedQueries::place(Value firstQuery) {
  ExpansionBuilder &builder = loop.builder;
  int64_t columns = sums.blocks() / (loop.shape.waves / turn.ofIteration());
  Value before = arith::DivUIOp::create(builder, firstQuery, builder.constant(loop.shape.kvTile));
  Value query = arith::AddIOp::create(builder, before, queryParts.getColumn());
  Value ofQueries = arith::MulIOp::create(builder, query, builder.constant(sums.blocks()));
  Value ofColumns = arith::MulIOp::create(builder, queryParts.getRow(), builder.constant(columns));
  firstSums = arith::AddIOp::create(builder, ofQueries, ofColumns);
}

void FusedQueries::addSteps(Value t, const Operand &keyTiles, ValueRange ofTiles, Value scale) {
  ExpansionBuilder &builder = loop.builder;
  int64_t keys = loop.shape.waves * kWaveRows, columns = keyTiles.depth / (loop.shape.waves / turn.ofIteration());
  turn.step("put_ds", [&]() -> SmallVector<Value> {
    Type type = builder.frag(turn.ofIteration() * loop.shape.kvTile, kWaveRows, loop.element.q, FragLayout::RhsAcc);
    Value all = ofTiles.size() == 1 ? ofTiles[0] : Value(tile::ConcatOp::create(builder, type, ofTiles));
    tile::PutOp::create(builder, dsRing, t, Value(), all, waves.getRow(), Value());
    return {};
  });
  ValueRange operands = turn.step("read_ds", [&]() -> SmallVector<Value> {
    Type left = builder.frag(columns, keys, loop.element.q, FragLayout::LhsAcc);
    Type right = builder.frag(keys, kWaveRows, loop.element.q, FragLayout::RhsAcc);
    Value zero = builder.constant(int64_t(0));
    return {tile::ReadTransposedOp::create(builder, left, keyTiles.value, zero, Value(), queryParts.getRow()),
            tile::ReadTransposedOp::create(builder, right, dsRing, t, Value(), queryParts.getColumn())};
  });
  Value sum = turn.step("dq", [&]() -> SmallVector<Value> {
    Value none = builder.fill(builder.frag(columns, kWaveRows, builder.getF32Type(), FragLayout::Acc), 0.0f);
    return {tile::MmaOp::create(builder, operands[0], operands[1], none)};
  })[0];
  turn.step("add_dq", [&]() -> SmallVector<Value> {
    add(t, sum, columns / kHeadBlock, scale);
    return {};
  });
}

/// Adds `sum`, the wave's `count` blocks of dQ of iteration `t`, to what lies in memory.
void FusedQueries::add(Value t, Value sum, int64_t count, Value scale) const {
  ExpansionBuilder &builder = loop.builder;
  if (sums.isPacked()) {
    // Number by number: `tile.scale` would keep the factor in as many scalar registers as a block has numbers.
    sum = builder.map(sum.getType(), {sum, scale}, [&](ValueRange e) -> Value {
      return arith::MulFOp::create(builder, e[0], e[1]);
    });
    sum = tile::PackOp::create(builder, sums.held(count), sum);
  }
  Value image = tile::RelabelOp::create(builder, sums.image(count), sum);
  Value before = arith::MulIOp::create(builder, t, builder.constant(turn.ofIteration() * sums.blocks()));
  Value place = arith::AddIOp::create(builder, before, firstSums);
  auto add = tile::AtomicAddOp::create(builder, image, sumsOfHead, ValueRange(place), IntegerAttr());
  add->setAttr(tile::kWholeWords, builder.getUnitAttr());
}
