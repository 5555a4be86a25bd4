// Products of fragments on the matrix unit.
#include "Lowering.h"
#include "MatrixInstructions.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace hocket;
using namespace hocket::lowering;

/// One step of the depth: a piece of both operands for each instruction that it takes.
static Value multiplyStep(Emitter &emit, const MatrixInstruction &instruction, Value lhs, Value rhs,
                          Value acc) {
  int64_t elements = instruction.shape.operandElements();
  if (elements == kOperandElements)
    return instruction.emit(emit, lhs, rhs, acc);
  auto piece = [&](Value operand, int64_t first) -> Value {
    return vector::ExtractStridedSliceOp::create(emit, operand, first, elements, 1);
  };
  for (int64_t first = 0; first != kOperandElements; first += elements)
    acc = instruction.emit(emit, piece(lhs, first), piece(rhs, first), acc);
  return acc;
}

namespace {
struct MmaPattern : TilePattern<tile::MmaOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tile::MmaOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    const ArchInfo &arch = *state.of(op).arch;
    Type element = op.getLhs().getType().getElementType();
    std::optional<MfmaType> type = matrixTypeOf(element);
    const MatrixInstruction *instruction =
        type ? findMatrixInstruction(arch, *type, kShape) : nullptr;
    if (!instruction)
      return op.emitOpError() << "needs a matrix instruction of " << kBlock << "x" << kBlock
                              << " for " << element << ", which " << arch.name << " does not have";
    Emitter emit(op.getLoc(), rewriter);
    int64_t rows = op.getAcc().getType().getRows() / kBlock;
    int64_t columns = op.getAcc().getType().getColumns() / kBlock;
    int64_t steps = op.getLhs().getType().getColumns() / kShape.k;
    SmallVector<Value> acc(adaptor.getAcc());
    // Steps outermost: neighbours then accumulate into different registers.
    for (int64_t step = 0; step != steps; ++step)
      for (int64_t column = 0; column != columns; ++column)
        for (int64_t row = 0; row != rows; ++row) {
          Value &block = acc[column * rows + row];
          block = multiplyStep(emit, *instruction, adaptor.getLhs()[row * steps + step],
                               adaptor.getRhs()[column * steps + step], block);
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
