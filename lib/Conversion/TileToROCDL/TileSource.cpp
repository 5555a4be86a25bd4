// Where the tiles of a ring lie in global memory, as code.
#include "TileSource.h"

using namespace mlir;
using namespace hocket;
using namespace hocket::lowering;

/// Tiles that follow one another along rows; rows beyond the ring's read as zero. What does not
/// depend on the tile is written so that it can leave the loop: a whole tile's bytes, the last
/// one's, and the stride of tiles (a tile spans less than 2 GiB). Of no rows the last tile is -1: a
/// kernel asks for tiles before it knows whether there are any.
static Value rowTileBytesFromLast(Emitter &emit, const RingValues &ring, Value tile, int64_t rows,
                                  int64_t rowBytes, Value stride) {
  auto bytesOf = [&](Value count) {
    Value before = emit.mul(arith::SubIOp::create(emit, count, emit.i32(1)), stride);
    return emit.add(before, emit.i32(rowBytes));
  };
  Value perTile = emit.i32(rows);
  Value begun =
      arith::DivUIOp::create(emit, emit.add(ring.rows, emit.i32(rows - 1)), perTile);
  Value last = arith::SubIOp::create(emit, begun, emit.i32(1));
  Value whole = bytesOf(perTile);
  Value rest = bytesOf(arith::SubIOp::create(emit, ring.rows, emit.mul(last, perTile)));
  Value isLast = arith::CmpIOp::create(emit, arith::CmpIPredicate::eq, tile, last);
  Value isWhole = arith::CmpIOp::create(emit, arith::CmpIPredicate::slt, tile, last);
  Value partial = arith::SelectOp::create(emit, isLast, rest, emit.i32(0));
  return arith::SelectOp::create(emit, isWhole, whole, partial);
}

/// Bytes of tile `tile`, any number, of a ring that stands in front of the loop: none where the view has no such tile.
/// What the descriptor of none begins with does not matter.
static Value anyRowTileBytes(Emitter &emit, const RingValues &ring, Value tile, int64_t rows, int64_t rowBytes,
                             Value stride) {
  auto bytesOf = [&](Value count) {
    Value before = emit.mul(arith::SubIOp::create(emit, count, emit.i32(1)), stride);
    return emit.add(before, emit.i32(rowBytes));
  };
  Value perTile = emit.i32(rows), none = emit.i32(0);
  Value wholeTiles = arith::DivUIOp::create(emit, ring.rows, perTile);
  Value left = arith::SubIOp::create(emit, ring.rows, emit.mul(wholeTiles, perTile));
  Value any = arith::CmpIOp::create(emit, arith::CmpIPredicate::sgt, left, none);
  Value rest = arith::SelectOp::create(emit, any, bytesOf(left), none);
  Value isLast = arith::CmpIOp::create(emit, arith::CmpIPredicate::eq, tile, wholeTiles);
  // As unsigned: a negative number is beyond the last tile, too.
  Value isWhole = arith::CmpIOp::create(emit, arith::CmpIPredicate::ult, tile, wholeTiles);
  Value partial = arith::SelectOp::create(emit, isLast, rest, none);
  return arith::SelectOp::create(emit, isWhole, bytesOf(perTile), partial);
}

static Value rowTileResource(Emitter &emit, const RingValues &ring, Value tile, int64_t rows,
                             Value bytes, Value stride) {
  Value tileStride = emit.mul(stride, emit.i32(rows));
  Value start =
      emit.offset(ring.pointer, emit.mul(zeroExtended(emit, tile), zeroExtended(emit, tileStride)));
  return emit.bufferResource(start, zeroExtended(emit, bytes));
}

/// Bytes of a tile of a ring that a loop makes anew. What is the same in all turns LLVM takes out of the loop, into one
/// block, where it would make a subtraction with overflow of comparisons with the last tile and what they subtract;
/// scalar registers do not have that, and the descriptor would be taken for one that differs between lanes.
static Value rowTileBytes(Emitter &emit, const RingValues &ring, Value tile, int64_t rows,
                          int64_t rowBytes, Value stride) {
  Value left = arith::SubIOp::create(emit, ring.rows, emit.mul(tile, emit.i32(rows)));
  Value existing = arith::MinSIOp::create(emit, left, emit.i32(rows));
  Value before = emit.mul(arith::SubIOp::create(emit, existing, emit.i32(1)), stride);
  Value any = arith::CmpIOp::create(emit, arith::CmpIPredicate::sgt, left, emit.i32(0));
  return arith::SelectOp::create(emit, any, emit.add(before, emit.i32(rowBytes)), emit.i32(0));
}

/// Tiles that follow one another along columns: the descriptor begins with the tile's first column
/// and ends with the last row that exists.
static Value columnTileResource(Emitter &emit, const RingValues &ring, Value tile, int64_t rows,
                                int64_t rowBytes) {
  // All in 31 bits: the launcher refuses strides for which a tile's rows span 2 GiB. Only the
  // second part depends on the tile, so that the first can leave the loop. A dword that the last
  // row cuts is read whole: the hardware takes it as out of bounds otherwise.
  Value existing = arith::MinSIOp::create(emit, ring.rows, emit.i32(rows));
  Value before =
      emit.mul(arith::SubIOp::create(emit, existing, emit.i32(1)), emit.toI32(ring.rowStride));
  Value lastRow = arith::AndIOp::create(emit, emit.add(ring.rowBytes, emit.i32(3)), emit.i32(-4));
  Value any = arith::CmpIOp::create(emit, arith::CmpIPredicate::sgt, existing, emit.i32(0));
  Value end = arith::SelectOp::create(emit, any, emit.add(before, lastRow), emit.i32(0));

  Value skipped = emit.mul(tile, emit.i32(rowBytes));
  // Signed: LLVM would make a saturating subtraction of it, which scalar registers do not have.
  Value bytes =
      arith::MaxSIOp::create(emit, arith::SubIOp::create(emit, end, skipped), emit.i32(0));
  Value start = emit.offset(ring.pointer, zeroExtended(emit, skipped));
  return emit.bufferResource(start, zeroExtended(emit, bytes));
}

/// Whether a loop around the loop over tiles makes the ring anew in each turn.
static bool isMadeAnew(Operation *ring) { return isa<LoopLikeOpInterface>(ring->getParentOp()); }

SmallVector<Value> hocket::lowering::ringValues(Emitter &emit, tile::RingOp ring,
                                                const ViewValues &view, ArrayRef<Value> indices,
                                                Value lds) {
  tile::TileSourceOpInterface source = ring;
  int64_t rows = source.getRowDimension(), columns = source.getSourceType().getRank() - 1;
  Value first;
  SmallVector<Value> origin;
  switch (source.getAdvance()) {
  case tile::TileAdvance::Rows:
    first = emit.i32(0);
    origin = {indices[0], first, indices[1]};
    break;
  case tile::TileAdvance::Columns:
    first = indices[0];
    origin = {first};
    break;
  }
  Value pointer = elementAddress(emit, view, origin);
  Value stride = emit.mul(view.stride(rows), emit.i64(view.elementBytes()));
  Value count = arith::SubIOp::create(emit, view.extent(emit, rows), first);
  Value place = lds;
  // What follows from these stays in the turn of the loop that it is in: taken out, all that a pipeline's parts need would
  // be in scalar registers at once.
  if (isMadeAnew(ring))
    for (Value *value : {&pointer, &stride, &count, &place})
      *value = emit.hidden(*value, "s");
  return {pointer, stride, count, place,
          emit.mul(view.extent(emit, columns), emit.i32(view.elementBytes()))};
}

SourceTile hocket::lowering::sourceTile(Emitter &emit, Value ring, const RingValues &values,
                                        Value tile, Value from) {
  auto source = ring.getDefiningOp<tile::TileSourceOpInterface>();
  auto type = cast<tile::RingType>(ring.getType());
  Value stride = emit.toI32(values.rowStride);
  switch (source.getAdvance()) {
  case tile::TileAdvance::Rows: {
    RowBounds bounds(source.getSourceType());
    int64_t rows = source.getTileStep();
    if (from && !isMadeAnew(source)) {
      Value bytes = anyRowTileBytes(emit, values, from, rows, bounds.rowBytes, stride);
      return {rowTileResource(emit, values, from, rows, bytes, stride), stride, bounds};
    }
    Value exists;
    if (from) {
      // As unsigned: a negative number is beyond the last tile, too.
      Value perTile = emit.i32(source.getTileStep() - 1);
      Value count = arith::DivUIOp::create(emit, emit.add(values.rows, perTile),
                                           emit.i32(source.getTileStep()));
      exists = arith::CmpIOp::create(emit, arith::CmpIPredicate::ult, from, count);
      tile = arith::SelectOp::create(emit, exists, from, emit.i32(0));
    }
    Value bytes =
        isMadeAnew(source) ? rowTileBytes(emit, values, tile, rows, bounds.rowBytes, stride)
                           : rowTileBytesFromLast(emit, values, tile, rows, bounds.rowBytes, stride);
    if (exists)
      bytes = arith::SelectOp::create(emit, exists, bytes, emit.i32(0));
    Value resource = rowTileResource(emit, values, tile, rows, bytes, stride);
    return {resource, stride, bounds};
  }
  case tile::TileAdvance::Columns: {
    Value resource = columnTileResource(emit, values, tile, type.getShape()[0],
                                        source.getTileStep() * bytesOf(type.getElementType()));
    return {resource, stride, RowBounds()};
  }
  }
  llvm_unreachable("all kinds of sources are handled");
}
