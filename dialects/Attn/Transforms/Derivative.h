// What each op hands back to its operands in reverse mode.
#pragma once

#include "mlir/IR/ImplicitLocOpBuilder.h"

#include "llvm/ADT/SmallVector.h"

#include <optional>

namespace hocket::attn {

/// For each operand of `op`, which has one floating-point result, what reaches it of `adjoint`, the derivative of the
/// whole by that result; null: nothing. Emitted only where `isWanted` says so. Nothing at all for an op without
/// derivative.
std::optional<llvm::SmallVector<mlir::Value>>
adjointsOfOperands(mlir::ImplicitLocOpBuilder &builder, mlir::Operation *op, mlir::Value adjoint,
                   llvm::function_ref<bool(mlir::Value)> isWanted);

} // namespace hocket::attn
