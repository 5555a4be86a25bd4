// Tiles whose rows lie in pages.
//
// A lane looks after one row of the tile, and of the next 64 where there are more: it loads the number of the row's page
// and computes where the row lies. Which lane then brings which part of which row is the business of the tile's layout
// in LDS: offsets pass from lane to lane through the crossbar. So a look-up is one load, whatever the layout.
#include "Pages.h"
#include "Access.h"
#include "RowBounds.h"

using namespace mlir;
using namespace hocket;
using namespace hocket::lowering;

static constexpr int64_t kPageNumberBytes = 4;
using tile::kVectorBytes;

PagePlaces::PagePlaces(tile::RingOp ring)
    : vectors(ring.getTileVectors()), pageRows(ring.getPageRows().value_or(0)),
      rowBytes(RowBounds(ring.getSourceType()).rowBytes),
      elementBytes(bytesOf(ring.getRing().getType().getElementType())) {}

Value PagePlaces::ofRow(Emitter &emit, Value slot, Value stride) const {
  if (vectors == TileVectors::None)
    return emit.mul(slot, stride);
  if (vectors == TileVectors::Columns)
    return emit.mul(slot, emit.i32(kVectorBytes));
  Value before = arith::DivUIOp::create(emit, slot, emit.i32(vectorRows()));
  Value within = arith::AndIOp::create(emit, slot, emit.i32(vectorRows() - 1));
  return emit.add(emit.mul(before, emit.i32(rowBytes * vectorRows())), emit.mul(within, emit.i32(elementBytes)));
}

int64_t PagePlaces::ofByte(int64_t byte) const {
  if (vectors == TileVectors::None)
    return byte;
  if (vectors == TileVectors::Columns)
    return byte / kVectorBytes * pageRows * kVectorBytes + byte % kVectorBytes;
  return byte / elementBytes * kVectorBytes;
}

Value PagePlaces::ofByte(Emitter &emit, Value byte) const {
  if (vectors == TileVectors::None)
    return byte;
  if (vectors == TileVectors::Rows)
    return emit.mul(byte, emit.i32(vectorRows()));
  Value before = arith::DivUIOp::create(emit, byte, emit.i32(kVectorBytes));
  Value within = arith::AndIOp::create(emit, byte, emit.i32(kVectorBytes - 1));
  return emit.add(emit.mul(before, emit.i32(pageRows * kVectorBytes)), within);
}

Value PagePlaces::bytes(Emitter &emit, Value stride) const {
  if (vectors != TileVectors::None)
    return emit.i32(pageRows * rowBytes);
  return emit.add(emit.mul(stride, emit.i32(pageRows - 1)), emit.i32(rowBytes));
}

Value PagePlaces::vectorOf(Emitter &emit, Value row) const {
  return vectors == TileVectors::Rows ? Value(arith::AndIOp::create(emit, row, emit.i32(-vectorRows()))) : row;
}

/// The row of the sequence that a lane looks after, of 64 rows of `tile` from row `first` on.
static Value rowOfLane(Emitter &emit, const KernelValues &kernel, Value tile, int64_t tileRows,
                       int64_t first) {
  Value lane = kernel.lane;
  if (tileRows < kWaveLanes)
    lane = arith::AndIOp::create(emit, lane, emit.i32(tileRows - 1));
  Value before = emit.add(emit.mul(tile, emit.i32(tileRows)), emit.i32(first));
  return emit.add(before, lane);
}

Value hocket::lowering::poolResource(Emitter &emit, tile::RingOp ring, const RingValues &values) {
  // The last page's last row ends it: below 2 GiB, which the launcher sees to.
  Value before = emit.mul(arith::SubIOp::create(emit, values.pageCount, emit.i32(1)), values.pageStride);
  Value bytes = emit.add(before, PagePlaces(ring).bytes(emit, emit.toI32(values.rowStride)));
  Value any = compare(emit, arith::CmpIPredicate::sgt, values.pageCount, emit.i32(0));
  bytes = arith::SelectOp::create(emit, any, bytes, emit.i32(0));
  return emit.bufferResource(values.pointer, zeroExtended(emit, bytes));
}

/// A row of the sequence that there is: of the rows behind the last one that, of none the first.
static Value existingRow(Emitter &emit, Value row, Value rows) {
  Value last = arith::SubIOp::create(emit, rows, emit.i32(1));
  return arith::MaxSIOp::create(emit, arith::MinSIOp::create(emit, row, last), emit.i32(0));
}

PagedTile::PagedTile(Emitter &emit, const KernelValues &kernel, tile::RingOp ring,
                     const RingValues &values, Value tile, ValueRange pages) {
  int64_t tileRows = ring.getTileStep();
  PagePlaces places(ring);
  Value pageRows = emit.i32(*ring.getPageRows());
  Value stride = emit.toI32(values.rowStride), nowhere = emit.i32(static_cast<int32_t>(kOutOfBounds));
  for (auto [number, page] : llvm::enumerate(pages)) {
    Value row = rowOfLane(emit, kernel, tile, tileRows, static_cast<int64_t>(number) * kWaveLanes);
    if (ring.getFar()) {
      // No descriptor ends these: what is read must exist.
      Value existing = places.vectorOf(emit, existingRow(emit, row, values.rows));
      Value slot = arith::RemUIOp::create(emit, existing, pageRows);
      Value isPage = compare(emit, arith::CmpIPredicate::ult, page, values.pageCount);
      Value known = arith::SelectOp::create(emit, isPage, page, emit.i32(0));
      Value first = emit.mul(zeroExtended(emit, known), zeroExtended(emit, values.pageStride));
      rows.push_back(emit.add(first, zeroExtended(emit, places.ofRow(emit, slot, stride))));
      continue;
    }
    Value slot = arith::RemUIOp::create(emit, row, pageRows);
    // Of a number that names no page the pool's descriptor sees to it that nothing outside is read.
    Value offset = emit.add(emit.mul(page, values.pageStride), places.ofRow(emit, slot, stride));
    // As signed numbers rows in front of the first are none either.
    Value exists = compare(emit, arith::CmpIPredicate::slt, row, values.rows);
    rows.push_back(arith::SelectOp::create(emit, exists, offset, nowhere));
  }
}

/// What lane `address` / 4 has of `value`, by way of the crossbar.
static Value ofLane(Emitter &emit, Value address, Value value) {
  if (value.getType().isInteger(32))
    return emit.intrinsic("llvm.amdgcn.ds.bpermute", emit.getI32Type(), ValueRange{address, value});
  // With a wait of its own: around loads to LDS by 64-bit addresses LLVM 22 waits for too little of what passes the
  // crossbar (docs/CodeGeneration.md).
  Type pair = LLVM::LLVMStructType::getLiteral(emit.getContext(), {emit.getI32Type(), emit.getI32Type()});
  Value upper = emit.toI32(arith::ShRUIOp::create(emit, value, emit.i64(32)));
  Value passed = LLVM::InlineAsmOp::create(
                     emit, TypeRange(pair), ValueRange{address, emit.toI32(value), upper},
                     "ds_bpermute_b32 $0, $2, $3\n\tds_bpermute_b32 $1, $2, $4\n\ts_waitcnt lgkmcnt(0)",
                     "=&v,=&v,v,v,v", /*has_side_effects=*/true, /*is_align_stack=*/false,
                     LLVM::TailCallKind::None, LLVM::AsmDialectAttr::get(emit.getContext(), LLVM::AsmDialect::AD_ATT),
                     ArrayAttr())
                     .getResult(0);
  auto half = [&](int64_t index) {
    return zeroExtended(emit, LLVM::ExtractValueOp::create(emit, passed, ArrayRef<int64_t>{index}));
  };
  Value low = half(0);
  return arith::OrIOp::create(emit, low, arith::ShLIOp::create(emit, half(1), emit.i64(32)));
}

Value PagedTile::offset(Emitter &emit, Value row, int64_t step) {
  Value &result = known[{row, step}];
  if (result)
    return result;
  Value number = arith::XOrIOp::create(emit, row, emit.i32(step));
  // The crossbar takes the lowest bits of the address: rows repeat in lanes, 64 by 64.
  Value address = emit.mul(number, emit.i32(kPageNumberBytes));
  result = ofLane(emit, address, rows.front());
  for (size_t block = 1; block != rows.size(); ++block) {
    Value isThere = compare(emit, arith::CmpIPredicate::uge, number, emit.i32(static_cast<int64_t>(block) * kWaveLanes));
    result = arith::SelectOp::create(emit, isThere, ofLane(emit, address, rows[block]), result);
  }
  return result;
}

namespace {
struct LookUpPattern : TilePattern<tile::LookUpOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tile::LookUpOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Emitter emit(op.getLoc(), rewriter);
    auto ring = op.getRing().getDefiningOp<tile::RingOp>();
    RingValues values(adaptor.getRing());
    ViewValues table(op.getTable().getType(), adaptor.getTable());
    // Entries behind the last that the sequence uses are out of bounds, and those in front of the first as unsigned numbers.
    Value pageRows = emit.i32(*ring.getPageRows());
    Value rounded = emit.add(values.rows, emit.i32(static_cast<int64_t>(*ring.getPageRows()) - 1));
    Value used = arith::MinUIOp::create(emit, arith::DivUIOp::create(emit, rounded, pageRows), table.extent(emit, 0));
    Value bytes = emit.mul(emit.uniform(used), emit.i32(kPageNumberBytes));
    Value resource = emit.bufferResource(table.pointer(), zeroExtended(emit, bytes));
    int64_t tileRows = op.getPages().getType().getRows();
    SmallVector<Value> loaded;
    for (int64_t number = 0; number != op.getPages().getType().getRegisters(); ++number) {
      Value row = rowOfLane(emit, state.of(op), adaptor.getTile().front(), tileRows, number * kWaveLanes);
      if (ring.getFar())
        row = existingRow(emit, row, values.rows);
      Value offset = emit.mul(arith::DivUIOp::create(emit, row, pageRows), emit.i32(kPageNumberBytes));
      // Waits count look-ups. Rows that are 64 apart may be of one page, or of two whose numbers lie side by side.
      offset = emit.distinct(offset, state.countedLoads++);
      loaded.push_back(loadElements(emit, emit.getI32Type(), 1, resource, offset, emit.i32(0)));
    }
    rewriter.replaceOpWithMultiple(op, ArrayRef<ValueRange>{loaded});
    return success();
  }
};

struct RetainPattern : TilePattern<tile::RetainOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tile::RetainOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Emitter emit(op.getLoc(), rewriter);
    for (Value value : adaptor.getPages())
      LLVM::InlineAsmOp::create(emit, TypeRange(), ValueRange(value), /*asm_string=*/"", "v",
                                /*has_side_effects=*/true, /*is_align_stack=*/false, LLVM::TailCallKind::None,
                                LLVM::AsmDialectAttr::get(emit.getContext(), LLVM::AsmDialect::AD_ATT), ArrayAttr());
    rewriter.eraseOp(op);
    return success();
  }
};
} // namespace

void hocket::lowering::populatePagePatterns(const TypeConverter &converter, RewritePatternSet &patterns,
                                            LoweringState &state) {
  patterns.add<LookUpPattern, RetainPattern>(converter, patterns.getContext(), state);
}
