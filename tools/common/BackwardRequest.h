// From the command line to a backward: what 'fmha-bwd' and 'mutate fmha-bwd' share.
#pragma once

#include "Options.h"

#include "Verify/Attention/RunBackward.h"
#include "hocket/Attention/BackwardPlan.h"

namespace hocket::run {

/// The problem; options that say how a forward is computed are refused.
Result<attention::BackwardProblem> readBackwardProblem(const Options &options);
/// Data, seeds, interleavings, verification.
Result<attention::BackwardOptions> readBackwardOptions(const Options &options);
/// Kernels for `problem`, compiled in process, that follow --schedule.
Result<std::shared_ptr<const attention::BackwardPlan>>
makeBackwardPlan(const Options &options, const attention::BackwardProblem &problem);

} // namespace hocket::run
