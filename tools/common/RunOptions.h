// The options of RunOptions.td, read: one meaning for all subcommands that run and verify.
#pragma once

#include "Options.h"

#include "Verify/KernelRun.h"

namespace hocket::run {

/// Their identifiers, which each subcommand's table numbers anew.
struct RunOptionIds {
  unsigned seed, interleavings, checkRows, check, hangLimit, noVerify, count;
};

/// --hang-limit; 0 if it is not there.
Result<double> readHangLimit(const Options &options, unsigned id);
/// Seeds, interleavings, verification; progress goes to the terminal.
Result<verify::RunOptions> readRunOptions(const Options &options, const RunOptionIds &ids);
/// --count: 0 is all.
Result<uint64_t> readMutantCount(const Options &options, const RunOptionIds &ids);

} // namespace hocket::run
