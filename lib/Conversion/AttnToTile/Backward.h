// The backward of attention as kernels on tiles, one for each part.
#pragma once

#include "Conversion/TileShape.h"

#include "Attn/IR/Attn.h"
#include "Tile/IR/Tile.h"
#include "Target/Arch/ArchInfo.h"

namespace hocket {

/// The shape of a loop of a backward, and what that needs.
struct BackwardShape : TileShape {
  /// Workgroups that are to share a compute unit, if the schedule says so.
  std::optional<int64_t> workgroups;
  /// Whether the second of the two held tensors lies in LDS and not in registers.
  bool secondInLds = false;
  /// Of a fused loop: tiles that an iteration goes through before waves exchange dS of all of them.
  int64_t tilesAtOnce = 1;
};

/// What follows from the head, and from the schedule, if there is one, where nobody says: waves of a workgroup, rows of
/// a tile of what is looped over, and where what is held lies.
BackwardShape backwardShape(attn::BackwardOp op, const ArchInfo &arch, tile::ScheduleOp schedule);

/// Writes the kernel of `op` in front of it, a loop in `shape` that follows `schedule`; `delta` has neither. Fails,
/// with a diagnostic, where modifications contradict one another.
mlir::FailureOr<tile::KernelOp> buildBackward(attn::BackwardOp op,
                                              mlir::FlatSymbolRefAttr schedule,
                                              const ArchInfo &arch, BackwardShape shape);

/// The same of a part that is a loop.
mlir::FailureOr<tile::KernelOp> buildBackwardLoop(attn::BackwardOp op, mlir::FlatSymbolRefAttr schedule,
                                                  const ArchInfo &arch, BackwardShape shape);

/// The same of the part `captured`, which has no schedule.
mlir::FailureOr<tile::KernelOp> buildCapturedGradient(attn::BackwardOp op, const ArchInfo &arch);

} // namespace hocket
