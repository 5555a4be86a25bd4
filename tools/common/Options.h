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
#include <memory>
#include <optional>
#include <set>
#include <string>

namespace hocket::run {

/// A subcommand: what it is called, what it does, and its options.
struct CommandLine {
  std::string name;                 ///< "exec"
  std::string usage;                ///< what stands behind the name: "[options] FILE"
  std::string title;                ///< one sentence for --help
  const llvm::opt::OptTable *table; ///< outlives the options that are parsed with it
  unsigned inputId, unknownId, helpId;
  /// Groups of options that it has, where subcommands share a table.
  unsigned groups = 0;
  /// All of them.
  llvm::opt::Visibility visibility() const { return llvm::opt::Visibility(llvm::opt::DefaultVis | groups); }
};

/// Groups of options in the tables that subcommands share. A subcommand has the options without a group, and those of
/// the groups that it names; Common.td says what each group is.
inline constexpr unsigned MutateVis = 1 << 1, BackwardVis = 1 << 2, LaunchVis = 1 << 3, ForwardVis = 1 << 4,
                          KernelVis = 1 << 5, CompileVis = 1 << 6, FilesVis = 1 << 7, TextsVis = 1 << 8, RunVis = 1 << 9,
                          TimeVis = 1 << 10, TimedVis = 1 << 11;

/// Options and positional arguments after parsing. Wraps InputArgList with checked conversions
/// whose errors name the option, and remembers which options were asked for: what a subcommand takes is what it reads.
class Options {
public:
  /// Parses `args` (without program and subcommand). InvalidInput for an unknown option (with the
  /// nearest known one) or a missing value.
  static Result<Options> parse(const CommandLine &command, llvm::ArrayRef<const char *> args);

  bool wantsHelp() const { return help; }
  /// The subcommand's name.
  const std::string &name() const { return command.name; }
  void printHelp() const;

  bool has(unsigned id) const { return wasRead(id), list.hasArg(id); }
  std::string string(unsigned id, llvm::StringRef fallback = {}) const;
  std::vector<std::string> strings(unsigned id) const { return wasRead(id), list.getAllArgValues(id); }
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
  /// Refuses an option that was given and that nothing has asked for. Call it when all options are read and before the
  /// work begins; `where` names what the option has no effect on, by default the subcommand. With `others`, which count
  /// for these too, one that they say with the same words is theirs.
  Status refuseUnread(llvm::StringRef where = {}, const Options *others = nullptr) const;

private:
  Options(CommandLine command, llvm::opt::InputArgList list)
      : command(std::move(command)), list(std::move(list)) {}
  Error badValue(unsigned id, llvm::StringRef value, const std::string &wanted) const;
  void wasRead(unsigned id) const { read->insert(id); }

  CommandLine command;
  llvm::opt::InputArgList list;
  bool help = false;
  std::shared_ptr<std::set<unsigned>> read = std::make_shared<std::set<unsigned>>();
};

/// Parses the options of a subcommand and does its `work` with them, or prints the help that they
/// ask for. Gives the exit status.
Result<int> runSubcommand(const CommandLine &command, llvm::ArrayRef<const char *> args,
                          llvm::function_ref<Result<int>(const Options &)> work);

} // namespace hocket::run
