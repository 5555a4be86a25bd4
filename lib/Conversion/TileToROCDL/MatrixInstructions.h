// Which matrix instruction computes a product of fragments: the chip's table, as ops.
//
// The chip says which instructions it has, of which element types and shape (ArchInfo::mfma). A row here is the op of one of
// them and the type in which it takes an operand. Shape and type say the rest: where a lane's elements belong
// (lib/Layout/Mfma.h) and how long it takes. A new instruction is a row of the chip's table and one here; a test proves of
// each that it fits the fragments.
#pragma once

#include "Layout/Mfma.h"
#include "Target/Arch/ArchInfo.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace hocket::lowering {

struct MatrixInstruction {
  MatrixTypes types;
  MfmaShape shape;
  llvm::StringLiteral op = ""; ///< of the rocdl dialect
  /// Width of the integers as which the op takes its operand's elements; 0: as they are.
  unsigned integerBits = 0;

  /// (register, lane) -> (row, k), (k, col) and (row, col).
  Result<LinearLayout> operandLayoutA() const { return mfmaOperandA(shape); }
  Result<LinearLayout> operandLayoutB() const { return mfmaOperandB(shape); }
  Result<LinearLayout> accumulatorLayout() const { return mfmaAccumulator(shape); }

  /// acc + lhs x rhs of one instruction; `lhs` and `rhs` have `shape.operandElements()` elements.
  mlir::Value emit(mlir::ImplicitLocOpBuilder &builder, mlir::Value lhs, mlir::Value rhs,
                   mlir::Value acc) const;
};

/// The deepest instruction of `arch` for `types` that, run once or several times, computes a product of a depth of `depth`
/// of operands that are laid out for `operands`, with the accumulator where it is. Its operands are then consecutive
/// pieces of the fragment's, or several of them: which k it sums does not matter as long as both operands agree. Null if
/// there is none.
const MatrixInstruction *findMatrixInstruction(const ArchInfo &arch, const MatrixTypes &types, const MfmaShape &operands,
                                               int64_t depth);

} // namespace hocket::lowering
