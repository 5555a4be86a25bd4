// From a problem to launches: which kernels run, in which order, with how much workspace.
//
// A `Planner` chooses a registered kernel, gets it from a source, and remembers the plan: asking
// again for the same problem is a look-up. A `ForwardPlan` is immutable and can be run from any
// thread, on any device of its architecture, as often as one likes.
#pragma once

#include "hocket/Attention/KernelSource.h"
#include "hocket/Attention/SplitKV.h"
#include "hocket/Runtime/Stream.h"
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

/// A piece of device memory.
struct Buffer {
  runtime::DeviceAddress address = 0;
  uint64_t bytes = 0;
};

/// The memory of one run, by name: those of `ForwardPlan::buffers`. Addresses must be multiples of
/// 16 bytes. Buffers that the plan does not need are not looked at.
using Buffers = std::map<std::string, Buffer, std::less<>>;

/// Memory that a run needs.
struct BufferNeed {
  std::string name;
  uint64_t bytes = 0; ///< at least; 0: not needed
};

/// Whether kernels read all that the problem gives beside Q, K and V: a sink, lists, what is captured. One that knows
/// nothing of such a tensor would compute something else. InvalidInput names the tensor.
Status checkInputs(std::span<const PlannedLaunch> launches, const ForwardProblem &problem);

class ForwardPlan {
public:
  /// A plan of `launches`, in this order, all on one stream; what one leaves in the workspace the
  /// next may read. Errors: a launch whose manifest does not take the problem.
  static Result<std::shared_ptr<const ForwardPlan>> make(ForwardProblem problem,
                                                         std::vector<PlannedLaunch> launches);

  const ForwardProblem &problem() const { return description; }
  std::span<const PlannedLaunch> launches() const { return steps; }
  /// The tensors of the problem, in order, and "workspace": device memory that the launches share,
  /// whose content need not be kept; 0 bytes unless keys are split.
  std::span<const BufferNeed> buffers() const { return needs; }
  uint64_t workspaceBytes() const { return needs.back().bytes; }

  /// Launches everything and waits. Loads the kernels first where `device` has not seen them; they
  /// stay loaded, and the device alive, until `unload` or the plan's end.
  ///
  /// Errors: Unsupported for a device of another architecture; InvalidInput for a buffer that is
  /// null, too small or misaligned, named with what was found and wanted; what loading and
  /// launching say. Reports are in the order of the launches.
  Result<std::vector<runtime::LaunchReport>> run(runtime::Device &device,
                                                 const Buffers &buffers) const;

  /// The same on `stream`, a stream of `device`, without waiting. Plan and buffers must live until
  /// the stream has passed the launches; what goes wrong there is reported by later calls on it.
  Status run(runtime::Device &device, const Buffers &buffers, runtime::Stream &stream) const;

  /// Loads the kernels on `device` without running them, so that the first run is not slower.
  Status load(runtime::Device &device) const;
  /// Gives back what was loaded on `device`; no run on it may be under way.
  void unload(runtime::Device &device) const;

private:
  struct Loaded {
    std::shared_ptr<runtime::Module> module;
    std::shared_ptr<runtime::Kernel> kernel;
  };
  ForwardPlan(ForwardProblem problem, std::vector<PlannedLaunch> launches)
      : description(std::move(problem)), steps(std::move(launches)) {}
  using LoadedKernels = std::shared_ptr<const std::vector<Loaded>>;
  /// A launch, ready but for the device.
  struct Prepared {
    LoadedKernels kernels;
    std::vector<manifest::Binding> bindings;
  };
  Result<Prepared> prepare(runtime::Device &device, const Buffers &buffers) const;
  Status checkBuffers(const Buffers &buffers) const;
  Result<LoadedKernels> loaded(runtime::Device &device) const;

  ForwardProblem description;
  std::vector<PlannedLaunch> steps;
  std::vector<manifest::TensorSpec> tensors; ///< of the problem
  std::vector<BufferNeed> needs;
  manifest::Variables variables; ///< of the problem, without addresses
  mutable std::mutex mutex; ///< of `devices`
  mutable std::unordered_map<runtime::Device *, LoadedKernels> devices;
};

/// Over what tells most problems apart: equal problems have equal hashes.
struct ProblemHash {
  size_t operator()(const ForwardProblem &problem) const;
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
        units(computeUnits), plans(maxPlans) {}

  /// The plan for `problem`: one launch, or two where its keys are split. `ForwardPlan::problem`
  /// then says into how many slices. Where the sources lack kernels for that, and the problem does
  /// not ask for slices, it is not split. Errors: `selectKernels`; NotFound if no source has the
  /// kernel; what compiling says. Remembered problems give the same plan; threads that ask at once
  /// wait for one another only while the kernel is being made.
  Result<std::shared_ptr<const ForwardPlan>> plan(const ForwardProblem &problem);

  const KernelRegistry &registry() const { return kernels; }
  const std::string &target() const { return architecture; }

private:
  Result<std::shared_ptr<const ForwardPlan>> makePlan(const ForwardProblem &problem,
                                                      unsigned computeUnits);
  Result<std::shared_ptr<const CompiledKernel>> find(const KernelEntry &entry,
                                                     const KernelVariant &variant);

  const KernelRegistry &kernels;
  std::vector<std::shared_ptr<KernelSource>> sources;
  std::string architecture;
  unsigned units;
  std::mutex mutex; ///< of `plans`
  RecentlyUsed<std::shared_ptr<const ForwardPlan>, ForwardProblem, ProblemHash> plans;
};

} // namespace hocket::attention
