// hocket-run: runs code objects on a gfx950 or in the simulator, and verifies attention kernels.
#include "Output.h"
#include "Subcommands.h"
#include "Tool.h"

using namespace hocket;
using namespace hocket::run;

const llvm::StringLiteral run::programName = "hocket-run";

static constexpr Subcommand subcommands[] = {
    {"fmha-fwd", "compile, run and verify an attention forward", fmhaFwdCommand},
    {"fmha-bwd", "compile, run and verify the gradients of an attention forward", fmhaBwdCommand},
    {"gemm", "run and verify a matrix product", gemmCommand},
    {"kernel", "run a kernel of one's own on tensors by name", kernelCommand},
    {"exec", "run any kernel of any code object", execCommand},
    {"info", "show a code object's kernels, resources and arguments", infoCommand},
    {"compare", "run and time two kernels on one problem, side by side", compareCommand},
    {"bench", "measure or predict kernels over a list of problems", benchCommand},
    {"first-day", "find out on a GPU whether instructions, kernels and predictions are right", firstDayCommand},
    {"steady-state", "count the instructions of a kernel's hot loop", steadyStateCommand},
    {"registry", "list the registered kernels and profiles", registryCommand},
    {"cache", "list, clear or verify the cache of compiled kernels", cacheCommand},
    {"time-parameters", "print the parameters of the cycle model", timeParametersCommand},
};

static constexpr llvm::StringLiteral developers[] = {"mutate", "difftest", "isa", "splits",
                                                     "cache-stress"};

int main(int argc, char **argv) {
  Tool tool{"Runs AMDGPU code objects on a gfx950, or in the simulator where there is none",
            subcommands, "hocket-dev", "has what those run who work on Hocket", developers};
  return runTool(tool, argc, argv);
}
