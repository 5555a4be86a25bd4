// The table of matrix instructions.
#include "MatrixInstructions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace hocket;
using namespace hocket::lowering;

static constexpr MatrixTypes kBf16 = MatrixTypes::of(ElementType::BF16), kF16 = MatrixTypes::of(ElementType::F16);

static constexpr MatrixInstruction kInstructions[] = {
    {kBf16, {32, 32, 16, 16}, "rocdl.mfma.f32.32x32x16.bf16"},
    {kF16, {32, 32, 16, 16}, "rocdl.mfma.f32.32x32x16.f16"},
    {kBf16, {32, 32, 8, 16}, "rocdl.mfma.f32.32x32x8bf16.1k", 16},
    {kF16, {32, 32, 8, 16}, "rocdl.mfma.f32.32x32x8f16"},
};

const MatrixInstruction *hocket::lowering::findMatrixInstruction(const ArchInfo &arch, const MatrixTypes &types,
                                                                 const MfmaShape &operands, int64_t depth) {
  const MatrixInstruction *best = nullptr;
  for (const MatrixInstruction &row : kInstructions) {
    bool isPiece = operands.k % row.shape.k == 0, isSeveral = row.shape.k % operands.k == 0 && depth % row.shape.k == 0;
    bool fits = row.types == types && row.shape.m == operands.m && row.shape.n == operands.n &&
                row.shape.elementBits == operands.elementBits && (isPiece || isSeveral);
    if (fits && arch.findMfma(types, row.shape.m, row.shape.n, row.shape.k) && (!best || row.shape.k > best->shape.k))
      best = &row;
  }
  return best;
}

Value MatrixInstruction::emit(ImplicitLocOpBuilder &builder, Value lhs, Value rhs,
                              Value acc) const {
  if (integerBits != 0) {
    auto type = VectorType::get({static_cast<int64_t>(shape.operandElements())},
                                builder.getIntegerType(integerBits));
    lhs = LLVM::BitcastOp::create(builder, type, lhs);
    rhs = LLVM::BitcastOp::create(builder, type, rhs);
  }
  // No broadcast of blocks, no permutation of lanes: the last three operands.
  Value zero = arith::ConstantOp::create(builder, builder.getI32IntegerAttr(0));
  OperationState state(builder.getLoc(), op);
  state.addOperands({lhs, rhs, acc, zero, zero, zero});
  state.addTypes(acc.getType());
  return builder.create(state)->getResult(0);
}
