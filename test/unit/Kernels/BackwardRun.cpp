// Backwards of a problem for tests.
#include "BackwardRun.h"

#include "Reference/ScoreInterpreter.h"
#include "hocket/Pipelines/ForwardKernel.h"
#include "hocket/Simulator/RuntimeDevice.h"

#include <gtest/gtest.h>

using namespace hocket;
using namespace hocket::attention;

Result<std::shared_ptr<const BackwardPlan>> hocket::planFor(const BackwardProblem &problem,
                                                            const std::string &target,
                                                            std::string_view schedule) {
  auto make = [&](const ForwardSemantics &semantics, const BackwardKernel &kernel)
      -> Result<std::shared_ptr<const CompiledKernel>> {
    CompileOptions options;
    options.target = target;
    if (!kernel.tuning.schedule.empty())
      options.schedule = kernel.tuning.schedule;
    options.allowSpills = kernel.tuning.allowSpills;
    Result<CompiledKernel> compiled =
        compileKernel(describeBackward(semantics, kernel), kernel.name, options);
    if (!compiled.ok())
      return compiled.error();
    return std::shared_ptr<const CompiledKernel>(
        std::make_shared<CompiledKernel>(*std::move(compiled)));
  };
  return planBackward(problem, make, schedule);
}

BackwardReport hocket::runChecked(const BackwardProblem &problem, DataKind data, uint64_t seed,
                          const std::string &target, std::string_view schedule) {
  Result<std::shared_ptr<const BackwardPlan>> plan = planFor(problem, target, schedule);
  EXPECT_TRUE(plan.ok()) << (plan.ok() ? "" : plan.error().message);
  if (!plan.ok())
    return {};
  BackwardOptions options;
  options.check = true;
  options.interleavings = 4;
  options.seed = seed;
  options.data = data;
  options.scoreRules = reference::interpretModifications;
  std::shared_ptr<runtime::Device> device = sim::createDevice(nullptr, target);
  Result<BackwardReport> report = runBackward(*device, (*plan)->launches(), problem, options);
  EXPECT_TRUE(report.ok()) << (report.ok() ? "" : report.error().message);
  if (!report.ok())
    return {};
  EXPECT_TRUE(report->passed()) << toText(*report);
  EXPECT_TRUE(report->verified);
  return *std::move(report);
}
