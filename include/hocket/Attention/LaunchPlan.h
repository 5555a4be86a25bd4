// What plans are made of: launches in order, memory by name, one workspace.
//
// What a plan computes is not known here: it has tensors and variables, and kernels that take them.
#pragma once

#include "hocket/Attention/KernelSource.h"
#include "hocket/Manifest/Tensors.h"
#include "hocket/Runtime/Stream.h"

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

/// The memory of one run, by name: those of `LaunchPlan::buffers`. Addresses must be multiples of
/// 16 bytes. Buffers that the plan does not need are not looked at.
using Buffers = std::map<std::string, Buffer, std::less<>>;

/// Memory that a run needs.
struct BufferNeed {
  std::string name;
  uint64_t bytes = 0; ///< at least; 0: not needed
};

/// Launches, in this order, all on one stream; what one leaves in the workspace the next may read.
class LaunchPlan {
public:
  std::span<const PlannedLaunch> launches() const { return steps; }
  /// The memory that a run needs: tensors of the problem, in order, and last, where launches need any, "workspace": device
  /// memory that they share, whose content need not be kept.
  std::span<const BufferNeed> buffers() const { return needed; }
  /// What `buffers` has, and with 0 bytes the tensors that the problem does not want, and a workspace that is not needed.
  std::span<const BufferNeed> knownBuffers() const { return needs; }
  uint64_t workspaceBytes() const { return needs.back().bytes; }
  /// The plan as JSON, one object: the problem, of each launch kernel, SHA-256 of the code object, grid and arguments
  /// (addresses as names of buffers), and the buffers. Plans that do the same have the same text.
  std::string toJson() const;
  /// What the problem says, but for addresses (docs/Manifest.md).
  const manifest::Variables &knownVariables() const { return variables; }

  /// What each launch gets where memory is at `buffers`, in order: for who launches or times them himself. Errors:
  /// those of `run` that name a buffer. `own` are variables of the problem that this run has values of its own for, such as
  /// "dropout_seed": neither the kernels nor the sizes of memory may depend on them.
  Result<std::vector<manifest::Binding>> bind(const Buffers &buffers, const manifest::Variables &own = {}) const;

  /// Launches everything and waits. Loads the kernels first where `device` has not seen them; they
  /// stay loaded, and the device alive, until `unload` or the plan's end.
  ///
  /// Errors: Unsupported for a device of another architecture; InvalidInput for a buffer that is
  /// null, too small or misaligned, named with what was found and wanted; what loading and
  /// launching say. Reports are in the order of the launches.
  Result<std::vector<runtime::LaunchReport>> run(runtime::Device &device, const Buffers &buffers,
                                                 const manifest::Variables &own = {}) const;

  /// The same on `stream`, a stream of `device`, without waiting. Plan and buffers must live until
  /// the stream has passed the launches; what goes wrong there is reported by later calls on it.
  Status run(runtime::Device &device, const Buffers &buffers, runtime::Stream &stream,
             const manifest::Variables &own = {}) const;

  /// Loads the kernels on `device` without running them, so that the first run is not slower.
  Status load(runtime::Device &device) const;
  /// Gives back what was loaded on `device`; no run on it may be under way.
  void unload(runtime::Device &device) const;

protected:
  /// `temporaries` are tensors that one launch leaves for a later one: they have parts of the workspace of their own.
  LaunchPlan(std::vector<PlannedLaunch> launches, std::vector<manifest::TensorSpec> tensors,
             manifest::Variables variables, std::vector<manifest::TensorSpec> temporaries = {})
      : steps(std::move(launches)), tensors(std::move(tensors)), temporaries(std::move(temporaries)),
        variables(std::move(variables)) {}
  /// Finds out what memory is needed. Errors: a launch whose manifest does not take the problem, which `description`
  /// says in messages.
  Status measure(std::string description);

private:
  struct Loaded {
    std::shared_ptr<runtime::Module> module;
    std::shared_ptr<runtime::Kernel> kernel;
  };
  using LoadedKernels = std::shared_ptr<const std::vector<Loaded>>;
  /// A launch, ready but for the device.
  struct Prepared {
    LoadedKernels kernels;
    std::vector<manifest::Binding> bindings;
    std::vector<runtime::NumberList> lists;
  };
  Result<Prepared> prepare(runtime::Device &device, const Buffers &buffers, const manifest::Variables &own) const;
  manifest::Addresses addressesOf(const Buffers &buffers) const;
  Status checkBuffers(const Buffers &buffers) const;
  Result<LoadedKernels> loaded(runtime::Device &device) const;

  std::vector<PlannedLaunch> steps;
  std::vector<manifest::TensorSpec> tensors; ///< of the problem
  std::vector<manifest::TensorSpec> temporaries;
  std::map<std::string, uint64_t, std::less<>> places; ///< of temporaries in the workspace
  std::string title; ///< of the problem
  std::vector<BufferNeed> needs, needed; ///< `knownBuffers`, `buffers`
  manifest::Variables variables; ///< of the problem, without addresses
  mutable std::mutex mutex; ///< of `devices`
  mutable std::unordered_map<runtime::Device *, LoadedKernels> devices;
};

} // namespace hocket::attention
