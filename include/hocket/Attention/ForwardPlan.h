// From a problem to launches: which kernels run, in which order, with how much workspace.
//
// A `Planner` chooses a registered kernel, gets it from a source, and remembers the plan: asking
// again for the same problem is a look-up. A `ForwardPlan` is immutable and can be run from any
// thread, on any device of its architecture, as often as one likes.
#pragma once

#include "hocket/Attention/BackwardPlan.h"
#include "hocket/Attention/LaunchPlan.h"
#include "hocket/Attention/SplitKV.h"
#include "hocket/Support/RecentlyUsed.h"

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace hocket::attention {

/// Whether kernels read all that the problem gives beside Q, K and V: a sink, lists, what is captured. One that knows
/// nothing of such a tensor would compute something else. InvalidInput names the tensor.
Status checkInputs(std::span<const PlannedLaunch> launches, const ForwardProblem &problem);

class ForwardPlan : public LaunchPlan {
public:
  /// A plan of `launches` for `problem`. Errors: a launch whose manifest does not take it.
  static Result<std::shared_ptr<const ForwardPlan>> make(ForwardProblem problem,
                                                         std::vector<PlannedLaunch> launches);

  const ForwardProblem &problem() const { return description; }

private:
  ForwardPlan(ForwardProblem problem, std::vector<PlannedLaunch> launches)
      : LaunchPlan(std::move(launches), problem.tensors(), problemVariables(problem), problem.temporaries()),
        description(std::move(problem)) {}

  ForwardProblem description;
};

/// Over what tells most problems apart: equal problems have equal hashes.
struct ProblemHash {
  size_t operator()(const ForwardProblem &problem) const;
  size_t operator()(const BackwardProblem &problem) const { return (*this)(problem.forward); }
};

/// Makes plans, and remembers them.
class Planner {
public:
  static constexpr size_t kDefaultMaxPlans = 1024;
  /// Kernels of `registry`, which must outlive the planner, for `architecture`. Sources are asked
  /// in order until one has the kernel. `computeUnits` are those of the device that plans are to
  /// run on, which decide whether keys are split; 0: never split unless a problem asks for it.
  /// Remembered are the `maxPlans` plans that were asked for last; who has one keeps it.
  Planner(const KernelRegistry &registry, std::vector<std::shared_ptr<KernelSource>> sources,
          std::string architecture = "gfx950", unsigned computeUnits = 0,
          size_t maxPlans = kDefaultMaxPlans)
      : kernels(registry), sources(std::move(sources)), architecture(std::move(architecture)),
        units(computeUnits), plans(maxPlans), backwards(maxPlans) {}

  /// The plan for `problem`: one launch, others in front of it where lists of blocks are made or keys appended to a
  /// cache, and one behind it where its keys are split. `ForwardPlan::problem` then says into how many slices. Where
  /// the sources lack kernels for that, and the problem does not ask for slices, it is not split. Errors:
  /// `selectKernels`; NotFound if no source has the kernel; what compiling says. Remembered problems give the same
  /// plan; threads that ask at once wait for one another only while the kernel is being made.
  Result<std::shared_ptr<const ForwardPlan>> plan(const ForwardProblem &problem);
  /// The plan for a backward, remembered likewise. Errors: those of the function that is called so; NotFound if no
  /// source has a kernel.
  Result<std::shared_ptr<const BackwardPlan>> planBackward(const BackwardProblem &problem);

  const KernelRegistry &registry() const { return kernels; }
  const std::string &target() const { return architecture; }

private:
  Result<std::shared_ptr<const ForwardPlan>> makePlan(const ForwardProblem &problem,
                                                      unsigned computeUnits);
  Result<std::shared_ptr<const CompiledKernel>> find(const KernelEntry &entry,
                                                     const KernelVariant &variant);
  Result<std::shared_ptr<const CompiledKernel>> find(const ForwardSemantics &semantics,
                                                     const BackwardKernel &kernel);
  Result<std::shared_ptr<const CompiledKernel>> find(const DescribedKernel &kernel);
  template <typename Plan, typename Problem, typename Make>
  Result<Plan> remember(RecentlyUsed<Plan, Problem, ProblemHash> &known, const Problem &problem,
                        Make make);

  const KernelRegistry &kernels;
  std::vector<std::shared_ptr<KernelSource>> sources;
  std::string architecture;
  unsigned units;
  std::mutex mutex; ///< of the two below
  RecentlyUsed<std::shared_ptr<const ForwardPlan>, ForwardProblem, ProblemHash> plans;
  RecentlyUsed<std::shared_ptr<const BackwardPlan>, BackwardProblem, ProblemHash> backwards;
};

} // namespace hocket::attention
