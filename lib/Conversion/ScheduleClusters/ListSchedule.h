// A list scheduler for straight-line code of one wave that keeps the matrix unit fed.
//
// A matrix instruction occupies the matrix unit for longer than it takes to issue; what is issued
// meanwhile, in its shadow, is free. The scheduler keeps the matrix instructions in their order and
// spreads the vector instructions evenly over all shadows but the last, and fetches and LDS reads
// for a later cluster over those that leave reads time to arrive.
#pragma once

#include "mlir/IR/Operation.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

namespace hocket::scheduling {

/// What an operation becomes.
enum class IssueKind {
  Free, ///< no instruction: constants, register numbering
  Mfma,
  Trans, ///< transcendental
  Valu,
  Read,  ///< of LDS
  Fetch, ///< from global memory to LDS
};

/// Whether the scalar unit loads what `op` does, from memory that nobody writes to.
bool isScalarLoad(mlir::Operation *op);
bool isMfma(mlir::Operation *op);
/// Whether `op` is 2^x as a call of the intrinsic, as functions of regions make it. Streamed clusters move it; elsewhere
/// it ends a stretch, since soft caps then spill scalars (docs/notes/2026-11-24-powers-in-streams.md).
bool isPowerIntrinsic(mlir::Operation *op);
IssueKind issueKind(mlir::Operation *op);
/// Cycles that one wave takes to issue `op`.
unsigned issueCycles(mlir::Operation *op);

/// Whether `op` may be reordered with other such operations as far as its operands allow: no
/// regions, no convergence to keep, no effect on memory but reading LDS and fetching tiles to it. A
/// fetch may pass a read: between a slot's reads and its next fetch lie a wait and a barrier, which
/// keep their places.
bool isSchedulable(mlir::Operation *op);

/// The pattern by which what a cluster reads from LDS is issued a few matrix instructions before it is needed.
inline constexpr llvm::StringLiteral kStream = "stream";

/// The pattern by which matrix instructions may pass the branches of a cluster (AcrossBranches.h).
inline constexpr llvm::StringLiteral kAcross = "across";

/// Operations that stand together, in order; a fence belongs behind each group.
using Groups = llvm::SmallVector<llvm::SmallVector<mlir::Operation *>>;

/// Orders `ops`, which are schedulable and stand in this order in one block, without another
/// operation that uses or makes their values between them. `pattern` is a blank-separated list of
/// mfma, trans, valu and read that is followed cyclically, or empty: derived from the contents, as with kStream and
/// kAcross.
/// Every operation is in exactly one group, after those whose results it uses.
Groups scheduleAroundMfmas(llvm::ArrayRef<mlir::Operation *> ops, llvm::StringRef pattern);

} // namespace hocket::scheduling
