// From a problem to launches: which kernels run, in which order, with how much workspace.
//
// A `Planner` chooses a registered kernel, gets it from a source, and remembers the plan: asking
// again for the same problem is a look-up. A `ForwardPlan` is immutable and can be run from any
// thread, on any device of its architecture, as often as one likes.
#pragma once

#include "hocket/Attention/BackwardPlan.h"
#include "hocket/Attention/LaunchPlan.h"
#include "hocket/Attention/Quantize.h"
#include "hocket/Attention/SplitKV.h"
#include "hocket/Support/RecentlyUsed.h"

#include <cstdint>
#include <functional>
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
  /// A plan of `launches` for `problem`, number `attention` of which computes attention. Errors: a launch whose manifest
  /// does not take it.
  static Result<std::shared_ptr<const ForwardPlan>> make(ForwardProblem problem, std::vector<PlannedLaunch> launches,
                                                         size_t attention = 0);

  /// With the number of slices that was chosen, and without a mask that hides nothing.
  const ForwardProblem &problem() const { return description; }
  /// The launch that computes attention, of split KV its slices.
  size_t attentionNumber() const { return number; }
  const PlannedLaunch &attention() const { return launches()[number]; }
  /// What puts the results of slices together; null: there are none.
  const PlannedLaunch *combine() const { return number + 1 < launches().size() ? &launches()[number + 1] : nullptr; }

private:
  ForwardPlan(ForwardProblem problem, std::vector<PlannedLaunch> launches, size_t attention)
      : LaunchPlan(std::move(launches), problem.tensors(), problemVariables(problem), problem.temporaries()),
        description(std::move(problem)), number(attention) {}

  ForwardProblem description;
  size_t number;
};

/// Why a problem has the plan that it has.
struct ForwardExplanation {
  KernelChoice choice;            ///< what there is for and against each kernel of the registry
  Result<SelectedKernels> selected; ///< those that were chosen, and whether keys are split
  Result<std::shared_ptr<const ForwardPlan>> plan; ///< where modifications decide, by what could be compiled
};

/// Makes the kernel that computes attention, or its slices: a compiler that is told how.
using MakeForwardKernel = std::function<Result<std::shared_ptr<const CompiledKernel>>(const ForwardProblem &problem)>;

/// Over what tells most problems apart: equal problems have equal hashes.
struct ProblemHash {
  size_t operator()(const ForwardProblem &problem) const;
  size_t operator()(const BackwardProblem &problem) const { return (*this)(problem.forward); }
  size_t operator()(const QuantizeProblem &problem) const;
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
        units(computeUnits), plans(maxPlans), backwards(maxPlans), quantizes(maxPlans) {}

  /// The plan for `problem`: one launch, others in front of it where lists of blocks are made or keys appended to a
  /// cache, and one behind it where its keys are split. `ForwardPlan::problem` then says into how many slices. Where
  /// the sources lack kernels for that, and the problem does not ask for slices, it is not split. Errors:
  /// `selectKernels`; NotFound if no source has the kernel; what compiling says. Remembered problems give the same
  /// plan; threads that ask at once wait for one another only while the kernel is being made.
  Result<std::shared_ptr<const ForwardPlan>> plan(const ForwardProblem &problem);
  /// The plan whose attention is computed by the registered `kernel`, in as many slices as `problem` says. Errors:
  /// NotFound for one that is not there; Unsupported for one that does not take the problem.
  Result<std::shared_ptr<const ForwardPlan>> planWith(std::string_view kernel, const ForwardProblem &problem);
  /// The plan whose attention is computed by what `make` makes, the registry not asked.
  Result<std::shared_ptr<const ForwardPlan>> planWith(const MakeForwardKernel &make, const ForwardProblem &problem);
  /// Why `plan` gives what it gives; an error is a registry that cannot be asked.
  Result<ForwardExplanation> explain(const ForwardProblem &problem);
  /// The plan for a backward, remembered likewise; with `schedule` one whose loops follow schedules of that name. Errors:
  /// those of the function that is called so; NotFound if no source has a kernel.
  Result<std::shared_ptr<const BackwardPlan>> planBackward(const BackwardProblem &problem, std::string_view schedule = {});
  /// The plan that quantises, remembered likewise. Errors: `validate`; what compiling says.
  Result<std::shared_ptr<const QuantizePlan>> planQuantize(const QuantizeProblem &problem);

  const KernelRegistry &registry() const { return kernels; }
  const std::string &target() const { return architecture; }
  /// Compute units of the device that plans are for; 0: not known.
  unsigned computeUnits() const { return units; }

private:
  Result<std::shared_ptr<const ForwardPlan>> makePlan(const ForwardProblem &problem,
                                                      unsigned computeUnits);
  /// The plan of `attention` and what `problem` asks for in front of it and behind it, with `combine` if it is not null.
  Result<std::shared_ptr<const ForwardPlan>> complete(const ForwardProblem &problem, PlannedLaunch attention,
                                                      const KernelEntry *combine);
  /// The kernel that combines slices, where `problem` has them.
  Result<const KernelEntry *> combineOf(const ForwardProblem &problem) const;
  /// `chosen`, or the first of the others that can be made.
  Result<PlannedLaunch> firstMade(const KernelEntry &chosen, const ForwardProblem &problem);
  Result<std::shared_ptr<const CompiledKernel>> find(const KernelEntry &entry, const ForwardProblem &problem);
  /// The kernel of the first source that has it, which `get` asks for it; `name` is for messages.
  template <typename Get>
  Result<std::shared_ptr<const CompiledKernel>> firstSource(const std::string &name, const Get &get);
  /// Adds a launch of each of `list` to `launches`.
  Status addDescribed(const std::vector<DescribedKernel> &list, std::vector<PlannedLaunch> &launches);
  template <typename Plan, typename Problem, typename Make>
  Result<Plan> remember(RecentlyUsed<Plan, Problem, ProblemHash> &known, const Problem &problem,
                        Make make);

  const KernelRegistry &kernels;
  std::vector<std::shared_ptr<KernelSource>> sources;
  std::string architecture;
  unsigned units;
  std::mutex mutex; ///< of those below
  RecentlyUsed<std::shared_ptr<const ForwardPlan>, ForwardProblem, ProblemHash> plans;
  RecentlyUsed<std::shared_ptr<const BackwardPlan>, BackwardProblem, ProblemHash> backwards;
  RecentlyUsed<std::shared_ptr<const QuantizePlan>, QuantizeProblem, ProblemHash> quantizes;
};

} // namespace hocket::attention
