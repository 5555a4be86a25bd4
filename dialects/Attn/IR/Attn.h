// The attn dialect's C++ face. See AttnDialect.td for what its ops mean.
#pragma once

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

#include "Attn/IR/AttnDialect.h.inc"
#include "Attn/IR/AttnEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "Attn/IR/AttnAttrs.h.inc"

namespace hocket::attn {
/// Of a modification: pairs of an expression over the problem's numbers that must hold, and of what is expected where it
/// does not.
inline constexpr llvm::StringLiteral kRequires = "attn.requires";
} // namespace hocket::attn

#define GET_OP_CLASSES
#include "Attn/IR/AttnOps.h.inc"
