// Element types as types of MLIR: where the table of lib/Support meets the IR.
#pragma once

#include "hocket/Support/ElementType.h"

#include "mlir/IR/Types.h"

namespace hocket {

/// The type that MLIR spells `irName(type)`; integers of both signs are signless but the unsigned ones.
mlir::Type irTypeOf(mlir::MLIRContext *context, ElementType type);

/// The element type of `type`; nothing for what is none.
std::optional<ElementType> asElementType(mlir::Type type);

/// Bits of an element that is a float or an integer.
unsigned bitsOf(mlir::Type element);
/// Bytes of an element of whole bytes.
int64_t bytesOf(mlir::Type element);

} // namespace hocket
