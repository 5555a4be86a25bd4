// hocket-dev: what those run who work on Hocket, to see how good its simulator and its checks are.
#include "DevSubcommands.h"
#include "Output.h"
#include "Tool.h"

using namespace hocket;
using namespace hocket::run;

const llvm::StringLiteral run::programName = "hocket-dev";

static constexpr Subcommand subcommands[] = {
    {"mutate", "put small faults into a kernel and say which are found", mutateCommand},
    {"difftest", "compare random C on the host and in the simulator", difftestCommand},
    {"isa", "list the instructions that the simulator implements", isaCommand},
    {"splits", "check the heuristic of split KV against the cycle model", splitsCommand},
    {"cache-stress", "many processes and threads on one cold cache of kernels", cacheStressCommand},
};

static constexpr llvm::StringLiteral users[] = {
    "fmha-fwd", "fmha-bwd", "gemm",         "kernel",   "exec",  "info",           "compare",
    "bench",    "steady-state", "registry", "cache", "time-parameters", "first-day"};

int main(int argc, char **argv) {
  Tool tool{"Measures the simulator, the checks and the heuristics", subcommands, "hocket-run",
            "runs kernels", users};
  return runTool(tool, argc, argv);
}
