// Backwards of a problem for tests: compiled without a cache, and run checked in the simulator.
#pragma once

#include "Verify/Attention/RunBackward.h"
#include "hocket/Attention/BackwardPlan.h"

namespace hocket {

/// The plan for `problem` on `target`, of which parts that have one follow `schedule`; errors of `planBackward`.
Result<std::shared_ptr<const attention::BackwardPlan>> planFor(const attention::BackwardProblem &problem,
                                                               const std::string &target, std::string_view schedule = {});

/// Runs it in 4 interleavings, whose bits must agree, with all checks, and expects the gradients to be right.
attention::BackwardReport runChecked(const attention::BackwardProblem &problem, attention::DataKind data, uint64_t seed,
                                     const std::string &target = "gfx950", std::string_view schedule = {});

} // namespace hocket
