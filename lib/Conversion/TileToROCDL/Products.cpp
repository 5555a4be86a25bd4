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
static Value multiplySteps(Emitter &emit, const MatrixInstruction &instruction, ValueRange lhs, ValueRange rhs, Value acc) {
  int64_t elements = instruction.shape.operandElements();
  Value left = joined(emit, lhs), right = joined(emit, rhs);
  int64_t all = cast<VectorType>(left.getType()).getNumElements();
  if (elements == all)
    return instruction.emit(emit, left, right, acc);
  auto piece = [&](Value operand, int64_t first) -> Value {
    return vector::ExtractStridedSliceOp::create(emit, operand, first, elements, 1);
  };
  for (int64_t first = 0; first != all; first += elements)
    acc = instruction.emit(emit, piece(left, first), piece(right, first), acc);
  return acc;
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
    const MatrixInstruction *instruction =
        a && b && c ? findMatrixInstruction(arch, {*a, *b, *c}, lhs.getOperandShape(), lhs.getDepth()) : nullptr;
    if (!instruction) {
      InFlightDiagnostic diagnostic = op.emitOpError() << "needs a matrix instruction of " << kBlock << "x" << kBlock << " for ";
      diagnostic << lhs.getElementType();
      if (lhs.getElementType() != rhs.getElementType())
        diagnostic << " by " << rhs.getElementType();
      return diagnostic << ", which " << arch.name << " does not have; it multiplies " << multipliedTypes(arch);
    }
    Emitter emit(op.getLoc(), rewriter);
    int64_t rows = sums.getRows() / kBlock, columns = sums.getColumns() / kBlock, steps = depthSteps(lhs);
    int64_t atOnce = std::max<int64_t>(instruction->shape.k / lhs.getDepthStep(), 1);
    SmallVector<Value> acc(adaptor.getAcc());
    // Steps outermost: neighbours then accumulate into different registers.
    for (int64_t step = 0; step != steps; step += atOnce)
      for (int64_t column = 0; column != columns; ++column)
        for (int64_t row = 0; row != rows; ++row) {
          Value &block = acc[column * rows + row];
          block = multiplySteps(emit, *instruction, adaptor.getLhs().slice(row * steps + step, atOnce),
                                adaptor.getRhs().slice(column * steps + step, atOnce), block);
        }
    rewriter.replaceOpWithMultiple(op, ArrayRef<ValueRange>{acc});
    return success();
  }
};
} // namespace

void hocket::lowering::populateProductPatterns(const TypeConverter &converter,
                                               RewritePatternSet &patterns, LoweringState &state) {
  patterns.add<MmaPattern>(converter, patterns.getContext(), state);
}
