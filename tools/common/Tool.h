// A tool of subcommands: its table, its --help, and the way from the command line to one of them.
#pragma once

#include "hocket/Support/Result.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace hocket::run {

/// `run` takes what follows the name on the command line and returns the exit status, or an error
/// that ends in exit status 2.
struct Subcommand {
  llvm::StringLiteral name, summary;
  Result<int> (*run)(llvm::ArrayRef<const char *>);
};

struct Tool {
  llvm::StringLiteral overview; ///< one sentence for --help
  llvm::ArrayRef<Subcommand> subcommands;
  /// Another tool and its subcommands, to which those who look for them here are sent.
  llvm::StringLiteral sister, sisterPurpose;
  llvm::ArrayRef<llvm::StringLiteral> sisterSubcommands;
};

/// Runs the subcommand that the command line names. Exit status 0: right; 1: a wrong result; 2: bad
/// input, or something that could not be done.
int runTool(const Tool &tool, int argc, char **argv);

} // namespace hocket::run
