// Runs the kernels of a backward on a device and judges the gradients, as RunForward.h does with a forward: tensors
// between guards, several interleavings that must agree to the bit, a float64 reference.
#pragma once

#include "Verify/Attention/BackwardReference.h"
#include "Verify/JsonMembers.h"
#include "Verify/KernelRun.h"
#include "hocket/Attention/KernelSource.h"
#include "hocket/Runtime/Device.h"

#include <functional>
#include <span>
#include <string>

namespace hocket::attention {

struct BackwardOptions : verify::RunOptions {
  DataKind data = DataKind::Normal;
  /// Called with what went in and what the first launch computed, before it is judged.
  std::function<Status(const BackwardInputs &inputs, const BackwardOutputs &outputs)> save;
  /// Makes what the reference does with modifications; a problem that has some cannot be verified without.
  MakeScoreRules scoreRules;
  /// Makes the lists of a problem with blocks; empty: lists of random blocks.
  MakeBlockLists blockLists;
};

struct BackwardReport : verify::RunReport {
  BackwardProblem problem;
  BackwardOptions options;
  uint64_t workspaceBytes = 0;
  BackwardErrors errors; ///< of the first launch; empty if not verified
};

/// Launches `launches` one after the other on `device`; they share a workspace. An Error is something that cannot be
/// used, or a kernel that did something illegal; wrong gradients are a report with failures.
Result<BackwardReport> runBackward(runtime::Device &device, std::span<const PlannedLaunch> launches,
                                   const BackwardProblem &problem,
                                   const BackwardOptions &options = {});

/// The report as JSON text, with a final newline; `more` writes members of the caller's at its end.
std::string toJson(const BackwardReport &report,
                   const verify::JsonMembers &more = verify::noMembers);
/// The report as a short table for people.
std::string toText(const BackwardReport &report);

} // namespace hocket::attention
