// What `tile-work-items` knows of the ops of a persistent kernel.
#pragma once

#include "Tile/IR/Tile.h"

#include "llvm/ADT/SetVector.h"

namespace hocket::tile {

/// Whether `op` or an op in it is one that `is` says.
bool holds(mlir::Operation *op, llvm::function_ref<bool(mlir::Operation *)> is);
/// Whether it exchanges something through LDS that is no ring's.
bool usesScratch(mlir::Operation *op);
/// Whether it has accesses to rings, waits or barriers.
bool touchesRings(mlir::Operation *op);
bool placesWorkgroup(mlir::Operation *op);
/// Of which turn's item a place is.
void setTurn(mlir::Operation *place, mlir::Value turn);

/// What a kernel asks for before anything else: the fetches of the first tiles, and what it loads for itself before waves
/// meet.
struct ItemEntry {
  llvm::SmallVector<mlir::Operation *> ops;     ///< steps and loads, in order; empty: it stays where it is
  llvm::SmallVector<mlir::Value> loaded;        ///< what the loads give
  llvm::SetVector<mlir::Operation *> sources;   ///< what they follow from, in order
  mlir::Operation *lastAccess = nullptr;        ///< of the block: to LDS, of a ring
};
ItemEntry findItemEntry(mlir::Block &block);

/// Writes the loop over items with the epilogue of one item and the prologue of the next in the same clusters, rings in
/// two halves of LDS by turns. Emits an error and fails, with nothing written, where the kernel is not made of such parts
/// or LDS has no room for both.
mlir::LogicalResult emitJoinedItems(KernelOp kernel, mlir::Operation *place, const ItemEntry &entry);

} // namespace hocket::tile
