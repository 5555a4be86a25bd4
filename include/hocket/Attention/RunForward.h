// Runs a forward kernel on a device and verifies it: data in, launch, rules applied, report out.
//
// Every tensor stands between guard regions of NaN patterns; what lies outside the tensors must be
// the same after the launch, every output element must have been written, and several interleavings
// of the simulator's waves must agree to the bit.
#pragma once

#include "hocket/Attention/KernelSource.h"
#include "hocket/Attention/Reference.h"
#include "hocket/Manifest/Manifest.h"
#include "hocket/Runtime/Device.h"

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace hocket::attention {

struct ForwardOptions {
  DataKind data = DataKind::Normal;
  uint64_t seed = 0;             ///< of the data, the row sample and the first interleaving
  unsigned interleavings = 1;    ///< launches, each with another order of waves in the simulator
  int64_t maxCheckedRows = 0;    ///< 0: `defaultRowLimit`
  unsigned threads = 0;          ///< of the host; 0: all cores
  bool check = false;            ///< checked execution (simulator only)
  uint64_t instructionLimit = 0; ///< of one workgroup in the simulator; 0: its default
  bool verify = true;            ///< compare with the reference; guards are checked anyway
  uint64_t alignment = 16;       ///< of tensors, in bytes; in the simulator no better than that
  Progress progress;             ///< may be empty
  /// Called after the launches, before anything is verified, for each kernel in order, with its
  /// arguments in place. May be empty. An error ends the run.
  std::function<Status(runtime::Kernel &, const manifest::Binding &)> inspect;
  /// `inspect` executes the whole launch once more: verify what it leaves in O and LSE, too.
  bool verifyInspected = false;
};

/// One launch of all kernels.
struct ForwardLaunch {
  uint64_t seed = 0;
  runtime::LaunchReport report; ///< of the first kernel
  std::vector<runtime::LaunchReport> further;

  // Sums over the kernels.
  double seconds() const;
  uint64_t waveInstructions() const;
  uint64_t workgroups() const;
};

/// A kernel of the run.
struct ForwardKernelInfo {
  std::string name;
  runtime::LaunchShape shape;
  uint64_t kernargBytes = 0;
  runtime::KernelInfo info;
};

struct ForwardReport {
  ForwardProblem problem;
  ForwardOptions options;
  std::string device, architecture, deviceName;
  std::vector<ForwardKernelInfo> kernels; ///< in the order in which they are launched
  uint64_t workspaceBytes = 0;
  std::vector<ForwardLaunch> launches;
  ForwardErrors errors; ///< of the first launch; empty if not verified
  std::optional<ForwardErrors> inspectedErrors; ///< of what `inspect` executed
  bool verified = false;
  /// Of the bits of O and LSE of the first launch: equal results have equal hashes.
  uint64_t outputHash = 0;
  double uploadSeconds = 0, referenceSeconds = 0, compareSeconds = 0;
  std::vector<runtime::Finding> findings; ///< of checked execution, all launches together
  /// Violated rules of all kinds: the errors', guards overwritten, interleavings that differ.
  std::vector<std::string> failures;

  bool passed() const { return failures.empty(); }
};

/// Launches `launches` one after the other on `device`; they share a workspace. An Error is a
/// problem, manifest, code object or device that cannot be used, or a kernel that did something
/// illegal; a wrong result is a report with failures.
Result<ForwardReport> runForward(runtime::Device &device, std::span<const PlannedLaunch> launches,
                                 const ForwardProblem &problem, const ForwardOptions &options = {});

/// The same of one kernel: `manifest`'s of `codeObject`.
Result<ForwardReport> runForward(runtime::Device &device, std::span<const std::byte> codeObject,
                                 const manifest::Manifest &manifest, const ForwardProblem &problem,
                                 const ForwardOptions &options = {});

/// The report as JSON text, one object, with a final newline (docs/HocketRun.md has the fields).
std::string toJson(const ForwardReport &report);
/// The report as a short table for people.
std::string toText(const ForwardReport &report);

} // namespace hocket::attention
