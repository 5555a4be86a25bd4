// Which matrix instruction computes a product of fragments: a table.
//
// A row is an instruction as an op: element type and shape, the op's name, and the type in which it
// takes an operand. Shape and type say the rest: where a lane's elements belong (operandLayoutA and
// so on, lib/Layout/Mfma.h), and whether a chip has it and how long it takes (ArchInfo::mfma). A
// new instruction is a new row; a test proves of each that it fits the fragments.
#pragma once

#include "Layout/Mfma.h"
#include "Target/Arch/ArchInfo.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace hocket::lowering {

struct MatrixInstruction {
  MfmaType type = MfmaType::BF16;
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

/// The matrix unit's name for an element type; nothing if it has none.
std::optional<MfmaType> matrixTypeOf(mlir::Type element);

/// The deepest instruction of `arch` for `type` that, run once or several times, computes a product
/// of `fragment`'s shape with the accumulator where it is. Its operands are then consecutive pieces
/// of the fragment's: which k a piece sums does not matter as long as both operands agree. Null if
/// there is none.
const MatrixInstruction *findMatrixInstruction(const ArchInfo &arch, MfmaType type,
                                               const MfmaShape &fragment);

} // namespace hocket::lowering
