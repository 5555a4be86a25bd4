// hocket-run: runs code objects on a gfx950 or in the simulator, and verifies attention kernels.
//
// Exit status 0: right; 1: a wrong result; 2: bad input, or something that could not be done. JSON
// goes alone to standard output or a file, everything else to standard error.
#include "Output.h"
#include "Subcommands.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/raw_ostream.h"

using namespace hocket;
using namespace hocket::run;

namespace {
struct Subcommand {
  const char *name;
  const char *summary;
  Result<int> (*run)(llvm::ArrayRef<const char *>);
};
constexpr Subcommand subcommands[] = {
    {"fmha-fwd", "compile, run and verify an attention forward", fmhaFwdCommand},
    {"gemm", "run and verify a matrix product", gemmCommand},
    {"registry", "list the registered kernels and profiles", registryCommand},
    {"cache", "list, clear, verify or stress the cache of compiled kernels", cacheCommand},
    {"steady-state", "count the instructions of a kernel's hot loop", steadyStateCommand},
    {"mutate", "put small faults into a kernel and say which are found", mutateCommand},
    {"exec", "run any kernel of any code object", execCommand},
    {"info", "show a code object's kernels, resources and arguments", infoCommand},
    {"isa", "list the instructions that the simulator implements", isaCommand},
    {"compare", "run and time two kernels on one problem, side by side", compareCommand},
    {"bench", "measure or predict kernels over a list of problems", benchCommand},
    {"splits", "check the heuristic of split KV against the cycle model", splitsCommand},
    {"time-parameters", "print the parameters of the cycle model", timeParametersCommand},
    {"difftest", "compare random C on the host and in the simulator", difftestCommand},
};
} // namespace

static void printHelp(llvm::raw_ostream &out) {
  out << "OVERVIEW: Runs AMDGPU code objects on a gfx950, or in the simulator where there is "
         "none\n\n"
         "USAGE: hocket-run SUBCOMMAND [options]\n\nSUBCOMMANDS:\n";
  for (const Subcommand &subcommand : subcommands)
    out << "  " << llvm::StringRef(subcommand.name).str()
        << std::string(17 - llvm::StringRef(subcommand.name).size(), ' ') << subcommand.summary
        << '\n';
  out << "\n'hocket-run SUBCOMMAND --help' has the options.\n"
         "Exit status: 0 right, 1 wrong result, 2 bad input.\n";
}

/// "--json" without a value, at the end or before another option, means standard output.
static std::vector<const char *> completeJson(llvm::ArrayRef<const char *> args) {
  std::vector<const char *> result;
  for (size_t i = 0; i != args.size(); ++i) {
    bool bare = llvm::StringRef(args[i]) == "--json" &&
                (i + 1 == args.size() || llvm::StringRef(args[i + 1]).starts_with("--"));
    result.push_back(bare ? "--json=-" : args[i]);
  }
  return result;
}

static int dispatch(int argc, char **argv) {
  llvm::StringRef name = argc > 1 ? argv[1] : "";
  if (name == "--help" || name == "-h" || name == "help") {
    printHelp(llvm::outs());
    return exitRight;
  }
  for (const Subcommand &subcommand : subcommands) {
    if (name != subcommand.name)
      continue;
    Result<int> status = subcommand.run(completeJson({argv + 2, argv + argc}));
    return status.ok() ? *status : fail(status.error());
  }
  if (name.empty())
    return fail(invalidInput("no subcommand given; see 'hocket-run --help'"));
  std::string known;
  for (const Subcommand &subcommand : subcommands)
    known += (known.empty() ? "" : ", ") + std::string(subcommand.name);
  return fail(invalidInput("unknown subcommand '" + name.str() + "'; known are " + known));
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  int exitStatus = dispatch(argc, argv);
  Status written = finishOutput();
  return written.ok() ? exitStatus : fail(written.error());
}
