// From the command line to a backward.
#include "BackwardRequest.h"

#include "ForwardOptions.h"
#include "Output.h"

#include "hocket/Jit/Jit.h"

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
  return result;
}

Result<std::shared_ptr<const BackwardPlan>> run::makeBackwardPlan(const Options &options,
                                                                  const BackwardProblem &problem) {
  auto compiler = jit::Jit::create();
  if (!compiler.ok())
    return compiler.error();
  showProgress("compiling", 0);
  std::string chip = architecture(options);
  return planBackward(
      problem,
      [&](const ForwardSemantics &semantics, const BackwardKernel &kernel) {
        return (*compiler)->getBackward(semantics, kernel, chip);
      },
      scheduleName(options));
}
