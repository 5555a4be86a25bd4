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

/// Which tile of its view tile `t` is, and what the first step of a fetch gives beside tiles.
struct FetchAhead {
  llvm::function_ref<mlir::Value()> number = nullptr; ///< null: `t`
  mlir::Value pages = {};                             ///< where it is, of a paged ring
  using Values = llvm::function_ref<llvm::SmallVector<mlir::Value>()>;
  Values before = nullptr, next = nullptr; ///< what stands before, and after, what asks for the tile; null: nothing
};

/// Tile `t` of all rings to LDS: in one step each, `fetch_NAME`, where a load can write there, else a step that loads
/// parts into registers and one that puts them, `put_NAME`. Returns what `ahead` gives, results of the first step.
llvm::SmallVector<mlir::Value> fetchSteps(ExpansionBuilder &builder, const ArchInfo &arch, int64_t waves,
                                          llvm::ArrayRef<NamedRings> rings, mlir::Value t,
                                          const FetchAhead &ahead = {});

/// `operand` without the steps of the depth in which all of a head's `headDim` columns are padding: neither read nor
/// multiplied, since what they would add is zero.
mlir::Value withoutPadding(ExpansionBuilder &builder, mlir::Value operand, int64_t headDim);

} // namespace hocket
