// Fragments and rows: matrix products, masks, the online softmax.
//
// The forms emitted here are those that LLVM 22 turns into the intended instructions
// (docs/CodeGeneration.md): maxima as one linear chain of maxnum with nnan (v_max3), conversions on
// whole vectors (v_cvt_pk), row sums as dot products of packed pairs (v_dot2), exp2 as the
// intrinsic. No fast-math flag that would reassociate: all schedules of an algorithm give the same
// bits.
#include "Lowering.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace hocket;
using namespace hocket::lowering;

/// Beyond this many halvings any f32 is 0: keeps the conversion of a huge step in range.
static constexpr float kMostHalvings = 1000.0f;

/// From this magnitude on, in log2 units, a reference is of a row in which the maximum alone counts
/// (`tile.saturate`). Below, the spacing of f32 is at most 4, so that the maximum's weight stays
/// between 2^-4 and 2^4, which fp16 represents as exactly as 1.
static constexpr float kSaturation = 0x1p26f;
/// How far beyond the threshold rounding may let a score rise before its row moves.
static constexpr float kBoundSlack = 0.5f;

static Value maximum(Emitter &emit, Value a, Value b) {
  return arith::MaxNumFOp::create(emit, a, b, arith::FastMathFlags::nnan);
}

namespace {
struct FillPattern : TilePattern<tile::FillOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tile::FillOp op, OpAdaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Emitter emit(op.getLoc(), rewriter);
    SmallVector<Type> types;
    if (failed(getTypeConverter()->convertType(op.getResult().getType(), types)))
      return failure();
    SmallVector<Value> results;
    for (Type type : types) {
      TypedAttr value = op.getValueAttr();
      if (auto vector = dyn_cast<VectorType>(type)) {
        if (vector.getElementType() != op.getValueAttr().getType())
          value = FloatAttr::get(vector.getElementType(), op.getValue().convertToDouble());
        value = DenseElementsAttr::get(vector, value);
      }
      results.push_back(arith::ConstantOp::create(emit, value));
    }
    rewriter.replaceOpWithMultiple(op, ArrayRef<ValueRange>{results});
    return success();
  }
};

struct SlicePattern : TilePattern<tile::SliceOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tile::SliceOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    // Accumulator blocks: rows run fastest, then columns (hocket/Layout/Mfma.h).
    tile::FragType source = op.getSource().getType(), result = op.getResult().getType();
    SmallVector<Value> blocks;
    for (int64_t column = 0; column != source.getColumns() / kBlock; ++column)
      for (int64_t row = 0; row != result.getRows() / kBlock; ++row)
        blocks.push_back(adaptor.getSource()[column * (source.getRows() / kBlock) +
                                             op.getFirstRow() / kBlock + row]);
    rewriter.replaceOpWithMultiple(op, ArrayRef<ValueRange>{blocks});
    return success();
  }
};

struct ConcatPattern : TilePattern<tile::ConcatOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tile::ConcatOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    // Right operands: steps along the depth run fastest, then blocks of columns.
    SmallVector<Value> vectors;
    int64_t columns = op.getResult().getType().getColumns() / kBlock;
    for (int64_t column = 0; column != columns; ++column)
      for (ValueRange source : adaptor.getSources()) {
        int64_t steps = source.size() / columns;
        for (int64_t step = 0; step != steps; ++step)
          vectors.push_back(source[column * steps + step]);
      }
    rewriter.replaceOpWithMultiple(op, ArrayRef<ValueRange>{vectors});
    return success();
  }
};

struct NegatePattern : TilePattern<tile::NegateOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tile::NegateOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Emitter emit(op.getLoc(), rewriter);
    bool wide = op.getSource().getType().getLayout() == tile::FragLayout::Acc;
    int64_t sign = wide ? int32_t(0x80000000) : int32_t(0x80008000);
    Value flip =
        arith::SelectOp::create(emit, adaptor.getCondition().front(), emit.i32(sign), emit.i32(0));
    SmallVector<Value> results;
    for (Value part : adaptor.getSource()) {
      auto type = cast<VectorType>(part.getType());
      int64_t words = type.getNumElements() * type.getElementTypeBitWidth() / 32;
      auto wordsType = VectorType::get({words}, emit.getI32Type());
      Value bits = LLVM::BitcastOp::create(emit, wordsType, part);
      Value flipped = arith::XOrIOp::create(emit, bits, emit.splat(flip, wordsType));
      results.push_back(LLVM::BitcastOp::create(emit, type, flipped));
    }
    rewriter.replaceOpWithMultiple(op, ArrayRef<ValueRange>{results});
    return success();
  }
};

/// A fragment times a number: pair by pair in f32, rounded back.
struct ScalePattern : TilePattern<tile::ScaleOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tile::ScaleOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Emitter emit(op.getLoc(), rewriter);
    SmallVector<Value> results;
    for (Value part : adaptor.getSource()) {
      auto type = cast<VectorType>(part.getType());
      auto wide = VectorType::get(type.getShape(), emit.getF32Type());
      bool narrow = !type.getElementType().isF32();
      Value source = narrow ? LLVM::FPExtOp::create(emit, wide, part).getResult() : part;
      Value scaled =
          arith::MulFOp::create(emit, source, emit.splat(adaptor.getFactor().front(), wide));
      results.push_back(narrow ? LLVM::FPTruncOp::create(emit, type, scaled).getResult() : scaled);
    }
    rewriter.replaceOpWithMultiple(op, ArrayRef<ValueRange>{results});
    return success();
  }
};

struct MmaPattern : TilePattern<tile::MmaOp> {
  using TilePattern::TilePattern;
  static Value multiply(Emitter &emit, unsigned depth, Value lhs, Value rhs, Value acc) {
    Value zero = emit.i32(0);
    bool bf16 = cast<VectorType>(lhs.getType()).getElementType().isBF16();
    if (depth == 8 && bf16) {
      auto bits = VectorType::get({4}, emit.getI16Type());
      lhs = LLVM::BitcastOp::create(emit, bits, lhs);
      rhs = LLVM::BitcastOp::create(emit, bits, rhs);
    }
    SmallVector<Value> operands = {lhs, rhs, acc, zero, zero, zero};
    Type type = acc.getType();
    if (depth == 8)
      return bf16 ? ROCDL::mfma_f32_32x32x8bf16_1k::create(emit, type, operands).getResult()
                  : ROCDL::mfma_f32_32x32x8f16::create(emit, type, operands).getResult();
    return bf16 ? ROCDL::mfma_f32_32x32x16_bf16::create(emit, type, operands).getResult()
                : ROCDL::mfma_f32_32x32x16_f16::create(emit, type, operands).getResult();
  }

  /// One step of the depth: a piece of both operands for each instruction that the chip needs.
  static Value multiplyStep(Emitter &emit, unsigned depth, Value lhs, Value rhs, Value acc) {
    int64_t elements = kOperandElements * depth / kShape.k;
    if (elements == kOperandElements)
      return multiply(emit, depth, lhs, rhs, acc);
    auto piece = [&](Value operand, int64_t first) -> Value {
      return vector::ExtractStridedSliceOp::create(emit, operand, first, elements, 1);
    };
    for (int64_t first = 0; first != kOperandElements; first += elements)
      acc = multiply(emit, depth, piece(lhs, first), piece(rhs, first), acc);
    return acc;
  }

  LogicalResult matchAndRewrite(tile::MmaOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Emitter emit(op.getLoc(), rewriter);
    int64_t rows = op.getAcc().getType().getRows() / kBlock;
    int64_t columns = op.getAcc().getType().getColumns() / kBlock;
    int64_t steps = op.getLhs().getType().getColumns() / kShape.k;
    bool bf16 = op.getLhs().getType().getElementType().isBF16();
    const MfmaInfo *mfma =
        state.of(op).arch->findMfma(bf16 ? MfmaType::BF16 : MfmaType::F16, kShape.m, kShape.n);
    if (!mfma || (mfma->shape.k != 8 && mfma->shape.k != kShape.k))
      return op.emitOpError() << "needs a matrix instruction of 32x32x8 or 32x32x16, which "
                              << state.of(op).arch->name << " does not have";
    SmallVector<Value> acc(adaptor.getAcc());
    // Steps outermost: neighbours then accumulate into different registers.
    for (int64_t step = 0; step != steps; ++step)
      for (int64_t column = 0; column != columns; ++column)
        for (int64_t row = 0; row != rows; ++row) {
          Value &block = acc[column * rows + row];
          block = multiplyStep(emit, mfma->shape.k, adaptor.getLhs()[row * steps + step],
                               adaptor.getRhs()[column * steps + step], block);
        }
    rewriter.replaceOpWithMultiple(op, ArrayRef<ValueRange>{acc});
    return success();
  }
};

/// All elements of an accumulator's converted vectors, in register order.
SmallVector<Value> elements(Emitter &emit, ValueRange vectors) {
  SmallVector<Value> result;
  for (Value vector : vectors)
    for (int64_t i = 0; i != cast<VectorType>(vector.getType()).getNumElements(); ++i)
      result.push_back(emit.element(vector, i));
  return result;
}

LLVM::InlineAsmOp inlineAsm(Emitter &emit, Type result, ValueRange operands, StringRef text,
                            StringRef constraints) {
  return LLVM::InlineAsmOp::create(
      emit, TypeRange(result), operands, text, constraints,
      /*has_side_effects=*/true, /*is_align_stack=*/false, LLVM::TailCallKind::None,
      LLVM::AsmDialectAttr::get(emit.getContext(), LLVM::AsmDialect::AD_ATT), ArrayAttr());
}

/// The boundary tile's masks are inline assembly, which LLVM does not pad: it carries its own wait
/// states (docs/CodeGeneration.md): two between a compare and its select, and those behind the
/// matrix instruction that wrote the score.
struct MaskPattern : TilePattern<tile::MaskOp> {
  using TilePattern::TilePattern;

  /// Integers below this are operands by themselves.
  static constexpr int64_t kInlineConstants = 64;

  /// Wait states between the matrix instruction that may have written the scores last and the first
  /// select that reads them. Real s_nop: LLVM 22 looks for hazards backwards block by block, each
  /// once, and would leave out those of the way around the mask if the way through it looked short.
  static void waitForMatrixResults(Emitter &emit, const ArchInfo &arch, Type scores) {
    const MfmaInfo *mfma = arch.findMfma(MfmaType::BF16, kShape.m, kShape.n);
    const MfmaHazard *hazard = mfma ? arch.hazards.forPasses(mfma->passes) : nullptr;
    int64_t states = hazard ? hazard->resultToUse : 0;
    for (; states > 0; states -= arch.maxNop)
      ROCDL::SNopOp::create(emit,
                            emit.getI16IntegerAttr(std::min<int64_t>(states, arch.maxNop) - 1));
  }

  /// `score` with -inf where the element's key is beyond `limit`. One statement an element: with
  /// several, tied together, LLVM's register allocator runs out of registers. And into a scalar
  /// register of LLVM's choice: to look up a clobbered `vcc` by name takes it milliseconds.
  static Value maskBlock(Emitter &emit, Value score, ArrayRef<int64_t> keys, Value limit) {
    Value hidden = emit.f32(-std::numeric_limits<float>::infinity());
    Type type =
        LLVM::LLVMStructType::getLiteral(emit.getContext(), {emit.getF32Type(), emit.getI64Type()});
    SmallVector<Value> kept;
    for (auto [i, key] : llvm::enumerate(keys)) {
      // Counted from a key near enough for an inline constant.
      int64_t base = key / kInlineConstants * kInlineConstants;
      Value near =
          base == 0 ? limit : arith::SubIOp::create(emit, limit, emit.i32(base)).getResult();
      std::string text = "v_cmp_le_i32_e64 $1, " + std::to_string(key - base) +
                         ", $2\ns_nop 1\nv_cndmask_b32_e64 $0, $3, $4, $1";
      SmallVector<Value> operands = {near, hidden, emit.element(score, i)};
      auto statement = inlineAsm(emit, type, operands, text, "=v,=&s,v,v,v");
      kept.push_back(
          LLVM::ExtractValueOp::create(emit, statement.getResult(0), ArrayRef<int64_t>{0}));
    }
    return vector::FromElementsOp::create(emit, cast<VectorType>(score.getType()), kept);
  }

  LogicalResult matchAndRewrite(tile::MaskOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Emitter emit(op.getLoc(), rewriter);
    tile::FragType frag = op.getScores().getType();
    Result<LinearLayout> layout = mfmaAccumulatorTile(kShape, frag.getRows(), frag.getColumns());
    if (!layout || frag.getColumns() != kBlock)
      return op.emitOpError() << "masks " << frag << ", only " << kBlock
                              << " columns are supported";

    Value lane = state.of(op).lane;
    Value firstKey = emit.mul(adaptor.getTile().front(), emit.i32(frag.getRows()));
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

    ValueRange scores = adaptor.getScores();
    auto branch = scf::IfOp::create(emit, scores.getTypes(), cuts, /*withElse=*/true);
    {
      OpBuilder::InsertionGuard guard(emit);
      emit.setInsertionPointToStart(branch.thenBlock());
      waitForMatrixResults(emit, *state.of(op).arch, scores.front().getType());
      SmallVector<Value> masked;
      for (auto [block, score] : llvm::enumerate(scores)) {
        SmallVector<int64_t> keys;
        for (int64_t i = 0; i != kAccRegisters; ++i)
          keys.push_back(
              layout->apply({{std::string(dims::Register), block * kAccRegisters + i}}, dims::Row));
        masked.push_back(maskBlock(emit, score, keys, limit));
      }
      scf::YieldOp::create(emit, masked);
      emit.setInsertionPointToStart(branch.elseBlock());
      scf::YieldOp::create(emit, scores);
    }
    rewriter.replaceOpWithMultiple(op, ArrayRef<ValueRange>{branch.getResults()});
    return success();
  }
};

struct RowMaxPattern : TilePattern<tile::RowMaxOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tile::RowMaxOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Emitter emit(op.getLoc(), rewriter);
    // A chain for each block: the next instruction need not wait for the one before.
    SmallVector<Value> maxima;
    for (Value block : adaptor.getSource()) {
      SmallVector<Value> scores = elements(emit, block);
      Value max = scores.front();
      for (Value score : llvm::drop_begin(scores))
        max = maximum(emit, max, score);
      maxima.push_back(max);
    }
    Value max = maxima.front();
    for (Value other : llvm::drop_begin(maxima))
      max = maximum(emit, max, other);
    rewriter.replaceOp(op, max);
    return success();
  }
};

struct RowSumPattern : TilePattern<tile::RowSumOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tile::RowSumOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Emitter emit(op.getLoc(), rewriter);
    bool packed = op.getSource().getType().getLayout() == tile::FragLayout::RhsAcc;
    Value init = adaptor.getInit().front();
    bool hasDot =
        state.of(op).arch->features.bf16Dot || !op.getSource().getType().getElementType().isBF16();
    ValueRange source = adaptor.getSource();
    rewriter.replaceOp(op, !packed  ? sumWide(emit, source, init)
                           : hasDot ? sumPacked(emit, source, init)
                                    : sumWidened(emit, source, init));
    return success();
  }

  static Value sumWide(Emitter &emit, ValueRange source, Value sum) {
    for (Value element : elements(emit, source))
      sum = arith::AddFOp::create(emit, sum, element);
    return sum;
  }

  /// Packed bf16 where no dot product takes them: a bf16 is the upper half of an f32.
  static Value sumWidened(Emitter &emit, ValueRange source, Value sum) {
    auto words = VectorType::get({kOperandElements / 2}, emit.getI32Type());
    for (Value packed : source) {
      Value bits = LLVM::BitcastOp::create(emit, words, packed);
      for (int64_t i = 0; i != kOperandElements / 2; ++i) {
        Value word = emit.element(bits, i);
        Value low = arith::ShLIOp::create(emit, word, emit.i32(16));
        Value high = arith::AndIOp::create(emit, word, emit.i32(int32_t(0xffff0000)));
        for (Value part : {low, high})
          sum = arith::AddFOp::create(emit, sum,
                                      LLVM::BitcastOp::create(emit, emit.getF32Type(), part));
      }
    }
    return sum;
  }

  static Value sumPacked(Emitter &emit, ValueRange source, Value sum) {
    Type element = cast<VectorType>(source.front().getType()).getElementType();
    auto pair = VectorType::get({2}, element);
    Value ones =
        arith::ConstantOp::create(emit, DenseElementsAttr::get(pair, FloatAttr::get(element, 1.0)));
    Value noClamp = arith::ConstantOp::create(emit, emit.getBoolAttr(false));
    StringRef intrinsic = element.isBF16() ? "llvm.amdgcn.fdot2.f32.bf16" : "llvm.amdgcn.fdot2";
    for (Value packed : source)
      for (int64_t i = 0; i != kOperandElements; i += 2) {
        Value two = vector::ExtractStridedSliceOp::create(emit, packed, i, 2, 1);
        sum = LLVM::CallIntrinsicOp::create(emit, emit.getF32Type(), emit.getStringAttr(intrinsic),
                                            ValueRange{two, ones, sum, noClamp})
                  .getResult(0);
      }
    return sum;
  }
};

/// Whether `value > bound` in any lane of the wave.
Value anyLane(Emitter &emit, Value value, Value bound) {
  Value beyond = arith::CmpFOp::create(emit, arith::CmpFPredicate::OGT, value, bound);
  Value votes = ROCDL::BallotOp::create(emit, emit.getI64Type(), beyond);
  return arith::CmpIOp::create(emit, arith::CmpIPredicate::ne, votes, emit.i64(0));
}

/// Whether the row has seen no visible key yet: its bound is -inf.
Value isFirst(Emitter &emit, Value bound) {
  Value lowest = emit.f32(-std::numeric_limits<float>::infinity());
  return arith::CmpFOp::create(emit, arith::CmpFPredicate::OEQ, bound, lowest);
}

/// 2 to the power of -halvings, an integer of any size.
Value powerOfTwo(Emitter &emit, Value halvings) {
  Value limited = arith::MinNumFOp::create(emit, halvings, emit.f32(kMostHalvings));
  Value exponent =
      arith::FPToSIOp::create(emit, emit.getI32Type(), arith::NegFOp::create(emit, limited));
  return LLVM::LoadExpOp::create(emit, emit.getF32Type(), emit.f32(1.0f), exponent);
}

/// Whether a row with this reference, or with this scaled maximum, is one of `tile.saturate`.
Value isSaturated(Emitter &emit, Value reference) {
  Value magnitude = LLVM::FAbsOp::create(emit, reference);
  return arith::CmpFOp::create(emit, arith::CmpFPredicate::OGE, magnitude, emit.f32(kSaturation));
}

/// The next smaller f32 of one that is neither 0 nor -inf; the lowest finite one is its own.
Value numberBefore(Emitter &emit, Value value) {
  Value bits = LLVM::BitcastOp::create(emit, emit.getI32Type(), value);
  Value negative = arith::CmpIOp::create(emit, arith::CmpIPredicate::slt, bits, emit.i32(0));
  Value step = arith::SelectOp::create(emit, negative, emit.i32(1), emit.i32(-1));
  Value before = LLVM::BitcastOp::create(emit, emit.getF32Type(), emit.add(bits, step));
  return arith::MaxNumFOp::create(emit, before, emit.f32(std::numeric_limits<float>::lowest()));
}

struct SettlePattern : TilePattern<tile::SettleOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tile::SettleOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Emitter emit(op.getLoc(), rewriter);
    Value max = adaptor.getMax(), reference = adaptor.getReference(), bound = adaptor.getBound();
    Type f32 = emit.getF32Type();
    Value moved = anyLane(emit, max, bound);
    auto branch = scf::IfOp::create(emit, TypeRange{f32, f32, f32}, moved, /*withElse=*/true);
    {
      OpBuilder::InsertionGuard guard(emit);
      emit.setInsertionPointToStart(branch.thenBlock());
      scf::YieldOp::create(emit, move(emit, state.of(op), op, adaptor));
      emit.setInsertionPointToStart(branch.elseBlock());
      scf::YieldOp::create(emit, ValueRange{reference, bound, emit.f32(1.0f)});
    }
    rewriter.replaceOp(op, {branch.getResult(0), branch.getResult(1), branch.getResult(2), moved});
    return success();
  }

  /// The rare case: new reference, bound and factor of rows that moved; others keep theirs.
  static SmallVector<Value> move(Emitter &emit, const KernelValues &kernel, tile::SettleOp op,
                                 OpAdaptor adaptor) {
    Value reference = adaptor.getReference(), bound = adaptor.getBound(),
          scale = adaptor.getScale();
    auto [low, high] = emit.bothHalves(kernel, adaptor.getMax());
    Value max = maximum(emit, low, high);
    Value moves = arith::CmpFOp::create(emit, arith::CmpFPredicate::OGT, max, bound);
    Value zero = emit.f32(0.0f);
    auto select = [&](Value condition, Value yes, Value no) -> Value {
      return arith::SelectOp::create(emit, condition, yes, no);
    };

    // -inf would be the reference of a row of which nothing was seen.
    Value scaled = arith::MaxNumFOp::create(emit, arith::MulFOp::create(emit, max, scale),
                                            emit.f32(std::numeric_limits<float>::lowest()));
    // What was summed against the old reference shrinks by whole halvings. A first reference has
    // nothing to shrink: it is the maximum itself, whose weight is 1.
    Value first = isFirst(emit, bound);
    Value wasSaturated = isSaturated(emit, reference);
    Value saturates = isSaturated(emit, scaled);
    Value anew = arith::OrIOp::create(
        emit, first, arith::OrIOp::create(emit, wasSaturated, saturates));
    Value step = LLVM::FCeilOp::create(emit, arith::SubFOp::create(emit, scaled, reference));
    Value further = arith::AddFOp::create(
        emit, reference, arith::MaxNumFOp::create(emit, step, zero));
    Value wanted = select(anew, scaled, further);

    // Where the maximum alone counts, more of the same adds up, and a larger one replaces all.
    Value before = numberBefore(emit, max);
    Value same = arith::CmpFOp::create(emit, arith::CmpFPredicate::OEQ, before, bound);
    Value distance = LLVM::RintOp::create(emit, arith::SubFOp::create(emit, wanted, reference));
    Value halvings =
        select(first, zero,
               select(wasSaturated, select(same, zero, emit.f32(kMostHalvings)),
                      arith::MaxNumFOp::create(emit, distance, zero)));
    Value factor = powerOfTwo(emit, select(moves, halvings, zero));

    Value threshold = emit.f32(op.getThreshold().convertToFloat());
    Value newBound =
        select(saturates, before, boundAbove(emit, wanted, max, scale, threshold));
    return {select(moves, wanted, reference), select(moves, newBound, bound), factor};
  }

  /// The raw score that is `threshold` above `reference` when scaled. Where the reference is so
  /// large that rounding loses the threshold, the maximum itself.
  static Value boundAbove(Emitter &emit, Value reference, Value max, Value scale,
                          Value threshold) {
    Value raw = ROCDL::ROCDLRcp::create(emit, emit.getF32Type(), scale);
    Value beyond =
        arith::MulFOp::create(emit, arith::AddFOp::create(emit, reference, threshold), raw);
    Value excess =
        LLVM::FMAOp::create(emit, beyond, scale, arith::NegFOp::create(emit, reference));
    Value slack = arith::AddFOp::create(emit, threshold, emit.f32(kBoundSlack));
    Value holds = arith::CmpFOp::create(emit, arith::CmpFPredicate::OLE, excess, slack);
    return arith::SelectOp::create(emit, holds, arith::MaxNumFOp::create(emit, beyond, max), max);
  }
};

struct SaturatePattern : TilePattern<tile::SaturateOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tile::SaturateOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Emitter emit(op.getLoc(), rewriter);
    ValueRange scores = adaptor.getScores();
    Value reference = adaptor.getReference().front(), bound = adaptor.getBound().front();
    SmallVector<Value> values(scores);
    values.push_back(reference);
    auto branch = scf::IfOp::create(emit, ValueRange(values).getTypes(),
                                    adaptor.getMoved().front(), /*withElseRegion=*/true);
    {
      OpBuilder::InsertionGuard guard(emit);
      emit.setInsertionPointToStart(branch.thenBlock());
      Value saturated = isSaturated(emit, reference);
      SmallVector<Value> weighed;
      for (Value block : scores)
        weighed.push_back(arith::SelectOp::create(emit, saturated,
                                                  maximumAlone(emit, block, bound), block));
      weighed.push_back(arith::SelectOp::create(emit, saturated, emit.f32(0.0f), reference));
      scf::YieldOp::create(emit, weighed);
      emit.setInsertionPointToStart(branch.elseBlock());
      scf::YieldOp::create(emit, values);
    }
    SmallVector<ValueRange> results = {branch.getResults().drop_back(),
                                       branch.getResults().take_back()};
    rewriter.replaceOpWithMultiple(op, results);
    return success();
  }

  /// 0 for the scores of a block that are beyond the bound, -inf for the others.
  static Value maximumAlone(Emitter &emit, Value block, Value bound) {
    auto type = cast<VectorType>(block.getType());
    Value beyond = arith::CmpFOp::create(emit, arith::CmpFPredicate::OGT, block,
                                         emit.splat(bound, type));
    Value lowest = emit.splat(emit.f32(-std::numeric_limits<float>::infinity()), type);
    return arith::SelectOp::create(emit, beyond, emit.splat(emit.f32(0.0f), type), lowest);
  }
};

/// `values` with `combine(value, amount)` in place of each where `moved` holds: a branch around
/// vector operations. One range of results for each range of values.
SmallVector<ValueRange> combineWhen(Emitter &emit, Value moved, Value amount,
                                    ArrayRef<ValueRange> ranges,
                                    function_ref<Value(Value, Value)> combine) {
  SmallVector<Value> values;
  for (ValueRange range : ranges)
    values.append(range.begin(), range.end());
  auto branch =
      scf::IfOp::create(emit, ValueRange(values).getTypes(), moved, /*withElseRegion=*/true);
  {
    OpBuilder::InsertionGuard guard(emit);
    emit.setInsertionPointToStart(branch.thenBlock());
    SmallVector<Value> combined;
    for (Value value : values) {
      auto type = dyn_cast<VectorType>(value.getType());
      combined.push_back(combine(value, type ? emit.splat(amount, type) : amount));
    }
    scf::YieldOp::create(emit, combined);
    emit.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(emit, values);
  }
  SmallVector<ValueRange> results;
  size_t next = 0;
  for (ValueRange range : ranges) {
    results.push_back(ValueRange(branch.getResults().slice(next, range.size())));
    next += range.size();
  }
  return results;
}

struct RescalePattern : TilePattern<tile::RescaleOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tile::RescaleOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Emitter emit(op.getLoc(), rewriter);
    auto multiply = [&](Value value, Value by) -> Value {
      return arith::MulFOp::create(emit, value, by);
    };
    rewriter.replaceOpWithMultiple(op, combineWhen(emit, adaptor.getMoved().front(),
                                                   adaptor.getFactor().front(), adaptor.getValues(),
                                                   multiply));
    return success();
  }
};

struct NegatedRowPattern : TilePattern<tile::NegatedRowOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tile::NegatedRowOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Emitter emit(op.getLoc(), rewriter);
    Value first = emit.element(adaptor.getSource().front(), 0);
    rewriter.replaceOpWithNewOp<arith::NegFOp>(op, first);
    return success();
  }
};

struct ShiftPattern : TilePattern<tile::ShiftOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tile::ShiftOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Emitter emit(op.getLoc(), rewriter);
    auto subtract = [&](Value value, Value by) -> Value {
      return arith::SubFOp::create(emit, value, by);
    };
    rewriter.replaceOpWithMultiple(op, combineWhen(emit, adaptor.getMoved().front(),
                                                   adaptor.getStep().front(), adaptor.getValues(),
                                                   subtract));
    return success();
  }
};

struct SettleRelativePattern : TilePattern<tile::SettleRelativeOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tile::SettleRelativeOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Emitter emit(op.getLoc(), rewriter);
    Value max = adaptor.getMax(), bound = adaptor.getBound();
    Type f32 = emit.getF32Type();
    Value moved = anyLane(emit, max, bound);
    auto branch = scf::IfOp::create(emit, TypeRange{f32, f32, f32}, moved, /*withElse=*/true);
    {
      OpBuilder::InsertionGuard guard(emit);
      emit.setInsertionPointToStart(branch.thenBlock());
      auto [low, high] = emit.bothHalves(state.of(op), max);
      Value whole = maximum(emit, low, high);
      Value moves = arith::CmpFOp::create(emit, arith::CmpFPredicate::OGT, whole, bound);
      Value zero = emit.f32(0.0f);
      Value first = isFirst(emit, bound);
      Value wanted =
          arith::SelectOp::create(emit, first, whole, LLVM::FCeilOp::create(emit, whole));
      Value step = arith::SelectOp::create(emit, moves, wanted, zero);
      Value shrinks = arith::SelectOp::create(emit, first, zero, step);
      Value threshold = emit.f32(op.getThreshold().convertToFloat());
      scf::YieldOp::create(emit,
                           ValueRange{step, arith::SelectOp::create(emit, moves, threshold, bound),
                                      powerOfTwo(emit, shrinks)});
      emit.setInsertionPointToStart(branch.elseBlock());
      scf::YieldOp::create(emit, ValueRange{emit.f32(0.0f), bound, emit.f32(1.0f)});
    }
    rewriter.replaceOp(op, {branch.getResult(0), branch.getResult(1), branch.getResult(2), moved});
    return success();
  }
};

struct Exp2Pattern : TilePattern<tile::Exp2Op> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tile::Exp2Op op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Emitter emit(op.getLoc(), rewriter);
    bool scaled = !adaptor.getScale().empty();
    Value scale = scaled ? adaptor.getScale().front() : Value();
    Value minus =
        scaled ? arith::NegFOp::create(emit, adaptor.getReference().front()).getResult() : Value();
    SmallVector<Value> results;
    for (Value block : adaptor.getScores()) {
      SmallVector<Value> values;
      for (Value score : elements(emit, block)) {
        Value exponent =
            scaled ? LLVM::FMAOp::create(emit, score, scale, minus).getResult() : score;
        values.push_back(ROCDL::ROCDLExp2::create(emit, emit.getF32Type(), exponent));
      }
      results.push_back(
          vector::FromElementsOp::create(emit, cast<VectorType>(block.getType()), values));
    }
    rewriter.replaceOpWithMultiple(op, ArrayRef<ValueRange>{results});
    return success();
  }
};

struct PackPattern : TilePattern<tile::PackOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tile::PackOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Emitter emit(op.getLoc(), rewriter);
    SmallVector<Value> results;
    for (Value block : adaptor.getSource())
      for (int64_t first = 0; first != kAccRegisters; first += kOperandElements)
        results.push_back(operand(emit, op.getResult().getType().getElementType(),
                                  state.of(op).arch->features.bf16Conversion, block, first));
    rewriter.replaceOpWithMultiple(op, ArrayRef<ValueRange>{results});
    return success();
  }

  /// Two f32 to bf16, to nearest even, in integer instructions: half of what LLVM needs, which
  /// keeps every NaN one. The NaNs that come here do not need it: they have zeros, or a product's
  /// own pattern, in the lower half, so that nothing carries into the sign.
  static Value roundToBf16(Emitter &emit, VectorType narrow, Value two) {
    SmallVector<Value> rounded;
    for (int64_t i : {0, 1}) {
      Value bits = LLVM::BitcastOp::create(emit, emit.getI32Type(), emit.element(two, i));
      Value odd = arith::AndIOp::create(emit, arith::ShRUIOp::create(emit, bits, emit.i32(16)),
                                        emit.i32(1));
      Value bias = emit.add(odd, emit.i32(0x7fff));
      rounded.push_back(emit.add(bits, bias));
    }
    // The upper halves of both, the second on top.
    Value pair = emit.intrinsic("llvm.amdgcn.perm", emit.getI32Type(),
                                ValueRange{rounded[1], rounded[0], emit.i32(0x07060302)});
    return LLVM::BitcastOp::create(emit, narrow, pair);
  }

  /// One operand of the matrix instruction from elements `first` on, pair by pair: each pair is one
  /// instruction that can be scheduled alone.
  static Value operand(Emitter &emit, Type element, bool convertsBf16, Value block, int64_t first) {
    Value result = LLVM::PoisonOp::create(emit, VectorType::get({kOperandElements}, element));
    auto wide = VectorType::get({2}, emit.getF32Type()), narrow = VectorType::get({2}, element);
    for (int64_t i = 0; i != kOperandElements; i += 2) {
      Value two = vector::FromElementsOp::create(
          emit, wide,
          ValueRange{emit.element(block, first + i), emit.element(block, first + i + 1)});
      Value packed = element.isBF16() && !convertsBf16
                         ? roundToBf16(emit, narrow, two)
                         : LLVM::FPTruncOp::create(emit, narrow, two).getResult();
      result = vector::InsertStridedSliceOp::create(emit, packed, result, i, /*strides=*/1);
    }
    return result;
  }
};

struct UnifyPattern : TilePattern<tile::UnifyOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tile::UnifyOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Emitter emit(op.getLoc(), rewriter);
    auto [low, high] = emit.bothHalves(state.of(op), adaptor.getSource());
    rewriter.replaceOpWithNewOp<arith::AddFOp>(op, low, high);
    return success();
  }
};

struct NormalizePattern : TilePattern<tile::NormalizeOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tile::NormalizeOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Emitter emit(op.getLoc(), rewriter);
    Value sum = adaptor.getSum().front(), zero = emit.f32(0.0f);
    Value empty = arith::CmpFOp::create(emit, arith::CmpFPredicate::OEQ, sum, zero);
    Value reciprocal = ROCDL::ROCDLRcp::create(emit, emit.getF32Type(), sum);
    Value factor = arith::SelectOp::create(emit, empty, zero, reciprocal);
    SmallVector<Value> results;
    for (Value block : adaptor.getSource()) {
      Value by = emit.splat(factor, cast<VectorType>(block.getType()));
      results.push_back(arith::MulFOp::create(emit, block, by));
    }
    rewriter.replaceOpWithMultiple(op, ArrayRef<ValueRange>{results});
    return success();
  }
};

struct LogSumPattern : TilePattern<tile::LogSumOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tile::LogSumOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Emitter emit(op.getLoc(), rewriter);
    // log2(0) is -inf, and so is the result; the reference of such a row is 0.
    Value log = LLVM::Log2Op::create(emit, adaptor.getSum());
    Value total = arith::AddFOp::create(emit, log, adaptor.getReference());
    rewriter.replaceOpWithNewOp<arith::MulFOp>(op, total, emit.f32(0.693147180559945f));
    return success();
  }
};
} // namespace

void hocket::lowering::populateComputePatterns(const TypeConverter &converter,
                                               RewritePatternSet &patterns, LoweringState &state) {
  patterns.add<FillPattern, SlicePattern, ConcatPattern, NegatePattern, ScalePattern, MmaPattern,
               MaskPattern, RowMaxPattern, RowSumPattern, SettlePattern, SaturatePattern, SettleRelativePattern,
               RescalePattern, ShiftPattern, NegatedRowPattern, Exp2Pattern, PackPattern,
               UnifyPattern, NormalizePattern, LogSumPattern>(converter, patterns.getContext(),
                                                              state);
}
