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

/// What an op takes an operand's elements as: as they are, the only one alone, or their bits as one or several integers.
enum class OperandForm : uint8_t { Elements, Single, Halves, Words, Whole };

/// What stands behind the operands: no broadcast of blocks and no permutation of lanes; or which format each operand has,
/// and their scales.
enum class Trailer : uint8_t { NoBroadcast, Formats };

/// A lane's scales (i32, the lowest byte) of one instruction: of its row of the left and its column of the right operand, for
/// the 32 of the depth that the lane's half of the wave stands for.
struct BlockScale {
  mlir::Value word;
  int64_t byte = 0; ///< of the word
};
struct BlockScales {
  BlockScale lhs, rhs;
};

class Emitter;
struct KernelValues;

/// Lanes' scales, a byte each (`tile.block_scales`): of a word that has several, as they lie in it.
llvm::SmallVector<BlockScale> scalesInWords(Emitter &emit, mlir::ValueRange scales);

/// `init` plus what a lane holds of `operands` of fp4 on the matrix unit, each times the lane's scale of it.
mlir::Value sumScaled(Emitter &emit, const KernelValues &kernel, mlir::ValueRange operands, mlir::ValueRange scales, mlir::Value init);

struct MatrixInstruction {
  MatrixTypes types;
  MfmaShape shape; ///< with the bits of A's elements
  llvm::StringLiteral op = ""; ///< of the rocdl dialect
  OperandForm form = OperandForm::Elements;
  Trailer trailer = Trailer::NoBroadcast;

  /// (register, lane) -> (row, k), (k, col) and (row, col).
  Result<LinearLayout> operandLayoutA() const { return mfmaOperandA(shape); }
  Result<LinearLayout> operandLayoutB() const { return mfmaOperandB(shape); }
  Result<LinearLayout> accumulatorLayout() const { return mfmaAccumulator(shape); }

  bool takesScales() const { return trailer == Trailer::Formats; }
  /// acc + lhs x rhs of one instruction; `lhs` and `rhs` have `shape.operandElements()` elements. `scales`: of one that takes
  /// such, or nothing.
  mlir::Value emit(mlir::ImplicitLocOpBuilder &builder, mlir::Value lhs, mlir::Value rhs, mlir::Value acc,
                   std::optional<BlockScales> scales = std::nullopt) const;
};

/// The deepest instruction of `arch` for `types` that, run once or several times, computes a product of a depth of `depth`
/// of operands that are laid out for `lhs` and `rhs`, with the accumulator where it is. Its operands are then consecutive
/// pieces of the fragment's, or several of them: which k it sums does not matter as long as both operands agree. Null if
/// there is none. `scaled`: one that takes scales of blocks.
const MatrixInstruction *findMatrixInstruction(const ArchInfo &arch, const MatrixTypes &types, const MfmaShape &lhs,
                                               const MfmaShape &rhs, int64_t depth, bool scaled = false);

/// "bf16 by bf16, i8 by i8, ...": the types that instructions of `arch` of 32 x 32 multiply, for messages; `scaled`: those that take scales.
std::string multipliedTypes(const ArchInfo &arch, bool scaled = false);

} // namespace hocket::lowering
