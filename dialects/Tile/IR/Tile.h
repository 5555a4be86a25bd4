// The tile dialect's C++ face: types, attributes and ops. See TileOps.td for what they mean.
#pragma once

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "Tile/IR/TileDialect.h.inc"
#include "Tile/IR/TileEnums.h.inc"

#include "Tile/IR/RegisterLayout.h"
#include "Layout/Mfma.h"

#define GET_ATTRDEF_CLASSES
#include "Tile/IR/TileAttrs.h.inc"

#define GET_TYPEDEF_CLASSES
#include "Tile/IR/TileTypes.h.inc"

#include "Tile/IR/TileInterfaces.h"

#define GET_OP_CLASSES
#include "Tile/IR/TileOps.h.inc"

namespace hocket::tile {

/// The attribute of a kernel of which so many workgroups (i64) are to fit on a compute unit.
inline constexpr llvm::StringLiteral kWorkgroupsAttr = "tile.workgroups";
/// The most that may be asked for.
inline constexpr int64_t kMaxWorkgroups = 8;

/// The view that `view` is some rows of, or an element of: a kernel's argument.
mlir::Value wholeView(mlir::Value view);

} // namespace hocket::tile
