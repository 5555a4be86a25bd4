// Masks: scores and operands of which only a part counts.
//
// A mask costs only where it cuts: a branch leaves the other tiles alone. Rows that do not exist
// are zero already, out of their descriptor's bounds; columns beyond a matrix are not, since the
// next row begins there, and are masked in registers.
#include "Lowering.h"

#include "Tile/IR/MemoryAccess.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace hocket;
using namespace hocket::lowering;

static LLVM::InlineAsmOp inlineAsm(Emitter &emit, Type result, ValueRange operands, StringRef text,
                                   StringRef constraints, bool hasSideEffects) {
  return LLVM::InlineAsmOp::create(
      emit, TypeRange(result), operands, text, constraints, hasSideEffects,
      /*is_align_stack=*/false, LLVM::TailCallKind::None,
      LLVM::AsmDialectAttr::get(emit.getContext(), LLVM::AsmDialect::AD_ATT), ArrayAttr());
}

namespace {
/// What a lane sees of a boundary tile is bits, and each bit a whole mask (docs/CodeGeneration.md). What reads the scores
/// LLVM knows, so that it pads the wait states behind the matrix instruction that wrote them.
struct MaskPattern : TilePattern<tile::MaskOp> {
  using TilePattern::TilePattern;

  /// Masks of so many elements lie in registers at a time.
  static constexpr size_t kMasksAtOnce = 2;

  /// Bit p says whether this lane sees the key of place p in a block that begins at place `base`: up to place `last`,
  /// and from `first` on, where there is one. Places stay below 31, so that no shift is by 32.
  static Value visibleBits(Emitter &emit, int64_t base, Value last, Value first) {
    auto placeInBlock = [&](Value place, int64_t offset) {
      Value counted = arith::AddIOp::create(emit, place, emit.i32(offset - base));
      Value notBefore = arith::MaxSIOp::create(emit, counted, emit.i32(0));
      return arith::MinSIOp::create(emit, notBefore, emit.i32(kBlock - 1)).getResult();
    };
    Value end = arith::ShLIOp::create(emit, emit.i32(1), placeInBlock(last, 1));
    Value bits = arith::SubIOp::create(emit, end, emit.i32(1));
    if (!first)
      return bits;
    Value from = arith::ShLIOp::create(emit, emit.i32(-1), placeInBlock(first, 0));
    return arith::AndIOp::create(emit, bits, from);
  }

  /// Each bit of `visible` at `places` as a whole mask: a bit field by its sign. In inline assembly, since LLVM would make
  /// compares and selects of it, with wait states between them.
  static SmallVector<Value> wholeMasks(Emitter &emit, Value visible, ArrayRef<int64_t> places) {
    std::string text, constraints;
    for (auto [i, place] : llvm::enumerate(places)) {
      bool isLast = i + 1 == places.size();
      text += "v_bfe_i32 $" + std::to_string(i) + ", $" + std::to_string(places.size()) + ", " + std::to_string(place) +
              (isLast ? ", 1" : ", 1\n");
      constraints += isLast ? "=v,v" : "=&v,";
    }
    auto type = LLVM::LLVMStructType::getLiteral(emit.getContext(), SmallVector<Type>(places.size(), emit.getI32Type()));
    auto statement = inlineAsm(emit, type, ValueRange(visible), text, constraints, /*hasSideEffects=*/false);
    SmallVector<Value> masks;
    for (size_t i = 0; i != places.size(); ++i)
      masks.push_back(LLVM::ExtractValueOp::create(emit, statement.getResult(0), ArrayRef<int64_t>{int64_t(i)}));
    return masks;
  }

  /// -inf, in a scalar register while it is needed: LLVM would keep it in one for the whole kernel.
  static Value infinityInPlace(Emitter &emit) {
    return inlineAsm(emit, emit.getI32Type(), ValueRange(), "s_mov_b32 $0, 0xff800000", "=s", /*hasSideEffects=*/true)
        .getResult(0);
  }

  /// `score` with -inf where the bit of the element's place in `visible` is 0: an insertion of bits for each element. The
  /// next masks are made in front of the last insertion, since LLVM has what is written by a statement wait for a state.
  static Value maskBlock(Emitter &emit, Value score, ArrayRef<int64_t> places, Value visible) {
    Value hidden = infinityInPlace(emit);
    Value ones = emit.i32(-1);
    SmallVector<Value> kept, masks;
    for (auto [i, place] : llvm::enumerate(places)) {
      if (i == 0)
        masks = wholeMasks(emit, visible, places.take_front(kMasksAtOnce));
      Value mask = masks[i];
      if ((i + 1) % kMasksAtOnce == 0 && i + 1 != places.size())
        llvm::append_range(masks, wholeMasks(emit, visible, places.slice(i + 1, kMasksAtOnce)));
      Value bits = LLVM::BitcastOp::create(emit, emit.getI32Type(), emit.element(score, i));
      Value seen = arith::AndIOp::create(emit, bits, mask);
      Value rest = arith::AndIOp::create(emit, arith::XOrIOp::create(emit, mask, ones), hidden);
      kept.push_back(LLVM::BitcastOp::create(emit, emit.getF32Type(), arith::OrIOp::create(emit, seen, rest)));
    }
    return vector::FromElementsOp::create(emit, cast<VectorType>(score.getType()), kept);
  }

  LogicalResult matchAndRewrite(tile::MaskOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Emitter emit(op.getLoc(), rewriter);
    tile::FragType frag = op.getScores().getType();
    Result<LinearLayout> layout = mfmaAccumulatorTile(frag.getOperandShape(), frag.getRows(), frag.getColumns());
    if (!layout || frag.getColumns() != kBlock)
      return op.emitOpError() << "masks " << frag << ", only " << kBlock
                              << " columns are supported";

    Value lane = state.of(op).lane;
    Value firstKey = emit.mul(adaptor.getTile().front(), emit.i32(frag.getRows()));
    if (op->hasAttr(tile::kFoundInPlace))
      firstKey = inlineAsm(emit, firstKey.getType(), ValueRange(firstKey), "", "=s,0", /*hasSideEffects=*/true).getResult(0);
    Value uniformLast = arith::SubIOp::create(emit, adaptor.getBelow().front(), emit.i32(1));
    Value last = uniformLast;
    if (op.getDiagonal()) {
      Value diagonal = adaptor.getDiagonal().front();
      Value column = emit.linear(*layout, dims::Lane, dims::Col, lane);
      last = arith::MinSIOp::create(emit, last, emit.add(diagonal, column));
      uniformLast = arith::MinSIOp::create(emit, uniformLast, diagonal);
    }
    // The last visible key, counted from the first that this lane holds; a tile in which every
    // query sees every key is left alone.
    Value laneRow = emit.linear(*layout, dims::Lane, dims::Row, lane);
    Value limit = arith::SubIOp::create(emit, last, emit.add(firstKey, laneRow));
    Value tileLast = emit.add(firstKey, emit.i32(frag.getRows() - 1));
    Value cuts = arith::CmpIOp::create(emit, arith::CmpIPredicate::sgt, tileLast, uniformLast);
    // The first visible one likewise; the last column's is the furthest.
    Value first;
    if (op.getAbove()) {
      Value above = adaptor.getAbove().front();
      Value column = emit.linear(*layout, dims::Lane, dims::Col, lane);
      first = arith::SubIOp::create(emit, emit.add(above, column), emit.add(firstKey, laneRow));
      Value furthest = emit.add(above, emit.i32(frag.getColumns() - 1));
      cuts = arith::OrIOp::create(
          emit, cuts,
          arith::CmpIOp::create(emit, arith::CmpIPredicate::slt, firstKey, furthest));
    }

    ValueRange scores = adaptor.getScores();
    // The last key cuts one tile, a diagonal as many as there are rows: few of a loop, but in front of it and behind it
    // there may be no others.
    if (!op.getDiagonal() || op->hasAttr(tile::kRarelyCuts))
      cuts = emit.rare(cuts);
    auto branch = scf::IfOp::create(emit, scores.getTypes(), cuts, /*withElse=*/true);
    {
      OpBuilder::InsertionGuard guard(emit);
      emit.setInsertionPointToStart(branch.thenBlock());
      SmallVector<Value> masked;
      for (auto [block, score] : llvm::enumerate(scores)) {
        auto place = [&](int64_t element) {
          return layout->apply({{std::string(dims::Register), element}}, dims::Row);
        };
        int64_t base = place(block * kAccRegisters);
        SmallVector<int64_t> places;
        for (int64_t i = 0; i != kAccRegisters; ++i)
          places.push_back(place(block * kAccRegisters + i) - base);
        masked.push_back(maskBlock(emit, score, places, visibleBits(emit, base, limit, first)));
      }
      scf::YieldOp::create(emit, masked);
      emit.setInsertionPointToStart(branch.elseBlock());
      scf::YieldOp::create(emit, scores);
    }
    rewriter.replaceOpWithMultiple(op, ArrayRef<ValueRange>{branch.getResults()});
    return success();
  }
};

struct MaskDepthPattern : TilePattern<tile::MaskDepthOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tile::MaskDepthOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Emitter emit(op.getLoc(), rewriter);
    tile::FragType frag = op.getSource().getType();
    // In accumulator order a lane's elements lie in runs with others' between them.
    Result<LinearLayout> operand = frag.getLayout() == tile::FragLayout::LhsAcc
                                       ? tile::accumulatorOrderedOperand(kBlock, kBlock, bitsOf(frag.getElementType()))
                                       : mfmaOperandA(frag.getOperandShape());
    if (!operand)
      return layoutError(op, operand.error());
    SmallVector<int64_t> depths;
    for (int64_t element = 0; element != frag.getOperandElements(); ++element)
      depths.push_back(operand->apply({{std::string(dims::Register), element}}, dims::K));
    Value first = emit.mul(adaptor.getTile().front(), emit.i32(frag.getDepth()));
    Value left = arith::SubIOp::create(emit, adaptor.getBelow().front(), first);
    Value cuts =
        arith::CmpIOp::create(emit, arith::CmpIPredicate::slt, left, emit.i32(frag.getDepth()));
    ValueRange source = adaptor.getSource();
    auto branch = scf::IfOp::create(emit, source.getTypes(), emit.rare(cuts), /*withElse=*/true);
    {
      OpBuilder::InsertionGuard guard(emit);
      emit.setInsertionPointToStart(branch.thenBlock());
      Value laneDepth = emit.linear(*operand, dims::Lane, dims::K, state.of(op).lane);
      Value ofLane = arith::SubIOp::create(emit, left, laneDepth);
      // Step by step of the depth: one mask at a time lies in registers.
      SmallVector<Value> masked(source.size());
      for (size_t step = 0, steps = depthSteps(frag); step != steps; ++step) {
        Value count = arith::SubIOp::create(emit, ofLane, emit.i32(static_cast<int64_t>(step) * frag.getDepthStep()));
        Value mask = maskOf(emit, count, depths, bitsOf(frag.getElementType()));
        for (size_t index = step; index < source.size(); index += steps) {
          Value bits = LLVM::BitcastOp::create(emit, mask.getType(), source[index]);
          masked[index] = LLVM::BitcastOp::create(emit, source[index].getType(), arith::AndIOp::create(emit, bits, mask));
        }
      }
      scf::YieldOp::create(emit, masked);
      emit.setInsertionPointToStart(branch.elseBlock());
      scf::YieldOp::create(emit, source);
    }
    rewriter.replaceOpWithMultiple(op, ArrayRef<ValueRange>{branch.getResults()});
    return success();
  }

  /// The bits of a lane's operand, of elements of `bits` bits, of which those at `depths` less than `count`, any number,
  /// are kept. Depths of a word ascend.
  static Value maskOf(Emitter &emit, Value count, ArrayRef<int64_t> depths, int64_t bits) {
    auto keeps = [&](int64_t element, Value bits, Value otherwise) {
      Value kept = arith::CmpIOp::create(emit, arith::CmpIPredicate::sgt, count, emit.i32(depths[element]));
      return arith::SelectOp::create(emit, kept, bits, otherwise).getResult();
    };
    SmallVector<Value> words;
    const int64_t perWord = 32 / bits;
    for (int64_t first = 0, end = depths.size(); first != end; first += perWord) {
      Value word = emit.i32(0);
      for (int64_t i = 0; i != perWord; ++i)
        word = keeps(first + i, emit.i32(static_cast<int32_t>(llvm::maskTrailingOnes<uint32_t>((i + 1) * bits))), word);
      words.push_back(word);
    }
    auto type = VectorType::get({static_cast<int64_t>(words.size())}, emit.getI32Type());
    return vector::FromElementsOp::create(emit, type, words);
  }
};
} // namespace

void hocket::lowering::populateMaskPatterns(const TypeConverter &converter,
                                            RewritePatternSet &patterns, LoweringState &state) {
  patterns.add<MaskPattern, MaskDepthPattern>(converter, patterns.getContext(), state);
}
