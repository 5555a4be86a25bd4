// Running a kernel on tensors by name, between guards, and judging what it left in them.
#pragma once

#include "KernelTensors.h"

#include "hocket/Manifest/NamedArguments.h"
#include "Verify/KernelRun.h"

namespace hocket::run {

/// What was expected of one tensor, and found.
struct Verdict {
  size_t tensor; ///< its number
  Comparison comparison;
};

struct NamedReport : verify::RunReport {
  std::vector<Array> results; ///< of each tensor, of the first launch
  std::vector<Verdict> verdicts;
};

/// Launches the kernel of `codeObject` on `tensors` and `scalars`, once for each interleaving, each
/// time from the tensors' initial values. Errors: what cannot be bound or done.
Result<NamedReport> runNamed(runtime::Device &device, std::span<const std::byte> codeObject,
                             const manifest::Manifest &manifest,
                             const std::vector<KernelTensor> &tensors,
                             const manifest::Variables &scalars, const verify::RunOptions &options);

} // namespace hocket::run
