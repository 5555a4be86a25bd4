// What --explain of fmha-fwd and fmha-bwd prints: why the planner plans what it plans, and the plan.
#pragma once

#include "ForwardOptions.h"

namespace hocket::run {

/// The registry's choice, the split, and the plan, as text and as JSON. Errors: those of planning.
Result<int> explainForward(const Options &options, const attention::ForwardProblem &problem);
/// For each step of `problem` the kernels that it gets, and why not those that are better in general; the plan as JSON.
Result<int> explainBackward(const Options &options, const attention::BackwardProblem &problem);

} // namespace hocket::run
