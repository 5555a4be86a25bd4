// tile.stash and tile.recall: operands that a wave lays aside in its own part of LDS.
//
// A wave's accesses to LDS happen in the order in which it issues them, and each lane reads what it wrote. What LLVM
// must not do is to see that: it would keep the operand in registers after all.
#include "Access.h"

#include "Tile/IR/Stash.h"

using namespace mlir;
using namespace hocket;
using namespace hocket::lowering;
using tile::StashLayout;

namespace {
struct StashPattern : TilePattern<tile::StashOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tile::StashOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Emitter emit(op.getLoc(), rewriter);
    const KernelValues &kernel = state.of(op);
    StashLayout layout(op.getSource().getType());
    Value ofWave = emit.mul(kernel.wave, emit.i32(layout.waveBytes()));
    Value ofLane = emit.mul(kernel.lane, emit.i32(StashLayout::kPieceBytes));
    Value first = emit.offset(kernel.lds, emit.i32(*op.getLdsOffset()));
    Value base = emit.offset(first, emit.add(ofWave, ofLane));
    for (auto [index, piece] : llvm::enumerate(adaptor.getSource())) {
      Value address = emit.offset(base, emit.i32(StashLayout::offset(index)));
      auto store = LLVM::StoreOp::create(emit, piece, address, StashLayout::kPieceBytes);
      store.setAliasScopesAttr(state.readScope);
      store.setNoaliasScopesAttr(state.dmaScope);
    }
    rewriter.replaceOp(op, base);
    return success();
  }
};

/// Depth runs fastest among the pieces of an operand.
struct RecallPattern : TilePattern<tile::RecallOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tile::RecallOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Emitter emit(op.getLoc(), rewriter);
    tile::FragType whole = op.getStash().getType().getFrag(), frag = op.getResult().getType();
    Value base = hidden(emit, adaptor.getStash().front());
    VectorType type = operandType(frag);
    int64_t all = depthSteps(whole), first = static_cast<int64_t>(op.getFirst()) / whole.getDepthStep();
    SmallVector<Value> results;
    for (int64_t block = 0; block != frag.getWidth() / kBlock; ++block)
      for (int64_t step = 0; step != depthSteps(frag); ++step) {
        Value place = emit.i32(StashLayout::offset(block * all + first + step));
        auto load = LLVM::LoadOp::create(emit, type, emit.offset(base, place), StashLayout::kPieceBytes);
        load.setAliasScopesAttr(state.readScope);
        load.setNoaliasScopesAttr(state.dmaScope);
        results.push_back(load);
      }
    rewriter.replaceOpWithMultiple(op, ArrayRef<ValueRange>{results});
    return success();
  }

  /// The same address, of which LLVM does not know that it is.
  static Value hidden(Emitter &emit, Value address) {
    return LLVM::InlineAsmOp::create(
               emit, TypeRange{address.getType()}, ValueRange{address}, /*asm_string=*/"",
               /*constraints=*/"=v,0", /*has_side_effects=*/false, /*is_align_stack=*/false,
               LLVM::TailCallKind::None, LLVM::AsmDialectAttr::get(emit.getContext(), LLVM::AsmDialect::AD_ATT),
               ArrayAttr())
        .getResult(0);
  }
};
} // namespace

void hocket::lowering::populateStashPatterns(const TypeConverter &converter, RewritePatternSet &patterns,
                                             LoweringState &state) {
  patterns.add<StashPattern, RecallPattern>(converter, patterns.getContext(), state);
}
