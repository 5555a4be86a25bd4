// The subcommands of hocket-run, one source each (see Tool.h).
#pragma once

#include "hocket/Support/Result.h"

#include "llvm/ADT/ArrayRef.h"

namespace hocket::run {

/// Runs any kernel of any code object.
Result<int> execCommand(llvm::ArrayRef<const char *> args);
/// Runs a kernel of the user's own on tensors by name.
Result<int> kernelCommand(llvm::ArrayRef<const char *> args);
/// Shows a code object's kernels, resources and arguments.
Result<int> infoCommand(llvm::ArrayRef<const char *> args);
/// Compiles, runs and verifies an attention forward.
Result<int> fmhaFwdCommand(llvm::ArrayRef<const char *> args);
/// Compiles, runs and verifies the gradients of an attention forward.
Result<int> fmhaBwdCommand(llvm::ArrayRef<const char *> args);
/// Runs and verifies a matrix product.
Result<int> gemmCommand(llvm::ArrayRef<const char *> args);
/// Lists the registered kernels and profiles.
Result<int> registryCommand(llvm::ArrayRef<const char *> args);
/// Lists, clears or verifies the cache of compiled kernels.
Result<int> cacheCommand(llvm::ArrayRef<const char *> args);
/// Counts the instructions of a forward kernel's hot loop.
Result<int> steadyStateCommand(llvm::ArrayRef<const char *> args);
/// Predicts published measurements.
Result<int> benchCommand(llvm::ArrayRef<const char *> args);
/// Sets two kernels side by side.
Result<int> compareCommand(llvm::ArrayRef<const char *> args);
/// Finds out what is true of a chip: conformance, times, parameters.
Result<int> firstDayCommand(llvm::ArrayRef<const char *> args);
/// Prints the cycle model's parameters.
Result<int> timeParametersCommand(llvm::ArrayRef<const char *> args);

} // namespace hocket::run
