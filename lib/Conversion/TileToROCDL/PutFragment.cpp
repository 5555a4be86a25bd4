// Fragments that waves have computed, on their way into a ring.
//
// Stores are as wide as the ring's layout keeps consecutive columns of a row together; a layout for
// reads across the rows where no read transposes (lib/Layout/LdsStaging.h) does not, and takes
// one element at a time.
#include "Access.h"

#include "Tile/IR/FragmentPut.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace hocket;
using namespace hocket::lowering;

/// Whether `bytes` consecutive bytes of a row lie together.
static bool keepsTogether(const LdsTileLayout &layout, int64_t bytes) {
  for (unsigned bit = 0; int64_t(1) << bit < bytes; ++bit)
    if (layout.linear.basis(dims::Byte, bit, dims::Offset) != uint64_t(1) << bit)
      return false;
  return true;
}

namespace {
/// Addresses of stores: a base for the lane and a constant for each store. Where the layout
/// swizzles bits that both touch, stores have a base of their own.
class StoreAddresses {
public:
  StoreAddresses(Emitter &emit, const KernelValues &kernel, const LdsTileLayout &layout,
                 const LinearLayout &offsets, Value slot)
      : emit(emit), layout(layout), offsets(offsets), slot(slot),
        laneReach(offsets.reach(dims::Lane, dims::Offset) |
                  offsets.reach(dims::Wave, dims::Offset)) {
    lanePart = arith::XOrIOp::create(
        emit, emit.linear(offsets, dims::Lane, dims::Offset, kernel.lane),
        emit.linear(offsets, dims::Wave, dims::Offset, kernel.wave));
  }

  Value of(int64_t store, int64_t panel) {
    uint64_t own = offsets.apply({{std::string(dims::Register), static_cast<uint64_t>(store)}},
                                 dims::Offset);
    int64_t immediate =
        layout.padded(static_cast<uint32_t>(own & ~laneReach)) + panel * layout.panelStride();
    return emit.offset(baseOf(own & laneReach), emit.i32(immediate));
  }

private:
  Value baseOf(uint64_t swizzled) {
    Value &base = bases[swizzled];
    if (base)
      return base;
    Value offset =
        arith::XOrIOp::create(emit, lanePart, emit.i32(static_cast<int64_t>(swizzled)));
    if (layout.padding != 0) {
      Value chunk = arith::DivUIOp::create(emit, offset, emit.i32(layout.chunkBytes));
      offset = emit.add(offset, emit.mul(chunk, emit.i32(layout.padding)));
    }
    return base = emit.offset(slot, offset);
  }

  Emitter &emit;
  const LdsTileLayout &layout;
  const LinearLayout &offsets;
  Value slot, lanePart;
  uint64_t laneReach;
  llvm::DenseMap<uint64_t, Value> bases;
};

struct PutFragmentPattern : TilePattern<tile::PutOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tile::PutOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    if (!isa<tile::FragType>(op.getPart().getType()))
      return failure();
    auto ringOp = op.getRing().getDefiningOp<tile::RingOp>();
    Result<LdsTileLayout> layout =
        tile::toLdsTileLayout(ringOp);
    if (!layout)
      return layoutError(op, layout.error());
    Result<tile::FragmentStores> stores = tile::fragmentStores(op, /*byElement=*/false);
    if (stores && !keepsTogether(*layout, stores->bytes()))
      stores = tile::fragmentStores(op, /*byElement=*/true);
    if (!stores)
      return layoutError(op, stores.error());
    Result<LinearLayout> offsets = stores->access.then(layout->linear);
    if (!offsets)
      return layoutError(op, offsets.error());

    Emitter emit(op.getLoc(), rewriter);
    RingValues ring(adaptor.getRing());
    Value slot = emit.mul(adaptor.getSlot().front(), emit.i32(layout->bytes()));
    StoreAddresses addresses(emit, state.of(op), *layout, *offsets, emit.offset(ring.lds, slot));
    SmallVector<Value> pieces;
    for (Value piece : adaptor.getPart())
      pieces.push_back(narrowElements(emit, piece, cast<tile::FragType>(op.getPart().getType()).getElementType(),
                                      op.getRing().getType().getElementType()));
    for (int64_t panel = 0; panel != stores->panels; ++panel)
      for (int64_t i = 0; i != stores->stores(); ++i) {
        tile::FragmentStores::Source source = stores->source(i, panel);
        store(emit, take(emit, pieces[source.piece], source.first, stores->elements),
              addresses.of(i, panel), stores->bytes());
      }
    rewriter.eraseOp(op);
    return success();
  }

  static Value take(Emitter &emit, Value piece, int64_t first, int64_t count) {
    if (count == 1)
      return emit.element(piece, first);
    if (count == cast<VectorType>(piece.getType()).getNumElements())
      return piece;
    return vector::ExtractStridedSliceOp::create(emit, piece, first, count, 1);
  }

  /// What is fetched into other rings is not meant: no wait for it.
  void store(Emitter &emit, Value value, Value address, int64_t bytes) const {
    auto store = LLVM::StoreOp::create(emit, value, address, bytes);
    store.setAliasScopesAttr(state.readScope);
    store.setNoaliasScopesAttr(state.dmaScope);
  }
};
} // namespace

void hocket::lowering::populatePutFragmentPatterns(const TypeConverter &converter,
                                                   RewritePatternSet &patterns,
                                                   LoweringState &state) {
  patterns.add<PutFragmentPattern>(converter, patterns.getContext(), state);
}
