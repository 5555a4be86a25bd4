// The online softmax: maxima and sums of rows, the reference point, weights and results.
//
// The forms emitted here are those that LLVM 22 turns into the intended instructions
// (docs/CodeGeneration.md): maxima as one linear chain of maxnum with nnan (v_max3), row sums as
// dot products of packed pairs (v_dot2), exp2 as the intrinsic. No fast-math flag that would
// reassociate: all schedules of an algorithm give the same bits.
#include "Lowering.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace hocket;
using namespace hocket::lowering;

/// Beyond this many halvings any f32 is 0: keeps the conversion of a huge step in range.
static constexpr float kMaxHalvings = 1000.0f;

/// From this magnitude on, in log2 units, the maximum of a row alone counts (`tile.saturate`).
/// Below, the spacing of f32 is at most 4, so that the maximum's weight stays between 2^-4 and 2^4,
/// which fp16 represents as exactly as 1.
static constexpr float kSaturation = 0x1p26f;
/// How far beyond the threshold rounding may let a score rise before its row moves.
static constexpr float kBoundSlack = 0.5f;

static Value maximum(Emitter &emit, Value a, Value b) {
  return arith::MaxNumFOp::create(emit, a, b, arith::FastMathFlags::nnan);
}

/// Whether `value > bound` in any lane of the wave.
static Value anyLane(Emitter &emit, Value value, Value bound) {
  Value beyond = arith::CmpFOp::create(emit, arith::CmpFPredicate::OGT, value, bound);
  Value votes = ROCDL::BallotOp::create(emit, emit.getI64Type(), beyond);
  return arith::CmpIOp::create(emit, arith::CmpIPredicate::ne, votes, emit.i64(0));
}

/// Whether the row has seen no visible key yet: its bound is -inf.
static Value isFirst(Emitter &emit, Value bound) {
  Value lowest = emit.f32(-std::numeric_limits<float>::infinity());
  return arith::CmpFOp::create(emit, arith::CmpFPredicate::OEQ, bound, lowest);
}

/// Whether a row with this scaled maximum, or with this reference, is a saturated one.
static Value isSaturated(Emitter &emit, Value reference) {
  Value magnitude = LLVM::FAbsOp::create(emit, reference);
  return arith::CmpFOp::create(emit, arith::CmpFPredicate::OGE, magnitude, emit.f32(kSaturation));
}

/// The f32 next to `value`, which is neither 0 nor infinite: the larger or the smaller one.
static Value neighbour(Emitter &emit, Value value, bool larger) {
  Value bits = LLVM::BitcastOp::create(emit, emit.getI32Type(), value);
  Value negative = arith::CmpIOp::create(emit, arith::CmpIPredicate::slt, bits, emit.i32(0));
  Value step = arith::SelectOp::create(emit, negative, emit.i32(larger ? -1 : 1),
                                       emit.i32(larger ? 1 : -1));
  return LLVM::BitcastOp::create(emit, emit.getF32Type(), emit.add(bits, step));
}

/// The raw score that stands for the maximum of a saturated row: a power of two, so that its
/// product with the scale is exact, and so far above that all other scores have no weight.
static Value anchorOf(Emitter &emit, Value max) {
  Value bits = LLVM::BitcastOp::create(emit, emit.getI32Type(), max);
  Value exponent = arith::AndIOp::create(emit, bits, emit.i32(0x7f800000));
  Value power = LLVM::BitcastOp::create(emit, emit.getF32Type(), exponent);
  return arith::MulFOp::create(emit, power, emit.f32(4.0f));
}

/// The maximum of a saturated row.
static Value maximumBehind(Emitter &emit, Value bound) {
  return neighbour(emit, bound, /*larger=*/true);
}

/// 2 to the power of -halvings, an integer of any size.
static Value powerOfTwo(Emitter &emit, Value halvings) {
  Value limited = arith::MinNumFOp::create(emit, halvings, emit.f32(kMaxHalvings));
  Value exponent =
      arith::FPToSIOp::create(emit, emit.getI32Type(), arith::NegFOp::create(emit, limited));
  return LLVM::LoadExpOp::create(emit, emit.getF32Type(), emit.f32(1.0f), exponent);
}

/// `values` with `combine(value, amount)` in place of each where `moved` holds: a branch around
/// vector operations. One range of results for each range of values.
static SmallVector<ValueRange> combineWhen(Emitter &emit, Value moved, Value amount,
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

namespace {
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
          scale = adaptor.getScale(), zero = emit.f32(0.0f);
    auto select = [&](Value condition, Value yes, Value no) -> Value {
      return arith::SelectOp::create(emit, condition, yes, no);
    };
    auto [low, high] = emit.bothHalves(kernel, adaptor.getMax());
    Value max = maximum(emit, low, high);
    Value moves = arith::CmpFOp::create(emit, arith::CmpFPredicate::OGT, max, bound);
    Value scaled = arith::MulFOp::create(emit, max, scale);
    Value first = isFirst(emit, bound);
    Value saturates = isSaturated(emit, scaled), wasSaturated = isSaturated(emit, reference);

    // What was summed against the old reference shrinks by whole halvings. A first reference has
    // nothing to shrink: it is the maximum itself, whose weight is 1.
    Value step = LLVM::FCeilOp::create(emit, arith::SubFOp::create(emit, scaled, reference));
    Value further =
        arith::AddFOp::create(emit, reference, arith::MaxNumFOp::create(emit, step, zero));
    Value anew = arith::OrIOp::create(emit, first, wasSaturated);
    Value weighed = select(anew, scaled, further);
    Value anchored = arith::MulFOp::create(emit, anchorOf(emit, max), scale);
    Value wanted = select(saturates, anchored, weighed);

    // In a saturated row more of the same maximum adds up, and a larger one replaces all.
    Value before = neighbour(emit, max, /*larger=*/false);
    Value same = arith::CmpFOp::create(emit, arith::CmpFPredicate::OEQ, before, bound);
    Value distance = LLVM::RintOp::create(
        emit, arith::SubFOp::create(emit, select(saturates, scaled, weighed), reference));
    Value shrinks = select(wasSaturated, select(same, zero, emit.f32(kMaxHalvings)),
                           arith::MaxNumFOp::create(emit, distance, zero));
    Value keeps = select(first, zero, shrinks);
    Value factor = powerOfTwo(emit, select(moves, keeps, zero));

    Value threshold = emit.f32(op.getThreshold().convertToFloat());
    Value newBound = select(saturates, before, boundAbove(emit, weighed, max, scale, threshold));
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
    auto branch = scf::IfOp::create(emit, scores.getTypes(), adaptor.getMoved().front(),
                                    /*withElseRegion=*/true);
    {
      OpBuilder::InsertionGuard guard(emit);
      emit.setInsertionPointToStart(branch.thenBlock());
      Value saturated = isSaturated(emit, reference);
      // A scaled maximum beyond f32 makes the reference infinite, and this a NaN.
      Value anchor =
          arith::AddFOp::create(emit, anchorOf(emit, maximumBehind(emit, bound)),
                                arith::SubFOp::create(emit, reference, reference));
      SmallVector<Value> weighed;
      for (Value block : scores)
        weighed.push_back(arith::SelectOp::create(
            emit, saturated, maximumAlone(emit, block, bound, anchor), block));
      scf::YieldOp::create(emit, weighed);
      emit.setInsertionPointToStart(branch.elseBlock());
      scf::YieldOp::create(emit, scores);
    }
    SmallVector<ValueRange> results = {branch.getResults()};
    rewriter.replaceOpWithMultiple(op, results);
    return success();
  }

  /// `anchor` for the scores of a block that are beyond the bound, -inf for the others.
  static Value maximumAlone(Emitter &emit, Value block, Value bound, Value anchor) {
    auto type = cast<VectorType>(block.getType());
    Value beyond = arith::CmpFOp::create(emit, arith::CmpFPredicate::OGT, block,
                                         emit.splat(bound, type));
    Value lowest = emit.splat(emit.f32(-std::numeric_limits<float>::infinity()), type);
    return arith::SelectOp::create(emit, beyond, emit.splat(anchor, type), lowest);
  }
};

struct UnsaturatePattern : TilePattern<tile::UnsaturateOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tile::UnsaturateOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Emitter emit(op.getLoc(), rewriter);
    Value scaled = arith::MulFOp::create(emit, maximumBehind(emit, adaptor.getBound()),
                                         adaptor.getScale());
    rewriter.replaceOpWithNewOp<arith::SelectOp>(op, isSaturated(emit, adaptor.getReference()),
                                                 scaled, adaptor.getReference());
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

void hocket::lowering::populateSoftmaxPatterns(const TypeConverter &converter,
                                               RewritePatternSet &patterns, LoweringState &state) {
  patterns.add<RowMaxPattern, RowSumPattern, SettlePattern, SettleRelativePattern, SaturatePattern,
               UnsaturatePattern, RescalePattern, ShiftPattern, Exp2Pattern, NegatedRowPattern,
               UnifyPattern, NormalizePattern, LogSumPattern>(converter, patterns.getContext(),
                                                              state);
}
