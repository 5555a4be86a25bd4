// Floats of 8 bits: what registers hold of them, and the chip's conversions.
//
// LLVM has no floats of fewer than 16 bits. Lanes hold them as integers of as many bits, and what converts them must know
// which format these are. Most conversions go by way of f32. Downwards they round to the nearest, of two to the even one,
// and saturate: a kernel with such a conversion sets MODE.FP16_OVFL at its entry (docs/Hardware.md 2.5).
#pragma once

#include "Lowering.h"

namespace hocket::lowering {

using tile::isSmallFloat;

/// `value` of small floats `from`, one (i8) or a vector, as f32.
mlir::Value widenSmall(Emitter &emit, mlir::Value value, mlir::Type from);
/// Whether the chip widens small floats of `type`, a vector of whole words, to `to` without f32 between: bf16 or f16.
bool canWidenTo(const ArchInfo &arch, mlir::Type type, mlir::Type to);
mlir::Value widenSmallTo(Emitter &emit, mlir::Value value, mlir::Type from, mlir::Type to);
/// `value`, an f32 or a vector of them, as small floats `to`.
mlir::Value narrowSmall(Emitter &emit, mlir::Value value, mlir::Type to);

/// `init` plus what a lane holds of `operands`, an even number of them, on the matrix unit: a sparse product, which takes
/// half as long as a dense one, with ones where two rows of the result that a lane holds are of that lane's own numbers.
mlir::Value sumOnMatrixUnit(Emitter &emit, const KernelValues &kernel, mlir::ValueRange operands, mlir::Type element,
                            mlir::Value init);

/// Whether `kernel` rounds anything to small floats.
bool roundsToSmallFloats(tile::KernelOp kernel);
/// Lets conversions saturate from here on.
void saturateSmallFloats(Emitter &emit);

/// An error if a value of `kernel` is of small floats that `arch` neither multiplies nor converts.
mlir::LogicalResult verifySmallFloats(tile::KernelOp kernel, const ArchInfo &arch);

} // namespace hocket::lowering
