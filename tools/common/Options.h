// Command lines of subcommands: parsed by llvm::opt, every mistake one message and exit status 2.
//
// llvm::opt and not llvm::cl, because compiling a kernel in process runs lld, which resets every
// cl::opt; and so that `--help` shows what belongs to the subcommand and nothing else.
#pragma once

#include "hocket/Runtime/Device.h"
#include "hocket/Support/Result.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Option/ArgList.h"
#include "llvm/Option/OptTable.h"

#include <cstdint>
#include <optional>
#include <string>

namespace hocket::run {

/// A subcommand: what it is called, what it does, and its options.
struct CommandLine {
  std::string name;                 ///< "exec"
  std::string usage;                ///< what stands behind the name: "[options] FILE"
  std::string title;                ///< one sentence for --help
  const llvm::opt::OptTable *table; ///< outlives the options that are parsed with it
  unsigned inputId, unknownId, helpId;
  /// Which options there are, where subcommands share a table.
  llvm::opt::Visibility visibility = {};
};

/// Visibility of the options that only `mutate` has, only backwards, and only what looks at one of several launches, in
/// the tables that they share with others.
inline constexpr unsigned MutateVis = 1 << 1, BackwardVis = 1 << 2, LaunchVis = 1 << 3;
/// Which options there are beside those of all subcommands that share a table: `mutate fmha-bwd` has all kinds.
struct ExtraOptions {
  bool ofMutate = false, ofBackward = false, ofLaunches = false;
};
llvm::opt::Visibility visibilityOf(ExtraOptions extra);

/// Options and positional arguments after parsing. Wraps InputArgList with checked conversions
/// whose errors name the option.
class Options {
public:
  /// Parses `args` (without program and subcommand). InvalidInput for an unknown option (with the
  /// nearest known one) or a missing value.
  static Result<Options> parse(const CommandLine &command, llvm::ArrayRef<const char *> args);

  bool wantsHelp() const { return help; }
  /// The subcommand's name.
  const std::string &name() const { return command.name; }
  void printHelp() const;

  bool has(unsigned id) const { return list.hasArg(id); }
  std::string string(unsigned id, llvm::StringRef fallback = {}) const;
  std::vector<std::string> strings(unsigned id) const { return list.getAllArgValues(id); }
  /// An integer in [low, high].
  Result<int64_t> integer(unsigned id, int64_t fallback, int64_t low, int64_t high) const;
  Result<uint64_t> seed(unsigned id) const;
  Result<double> real(unsigned id) const;
  /// "X", "X,Y" or "X,Y,Z"; left-out dimensions are 1. The option must be there.
  Result<runtime::Dim3> dim3(unsigned id) const;
  /// The one positional argument, called `what` in messages.
  Result<std::string> onlyInput(llvm::StringRef what) const;
  Status noInputs() const;
  /// What to say where an option is needed and was not given.
  Error missing(unsigned id) const;

private:
  Options(CommandLine command, llvm::opt::InputArgList list)
      : command(std::move(command)), list(std::move(list)) {}
  Error badValue(unsigned id, llvm::StringRef value, const std::string &wanted) const;

  CommandLine command;
  llvm::opt::InputArgList list;
  bool help = false;
};

/// Parses the options of a subcommand and does its `work` with them, or prints the help that they
/// ask for. Gives the exit status.
Result<int> runSubcommand(const CommandLine &command, llvm::ArrayRef<const char *> args,
                          llvm::function_ref<Result<int>(const Options &)> work);

} // namespace hocket::run
