// Tiles that loads to LDS bring: what each lane asks for, and where that lies.
//
// Of a dense tile the descriptor begins with its first row, and what a lane asks for is a part that depends on the
// lane, once, plus a constant for each instruction. Of a tile in pages each lane has the places of the rows that it
// brings: found by the fetch itself, or a tile ahead (`tile.locate`).
#include "Lowering.h"
#include "Pages.h"
#include "TileSource.h"

#include "Tile/IR/FragmentAccess.h"

using namespace mlir;
using namespace hocket;
using namespace hocket::lowering;
using tile::kDmaBytes;

namespace {
/// A ring's layout and how tiles get there.
struct DmaRing {
  LdsTileLayout layout;
  LdsDmaPlan plan;

  /// Row `dims::Row` or byte `dims::Byte` of the piece that a lane brings with the first instruction.
  Value firstPiece(Emitter &emit, const KernelValues &kernel, std::string_view dim) const {
    Value lane = emit.linear(plan.source, dims::Lane, dim, kernel.lane);
    Value wave = emit.linear(plan.source, dims::Wave, dim, kernel.wave);
    return arith::XOrIOp::create(emit, lane, wave);
  }
  int64_t step(unsigned instruction, std::string_view dim) const {
    return coordinate(plan.instructionStep(instruction), dim);
  }
  /// Every bit that the byte of a lane's first piece may have.
  uint64_t reach() const {
    return plan.source.reach(dims::Lane, dims::Byte) | plan.source.reach(dims::Wave, dims::Byte);
  }
};
} // namespace

static FailureOr<DmaRing> dmaRing(Operation *op, tile::RingOp ring, const KernelValues &kernel) {
  Result<LdsTileLayout> layout = tile::toLdsTileLayout(ring);
  if (!layout)
    return layoutError(op, layout.error());
  Result<LdsDmaPlan> plan = planLdsDma(*layout, kernel.waves, kDmaBytes);
  if (!plan)
    return layoutError(op, plan.error());
  if (plan->waves != static_cast<unsigned>(kernel.waves))
    return op->emitOpError() << "splits a tile over " << plan->waves << " waves, the kernel has " << kernel.waves
                             << "; use larger tiles or fewer waves";
  return DmaRing{*std::move(layout), *std::move(plan)};
}

/// For each instruction of a panel, the byte offset of a lane's piece (rows are the same in all panels).
static SmallVector<Value> placesOf(Emitter &emit, const KernelValues &kernel, tile::RingOp ringOp, const DmaRing &ring,
                                   PagedTile &tile) {
  Value row = ring.firstPiece(emit, kernel, dims::Row);
  Value byte = PagePlaces(ringOp).ofByte(emit, ring.firstPiece(emit, kernel, dims::Byte));
  SmallVector<Value> places;
  for (unsigned i = 0; i != ring.plan.instructions; ++i) {
    Value place = tile.offset(emit, row, ring.step(i, dims::Row));
    places.push_back(emit.add(place, place.getType().isInteger(64) ? emit.toI64(byte) : byte));
  }
  return places;
}

namespace {
struct LocatePattern : TilePattern<tile::LocateOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tile::LocateOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    auto ringOp = op.getRing().getDefiningOp<tile::RingOp>();
    const KernelValues &kernel = state.of(op);
    FailureOr<DmaRing> ring = dmaRing(op, ringOp, kernel);
    if (failed(ring))
      return failure();
    if (ring->plan.instructions != op.getPlaces().getType().getRegisters())
      return op.emitOpError() << "finds " << ring->plan.instructions << " places, expected "
                              << op.getPlaces().getType().getRegisters();
    Emitter emit(op.getLoc(), rewriter);
    PagedTile tile(emit, kernel, ringOp, RingValues(adaptor.getRing()), adaptor.getTile().front(), adaptor.getPages());
    SmallVector<Value> places = placesOf(emit, kernel, ringOp, *ring, tile);
    rewriter.replaceOpWithMultiple(op, ArrayRef<ValueRange>{places});
    return success();
  }
};

struct FetchPattern : TilePattern<tile::FetchOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tile::FetchOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    auto ringOp = op.getRing().getDefiningOp<tile::RingOp>();
    const KernelValues &kernel = state.of(op);
    FailureOr<DmaRing> ring = dmaRing(op, ringOp, kernel);
    if (failed(ring))
      return failure();
    const LdsTileLayout &layout = ring->layout;
    const LdsDmaPlan &plan = ring->plan;
    Emitter emit(op.getLoc(), rewriter);
    RingValues values(adaptor.getRing());
    auto [resource, stride, bounds] =
        sourceTile(emit, op.getRing(), values, adaptor.getTile().front(), fromOf(adaptor));
    SmallVector<Value> places = pagedPlaces(emit, op, adaptor, *ring);
    if (op.getPages())
      resource = poolResource(emit, ringOp, values);
    Value laneRow = emit.mul(ring->firstPiece(emit, kernel, dims::Row), stride);
    Value laneByte = ring->firstPiece(emit, kernel, dims::Byte);
    Value laneOffset = emit.add(laneRow, laneByte);
    Value waveChunk = emit.linear(plan.chunk, dims::Wave, "chunk", kernel.wave);
    int64_t chunkStride = layout.chunkBytes + layout.padding;
    Value slot = emit.mul(adaptor.getSlot().front(), emit.i32(layout.bytes()));
    Value waveLds = emit.offset(values.lds, emit.add(slot, emit.mul(waveChunk, emit.i32(chunkStride))));

    PagePlaces inPage(ringOp);
    for (unsigned panel = 0; panel != layout.panels(); ++panel) {
      for (unsigned i = 0; i != plan.instructions; ++i) {
        int64_t byte = ring->step(i, dims::Byte) + panel * layout.panelBytes, place = inPage.ofByte(byte);
        Value rowStep = places.empty() ? emit.mul(stride, emit.i32(ring->step(i, dims::Row))) : emit.i32(0);
        int64_t chunk = plan.chunk.apply({{std::string(dims::Register), i}}, "chunk");
        Value lds = emit.offset(waveLds, emit.i32(chunk * chunkStride + panel * layout.panelStride()));
        if (ringOp.getFar()) {
          Value piece = emit.offset(values.pointer, emit.add(places[i], emit.i64(place)));
          IntegerAttr zero = emit.getI32IntegerAttr(0);
          ROCDL::GlobalLoadLDSOp::create(emit, piece, lds, emit.getI32IntegerAttr(kDmaBytes), /*offset=*/zero,
                                         /*aux=*/zero, state.dmaScope, ArrayAttr(), ArrayAttr());
          continue;
        }
        // The step goes into the scalar offset: an instruction offset would move the LDS address too.
        Value offset =
            bounds.within(emit, places.empty() ? laneOffset : places[i], laneByte, ring->reach(), byte);
        ROCDL::RawPtrBufferLoadLdsOp::create(emit, resource, lds, emit.i32(kDmaBytes), offset,
                                             emit.add(rowStep, emit.i32(place)), emit.i32(0), emit.i32(0),
                                             state.dmaScope, ArrayAttr(), ArrayAttr());
      }
    }
    rewriter.eraseOp(op);
    return success();
  }

  /// Where a lane's pieces lie, of a tile in pages; else none.
  SmallVector<Value> pagedPlaces(Emitter &emit, tile::FetchOp op, OneToNOpAdaptor adaptor, const DmaRing &ring) const {
    if (!op.getPages())
      return {};
    if (isa<tile::PlacesType>(op.getPages().getType()))
      return llvm::to_vector(adaptor.getPages());
    const KernelValues &kernel = state.of(op);
    auto ringOp = op.getRing().getDefiningOp<tile::RingOp>();
    PagedTile tile(emit, kernel, ringOp, RingValues(adaptor.getRing()), tileNumberOf(adaptor), adaptor.getPages());
    return placesOf(emit, kernel, ringOp, ring, tile);
  }
};
} // namespace

void hocket::lowering::populateFetchPatterns(const TypeConverter &converter, RewritePatternSet &patterns,
                                             LoweringState &state) {
  patterns.add<FetchPattern, LocatePattern>(converter, patterns.getContext(), state);
}
