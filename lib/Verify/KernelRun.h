// Running kernels on a device and judging them, whatever they compute: options, report, and the
// steps that every run has.
//
// What cannot be used or done is an Error; what a kernel did wrong is a sentence in the report's
// `failures`, so that one run tells everything there is to tell.
#pragma once

#include "hocket/Manifest/Manifest.h"
#include "hocket/Manifest/Tensors.h"
#include "hocket/Runtime/Device.h"
#include "Simulator/Clusters.h"
#include "Verify/DeviceTensor.h"
#include "Verify/Parallel.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace hocket::verify {

struct RunOptions {
  uint64_t seed = 0;             ///< of the data, the row sample and the first interleaving
  unsigned interleavings = 1;    ///< launches, each with another order of waves in the simulator
  int64_t maxCheckedRows = 0;    ///< 0: what takes about a minute of one core
  unsigned threads = 0;          ///< of the host; 0: all cores
  bool check = false;            ///< checked execution (simulator only)
  uint64_t instructionLimit = 0; ///< as `runtime::SimulationOptions::maxWaveInstructions`
  double hangSeconds = 0;        ///< as its `maxSeconds`
  bool verify = true;            ///< compare with the reference; guards are checked anyway
  bool launches = true;          ///< run at all, before `inspect`
  uint64_t alignment = 16;       ///< of tensors, in bytes; in the simulator no better than that
  Progress progress;             ///< may be empty
  /// Called after the launches, before anything is verified, for each kernel in order, with its
  /// arguments in place. May be empty. An error ends the run.
  std::function<Status(runtime::Kernel &, const manifest::Binding &)> inspect;
};

/// A kernel of a run.
struct KernelSummary {
  std::string name;
  runtime::LaunchShape shape;
  uint64_t kernargBytes = 0;
  runtime::KernelInfo info;
};

/// One launch of all kernels of a run.
struct RunLaunch {
  uint64_t seed = 0;
  std::vector<runtime::LaunchReport> kernels; ///< in order, up to one that did not finish

  // Sums over the kernels.
  double seconds() const;
  uint64_t waveInstructions() const;
  uint64_t workgroups() const;
};

struct RunReport {
  std::string device, architecture, deviceName;
  std::vector<KernelSummary> kernels; ///< in the order in which they are launched
  std::vector<RunLaunch> launches;
  bool verified = false;
  /// Of the bits of what the first launch computed: equal results have equal hashes.
  uint64_t outputHash = 0;
  std::vector<runtime::Finding> findings; ///< of checked execution, all launches together
  /// Violated rules of all kinds: the errors', guards overwritten, interleavings that differ.
  std::vector<std::string> failures;

  bool passed() const { return failures.empty(); }
  /// Fills in which device it is about.
  void describe(const runtime::Device &used);
};

/// What the checks, the cycle model and `steady-state` want to know of a kernel's schedule.
sim::ClusterNumbers clustersOf(const manifest::Manifest &manifest);

/// A kernel on a device, and its arguments once they are bound.
struct LoadedKernel {
  const manifest::Manifest *manifest = nullptr;
  std::shared_ptr<runtime::Module> module;
  std::shared_ptr<runtime::Kernel> kernel;
  manifest::Substitutes instead = {}; ///< tensors that it gets in the place of others
  manifest::Binding binding = {};
};

/// The steps; a run of a certain kind derives from it. `device`, `options` and `report` outlive it.
class KernelRun {
protected:
  KernelRun(runtime::Device &device, const RunOptions &options, RunReport &report)
      : device(device), options(options), report(report) {}

  /// Loads the kernel that `manifest` is about and adds it to `kernels`, if it is for this device
  /// and for a problem of these variables. `manifest` must live as long as the run.
  Status load(std::span<const std::byte> codeObject, const manifest::Manifest &manifest,
              const manifest::Variables &problem, const manifest::Substitutes &instead = {});
  /// Gives all kernels their arguments.
  Status bind(const manifest::Variables &problem);

  /// Launches all kernels, waves in the order of `seed`. A checked launch that did not finish is a
  /// failure in the report and sets `faulted`.
  Status launch(uint64_t seed);
  /// `launchOnce(seed, first)` for each interleaving; then the options' `inspect`.
  Status launchAll(const std::function<Status(uint64_t seed, bool first)> &launchOnce);
  /// Calls the options' `inspect`, if there is one, for each kernel.
  Status inspect();

  /// Reads `tensor`, called `name` ("tensor 'q'"), back into `to` and reports bytes that changed
  /// around it; `launch` says in which launch.
  Status collect(const DeviceTensor &tensor, const std::string &name, std::span<std::byte> to,
                 const std::string &launch);
  /// The launch with `seed` computed other bits than the first.
  void reportDifference(uint64_t seed);
  /// " (interleaving seed 3)" in the simulator.
  std::string launchName(uint64_t seed) const;
  /// The comparison is done: its failures come first.
  void addVerdict(const std::vector<std::string> &failures);
  /// Fills in what is known at the end.
  void finish();

  void say(const std::string &phase, double fraction = 0) const {
    if (options.progress)
      options.progress(phase, fraction);
  }

  runtime::Device &device;
  const RunOptions &options;
  RunReport &report;
  std::vector<LoadedKernel> kernels;
  std::vector<runtime::NumberList> lists; ///< that kernels follow
  bool faulted = false; ///< a checked launch did not finish, its result means nothing
};

/// The bytes of `values`.
template <typename T> std::span<std::byte> bytesOf(std::vector<T> &values) {
  return std::as_writable_bytes(std::span(values));
}
/// Whether two arrays hold the same bits: NaN is not equal to itself.
bool sameBits(std::span<const std::byte> a, std::span<const std::byte> b);
/// Of arrays, one after the other.
uint64_t hashBits(std::span<const std::span<const std::byte>> arrays);

} // namespace hocket::verify
