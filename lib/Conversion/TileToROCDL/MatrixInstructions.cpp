// The table of matrix instructions.
#include "MatrixInstructions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace hocket;
using namespace hocket::lowering;

static constexpr MatrixInstruction kInstructions[] = {
    {MfmaType::BF16, {32, 32, 16, 16}, "rocdl.mfma.f32.32x32x16.bf16"},
    {MfmaType::F16, {32, 32, 16, 16}, "rocdl.mfma.f32.32x32x16.f16"},
    {MfmaType::BF16, {32, 32, 8, 16}, "rocdl.mfma.f32.32x32x8bf16.1k", 16},
    {MfmaType::F16, {32, 32, 8, 16}, "rocdl.mfma.f32.32x32x8f16"},
};

std::optional<MfmaType> hocket::lowering::matrixTypeOf(Type element) {
  if (element.isBF16())
    return MfmaType::BF16;
  if (element.isF16())
    return MfmaType::F16;
  return std::nullopt;
}

const MatrixInstruction *hocket::lowering::findMatrixInstruction(const ArchInfo &arch,
                                                                 MfmaType type,
                                                                 const MfmaShape &fragment) {
  const MatrixInstruction *best = nullptr;
  for (const MatrixInstruction &row : kInstructions) {
    bool fits = row.type == type && row.shape.m == fragment.m && row.shape.n == fragment.n &&
                row.shape.elementBits == fragment.elementBits && fragment.k % row.shape.k == 0;
    if (fits && arch.findMfma(type, row.shape.m, row.shape.n, row.shape.k) &&
        (!best || row.shape.k > best->shape.k))
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
