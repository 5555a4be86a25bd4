// The subcommands of hocket-dev, one source each (see Tool.h).
#pragma once

#include "hocket/Support/Result.h"

#include "llvm/ADT/ArrayRef.h"

namespace hocket::run {

/// Runs random C on the host and in the simulator, and compares.
Result<int> difftestCommand(llvm::ArrayRef<const char *> args);
/// Lists the instructions that the simulator implements.
Result<int> isaCommand(llvm::ArrayRef<const char *> args);
/// Puts small faults into a kernel and says which are found.
Result<int> mutateCommand(llvm::ArrayRef<const char *> args);
/// Checks the heuristic of split KV against predictions.
Result<int> splitsCommand(llvm::ArrayRef<const char *> args);
/// Has many processes and threads ask a cold cache for the same kernels.
Result<int> cacheStressCommand(llvm::ArrayRef<const char *> args);

} // namespace hocket::run
