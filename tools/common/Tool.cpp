// From the command line to a subcommand; the same for all tools that have any.
#include "Tool.h"

#include "Output.h"

#include "hocket/Support/Version.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/raw_ostream.h"

#include <vector>

using namespace hocket;
using namespace hocket::run;
using llvm::StringRef;

static void printHelp(const Tool &tool, llvm::raw_ostream &out) {
  out << "OVERVIEW: " << tool.overview << "\n\nUSAGE: " << programName
      << " SUBCOMMAND [options]\n\nSUBCOMMANDS:\n";
  for (const Subcommand &subcommand : tool.subcommands)
    out << "  " << llvm::left_justify(subcommand.name, 17) << subcommand.summary << '\n';
  out << "\n'" << programName << " SUBCOMMAND --help' has the options.\n'" << tool.sister << "' "
      << tool.sisterPurpose << ".\nExit status: 0 right, 1 wrong result, 2 bad input.\n";
}

/// "--json" without a value, at the end or before another option, means standard output.
static std::vector<const char *> completeJson(llvm::ArrayRef<const char *> args) {
  std::vector<const char *> result;
  for (size_t i = 0; i != args.size(); ++i) {
    bool bare = StringRef(args[i]) == "--json" &&
                (i + 1 == args.size() || StringRef(args[i + 1]).starts_with("--"));
    result.push_back(bare ? "--json=-" : args[i]);
  }
  return result;
}

static Error unknownSubcommand(const Tool &tool, StringRef name) {
  std::string message = "unknown subcommand '" + name.str() + "'";
  if (llvm::is_contained(tool.sisterSubcommands, name))
    return invalidInput(message + "; it is '" + tool.sister.str() + " " + name.str() + "'");
  std::string known;
  for (const Subcommand &subcommand : tool.subcommands)
    known += (known.empty() ? "" : ", ") + subcommand.name.str();
  return invalidInput(message + "; known are " + known);
}

static int dispatch(const Tool &tool, llvm::ArrayRef<const char *> args) {
  if (args.empty())
    return fail(invalidInput("no subcommand given; see '" + programName.str() + " --help'"));
  StringRef name = args.front();
  if (name == "--help" || name == "-h" || name == "help") {
    printHelp(tool, llvm::outs());
    return exitRight;
  }
  if (name == "--version") {
    llvm::outs() << versionLine(programName, LLVM_VERSION_STRING);
    return exitRight;
  }
  const Subcommand *subcommand = llvm::find_if(
      tool.subcommands, [&](const Subcommand &candidate) { return candidate.name == name; });
  if (subcommand == tool.subcommands.end())
    return fail(unknownSubcommand(tool, name));
  Result<int> status = subcommand->run(completeJson(args.drop_front()));
  return status.ok() ? *status : fail(status.error());
}

int run::runTool(const Tool &tool, int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  int exitStatus = dispatch(tool, {argv + std::min(argc, 1), argv + argc});
  Status written = finishOutput();
  return written.ok() ? exitStatus : fail(written.error());
}
