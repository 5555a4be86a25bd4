// Loops of assembly, each of which pins one parameter of the cycle model.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>

namespace hocket::run::firstday {

/// How many workgroups there are.
enum class Spread { One, HalfOfUnits, AllUnits, FourEachUnit };

struct Benchmark {
  llvm::StringLiteral key;  ///< of the parameter
  llvm::StringLiteral what; ///< is timed, for reports
  llvm::StringLiteral chip; ///< the only one that has the instructions; "": all have them
  unsigned waves;           ///< of a workgroup
  Spread spread;
  uint64_t bufferBytes; ///< for each workgroup
  /// Turns of the longer run; 0: as many as take a while. With 1 the run is timed as a whole, not per turn.
  uint32_t turns;
  llvm::StringLiteral setup, body;
};

/// In the order in which they are fitted: later ones rely on earlier ones.
llvm::ArrayRef<Benchmark> benchmarks();

} // namespace hocket::run::firstday
