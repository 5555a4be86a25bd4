// See VerifyListed.h.
#include "VerifyListed.h"

#include "BlockMask.h"

#include "Reference/ScoreInterpreter.h"
#include "Verify/Attention/RunBackward.h"
#include "Verify/Attention/RunForward.h"

#include <bit>

using namespace hocket;
using namespace hocket::run;
using namespace hocket::attention;

const LaunchPlan &run::launchPlanOf(const ListedPlan &plan) {
  return std::visit([](const auto &made) -> const LaunchPlan & { return *made; }, plan);
}

Result<ListedPlan> run::planListed(ToolPlanner &planner, llvm::StringRef choice, const ListedProblem &problem) {
  auto plan = [&](const auto &asked) -> Result<ListedPlan> {
    auto made = planner.plan(choice, asked);
    return made.ok() ? Result<ListedPlan>(*made) : made.error();
  };
  return std::visit(plan, problem);
}

/// What both passes are told.
template <typename RunOptions> static RunOptions optionsFor(const ListMaking &making, int64_t rows) {
  RunOptions options;
  options.seed = making.seed;
  options.maxCheckedRows = rows;
  options.verify = rows != 0;
  options.scoreRules = reference::interpretModifications;
  if (!making.blockMask.empty())
    options.blockLists = [making](const ForwardProblem &problem, const ForwardInputs &inputs) {
      return readBlockLists(making.blockMask, making.seed, problem, inputs);
    };
  return options;
}

static Result<ListedVerdict> runAndVerify(runtime::Device &device, const ForwardPlan &plan, const ListMaking &making,
                                    int64_t rows) {
  ListedVerdict verdict;
  auto options = optionsFor<ForwardOptions>(making, rows);
  options.save = [&](const ForwardInputs &, const ForwardOutputs &outputs) {
    verdict.outputs.emplace_back("o", outputs.o);
    if (!outputs.lse.empty()) {
      verify::TypedArray lse(ElementType::F32, outputs.lse.size());
      for (size_t i = 0; i != outputs.lse.size(); ++i)
        lse.setBits(i, std::bit_cast<uint32_t>(outputs.lse[i]));
      verdict.outputs.emplace_back("lse", std::move(lse));
    }
    return Status::success();
  };
  Result<ForwardReport> report = runForward(device, plan.launches(), plan.problem(), options);
  if (!report.ok())
    return report.error();
  verdict.failures = report->failures;
  return std::move(verdict);
}

static Result<ListedVerdict> runAndVerify(runtime::Device &device, const BackwardPlan &plan, const ListMaking &making,
                                    int64_t rows) {
  ListedVerdict verdict;
  auto options = optionsFor<BackwardOptions>(making, rows);
  options.save = [&](const BackwardInputs &, const BackwardOutputs &outputs) {
    verdict.outputs = {{"dq", outputs.dq}, {"dk", outputs.dk}, {"dv", outputs.dv}};
    for (const auto &[name, values] : outputs.others)
      verdict.outputs.emplace_back("d_" + name, values);
    return Status::success();
  };
  Result<BackwardReport> report = runBackward(device, plan.launches(), plan.problem(), options);
  if (!report.ok())
    return report.error();
  verdict.failures = report->failures;
  return std::move(verdict);
}

Result<ListedVerdict> run::verifyListed(runtime::Device &device, const ListedPlan &plan, const ListMaking &making,
                                        int64_t rows) {
  return std::visit([&](const auto &made) { return runAndVerify(device, *made, making, rows); }, plan);
}
