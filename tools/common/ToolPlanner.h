// Plans by kernels as users of the tools name them. What is planned is what `attention::Planner` plans.
#pragma once

#include "hocket/Attention/BackwardPlan.h"
#include "hocket/Attention/ForwardPlan.h"
#include "hocket/Jit/Jit.h"

#include "llvm/ADT/StringRef.h"

#include <memory>
#include <vector>

namespace hocket::run {

/// The architecture that kernels are chosen for where nobody says.
inline constexpr llvm::StringLiteral kArchitecture = "gfx950";

/// What kernels are chosen and compiled for.
struct ChosenChip {
  std::string architecture = kArchitecture.str();
  unsigned computeUnits = 0; ///< of the device, for split KV: 0 are those of the whole chip
};

/// The chip that an option '--arch' names: all of it.
Result<ChosenChip> chipNamed(const std::string &architecture);

/// The device that '--device' names for another chip than the usual one: with "auto" and "sim" that chip's simulator,
/// with "hip" the first device of that chip.
std::string deviceFor(const std::string &device, const std::string &architecture);

using ForwardPlanPointer = std::shared_ptr<const attention::ForwardPlan>;
using BackwardPlanPointer = std::shared_ptr<const attention::BackwardPlan>;

class ToolPlanner {
public:
  /// With the cache of the environment, and kernels built ahead of time in `bundles`.
  static Result<ToolPlanner> make(const std::vector<std::string> &bundles = {}, ChosenChip chip = {});

  /// "FILE,MANIFEST": a compiled kernel; several, joined by "+", are launched one after the other. "auto": what the
  /// registry chooses for `problem`. The name of a registered kernel: that. Anything else: a schedule to compile
  /// `problem` with.
  Result<ForwardPlanPointer> plan(llvm::StringRef choice, const attention::ForwardProblem &problem);
  /// The same of a backward; anything but files and "auto" is the schedule that parts which are loops follow.
  Result<BackwardPlanPointer> plan(llvm::StringRef choice, const attention::BackwardProblem &problem);
  /// Compiles `problem` with `options`, the registry not asked.
  Result<ForwardPlanPointer> compile(const attention::ForwardProblem &problem, const CompileOptions &options);

  attention::Planner &planner() { return *plans; }

private:
  std::shared_ptr<jit::Jit> compiler;
  std::shared_ptr<attention::Planner> plans;
};

/// The manifest in `file`.
Result<manifest::Manifest> readManifest(const std::string &file);
/// The compiled kernel in `file` with the manifest in `manifestPath`.
Result<attention::CompiledKernel> readKernel(const std::string &file,
                                             const std::string &manifestPath);

} // namespace hocket::run
