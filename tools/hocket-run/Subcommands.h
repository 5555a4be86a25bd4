// The subcommands of hocket-run, one source each. Each takes what follows its name on the command
// line and returns the exit status, or an error that ends in exit status 2.
#pragma once

#include "hocket/Support/Result.h"

#include "llvm/ADT/ArrayRef.h"

namespace hocket::run {

/// Runs any kernel of any code object.
Result<int> execCommand(llvm::ArrayRef<const char *> args);
/// Shows a code object's kernels, resources and arguments.
Result<int> infoCommand(llvm::ArrayRef<const char *> args);
/// Runs random C on the host and in the simulator, and compares.
Result<int> difftestCommand(llvm::ArrayRef<const char *> args);
/// Lists the instructions that the simulator implements.
Result<int> isaCommand(llvm::ArrayRef<const char *> args);
/// Puts small faults into a kernel and says which are found.
Result<int> mutateCommand(llvm::ArrayRef<const char *> args);
/// Compiles, runs and verifies an attention forward.
Result<int> fmhaFwdCommand(llvm::ArrayRef<const char *> args);
/// Runs and verifies a matrix product.
Result<int> gemmCommand(llvm::ArrayRef<const char *> args);
/// Lists the registered kernels and profiles.
Result<int> registryCommand(llvm::ArrayRef<const char *> args);
/// Lists, clears, verifies or stresses the cache of compiled kernels.
Result<int> cacheCommand(llvm::ArrayRef<const char *> args);
/// Counts the instructions of a forward kernel's hot loop.
Result<int> steadyStateCommand(llvm::ArrayRef<const char *> args);
/// Predicts published measurements.
Result<int> benchCommand(llvm::ArrayRef<const char *> args);
/// Checks the heuristic of split KV against predictions.
Result<int> splitsCommand(llvm::ArrayRef<const char *> args);
/// Sets two kernels side by side.
Result<int> compareCommand(llvm::ArrayRef<const char *> args);
/// Prints the cycle model's parameters.
Result<int> timeParametersCommand(llvm::ArrayRef<const char *> args);

} // namespace hocket::run
