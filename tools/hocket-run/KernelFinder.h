// Kernels as users of the tool name them, compiled through the cache.
#pragma once

#include "hocket/Attention/ForwardProblem.h"
#include "hocket/Jit/Jit.h"

#include "llvm/ADT/StringRef.h"

#include <memory>
#include <vector>

namespace hocket::run {

/// The architecture that kernels are chosen for where nobody says.
inline constexpr llvm::StringLiteral kArchitecture = "gfx950";

/// A kernel and how it was found.
struct FoundKernel {
  std::shared_ptr<const attention::CompiledKernel> kernel;
  std::string registered; ///< its name in the registry; "" if it is not from there
};

class KernelFinder {
public:
  /// With the cache of the environment, and kernels built ahead of time in `bundles`, for a chip.
  static Result<KernelFinder> make(const std::vector<std::string> &bundles = {},
                                   std::string architecture = kArchitecture.str());

  /// "FILE,MANIFEST": a compiled kernel. "auto": what the registry chooses for `problem`. The name
  /// of a registered kernel: that. Anything else: a schedule to compile `problem` with.
  Result<FoundKernel> find(llvm::StringRef choice, const attention::ForwardProblem &problem);
  /// Compiles `problem` with `options`, the registry not asked.
  Result<FoundKernel> compile(const attention::ForwardProblem &problem,
                              const CompileOptions &options);

private:
  Result<FoundKernel> registered(const attention::KernelEntry &entry,
                                 const attention::ForwardProblem &problem);

  const attention::KernelRegistry *registry = nullptr;
  std::string architecture; ///< to choose and compile for
  std::shared_ptr<jit::Jit> compiler;
  std::vector<std::shared_ptr<attention::KernelSource>> sources; ///< bundles, then the compiler
};

/// The compiled kernel in `file` with the manifest in `manifestPath`.
Result<attention::CompiledKernel> readKernel(const std::string &file,
                                             const std::string &manifestPath);

} // namespace hocket::run
