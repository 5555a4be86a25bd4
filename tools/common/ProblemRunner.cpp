// Attention forwards and matrix products behind one signature.
#include "ProblemRunner.h"

using namespace hocket;
using namespace hocket::run;

/// `launches`, of which number `changed` has another code object.
static std::vector<attention::PlannedLaunch>
withCodeObject(std::vector<attention::PlannedLaunch> launches, size_t changed,
               std::span<const std::byte> codeObject) {
  auto kernel = std::make_shared<attention::CompiledKernel>(*launches[changed].compiled);
  kernel->codeObject.assign(reinterpret_cast<const char *>(codeObject.data()), codeObject.size());
  launches[changed].compiled = std::move(kernel);
  return launches;
}

std::vector<attention::PlannedLaunch> run::copyLaunches(const attention::LaunchPlan &plan) {
  return {plan.launches().begin(), plan.launches().end()};
}

ProblemRunner run::runnerOf(std::vector<attention::PlannedLaunch> launches, size_t changed,
                            const attention::ForwardProblem &problem,
                            const attention::ForwardOptions &options) {
  return [=](runtime::Device &device, std::span<const std::byte> codeObject,
             const RunControls &controls) -> Result<RunOutcome> {
    Result<attention::ForwardReport> report =
        attention::runForward(device, withCodeObject(launches, changed, codeObject), problem,
                              withControls(options, controls));
    if (!report.ok())
      return report.error();
    return RunOutcome{report->findings, report->failures,
                      report->launches.front().waveInstructions()};
  };
}

ProblemRunner run::runnerOf(std::vector<attention::PlannedLaunch> launches, size_t changed,
                            const attention::BackwardProblem &problem,
                            const attention::BackwardOptions &options) {
  return [=](runtime::Device &device, std::span<const std::byte> codeObject,
             const RunControls &controls) -> Result<RunOutcome> {
    Result<attention::BackwardReport> report =
        attention::runBackward(device, withCodeObject(launches, changed, codeObject), problem,
                               withControls(options, controls));
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
