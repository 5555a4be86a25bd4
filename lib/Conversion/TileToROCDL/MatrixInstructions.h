// Which matrix instruction computes a product of fragments: the chip's table, as ops.
//
// The chip says which instructions it has, of which element types and shape (ArchInfo::mfma). A row here is the op of one of
// them and how it takes its operands. Shape and type say the rest: where a lane's elements belong
// (lib/Layout/Mfma.h) and how long it takes. A new instruction is a row of the chip's table and one here; a test proves of
// each that it fits the fragments.
#pragma once

#include "Layout/Mfma.h"
#include "Target/Arch/ArchInfo.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace hocket::lowering {

/// What an op takes an operand's elements as: as they are, or their bits as one or several integers.
enum class OperandForm : uint8_t { Elements, Halves, Words, Whole };

/// What stands behind the operands: no broadcast of blocks and no permutation of lanes; or which format each operand has,
/// and their scales, of which there are none.
enum class Trailer : uint8_t { NoBroadcast, Formats };

struct MatrixInstruction {
  MatrixTypes types;
  MfmaShape shape;
  llvm::StringLiteral op = ""; ///< of the rocdl dialect
  OperandForm form = OperandForm::Elements;
  Trailer trailer = Trailer::NoBroadcast;

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

/// "bf16 by bf16, i8 by i8, ...": the types that instructions of `arch` of 32 x 32 multiply, for messages.
std::string multipliedTypes(const ArchInfo &arch);

} // namespace hocket::lowering
