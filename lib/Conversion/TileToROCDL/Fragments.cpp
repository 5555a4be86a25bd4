// Fragments as a whole: constants, parts, signs, scales, and conversions to operands.
//
// Conversions are emitted pair by pair or on whole vectors, which LLVM 22 turns into v_cvt_pk
// (docs/CodeGeneration.md).
#include "SmallFloats.h"

#include "Conversion/ClusterMarks.h"
#include "Tile/IR/RegionOps.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace hocket;
using namespace hocket::lowering;

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
          value = numberAs(vector.getElementType(), tile::elementTypeOf(op.getResult().getType()), op.getValue());
        value = DenseElementsAttr::get(vector, value);
      }
      results.push_back(arith::ConstantOp::create(emit, value));
    }
    rewriter.replaceOpWithMultiple(op, ArrayRef<ValueRange>{results});
    return success();
  }

  /// `value` as an element of type `element`, of which lanes hold `stored`.
  static TypedAttr numberAs(Type stored, Type element, const APFloat &value) {
    if (isa<FloatType>(stored))
      return FloatAttr::get(stored, value.convertToDouble());
    uint64_t bits = encode(*asElementType(element), value.convertToDouble(), Overflow::Saturate);
    for (unsigned first = bitsOf(element); first < bitsOf(stored); first += bitsOf(element))
      bits |= bits << first; // all elements of a byte
    return IntegerAttr::get(stored, APInt(bitsOf(stored), bits, /*isSigned=*/false, /*implicitTrunc=*/true));
  }
};

struct SlicePattern : TilePattern<tile::SliceOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tile::SliceOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    // Accumulator blocks: rows run fastest, then columns (lib/Layout/Mfma.h).
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

struct SliceDepthPattern : TilePattern<tile::SliceDepthOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tile::SliceDepthOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    int64_t all = depthSteps(op.getSource().getType()), kept = depthSteps(op.getResult().getType());
    SmallVector<Value> vectors;
    for (size_t block = 0; block != adaptor.getSource().size(); block += all)
      llvm::append_range(vectors,
                         adaptor.getSource().slice(block + op.getFirst() / op.getSource().getType().getDepthStep(), kept));
    rewriter.replaceOpWithMultiple(op, ArrayRef<ValueRange>{vectors});
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

/// The numbers of a lane in another order of pieces and registers: as they are where the pieces are alike.
struct RelabelPattern : TilePattern<tile::RelabelOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tile::RelabelOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Emitter emit(op.getLoc(), rewriter);
    SmallVector<Type> types;
    if (failed(getTypeConverter()->convertType(op.getResult().getType(), types)))
      return failure();
    SmallVector<Value> numbers;
    for (Value piece : adaptor.getSource())
      for (int64_t i = 0, count = numbersOf(piece.getType()); i != count; ++i)
        numbers.push_back(isa<VectorType>(piece.getType()) ? emit.element(piece, i) : piece);
    SmallVector<Value> results;
    ArrayRef<Value> rest = numbers;
    for (Type type : types) {
      ArrayRef<Value> own = rest.take_front(numbersOf(type));
      rest = rest.drop_front(own.size());
      results.push_back(isa<VectorType>(type) ? Value(vector::FromElementsOp::create(emit, cast<VectorType>(type), own))
                                              : own.front());
    }
    rewriter.replaceOpWithMultiple(op, ArrayRef<ValueRange>{results});
    return success();
  }

  static int64_t numbersOf(Type type) {
    auto vector = dyn_cast<VectorType>(type);
    return vector ? vector.getNumElements() : 1;
  }
};

struct NegatePattern : TilePattern<tile::NegateOp> {
  using TilePattern::TilePattern;

  /// The signs of all floats of `bits` bits in 32.
  static int32_t signsOfWord(unsigned bits) {
    uint32_t signs = 0;
    for (unsigned sign = bits - 1; sign < 32; sign += bits)
      signs |= uint32_t(1) << sign;
    return static_cast<int32_t>(signs);
  }

  LogicalResult matchAndRewrite(tile::NegateOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Emitter emit(op.getLoc(), rewriter);
    Value flip = emit.i32(signsOfWord(bitsOf(op.getSource().getType().getElementType())));
    // A branch, the same for all lanes: who does not negate need not even wait for what is loaded.
    auto branch = scf::IfOp::create(emit, adaptor.getSource().getTypes(),
                                    adaptor.getCondition().front(), /*withElseRegion=*/true);
    emit.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(emit, adaptor.getSource());
    emit.setInsertionPointToStart(branch.thenBlock());
    SmallVector<Value> results;
    for (Value part : adaptor.getSource()) {
      auto type = cast<VectorType>(part.getType());
      int64_t words = type.getNumElements() * type.getElementTypeBitWidth() / 32;
      auto wordsType = VectorType::get({words}, emit.getI32Type());
      Value bits = LLVM::BitcastOp::create(emit, wordsType, part);
      Value flipped = arith::XOrIOp::create(emit, bits, emit.splat(flip, wordsType));
      results.push_back(LLVM::BitcastOp::create(emit, type, flipped));
    }
    scf::YieldOp::create(emit, results);
    rewriter.replaceOpWithMultiple(op, ArrayRef<ValueRange>{branch.getResults()});
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

struct PackPattern : TilePattern<tile::PackOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tile::PackOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Emitter emit(op.getLoc(), rewriter);
    SmallVector<Value> results;
    VectorType type = operandType(op.getResult().getType());
    if (tile::isPacked(op.getResult().getType().getElementType())) {
      ValueRange source = adaptor.getSource();
      for (size_t i = 0; i + 1 < source.size(); i += 2)
        results.push_back(tinyOperand(emit, type, source[i], source[i + 1], op.getLine()));
      rewriter.replaceOpWithMultiple(op, ArrayRef<ValueRange>{results});
      return success();
    }
    for (Value block : adaptor.getSource())
      for (int64_t first = 0; first != kAccRegisters; first += type.getNumElements())
        results.push_back(type.getElementType().isF32()
                              ? Value(vector::ExtractStridedSliceOp::create(emit, block, first, type.getNumElements(), 1))
                          : isSmallFloat(op.getResult().getType().getElementType())
                              ? smallOperand(emit, op.getResult().getType(), block, first)
                              : operand(emit, type, state.of(op).arch->features.bf16Conversion, block, first));
    rewriter.replaceOpWithMultiple(op, ArrayRef<ValueRange>{results});
    return success();
  }

  /// An operand of 4 bits of two blocks of 32 keys: the halves of the wave exchange words, and each then has a block.
  static Value tinyOperand(Emitter &emit, VectorType type, Value first, Value second, bool isLine) {
    SmallVector<Value> own = tinyWords(emit, first, isLine), other = tinyWords(emit, second, isLine), words;
    Type i32 = emit.getI32Type(), pair = LLVM::LLVMStructType::getLiteral(emit.getContext(), {i32, i32});
    for (auto [a, b] : llvm::zip_equal(own, other)) {
      Value swapped = ROCDL::Permlane32SwapOp::create(emit, pair, a, b, false, false);
      for (int64_t i : {0, 1})
        words.push_back(LLVM::ExtractValueOp::create(emit, swapped, ArrayRef<int64_t>{i}));
    }
    auto vector = VectorType::get({static_cast<int64_t>(words.size())}, i32);
    Value packed = LLVM::BitcastOp::create(emit, type, vector::FromElementsOp::create(emit, vector, words));
    packed.getDefiningOp()->setDiscardableAttr(kCompleteMark, emit.getUnitAttr());
    return packed;
  }

  /// The elements of a block in words of eight, the lower bytes of all words first: a conversion does not see what the one
  /// before it wrote to its register (docs/Hardware.md 3).
  static SmallVector<Value> tinyWords(Emitter &emit, Value block, bool isLine) {
    constexpr int64_t ofWord = 8, ofByte = 2;
    SmallVector<Value> words(kAccRegisters / ofWord, LLVM::UndefOp::create(emit, emit.getI32Type()));
    auto ofBf16 = VectorType::get({ofByte}, emit.getBF16Type());
    for (int64_t byte = 0; byte != ofWord / ofByte; ++byte)
      for (auto [i, word] : llvm::enumerate(words)) {
        const int64_t at = static_cast<int64_t>(i) * ofWord + byte * ofByte;
        Value first = emit.element(block, at), second = emit.element(block, at + 1);
        Value unit = emit.f32(1.0f), place = emit.i32(byte);
        if (!isLine) {
          word = emit.intrinsic("llvm.amdgcn.cvt.scalef32.pk.fp4.f32", emit.getI32Type(), ValueRange{word, first, second, unit, place});
          continue;
        }
        Value halves = emit.intrinsic("llvm.amdgcn.cvt.pknorm.u16", VectorType::get({ofByte}, emit.getI16Type()), ValueRange{first, second});
        Value numbers = LLVM::BitcastOp::create(emit, ofBf16, halves);
        word = emit.intrinsic("llvm.amdgcn.cvt.scalef32.pk.fp4.bf16", emit.getI32Type(), ValueRange{word, numbers, unit, place});
      }
    return words;
  }

  /// An operand of 8 bits from elements `first` on.
  static Value smallOperand(Emitter &emit, tile::FragType frag, Value block, int64_t first) {
    Value part = vector::ExtractStridedSliceOp::create(emit, block, first, frag.getOperandElements(), 1);
    Value packed = narrowSmall(emit, part, frag.getElementType());
    packed.getDefiningOp()->setDiscardableAttr(kCompleteMark, emit.getUnitAttr());
    return packed;
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
  static Value operand(Emitter &emit, VectorType type, bool convertsBf16, Value block, int64_t first) {
    Type element = type.getElementType();
    Value result = LLVM::PoisonOp::create(emit, type);
    auto wide = VectorType::get({2}, emit.getF32Type()), narrow = VectorType::get({2}, element);
    for (int64_t i = 0; i != type.getNumElements(); i += 2) {
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
} // namespace

void hocket::lowering::populateFragmentPatterns(const TypeConverter &converter,
                                                RewritePatternSet &patterns, LoweringState &state) {
  patterns.add<FillPattern, SlicePattern, SliceDepthPattern, ConcatPattern, RelabelPattern, NegatePattern,
               ScalePattern, PackPattern>(converter, patterns.getContext(), state);
}
