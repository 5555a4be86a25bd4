// Probes of single instructions: what is executed, on what data, and how near the result has to be.
#pragma once

#include "AssemblyKernel.h"

#include "llvm/ADT/ArrayRef.h"

namespace hocket::run::firstday {

/// What the dwords of a probe's lanes hold.
enum class Fill {
  Distinct,    ///< all different, each byte too within 256 of them
  SmallBf16,   ///< pairs of whole numbers from -3 to 3
  SmallF16,
  SmallF32,    ///< whole numbers from -3 to 3
  SmallF8,     ///< four whole numbers of small size
  SmallI8,
  Bits,        ///< random bits
  NormalF32,   ///< normally distributed
  NormalBf16,
  NormalF16,
  PositiveF32, ///< from 2^-40 to 2^40
  UnitF32,     ///< from -1 to 1
  EdgeF32,     ///< zeros, infinities, NaNs, denormals, largest and smallest numbers, powers of two, halves
};

struct Probe {
  llvm::StringLiteral name;  ///< begins with the mnemonic
  llvm::StringLiteral group; ///< "layout", "rounding", ...
  llvm::StringLiteral chip;  ///< the only one that has it; "": all have it
  Fill fill;
  /// What may lie between a result and the simulator's, of floats, and counts as rounding: RELATIVE * |expected| +
  /// ABSOLUTE. Both 0: nothing.
  double relative, absolute;
  llvm::StringLiteral body;
};

llvm::ArrayRef<Probe> probes();
LaneValues valuesOf(Fill fill);

/// An instruction that may read something before it is there, with and without what it has to wait for.
struct HazardProbe {
  llvm::StringLiteral name;
  llvm::StringLiteral chip;
  bool documented; ///< that waiting is needed
  Fill fill;
  llvm::StringLiteral before, wait, after;
};

llvm::ArrayRef<HazardProbe> hazardProbes();

} // namespace hocket::run::firstday
