// Which block of a matrix a workgroup works on, and where a wave stands in a grid of waves.
//
// The order of blocks decides what L2 holds: workgroups that run at the same time should read the
// same rows of one operand and the same rows of the other, not a whole row of blocks.
#include "Lowering.h"

using namespace mlir;
using namespace hocket;
using namespace hocket::lowering;

namespace {
/// `value` / `by` and what is left, both uniform.
struct Division {
  Division(Emitter &emit, Value value, Value by)
      : quotient(emit.uniform(arith::DivUIOp::create(emit, value, by))),
        rest(arith::SubIOp::create(emit, value, emit.mul(quotient, by))) {}
  Value quotient, rest;
};

struct BlockTilePattern : TilePattern<tile::BlockTileOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tile::BlockTileOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Emitter emit(op.getLoc(), rewriter);
    ViewValues view(op.getView().getType(), adaptor.getView());
    auto count = [&](const tile::GridBlocks &blocks) {
      Value rounded = emit.add(view.extent(emit, blocks.dimension), emit.i32(blocks.size - 1));
      return emit.uniform(arith::DivUIOp::create(emit, rounded, emit.i32(blocks.size)));
    };
    tile::GridShape grid = op.getGridShape();
    Value rows = count(grid.x[0]), columns = count(grid.x[1]);
    Value index = state.placeOf(op, adaptor.getTurn().empty() ? ValueRange() : adaptor.getTurn().front(), emit)[0];
    if (op.getXcds())
      index = consecutiveOnXcd(emit, index, emit.mul(rows, columns), *op.getXcds());

    // Bands of row blocks; the last one may have fewer. Within one, down the rows first.
    Value bandRows = emit.i32(op.getBand());
    Division band(emit, index, emit.mul(bandRows, columns));
    Value firstRow = emit.mul(band.quotient, bandRows);
    Value height =
        arith::MinSIOp::create(emit, arith::SubIOp::create(emit, rows, firstRow), bandRows);
    Division inBand(emit, band.rest, height);
    Value row = emit.add(firstRow, inBand.rest);
    rewriter.replaceOp(op, {emit.mul(row, emit.i32(op.getRows())),
                            emit.mul(inBand.quotient, emit.i32(op.getColumns()))});
    return success();
  }

  /// Workgroups `index`, `index` + xcds, ... run on one XCD: they get consecutive numbers. XCDs
  /// below the remainder of `total` have one workgroup more than the others.
  static Value consecutiveOnXcd(Emitter &emit, Value index, Value total, int64_t xcds) {
    Division share(emit, total, emit.i32(xcds)), place(emit, index, emit.i32(xcds));
    Value more = arith::MinUIOp::create(emit, place.rest, share.rest);
    Value first = emit.add(emit.mul(place.rest, share.quotient), more);
    return emit.add(first, place.quotient);
  }
};

struct WaveGridPattern : TilePattern<tile::WaveGridOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tile::WaveGridOp op, OpAdaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Emitter emit(op.getLoc(), rewriter);
    Value wave = state.of(op).wave, columns = emit.i32(op.getColumns());
    rewriter.replaceOp(op, {arith::DivUIOp::create(emit, wave, columns),
                            arith::RemUIOp::create(emit, wave, columns)});
    return success();
  }
};
} // namespace

void hocket::lowering::populateGridPatterns(const TypeConverter &converter,
                                            RewritePatternSet &patterns, LoweringState &state) {
  patterns.add<BlockTilePattern, WaveGridPattern>(converter, patterns.getContext(), state);
}
