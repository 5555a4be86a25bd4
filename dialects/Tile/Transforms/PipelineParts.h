// The parts of a kernel whose pipeline may join the next item's.
#pragma once

#include "WorkItemParts.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/DenseSet.h"

#include <optional>

namespace hocket::tile {

using Ops = llvm::SmallVector<mlir::Operation *>;

/// The parts of a kernel that holds a pipeline.
struct PipelineParts {
  Ops before;         ///< pure ops in front of the pipeline, in order, but the place and what the entry has
  mlir::scf::IfOp pipeline; ///< if there are enough tiles
  mlir::Value count;        ///< the number of tiles
  int64_t fewest = 0; ///< that are enough
  Ops head;           ///< where waves meet in front of the first cluster
  Ops prologue;
  Ops between;        ///< what `middle` follows from
  mlir::scf::IfOp middle;
  size_t peeled = 0;  ///< clusters of the prologue behind the epilogue's last
  Ops epilogue;
  Ops after;          ///< the pipeline
};

/// One cluster of a prologue or an epilogue.
struct PipelineCluster {
  mlir::Operation *enter;
  Ops steps;
  Ops ends; ///< waits and barriers
};

/// The parts of the kernel whose own block is `block`; none if it is made otherwise.
std::optional<PipelineParts> findPipelineParts(mlir::Block &block, mlir::Operation *place, const ItemEntry &entry);
/// The clusters of a prologue or an epilogue.
llvm::SmallVector<PipelineCluster> clustersOf(llvm::ArrayRef<mlir::Operation *> ops);
/// What stands behind the pipeline in pieces, each with the store that ends it.
llvm::SmallVector<Ops> piecesOf(llvm::ArrayRef<mlir::Operation *> after);
/// Makes waits count `op`, a store or a load of a fragment; returns its instructions, so many at least. Others: 0.
int64_t markCounted(mlir::Operation *op);
bool isBarrierOrWait(mlir::Operation *op);
/// Each step with what it takes, in order, without fences.
llvm::SmallVector<Ops> stepsOf(llvm::ArrayRef<mlir::Operation *> ops);
/// What follows the last op in `block` that uses one of `values`; where none does, what follows the op that it begins with.
mlir::Operation *behindUsers(mlir::Block &block, const llvm::DenseSet<mlir::Value> &values);
/// Whether `op` stands in a cluster that computes.
bool isInCompute(mlir::Operation *op);

} // namespace hocket::tile
