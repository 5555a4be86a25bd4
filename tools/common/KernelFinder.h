// Kernels as users of the tool name them, compiled through the cache.
#pragma once

#include "hocket/Attention/BackwardPlan.h"
#include "hocket/Attention/ForwardProblem.h"
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

/// The device that '--device' names, with a chip that only the simulator has ("auto", "sim") that
/// chip's simulator.
std::string deviceFor(const std::string &device, const std::string &architecture);

/// A kernel and how it was found.
struct FoundKernel {
  std::shared_ptr<const attention::CompiledKernel> kernel; ///< of split KV: the producer
  std::string registered;                ///< its name in the registry; "" if it is not from there
  std::vector<attention::PlannedLaunch> inFront = {}; ///< launches in front of attention
  manifest::Substitutes instead = {};                  ///< of attention, then
  attention::PlannedLaunch combine = {}; ///< the second launch of split KV; empty without
  int64_t splits = 0;                    ///< that the heuristic chose; 0: what the problem says
  /// The mask that it was chosen with, where the problem's hides nothing; none: the problem's.
  std::optional<attention::Visibility> visibility = {};
  /// Kernels that the registry prefers but that cannot be compiled for the problem, and why.
  std::vector<std::pair<std::string, std::string>> passedOver = {};

  std::vector<attention::PlannedLaunch> launches() const;
  /// `problem` with the number of splits, and the mask.
  attention::ForwardProblem adapt(attention::ForwardProblem problem) const;
};

class KernelFinder {
public:
  /// With the cache of the environment, and kernels built ahead of time in `bundles`.
  static Result<KernelFinder> make(const std::vector<std::string> &bundles = {},
                                   ChosenChip chip = {});

  /// "FILE,MANIFEST": a compiled kernel; several, joined by "+", are launched one after the other. "auto": what the registry chooses for `problem`. The name
  /// of a registered kernel: that. Anything else: a schedule to compile `problem` with. Keys are
  /// split where `problem` asks for it, and where the registry's heuristic does.
  Result<FoundKernel> find(llvm::StringRef choice, const attention::ForwardProblem &problem);
  /// The launches of a backward. "FILE,MANIFEST+FILE,MANIFEST...": compiled kernels, all of them. "auto": what plans
  /// choose. Anything else: the schedule that parts which are loops follow.
  Result<std::vector<attention::PlannedLaunch>> findBackward(llvm::StringRef choice,
                                                             const attention::BackwardProblem &problem);
  /// Compiles `problem` with `options`, the registry not asked.
  Result<FoundKernel> compile(const attention::ForwardProblem &problem,
                              const CompileOptions &options);

private:
  Result<FoundKernel> registered(const attention::KernelEntry &entry,
                                 const attention::ForwardProblem &problem);
  Result<std::shared_ptr<const attention::CompiledKernel>>
  fromSources(const attention::KernelEntry &entry, const attention::ForwardProblem &problem);
  /// Adds the launches in front that `problem` asks for, and the one behind where it is split.
  Result<FoundKernel> complete(FoundKernel found, const attention::ForwardProblem &problem);

  const attention::KernelRegistry *registry = nullptr;
  ChosenChip chip;
  std::shared_ptr<jit::Jit> compiler;
  std::vector<std::shared_ptr<attention::KernelSource>> sources; ///< bundles, then the compiler
};

/// The manifest in `file`.
Result<manifest::Manifest> readManifest(const std::string &file);
/// The compiled kernel in `file` with the manifest in `manifestPath`.
Result<attention::CompiledKernel> readKernel(const std::string &file,
                                             const std::string &manifestPath);

/// The kernels of the registry for `problem`, and why its keys are split or not.
Result<attention::SelectedKernels> selectRegistered(const attention::ForwardProblem &problem,
                                                    const ChosenChip &chip = {});

} // namespace hocket::run
