// Integers of an expansion that fold where they are constants.
#pragma once

#include "ExpansionBuilder.h"

namespace hocket {

template <typename Op> mlir::Value make(ExpansionBuilder &builder, mlir::Value a, mlir::Value b) {
  return builder.createOrFold<Op>(a, b);
}
inline mlir::Value compare(ExpansionBuilder &builder, mlir::arith::CmpIPredicate predicate, mlir::Value a,
                           mlir::Value b) {
  return builder.createOrFold<mlir::arith::CmpIOp>(predicate, a, b);
}
inline mlir::Value choose(ExpansionBuilder &builder, mlir::Value condition, mlir::Value a, mlir::Value b) {
  return builder.createOrFold<mlir::arith::SelectOp>(condition, a, b);
}

} // namespace hocket
