// A list scheduler for straight-line code of one wave that keeps the matrix unit fed.
//
// A matrix instruction occupies the matrix unit for longer than it takes to issue; what is issued
// meanwhile, in its shadow, is free. The scheduler keeps the matrix instructions in their order and
// spreads the vector instructions evenly over all shadows but the last, and fetches and LDS reads
// for a later cluster over those that leave reads time to arrive.
#pragma once

#include "Tile/IR/Interleave.h"

#include "mlir/IR/Operation.h"

#include "llvm/ADT/SmallVector.h"

namespace hocket::scheduling {

/// What an operation becomes.
enum class IssueKind {
  Free, ///< no instruction: constants, register numbering
  Mfma,
  Trans, ///< transcendental
  Valu,
  Read,  ///< of LDS
  Fetch, ///< from global memory to LDS, or added there
  Load,  ///< from global memory to registers
};

/// Whether the scalar unit loads what `op` does, from memory that nobody writes to.
bool isScalarLoad(mlir::Operation *op);
bool isMfma(mlir::Operation *op);
bool addsToMemory(mlir::Operation *op);
IssueKind issueKind(mlir::Operation *op);
/// Cycles that one wave takes to issue `op`.
unsigned issueCycles(mlir::Operation *op);

/// Whether `op` may be reordered with other such operations as far as its operands allow: no
/// regions, no convergence to keep, no effect on memory but reading LDS, fetching tiles to it and adding to global
/// memory. A fetch may pass a read: between a slot's reads and its next fetch lie a wait and a barrier, which
/// keep their places. 2^x of regions is a call of an intrinsic, which ends what may be reordered where `how` does not
/// say "powers": moved, it takes registers that not all kernels have (docs/notes/2026-11-24-powers-in-streams.md).
bool isSchedulable(mlir::Operation *op, const tile::Interleave &how);

/// Operations that stand together, in order; a fence belongs behind each group.
using Groups = llvm::SmallVector<llvm::SmallVector<mlir::Operation *>>;

/// Orders `ops`, which are schedulable and stand in this order in one block, without another
/// operation that uses or makes their values between them. Every operation is in exactly one group, after those whose
/// results it uses.
Groups scheduleAroundMfmas(llvm::ArrayRef<mlir::Operation *> ops, const tile::Interleave &how);
/// The same for `ops` without matrix instructions: what LDS is asked for, evenly among vector instructions.
Groups scheduleWithoutMfmas(llvm::ArrayRef<mlir::Operation *> ops);

/// Orders `ops`, as above but without matrix instructions, so that what fetches need stands among the LDS reads in front of
/// them. Reads and fetches keep their order.
Groups scheduleAmongReads(llvm::ArrayRef<mlir::Operation *> ops);

} // namespace hocket::scheduling
