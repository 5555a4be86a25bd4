// The options of RunOptions.td, read: one meaning for all subcommands that run and verify.
#pragma once

#include "Options.h"

#include "Verify/KernelRun.h"

namespace hocket::run {

/// Their identifiers, which each subcommand's table numbers anew.
struct RunOptionIds {
  unsigned seed, interleavings, checkRows, check, hangLimit, noVerify, count, kind;
};

/// Those of any launch, with a reference or without.
struct LaunchOptionIds {
  unsigned seed, interleavings, check, hangLimit;
};

/// Seeds, interleavings, checks and limits; progress goes to the terminal.
Result<verify::RunOptions> readLaunchOptions(const Options &options, const LaunchOptionIds &ids);
/// --instruction-limit: 0 is the simulator's own.
Status readInstructionLimit(const Options &options, unsigned id, verify::RunOptions &run);
/// The same with verification.
Result<verify::RunOptions> readRunOptions(const Options &options, const RunOptionIds &ids);
/// Which mutants of a kernel are made.
struct MutantChoice {
  uint64_t count = 0; ///< --count, 0: all
  std::string kind;   ///< --kind, "": all
};
Result<MutantChoice> readMutantChoice(const Options &options, const RunOptionIds &ids);

} // namespace hocket::run
