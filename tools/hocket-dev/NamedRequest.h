// A kernel of the tile language on random tensors by name, whose mutants are judged by what the unchanged one leaves.
#pragma once

#include "KernelTensors.h"
#include "ProblemRunner.h"
#include "RunOptions.h"
#include "ToolPlanner.h"

namespace hocket::run {

/// What the command line asks for.
struct NamedRequest {
  attention::CompiledKernel kernel;
  std::vector<KernelTensor> tensors; ///< with what the kernel leaves in each, to the bit, as what is expected
  manifest::Variables scalars;
  verify::RunOptions options;
  MutantChoice mutants;
  std::string json; ///< --json
};

/// Parses `args` for the subcommand `name`, whose --help `summary` heads, and runs the kernel once. An empty result: help
/// was asked for and printed.
Result<std::optional<NamedRequest>> parseNamedRequest(llvm::StringRef name, llvm::StringRef summary,
                                                      llvm::ArrayRef<const char *> args);
/// Runs `manifest`'s kernel on what `request` says, with changed code.
ProblemRunner runnerOf(const manifest::Manifest &manifest, const NamedRequest &request);

} // namespace hocket::run
