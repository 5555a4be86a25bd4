// Who works on what.
#include "WorkPartition.h"

using namespace mlir;
using namespace hocket;

void WorkPartition::place(ExpansionBuilder &builder, Value view, Value rowCount,
                          bool laterRowsSeeMore) {
  bool heavyFirst = options.order == attn::BlockOrder::HeavyFirst;
  auto xcds =
      heavyFirst && options.xcds > 1 ? builder.getI64IntegerAttr(options.xcds) : IntegerAttr();
  auto block = tile::BlockIdOp::create(
      builder, view, blockRows(),
      /*last_rows_first=*/heavyFirst && laterRowsSeeMore, xcds, rowCount);
  batch = outputBatch = block.getBatch(), head = block.getHead(), blockRow = block.getRow();
  takeSliceNumber(builder);
  row = tile::WaveRowOp::create(builder, blockRow, kWaveRows);
}

void WorkPartition::takeSliceNumber(ExpansionBuilder &builder) {
  if (!isSplit())
    return;
  auto place = tile::DivModOp::create(builder, outputBatch, splits);
  batch = place.getQuotient(), slice = place.getRemainder();
}

/// Nothing is read or written through it: its extents are the grid.
Tensor WorkPartition::groupGrid(bool isSplit) {
  return {"group_grid",
          {"0", "0", "0"},
          {isSplit ? "batch * num_splits" : "batch", "seq_q * ceildiv(heads, kv_heads * 32)", "kv_heads"},
          "q"};
}

void WorkPartition::placeGroups(ExpansionBuilder &builder, Value grid, Value q, Value k,
                                bool laterRowsSeeMore) {
  bool heavyFirst = options.order == attn::BlockOrder::HeavyFirst;
  auto xcds =
      heavyFirst && options.xcds > 1 ? builder.getI64IntegerAttr(options.xcds) : IntegerAttr();
  auto block =
      tile::BlockIdOp::create(builder, grid, options.waves,
                              /*last_rows_first=*/heavyFirst && laterRowsSeeMore, xcds);
  batch = outputBatch = block.getBatch(), head = block.getHead();
  takeSliceNumber(builder);
  Value most = builder.constant(kWaveRows);
  auto group = tile::DivModOp::create(builder, tile::DimOp::create(builder, q, 2),
                                      tile::DimOp::create(builder, k, 2));
  Value rounded = arith::AddIOp::create(builder, group.getQuotient(), builder.constant(kWaveRows - 1));
  Value parts = arith::DivUIOp::create(builder, rounded, most);
  blockRow = tile::DivModOp::create(builder, block.getRow(), parts).getQuotient();
  Value item = tile::WaveRowOp::create(builder, block.getRow(), /*rows=*/1);
  auto place = tile::DivModOp::create(builder, item, parts);
  row = place.getQuotient();
  Value before = arith::MulIOp::create(builder, place.getRemainder(), most);
  Value ofGroup = arith::MulIOp::create(builder, head, group.getQuotient());
  firstHead = arith::AddIOp::create(builder, ofGroup, before);
  headCount = arith::MinSIOp::create(
      builder, arith::SubIOp::create(builder, group.getQuotient(), before), most);
}

Value WorkPartition::kvHead(ExpansionBuilder &builder, Value q, Value k) const {
  return options.groupRows ? head : tile::GroupHeadOp::create(builder, head, q, k).getResult();
}

Value WorkPartition::headsOf(ExpansionBuilder &builder, Value view, Value batch) const {
  auto type = cast<tile::ViewType>(view.getType());
  Type heads = tile::ViewType::get(builder.getContext(), type.getShape().drop_front(2),
                                   type.getElementType());
  // Of a query that the sequence does not have, there are no heads.
  Value ofQuery = tile::SelectOp::create(builder, heads, view, ValueRange{batch, row});
  return tile::SliceRowsOp::create(builder, ofQuery, firstHead, headCount);
}

Value WorkPartition::load(ExpansionBuilder &builder, Type type, Value q) const {
  if (!options.groupRows)
    return tile::LoadOp::create(builder, type, q, batch, row, head);
  Value zero = builder.constant(int64_t(0));
  return tile::LoadOp::create(builder, type, headsOf(builder, q, batch), ValueRange(zero),
                              IntegerAttr());
}

Value WorkPartition::loadOfHeads(ExpansionBuilder &builder, Value view) const {
  Type type = options.groupRows ? Type(builder.rows()) : builder.getF32Type();
  return tile::LoadOp::create(builder, type, view,
                              ValueRange(options.groupRows ? firstHead : head), IntegerAttr());
}

void WorkPartition::store(ExpansionBuilder &builder, Value output, Value o) const {
  if (!options.groupRows) {
    tile::StoreOp::create(builder, output, o, outputBatch, row, head);
    return;
  }
  Value zero = builder.constant(int64_t(0));
  tile::StoreOp::create(builder, output, headsOf(builder, o, outputBatch), ValueRange(zero),
                        IntegerAttr());
}

void WorkPartition::storeLse(ExpansionBuilder &builder, Value values, Value lse) const {
  if (!options.groupRows) {
    tile::StoreRowsOp::create(builder, values, lse, outputBatch, head, row);
    return;
  }
  auto type = cast<tile::ViewType>(lse.getType());
  Type heads = tile::ViewType::get(builder.getContext(), type.getShape().drop_front(),
                                   type.getElementType());
  Value ofBatch = tile::SelectOp::create(builder, heads, lse, ValueRange(outputBatch));
  Value ofWave = tile::SliceRowsOp::create(builder, ofBatch, firstHead, headCount);
  Value zero = builder.constant(int64_t(0));
  tile::StoreOp::create(builder, values, ofWave, ValueRange{zero, row},
                        builder.getI64IntegerAttr(0));
}

Value WorkPartition::tilesUpTo(ExpansionBuilder &builder, Value end) const {
  Value roundedUp = arith::AddIOp::create(builder, end, builder.constant(options.kvTile - 1));
  return arith::DivUIOp::create(builder, roundedUp, builder.constant(options.kvTile));
}

Value WorkPartition::unlessBehind(ExpansionBuilder &builder, Value rows, Value end) const {
  Value exists = arith::CmpIOp::create(builder, arith::CmpIPredicate::slt, blockRow, rows);
  return arith::SelectOp::create(builder, exists, end, builder.constant(int64_t(0)));
}

WorkPartition::Slice WorkPartition::sliceOf(ExpansionBuilder &builder, Value first, Value tiles) const {
  auto share = tile::DivModOp::create(builder, tiles, splits);
  Value longer = share.getRemainder();
  Value isLonger = arith::CmpIOp::create(builder, arith::CmpIPredicate::slt, slice, longer);
  Value own =
      arith::AddIOp::create(builder, share.getQuotient(),
                            arith::ExtUIOp::create(builder, builder.getI32Type(), isLonger));
  Value even = arith::MulIOp::create(builder, slice, share.getQuotient());
  Value firstTile =
      arith::AddIOp::create(builder, even, arith::MinSIOp::create(builder, slice, longer));
  if (first)
    firstTile = arith::AddIOp::create(builder, first, firstTile);
  Value tileKeys = builder.constant(options.kvTile);
  Value firstKey = arith::MulIOp::create(builder, firstTile, tileKeys);
  Value size = arith::MulIOp::create(builder, own, builder.constant(options.kvTile));
  return {firstTile, firstKey, size};
}
