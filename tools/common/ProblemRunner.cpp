// Attention forwards and matrix products behind one signature.
#include "ProblemRunner.h"

using namespace hocket;
using namespace hocket::run;

/// `options` with what `controls` say; both kinds of problems name these alike.
template <typename Options>
static Options withControls(Options options, const RunControls &controls) {
  options.seed = controls.seed;
  options.interleavings = controls.interleavings;
  options.check = controls.check;
  options.verify = controls.verify;
  options.instructionLimit = controls.instructionLimit;
  return options;
}

ProblemRunner run::runnerOf(std::vector<attention::PlannedLaunch> launches, size_t changed,
                            const attention::ForwardProblem &problem,
                            const attention::ForwardOptions &options) {
  return [=](runtime::Device &device, std::span<const std::byte> codeObject,
             const RunControls &controls) -> Result<RunOutcome> {
    std::vector<attention::PlannedLaunch> all = launches;
    auto kernel = std::make_shared<attention::CompiledKernel>(*all[changed].compiled);
    kernel->codeObject.assign(reinterpret_cast<const char *>(codeObject.data()), codeObject.size());
    all[changed].compiled = std::move(kernel);
    Result<attention::ForwardReport> report =
        attention::runForward(device, all, problem, withControls(options, controls));
    if (!report.ok())
      return report.error();
    return RunOutcome{report->findings, report->failures,
                      report->launches.front().waveInstructions()};
  };
}

ProblemRunner run::runnerOf(const manifest::Manifest &manifest, const gemm::GemmProblem &problem,
                            const gemm::GemmOptions &options) {
  return [=](runtime::Device &device, std::span<const std::byte> codeObject,
             const RunControls &controls) -> Result<RunOutcome> {
    Result<gemm::GemmReport> report =
        gemm::runGemm(device, codeObject, manifest, problem, withControls(options, controls));
    if (!report.ok())
      return report.error();
    return RunOutcome{report->findings, report->failures,
                      report->launches.front().waveInstructions()};
  };
}
