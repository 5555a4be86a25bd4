// The online softmax: maxima and sums of rows, the reference point, weights and results.
//
// The forms emitted here are those that LLVM 22 turns into the intended instructions
// (docs/CodeGeneration.md): maxima as one linear chain of maxnum with nnan (v_max3), row sums as
// dot products of packed pairs (v_dot2), exp2 as the intrinsic. No fast-math flag that would
// reassociate: all schedules of an algorithm give the same bits.
#include "MatrixInstructions.h"
#include "SmallFloats.h"

#include "Conversion/ClusterMarks.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"

#include <cmath>

using namespace mlir;
using namespace hocket;
using namespace hocket::lowering;

/// Beyond this many halvings any f32 is 0: keeps the conversion of a huge step in range.
static constexpr float kMaxHalvings = 1000.0f;

static Value maximum(Emitter &emit, Value a, Value b) {
  return arith::MaxNumFOp::create(emit, a, b, arith::FastMathFlags::nnan);
}

/// Whether `value > bound` in any lane of the wave.
static Value anyLane(Emitter &emit, Value value, Value bound) {
  Value beyond = arith::CmpFOp::create(emit, arith::CmpFPredicate::OGT, value, bound);
  Value votes = ROCDL::BallotOp::create(emit, emit.getI64Type(), beyond);
  return arith::CmpIOp::create(emit, arith::CmpIPredicate::ne, votes, emit.i64(0));
}

/// Whether scores come in log2 units.
static bool isUnscaled(Value scale) { return scale && matchPattern(scale, m_OneFloat()); }

/// Whether the row has seen no visible key yet: its bound is -inf.
static Value isFirst(Emitter &emit, Value bound) {
  Value lowest = emit.f32(-std::numeric_limits<float>::infinity());
  return arith::CmpFOp::create(emit, arith::CmpFPredicate::OEQ, bound, lowest);
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
      scf::IfOp::create(emit, ValueRange(values).getTypes(), emit.rare(moved), /*withElseRegion=*/true);
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
      if (op.getChained() && !maxima.empty())
        scores.insert(scores.begin(), maxima.pop_back_val());
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
    bool packed = !op.getSource().getType().getElementType().isF32();
    Value init = adaptor.getInit().front();
    Type element = op.getSource().getType().getElementType();
    bool hasDot = state.of(op).arch->features.bf16Dot || !element.isBF16();
    ValueRange source = adaptor.getSource();
    if (op.getScales()) {
      rewriter.replaceOp(op, sumScaled(emit, state.of(op), source, adaptor.getScales(), init));
      return success();
    }
    if (isSmallFloat(element) && state.of(op).arch->features.scaledFloats && source.size() % 2 == 0) {
      rewriter.replaceOp(op, sumOnMatrixUnit(emit, state.of(op), source, element, init));
      return success();
    }
    rewriter.replaceOp(op, !packed                 ? sumWide(emit, source, init)
                           : isSmallFloat(element) ? sumSmall(emit, source, element, init)
                           : hasDot                ? sumPacked(emit, source, init)
                                                   : sumWidened(emit, source, init));
    return success();
  }

  static Value sumWide(Emitter &emit, ValueRange source, Value sum) {
    for (Value element : elements(emit, source))
      sum = arith::AddFOp::create(emit, sum, element);
    return sum;
  }

  /// What no dot product takes, widened.
  static Value sumSmall(Emitter &emit, ValueRange source, Type element, Value sum) {
    for (Value packed : source)
      for (Value number : elements(emit, widenSmall(emit, packed, element)))
        sum = arith::AddFOp::create(emit, sum, number);
    return sum;
  }

  /// Packed bf16 where no dot product takes them: a bf16 is the upper half of an f32.
  static Value sumWidened(Emitter &emit, ValueRange source, Value sum) {
    for (Value packed : source) {
      int64_t pairs = cast<VectorType>(packed.getType()).getNumElements() / 2;
      Value bits = LLVM::BitcastOp::create(emit, VectorType::get({pairs}, emit.getI32Type()), packed);
      for (int64_t i = 0; i != pairs; ++i) {
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
      for (int64_t i = 0, end = cast<VectorType>(packed.getType()).getNumElements(); i != end; i += 2) {
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
    Value moved = emit.rare(anyLane(emit, max, bound));
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
    bool unscaled = isUnscaled(op.getScale());
    Value scaled = unscaled ? max : arith::MulFOp::create(emit, max, scale).getResult();
    if (float raised = op.getRaised().convertToFloat())
      scaled = arith::SubFOp::create(emit, scaled, emit.f32(raised));
    // What was summed against the old reference shrinks by whole halvings. A first reference has
    // nothing to shrink: it is the maximum itself, whose weight is 1.
    Value step = LLVM::FCeilOp::create(emit, arith::SubFOp::create(emit, scaled, reference));
    Value first = isFirst(emit, bound);
    Value further = arith::AddFOp::create(emit, reference, step);
    // Where nothing is left of the sums the reference is the maximum again: a rounded step of a very large one says
    // little.
    Value isFresh = first;
    if (unscaled)
      isFresh = arith::OrIOp::create(
          emit, first, arith::CmpFOp::create(emit, arith::CmpFPredicate::OGT, step, emit.f32(kMaxHalvings)));
    Value wanted = arith::SelectOp::create(emit, isFresh, scaled, further);
    Value keeps = arith::SelectOp::create(emit, first, emit.f32(0.0f), step);
    Value factor = powerOfTwo(emit, arith::SelectOp::create(emit, moves, keeps, emit.f32(0.0f)));

    Value threshold = emit.f32(op.getThreshold().convertToFloat());
    Value raw = unscaled ? Value() : ROCDL::ROCDLRcp::create(emit, emit.getF32Type(), scale).getResult();
    Value beyondWanted = arith::AddFOp::create(emit, wanted, threshold);
    if (raw)
      beyondWanted = arith::MulFOp::create(emit, beyondWanted, raw);
    return {arith::SelectOp::create(emit, moves, wanted, reference),
            arith::SelectOp::create(emit, moves, beyondWanted, bound), factor};
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

struct ExponentsPattern : TilePattern<tile::ExponentsOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tile::ExponentsOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Emitter emit(op.getLoc(), rewriter);
    auto pair = VectorType::get({2}, emit.getF32Type());
    Value scales = isUnscaled(op.getScale()) ? Value() : emit.splat(adaptor.getScale().front(), pair);
    Value minus = emit.splat(arith::NegFOp::create(emit, adaptor.getReference().front()), pair);
    SmallVector<Value> results;
    for (Value block : adaptor.getScores()) {
      auto type = cast<VectorType>(block.getType());
      SmallVector<Value> values;
      for (int64_t i = 0; i != type.getNumElements(); i += 2) {
        Value two = vector::ExtractStridedSliceOp::create(emit, block, i, 2, 1);
        Value both = scales ? Value(LLVM::FMAOp::create(emit, two, scales, minus)) : Value(arith::AddFOp::create(emit, two, minus));
        both.getDefiningOp()->setDiscardableAttr(kCompleteMark, emit.getUnitAttr());
        values.append({emit.element(both, 0), emit.element(both, 1)});
      }
      results.push_back(vector::FromElementsOp::create(emit, type, values));
    }
    rewriter.replaceOpWithMultiple(op, ArrayRef<ValueRange>{results});
    return success();
  }
};

/// As `tile.block_exponents` has them.
struct BlockExponentsPattern : TilePattern<tile::BlockExponentsOp> {
  using TilePattern::TilePattern;

  /// What a power of two of 2^x, a line between such, has as the integer of the upper half of its f32, as a share of 65535;
  /// x is moved so that the middles of two numbers of fp4 are nearly where 2^x has them.
  static constexpr float kUnit = 128.0f / 65535.0f, kOrigin = 127.0f - 0.065f;
  static constexpr float kBias = 127.0f, kMostBiased = 254.0f;

  LogicalResult matchAndRewrite(tile::BlockExponentsOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Emitter emit(op.getLoc(), rewriter);
    const KernelValues &kernel = state.of(op);
    auto pair = VectorType::get({2}, emit.getF32Type());
    const float unit = op.getLine() ? kUnit : 1.0f, origin = op.getLine() ? kOrigin : 0.0f;
    Value reference = adaptor.getReference().front(), scale = adaptor.getScale().front();
    Value factors = emit.splat(arith::MulFOp::create(emit, scale, emit.f32(unit)), pair);
    Value ofPowers = arith::SubFOp::create(emit, emit.f32(kBias - std::log2(op.getLargest().convertToFloat())), reference);
    Value ofExponents = LLVM::FMAOp::create(emit, reference, emit.f32(-unit), emit.f32((origin + kBias) * unit));
    Value word = emit.i32(0);
    SmallVector<Value> results;
    ValueRange blocks = adaptor.getScores();
    for (size_t i = 0; i + 1 < blocks.size(); i += 2) {
      Value power = powerOf(emit, blocks[i], blocks[i + 1], scale, ofPowers);
      word = emit.intrinsic("llvm.amdgcn.cvt.pk.u8.f32", emit.getI32Type(), ValueRange{power, emit.i32(static_cast<int64_t>(i) / 2), word});
      Value minus = LLVM::FMAOp::create(emit, power, emit.f32(-unit), ofExponents);
      auto [first, second] = emit.bothHalves(kernel, minus);
      results.push_back(exponents(emit, blocks[i], factors, emit.splat(first, pair)));
      results.push_back(exponents(emit, blocks[i + 1], factors, emit.splat(second, pair)));
    }
    // Both halves' bytes, in the order of their blocks.
    constexpr int32_t inTurns = 0x05010400;
    auto [ofLower, ofUpper] = emit.bothHalves(kernel, word);
    Value all = emit.intrinsic("llvm.amdgcn.perm", emit.getI32Type(), ValueRange{ofUpper, ofLower, emit.i32(inTurns)});
    rewriter.replaceOpWithMultiple(op, {ValueRange(results), ValueRange(all)});
    return success();
  }

  static Value largestOf(Emitter &emit, Value block) {
    SmallVector<Value> scores = elements(emit, block);
    Value largest = scores.front();
    for (Value score : llvm::drop_begin(scores))
      largest = maximum(emit, largest, score);
    return LLVM::BitcastOp::create(emit, emit.getI32Type(), largest);
  }

  /// The power of the weights of two blocks of 32 keys, biased: of the first in the lower half of the wave, of the second in
  /// the upper one.
  static Value powerOf(Emitter &emit, Value first, Value second, Value scale, Value origin) {
    Type i32 = emit.getI32Type(), pair = LLVM::LLVMStructType::getLiteral(emit.getContext(), {i32, i32});
    Value swapped = ROCDL::Permlane32SwapOp::create(emit, pair, largestOf(emit, first), largestOf(emit, second), false, false);
    auto part = [&](int64_t index) -> Value {
      Value bits = LLVM::ExtractValueOp::create(emit, swapped, ArrayRef<int64_t>{index});
      return LLVM::BitcastOp::create(emit, emit.getF32Type(), bits);
    };
    Value lower = part(0), largest = maximum(emit, lower, part(1));
    Value power = LLVM::FCeilOp::create(emit, LLVM::FMAOp::create(emit, largest, scale, origin));
    return arith::MinNumFOp::create(emit, arith::MaxNumFOp::create(emit, power, emit.f32(0.0f)), emit.f32(kMostBiased));
  }

  static Value exponents(Emitter &emit, Value block, Value factors, Value minus) {
    auto type = cast<VectorType>(block.getType());
    SmallVector<Value> values;
    for (int64_t i = 0; i != type.getNumElements(); i += 2) {
      Value two = vector::ExtractStridedSliceOp::create(emit, block, i, 2, 1);
      Value both = LLVM::FMAOp::create(emit, two, factors, minus);
      both.getDefiningOp()->setDiscardableAttr(kCompleteMark, emit.getUnitAttr());
      values.append({emit.element(both, 0), emit.element(both, 1)});
    }
    return vector::FromElementsOp::create(emit, type, values);
  }
};

struct Exp2Pattern : TilePattern<tile::Exp2Op> {
  using TilePattern::TilePattern;

  /// 2^x of `low` and `high` without the unit that has it: the number whose bits are (x + 127) 2^23 is a line between
  /// powers of two, and off by a factor that its mantissa m says, 2^(m - 1) / m. The coefficients are those with the
  /// least largest error, 6.63e-4, relative, for m from 1 to 2 (docs/Accuracy.md).
  static std::pair<Value, Value> polynomials(Emitter &emit, Value low, Value high) {
    constexpr float coefficients[] = {1.77561472f, -1.37730759f, 0.707475827f, -0.106445699f};
    constexpr float unit = 0x1p23f, bias = 127.0f;
    constexpr int32_t mantissa = 0x7fffff, one = 0x3f800000;
    auto pair = VectorType::get({2}, emit.getF32Type());
    auto splat = [&](float value) { return emit.splat(emit.f32(value), pair); };
    Value exponents = vector::FromElementsOp::create(emit, pair, ValueRange{low, high});
    Value bits = LLVM::FMAOp::create(emit, exponents, splat(unit), splat(bias * unit));
    SmallVector<Value> lines, mantissas;
    for (int64_t i : {0, 1}) {
      Value positive = arith::MaxNumFOp::create(emit, emit.element(bits, i), emit.f32(0.0f));
      Value word = arith::FPToUIOp::create(emit, emit.getI32Type(), positive);
      lines.push_back(LLVM::BitcastOp::create(emit, emit.getF32Type(), word));
      Value fraction = arith::AndIOp::create(emit, word, emit.i32(mantissa));
      mantissas.push_back(LLVM::BitcastOp::create(emit, emit.getF32Type(), arith::OrIOp::create(emit, fraction, emit.i32(one))));
    }
    Value m = vector::FromElementsOp::create(emit, pair, mantissas), factor = splat(coefficients[3]);
    for (int64_t i : {2, 1, 0})
      factor = LLVM::FMAOp::create(emit, factor, m, splat(coefficients[i]));
    Value both = arith::MulFOp::create(emit, vector::FromElementsOp::create(emit, pair, lines), factor);
    return {emit.element(both, 0), emit.element(both, 1)};
  }

  LogicalResult matchAndRewrite(tile::Exp2Op op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Emitter emit(op.getLoc(), rewriter);
    std::optional<int64_t> each = op.getPolynomials();
    bool scaled = !adaptor.getScale().empty();
    Value scale = scaled ? adaptor.getScale().front() : Value();
    bool unscaled = isUnscaled(op.getScale());
    Value minus =
        scaled ? arith::NegFOp::create(emit, adaptor.getReference().front()).getResult() : Value();
    SmallVector<Value> results;
    for (Value block : adaptor.getScores()) {
      SmallVector<Value> values, scores = elements(emit, block);
      auto exponent = [&](Value score) {
        return unscaled ? Value(arith::AddFOp::create(emit, score, minus))
               : scaled ? Value(LLVM::FMAOp::create(emit, score, scale, minus))
                        : score;
      };
      for (size_t i = 0; i != scores.size(); ++i) {
        bool ends = each && i % 2 == 0 && i + 1 != scores.size() && static_cast<int64_t>(i / 2 + 1) % *each == 0;
        if (!ends) {
          values.push_back(ROCDL::ROCDLExp2::create(emit, emit.getF32Type(), exponent(scores[i])));
          continue;
        }
        Value first = exponent(scores[i]), second = exponent(scores[i + 1]);
        auto [low, high] = polynomials(emit, first, second);
        values.append({low, high});
        ++i;
      }
      results.push_back(
          vector::FromElementsOp::create(emit, cast<VectorType>(block.getType()), values));
    }
    rewriter.replaceOpWithMultiple(op, ArrayRef<ValueRange>{results});
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
  patterns.add<RowMaxPattern, RowSumPattern, SettlePattern, RescalePattern,
               ExponentsPattern, BlockExponentsPattern, Exp2Pattern, UnifyPattern, NormalizePattern,
               LogSumPattern>(converter, patterns.getContext(), state);
}
