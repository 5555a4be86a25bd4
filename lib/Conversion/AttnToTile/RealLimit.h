// Comparisons of real numbers with a converted sum of positions, as bounds of that sum.
//
// c x float(x) + r <= 0, where r is the same for a row, says x <= -r / c for a positive c. What r is for a block of rows
// is found by interval arithmetic, in f32, at run time. Sums and products round: the bound is wider by what that can be, so
// that no key that is seen is left out. Of a bound that is an integer, or a short fraction, that changes nothing; but less
// is taken for less or equal, unless both sides are sums of integers. Where a number is infinite or none, nothing is known.
#pragma once

#include "ExpansionBuilder.h"
#include "ModificationProgram.h"

namespace hocket {

/// A sum of positions is at most, or at least, -(summands + constant) / divisor.
struct RealLimit {
  /// f32 of the region that do not depend on the key, each with a factor.
  llvm::SmallVector<std::pair<mlir::Value, double>, 2> summands;
  double constant = 0;
  double size = 0; ///< of all constants that are summed up, at least
  double roundings = 0; ///< that the comparison's operands go through: `roundingsOf`
  double divisor = 1;
  bool isUpper = true;
  bool isStrict = false; ///< less, or more, than that; counts where all are integers
};

/// Whether `limitOf` can say what `value`, an f32 that does not depend on the key, lies in for a block of rows; `isNumber`
/// says it of an i32.
bool isUnderstoodReal(const ModificationProgram &program, mlir::Value value,
                      llvm::function_ref<bool(mlir::Value)> isNumber);

/// How often `value`, an f32 that is not too large, and what it is made of is rounded, at most.
double roundingsOf(mlir::Value value);
/// Whether `value` is a finite number, whatever the positions are.
bool isFinite(mlir::Value value);

/// The bound as an i32, about kBeyond in size at most; beyond where a number is NaN. `extreme` gives the largest, or smallest,
/// that an i32 of the region is for the rows, `number` an f32 that is the same for all.
mlir::Value limitOf(ExpansionBuilder &builder, const ModificationProgram &program, const RealLimit &limit,
                    llvm::function_ref<mlir::Value(mlir::Value, bool)> extreme,
                    llvm::function_ref<mlir::Value(mlir::Value)> number);

} // namespace hocket
