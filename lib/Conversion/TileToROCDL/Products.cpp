// Products of fragments on the matrix unit.
#include "Lowering.h"
#include "MatrixInstructions.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace hocket;
using namespace hocket::lowering;

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
    SmallVector<Value> leftScales, rightScales;
    if (isScaled) {
      leftScales = asWords(emit, adaptor.getScales()[0]);
      rightScales = asWords(emit, adaptor.getScales()[1]);
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

  /// A lane's scales, a byte each.
  static SmallVector<Value> asWords(Emitter &emit, ValueRange scales) {
    SmallVector<Value> words;
    for (Value scale : scales)
      words.push_back(zeroExtended32(emit, emit.element(scale, 0)));
    return words;
  }
};
} // namespace

void hocket::lowering::populateProductPatterns(const TypeConverter &converter,
                                               RewritePatternSet &patterns, LoweringState &state) {
  patterns.add<MmaPattern>(converter, patterns.getContext(), state);
}
