// Runs a forward kernel on a device and verifies it: data in, launch, rules applied, report out.
//
// Every tensor stands between guard regions of NaN patterns; what lies outside the tensors must be
// the same after the launch, every output element must have been written, and several interleavings
// of the simulator's waves must agree to the bit.
#pragma once

#include "hocket/Attention/KernelSource.h"
#include "Verify/Attention/Reference.h"
#include "hocket/Manifest/Manifest.h"
#include "hocket/Runtime/Device.h"
#include "Verify/JsonMembers.h"
#include "Verify/KernelRun.h"

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>

namespace hocket::attention {

struct ForwardOptions : verify::RunOptions {
  DataKind data = DataKind::Normal;
  /// Called with what went in and what the first launch computed, before it is judged.
  std::function<Status(const ForwardInputs &inputs, const ForwardOutputs &outputs)> save;
  /// Makes what the reference does with modifications (lib/Reference/ScoreInterpreter.h); a problem that
  /// has some cannot be verified without.
  MakeScoreRules scoreRules;
  /// Makes the lists of a problem with blocks, from what its masks read; empty: lists of random blocks.
  std::function<Result<BlockLists>(const ForwardProblem &problem, const ForwardInputs &inputs)> blockLists;
  /// `inspect` executes the whole launch once more: verify what it leaves in O and LSE, too.
  bool verifyInspected = false;
};

struct ForwardReport : verify::RunReport {
  ForwardProblem problem;
  ForwardOptions options;
  uint64_t workspaceBytes = 0;
  ForwardErrors errors;                         ///< of the first launch; empty if not verified
  std::optional<ForwardErrors> inspectedErrors; ///< of what `inspect` executed
  double uploadSeconds = 0, referenceSeconds = 0, compareSeconds = 0;
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

/// The report as JSON text, one object, with a final newline (docs/HocketRun.md has the fields);
/// `more` writes members of the caller's at its end.
std::string toJson(const ForwardReport &report, const verify::JsonMembers &more = verify::noMembers);
/// The report as a short table for people.
std::string toText(const ForwardReport &report);

} // namespace hocket::attention
