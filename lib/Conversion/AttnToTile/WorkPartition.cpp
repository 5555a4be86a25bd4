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
  if (isSplit()) {
    auto place = tile::DivModOp::create(builder, outputBatch, splits);
    batch = place.getQuotient(), slice = place.getRemainder();
  }
  row = tile::WaveRowOp::create(builder, blockRow, kWaveRows);
}

Value WorkPartition::tilesUpTo(ExpansionBuilder &builder, Value end) const {
  Value roundedUp = arith::AddIOp::create(builder, end, builder.constant(options.kvTile - 1));
  return arith::DivUIOp::create(builder, roundedUp, builder.constant(options.kvTile));
}

Value WorkPartition::unlessBehind(ExpansionBuilder &builder, Value rows, Value end) const {
  Value exists = arith::CmpIOp::create(builder, arith::CmpIPredicate::slt, blockRow, rows);
  return arith::SelectOp::create(builder, exists, end, builder.constant(int64_t(0)));
}

Value WorkPartition::takeSlice(ExpansionBuilder &builder, Visibility &visibility, Value first,
                               Value tiles, Value &k, Value &v) {
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
  k = tile::SliceRowsOp::create(builder, k, firstKey, size);
  v = tile::SliceRowsOp::create(builder, v, firstKey, size);
  visibility.moveTo(builder, firstKey, k);
  return firstKey;
}
