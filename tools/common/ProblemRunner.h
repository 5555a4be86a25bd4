// A problem that can be run again and again on changed code: what `mutate` and `steady-state` need
// to know of it, whatever it computes.
#pragma once

#include "Verify/Attention/RunBackward.h"
#include "Verify/Attention/RunForward.h"
#include "Verify/Gemm/RunGemm.h"
#include "hocket/Attention/LaunchPlan.h"

#include <functional>

namespace hocket::run {

/// What differs from run to run.
struct RunControls {
  uint64_t seed = 0;          ///< of data and first interleaving
  unsigned interleavings = 1; ///< of the simulator
  bool check = false, verify = true;
  uint64_t instructionLimit = 0; ///< of one workgroup; 0: the simulator's default
};

/// `options` with what `controls` say; all kinds of problems name these alike.
template <typename Options>
Options withControls(Options options, const RunControls &controls) {
  options.seed = controls.seed;
  options.interleavings = controls.interleavings;
  options.check = controls.check;
  options.verify = controls.verify;
  options.instructionLimit = controls.instructionLimit;
  return options;
}

struct RunOutcome {
  std::vector<runtime::Finding> findings;
  std::vector<std::string> failures; ///< empty: right
  uint64_t waveInstructions = 0;     ///< of the first launch
};

/// Runs the problem with a code object's kernel.
using ProblemRunner = std::function<Result<RunOutcome>(
    runtime::Device &, std::span<const std::byte> codeObject, const RunControls &)>;

/// The launches of `plan`, to change one.
std::vector<attention::PlannedLaunch> copyLaunches(const attention::LaunchPlan &plan);

/// Runs `problem` as `options` say where the controls do not say otherwise. The code object is that
/// of launch `changed` of `launches`.
ProblemRunner runnerOf(std::vector<attention::PlannedLaunch> launches, size_t changed,
                       const attention::ForwardProblem &problem,
                       const attention::ForwardOptions &options);
/// The same of a backward.
ProblemRunner runnerOf(std::vector<attention::PlannedLaunch> launches, size_t changed,
                       const attention::BackwardProblem &problem,
                       const attention::BackwardOptions &options);
/// The same of `manifest`'s kernel.
ProblemRunner runnerOf(const manifest::Manifest &manifest, const gemm::GemmProblem &problem,
                       const gemm::GemmOptions &options);

} // namespace hocket::run
