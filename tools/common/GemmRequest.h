// The options of every subcommand that works on a matrix product: the problem, the kernel that is
// to compute it, and how it is run and verified.
#pragma once

#include "Options.h"
#include "RunOptions.h"
#include "TimeRequest.h"
#include "ToolPlanner.h"

#include "Verify/Gemm/RunGemm.h"

namespace hocket::run {

/// What the command line asks for.
struct GemmRequest {
  attention::CompiledKernel kernel;
  gemm::GemmProblem problem;
  gemm::GemmOptions options;
  std::string device, json; ///< --device and --json
  MutantChoice mutants;
  TimeRequest time;
};

/// Parses `args` for the subcommand `name`, which has these groups of options; `summary` heads its --help. An empty
/// result: help was asked for and printed.
Result<std::optional<GemmRequest>> parseGemmRequest(llvm::StringRef name, llvm::StringRef summary,
                                                    llvm::ArrayRef<const char *> args,
                                                    unsigned groups);

} // namespace hocket::run
