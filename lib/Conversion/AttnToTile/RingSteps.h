// Steps that every loop over tiles of heads has: bringing tiles into LDS, and operands without padding.
#pragma once

#include "ExpansionBuilder.h"

#include "Target/Arch/ArchInfo.h"

namespace hocket {

/// A ring, and what its steps are called after.
struct NamedRing {
  llvm::StringRef name;
  mlir::Value ring;
};

/// Tile `t` of each ring to LDS: in one step each, `fetch_NAME`, where a load can write there, else a step that loads
/// parts into registers and one that puts them, `put_NAME`.
void fetchSteps(ExpansionBuilder &builder, const ArchInfo &arch, int64_t waves,
                llvm::ArrayRef<NamedRing> rings, mlir::Value t);

/// `operand` without the steps of the depth in which all of a head's `headDim` columns are padding: neither read nor
/// multiplied, since what they would add is zero.
mlir::Value withoutPadding(ExpansionBuilder &builder, mlir::Value operand, int64_t headDim);

} // namespace hocket
