// Products of fragments on the matrix unit.
#include "Lowering.h"
#include "MatrixInstructions.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace hocket;
using namespace hocket::lowering;

static constexpr int64_t kByteBits = 8;

/// `operands`, neighbours along the depth, as one.
static Value joined(Emitter &emit, ValueRange operands) {
  Value all = operands.front();
  for (Value next : operands.drop_front()) {
    int64_t before = cast<VectorType>(all.getType()).getNumElements(), more = cast<VectorType>(next.getType()).getNumElements();
    all = vector::ShuffleOp::create(emit, all, next, llvm::to_vector(llvm::seq<int64_t>(before + more)));
  }
  return all;
}

/// Neighbouring steps of the depth, as many as the instruction takes, or one: a piece of both operands for each
/// instruction that it takes.
static Value multiplySteps(Emitter &emit, const MatrixInstruction &instruction, ValueRange lhs, ValueRange rhs, Value acc,
                           std::optional<BlockScales> scales) {
  Value left = joined(emit, lhs), right = joined(emit, rhs);
  auto type = cast<VectorType>(left.getType());
  int64_t all = type.getNumElements();
  int64_t elements = instruction.shape.operandElements() * instruction.shape.elementBits / type.getElementTypeBitWidth();
  if (elements == all)
    return instruction.emit(emit, left, right, acc, scales);
  auto piece = [&](Value operand, int64_t first) -> Value {
    return vector::ExtractStridedSliceOp::create(emit, operand, first, elements, 1);
  };
  for (int64_t first = 0; first != all; first += elements)
    acc = instruction.emit(emit, piece(left, first), piece(right, first), acc, scales);
  return acc;
}

/// The message about types that the chip does not multiply.
static LogicalResult refuse(tile::MmaOp op, const ArchInfo &arch) {
  bool isScaled = !op.getScales().empty();
  Type left = op.getLhs().getType().getElementType(), right = op.getRhs().getType().getElementType();
  InFlightDiagnostic diagnostic = op.emitOpError() << "needs a matrix instruction of " << kBlock << "x" << kBlock
                                                   << (isScaled ? " with scales for " : " for ") << left;
  if (left != right)
    diagnostic << " by " << right;
  diagnostic << ", which " << arch.name << " does not have; it multiplies ";
  std::string others = multipliedTypes(arch, isScaled);
  return diagnostic << (others.empty() ? "nothing with scales" : others);
}

/// The word that a byte was taken from by `BlockScalesPattern`; null: none.
static BlockScale partOfWord(Value scale) {
  auto vector = scale.getDefiningOp<vector::FromElementsOp>();
  auto byte = vector ? vector.getElements().front().getDefiningOp<arith::TruncIOp>() : arith::TruncIOp();
  if (!byte || !byte.getIn().getType().isInteger(32))
    return {};
  auto shifted = byte.getIn().getDefiningOp<arith::ShRUIOp>();
  IntegerAttr by;
  if (!shifted || !matchPattern(shifted.getRhs(), m_Constant(&by)) || by.getInt() % kByteBits != 0)
    return {byte.getIn()};
  return {shifted.getLhs(), by.getInt() / kByteBits};
}

SmallVector<BlockScale> hocket::lowering::scalesInWords(Emitter &emit, ValueRange scales) {
  SmallVector<BlockScale> words;
  for (Value scale : scales) {
    BlockScale inWord = partOfWord(scale);
    words.push_back(inWord.word ? inWord : BlockScale{zeroExtended32(emit, emit.element(scale, 0))});
  }
  return words;
}

/// A product of 16 x 16 takes what a lane holds, 32 of the depth of its row (column), as those of its 16 lanes. Ones where row
/// 4 p of the left operand, which lanes 16 p to 16 p + 15 have as their first of the result, meets what those lanes hold.
Value hocket::lowering::sumScaled(Emitter &emit, const KernelValues &kernel, ValueRange operands, ValueRange scales, Value init) {
  constexpr int64_t words = 4, lanes = 16;
  constexpr int32_t ones = 0x22222222, scalesOfOne = 0x7f7f7f7f;
  static const MatrixInstruction instruction{{ElementType::F4E2M1, ElementType::F4E2M1, ElementType::F32},
                                             {16, 16, 128, 4},
                                             "rocdl.mfma.scale.f32.16x16x128.f8f6f4",
                                             OperandForm::Words,
                                             Trailer::Formats};
  Value row = arith::RemUIOp::create(emit, kernel.lane, emit.i32(lanes));
  Value part = arith::DivUIOp::create(emit, kernel.lane, emit.i32(lanes));
  Value isOwn = compare(emit, arith::CmpIPredicate::eq, row, emit.mul(part, emit.i32(words)));
  Value word = arith::SelectOp::create(emit, isOwn, emit.i32(ones), emit.i32(0));
  Value left = emit.splat(word, VectorType::get({words}, emit.getI32Type()));
  // Nobody reads the other rows.
  Value none = emit.f32(0.0f);
  Value sums = vector::FromElementsOp::create(emit, VectorType::get({words}, emit.getF32Type()), ValueRange{init, none, none, none});
  for (auto [operand, scale] : llvm::zip_equal(operands, scalesInWords(emit, scales)))
    sums = instruction.emit(emit, left, operand, sums, BlockScales{{emit.i32(scalesOfOne)}, scale});
  return emit.element(sums, 0);
}

namespace {
struct MmaPattern : TilePattern<tile::MmaOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tile::MmaOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    const ArchInfo &arch = *state.of(op).arch;
    tile::FragType lhs = op.getLhs().getType(), rhs = op.getRhs().getType(), sums = op.getAcc().getType();
    std::optional<ElementType> a = asElementType(lhs.getElementType()), b = asElementType(rhs.getElementType()),
                               c = asElementType(sums.getElementType());
    const bool isScaled = !op.getScales().empty();
    const MatrixInstruction *instruction =
        a && b && c ? findMatrixInstruction(arch, {*a, *b, *c}, lhs.getOperandShape(), rhs.getOperandShape(), lhs.getDepth(),
                                            isScaled)
                    : nullptr;
    if (!instruction)
      return refuse(op, arch);
    Emitter emit(op.getLoc(), rewriter);
    int64_t rows = sums.getRows() / kBlock, columns = sums.getColumns() / kBlock, depth = lhs.getDepth();
    // Of the depth at once: an instruction's, or that of an operand that several take in pieces.
    int64_t atOnce = std::max<int64_t>(instruction->shape.k, lhs.getDepthStep());
    SmallVector<BlockScale> leftScales, rightScales;
    if (isScaled) {
      leftScales = scalesInWords(emit, adaptor.getScales()[0]);
      rightScales = scalesInWords(emit, adaptor.getScales()[1]);
    }
    auto stepsOf = [&](ValueRange operand, tile::FragType frag, int64_t block, int64_t first) {
      return operand.slice(block * depthSteps(frag) + first / frag.getDepthStep(), atOnce / frag.getDepthStep());
    };
    SmallVector<Value> acc(adaptor.getAcc());
    // Steps outermost: neighbours then accumulate into different registers.
    for (int64_t first = 0; first != depth; first += atOnce)
      for (int64_t column = 0; column != columns; ++column)
        for (int64_t row = 0; row != rows; ++row) {
          Value &block = acc[column * rows + row];
          std::optional<BlockScales> scales;
          if (isScaled)
            scales = {leftScales[(row * depth + first) / atOnce], rightScales[(column * depth + first) / atOnce]};
          block = multiplySteps(emit, *instruction, stepsOf(adaptor.getLhs(), lhs, row, first),
                                stepsOf(adaptor.getRhs(), rhs, column, first), block, scales);
        }
    rewriter.replaceOpWithMultiple(op, ArrayRef<ValueRange>{acc});
    return success();
  }

};

/// The half of a wave that has a scale takes it from the byte behind that of the other half.
struct BlockScalesPattern : TilePattern<tile::BlockScalesOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tile::BlockScalesOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    constexpr int64_t halfLanes = 32, blocksOfStep = 2, stepsOfWord = 2;
    Emitter emit(op.getLoc(), rewriter);
    tile::FragType frag = op.getResult().getType();
    const int64_t steps = frag.getDepth() / blocksOfStep;
    Value half = arith::AndIOp::create(emit, state.of(op).lane, emit.i32(halfLanes));
    Value ofHalf = arith::ShRUIOp::create(emit, half, emit.i32(llvm::Log2_64(halfLanes / kByteBits)));
    auto type = VectorType::get({1}, rewriter.getI8Type());
    SmallVector<SmallVector<Value>> words;
    for (ValueRange rows : adaptor.getWords())
      words.push_back(llvm::map_to_vector(rows, [&](Value word) -> Value { return arith::ShRUIOp::create(emit, word, ofHalf); }));
    SmallVector<Value> scales;
    for (size_t rows = 0; rows != words.front().size(); ++rows)
      for (int64_t step = 0; step != steps; ++step) {
        Value word = words[step / stepsOfWord][rows];
        if (int64_t before = step % stepsOfWord * blocksOfStep * kByteBits)
          word = arith::ShRUIOp::create(emit, word, emit.i32(before));
        Value byte = arith::TruncIOp::create(emit, rewriter.getI8Type(), word);
        scales.push_back(vector::FromElementsOp::create(emit, type, byte));
      }
    rewriter.replaceOpWithMultiple(op, ArrayRef<ValueRange>{scales});
    return success();
  }
};
} // namespace

void hocket::lowering::populateProductPatterns(const TypeConverter &converter,
                                               RewritePatternSet &patterns, LoweringState &state) {
  patterns.add<MmaPattern, BlockScalesPattern>(converter, patterns.getContext(), state);
}
