// Runs a matrix product on a device and verifies it, as RunForward.h does an attention forward:
// guard regions of NaN around everything, several interleavings, rules applied, report out.
#pragma once

#include "hocket/Gemm/GemmReference.h"
#include "hocket/Manifest/Manifest.h"
#include "hocket/Runtime/Device.h"

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace hocket::gemm {

struct GemmOptions {
  DataKind data = DataKind::Normal;
  uint64_t seed = 0;             ///< of the data, the row sample and the first interleaving
  unsigned interleavings = 1;    ///< launches, each with another order of waves in the simulator
  int64_t maxCheckedRows = 0;    ///< 0: `defaultRowLimit`
  unsigned threads = 0;          ///< of the host; 0: all cores
  bool check = false;            ///< checked execution (simulator only)
  uint64_t instructionLimit = 0; ///< of one workgroup in the simulator; 0: its default
  bool verify = true;            ///< compare with the reference; guards are checked anyway
  uint64_t alignment = 16;       ///< of matrices, in bytes; in the simulator no better than that
  Progress progress;             ///< may be empty
  /// Called after the launches with the kernel and its arguments in place. May be empty.
  std::function<Status(runtime::Kernel &, const manifest::Binding &)> inspect;
};

struct GemmReport {
  GemmProblem problem;
  GemmOptions options;
  std::string kernel, device, architecture, deviceName;
  runtime::LaunchShape shape;
  runtime::KernelInfo kernelInfo;
  std::vector<runtime::LaunchReport> launches; ///< launch i had the seed `options.seed` + i
  GemmErrors errors;                           ///< of the first launch; empty if not verified
  bool verified = false;
  uint64_t outputHash = 0; ///< of the bits of C of the first launch
  std::vector<runtime::Finding> findings;
  std::vector<std::string> failures; ///< violated rules of all kinds

  bool passed() const { return failures.empty(); }
};

/// Runs `manifest`'s kernel of `codeObject` on `device`. An Error is something that cannot be used
/// or done; a wrong result is a report with failures.
Result<GemmReport> runGemm(runtime::Device &device, std::span<const std::byte> codeObject,
                           const manifest::Manifest &manifest, const GemmProblem &problem,
                           const GemmOptions &options = {});

/// The report as JSON text, one object, with a final newline (docs/HocketRun.md has the fields).
std::string toJson(const GemmReport &report);
/// The report as a short table for people.
std::string toText(const GemmReport &report);

} // namespace hocket::gemm
