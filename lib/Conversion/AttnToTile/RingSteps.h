// Steps that every loop over tiles of heads has: bringing tiles into LDS, and operands without padding.
#pragma once

#include "ExpansionBuilder.h"

#include "Target/Arch/ArchInfo.h"

namespace hocket {

/// Rings of the same tiles, and what their steps are called after.
struct NamedRings {
  llvm::StringRef name;
  llvm::SmallVector<mlir::Value, 2> rings;
};

/// Tile `t` of all rings to LDS: in one step each, `fetch_NAME`, where a load can write there, else a step that loads
/// parts into registers and one that puts them, `put_NAME`.
void fetchSteps(ExpansionBuilder &builder, const ArchInfo &arch, int64_t waves,
                llvm::ArrayRef<NamedRings> rings, mlir::Value t);

/// `operand` without the steps of the depth in which all of a head's `headDim` columns are padding: neither read nor
/// multiplied, since what they would add is zero.
mlir::Value withoutPadding(ExpansionBuilder &builder, mlir::Value operand, int64_t headDim);

} // namespace hocket
