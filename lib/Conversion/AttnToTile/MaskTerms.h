// A predicate on queries and keys as terms of linear inequalities: what can be said of it before any number is known.
//
// Comparisons of sums of the query, the key, the key divided by a constant, and whatever is the same for a workgroup
// are inequalities, and so are those of real numbers made of them (RealLimit.h); `not` goes down to them, `and`, `or` and
// `xor` make terms of them, of which one holds where the predicate does. What is not understood is taken to hold: terms
// say more than the predicate, never less.
//
// Numbers are 32 bits wide in the region. A sum that might wrap there is not understood.
#pragma once

#include "RealLimit.h"

namespace hocket {

/// key x K + query x i + constant + others >= 0, where K is the key divided by `divisor`, rounded down; with a `limit` of
/// real numbers, where that is an upper one, this plus the limit, or else less the limit.
struct Inequality {
  int64_t key = 0, divisor = 1, query = 0, constant = 0;
  /// Numbers of the region that do not depend on the key, each with a factor.
  llvm::SmallVector<std::pair<mlir::Value, int64_t>, 2> others;
  std::optional<RealLimit> limit;
};
/// All hold.
using MaskTerm = llvm::SmallVector<Inequality, 0>;

/// Whether `value` is made by so many operations that it is not looked at: `rangeOf`, `sumOf` and `termsOf` do not
/// understand it then.
bool isTooLarge(mlir::Value value);

/// What an i32 lies in whatever the problem is, both ends included.
struct NumberRange {
  int64_t min = 0, max = 0;
};
/// Nothing if it might wrap, or is not understood.
std::optional<NumberRange> rangeOf(const ModificationProgram &program, mlir::Value value);

/// The divisor of a division of signed or non-negative numbers that rounds towards zero or down, or 0.
int64_t divisorOf(mlir::Operation *op);

/// `value` as a sum of the query, the key, and numbers that are the same for a workgroup; nothing if it is another
/// function, or might wrap.
std::optional<Inequality> sumOf(const ModificationProgram &program, mlir::Value value);

/// Terms of which at least one holds wherever `predicate`, which the program yields or makes on the way there, or its
/// opposite does.
llvm::SmallVector<MaskTerm> termsOf(const ModificationProgram &program, mlir::Value predicate, bool isNegated);

/// Terms for both: at least one of them holds where one of `a` and one of `b` do.
llvm::SmallVector<MaskTerm> bothOf(llvm::ArrayRef<MaskTerm> a, llvm::ArrayRef<MaskTerm> b);

} // namespace hocket
