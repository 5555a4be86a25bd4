// From the command line to a backward.
#include "BackwardRequest.h"

#include "ForwardOptions.h"
#include "Output.h"
#include "ToolPlanner.h"

using namespace hocket;
using namespace hocket::run;
using namespace hocket::attention;

Result<BackwardProblem> run::readBackwardProblem(const Options &options) {
  if (Status status = checkBackwardOptions(options); !status.ok())
    return status.error();
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
  Result<int64_t> parts = groupParts(options);
  if (!parts.ok())
    return parts.error();
  problem.groupParts = *parts;
  problem.lseGradient = hasLseGradient(options);
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
  Result<ToolPlanner> planner = ToolPlanner::make({}, {architecture(options)});
  if (!planner.ok())
    return planner.error();
  showProgress("compiling", 0);
  std::string named = kernelName(options), schedule = scheduleName(options);
  return planner->plan(!named.empty() ? named : !schedule.empty() ? schedule : "auto", problem);
}
