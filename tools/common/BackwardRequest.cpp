// From the command line to a backward.
#include "BackwardRequest.h"

#include "ForwardOptions.h"
#include "KernelFinder.h"
#include "Output.h"

#include "hocket/Jit/Jit.h"

#include <algorithm>

using namespace hocket;
using namespace hocket::run;
using namespace hocket::attention;

Result<BackwardProblem> run::readBackwardProblem(const Options &options) {
  Result<ForwardProblem> forward = readProblem(options);
  if (!forward.ok())
    return forward.error();
  BackwardProblem problem{*std::move(forward)};
  if (problem.forward.sink)
    problem.otherGradients.insert("sink");
  for (const std::string &name : gradientNames(options))
    problem.otherGradients.insert(name);
  Result<Accumulation> accumulate = accumulation(options);
  if (!accumulate.ok())
    return accumulate.error();
  problem.accumulate = *accumulate;
  problem.deterministic = isDeterministic(options);
  problem.transposedLists = givesTransposedLists(options);
  return problem;
}

Result<BackwardOptions> run::readBackwardOptions(const Options &options) {
  Result<ForwardOptions> forward = readForwardOptions(options);
  if (!forward.ok())
    return forward.error();
  BackwardOptions result;
  static_cast<verify::RunOptions &>(result) = *forward;
  result.data = forward->data;
  result.scoreRules = forward->scoreRules;
  result.blockLists = forward->blockLists;
  return result;
}

Result<std::shared_ptr<const BackwardPlan>> run::makeBackwardPlan(const Options &options,
                                                                  const BackwardProblem &problem) {
  Result<KernelFinder> finder = KernelFinder::make({}, {architecture(options)});
  if (!finder.ok())
    return finder.error();
  showProgress("compiling", 0);
  std::string named = kernelName(options), schedule = scheduleName(options);
  std::string choice = !named.empty() ? named : !schedule.empty() ? schedule : "auto";
  Result<std::vector<PlannedLaunch>> launches = finder->findBackward(choice, problem);
  if (!launches.ok())
    return launches.error();
  return BackwardPlan::make(problem, *std::move(launches));
}

/// "fmha_bwd_dk_double_buffer, fmha_bwd_dv_double_buffer".
static std::string namesOf(const std::vector<BackwardKernel> &kernels) {
  std::string names;
  for (const BackwardKernel &kernel : kernels)
    names += (names.empty() ? "" : ", ") + kernel.name;
  return names;
}

/// The first line of what a compiler says; where in what it was made of follows.
static std::string firstLine(const std::string &message) { return message.substr(0, message.find('\n')); }

/// What is asked for and never chosen (docs/FusedBackward.md).
static std::string whyAtomicsOrNot(const BackwardProblem &problem) {
  if (problem.accumulate != Accumulation::None)
    return "              one loop, dQ added up by atomics: asked for\n";
  return "              no atomics: not asked for; in f32 they are predicted slower than two loops, packed ones round each "
         "sum, and with both dQ depends on timing\n";
}

Result<std::string> run::explainBackward(const Options &options, const BackwardProblem &problem) {
  const std::string schedule = scheduleName(options), chip = architecture(options);
  if (Status status = options.refuseUnread(options.name() + " --explain"); !status.ok())
    return status.error();
  if (Status status = checkBackward(problem, schedule); !status.ok())
    return status.error();
  auto compiler = jit::Jit::create();
  if (!compiler.ok())
    return compiler.error();
  std::string text = "problem       " + problem.describe() + "\n";
  for (const BackwardChoices &choices : backwardSteps(problem, schedule)) {
    Error last = internalError("a step of a backward without a kernel");
    std::string refused;
    bool isFound = false;
    for (const std::vector<BackwardKernel> &kernels : choices) {
      auto unmade = std::find_if(kernels.begin(), kernels.end(), [&](const BackwardKernel &kernel) {
        auto made = (*compiler)->getBackward(problem.forward, kernel, chip);
        if (!made.ok())
          last = made.error();
        return !made.ok();
      });
      isFound = unmade == kernels.end();
      if (isFound) {
        text += "chosen        " + namesOf(kernels) + "\n" + refused;
        break;
      }
      refused += "  not         " + namesOf(kernels) + ": " + firstLine(last.message) + "\n";
    }
    if (!isFound)
      return last;
  }
  return text + whyAtomicsOrNot(problem);
}
