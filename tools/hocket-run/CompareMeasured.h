// Two kernels side by side where a device measures: both verified, measured and predicted.
#pragma once

#include "ForwardOptions.h"
#include "TimeRequest.h"
#include "ToolPlanner.h"

#include <string>
#include <vector>

namespace hocket::run {

/// Runs `choices` for `problem` on `device`, prints the comparison and writes it to `json`, if that names a file. Returns
/// the exit status. Predictions are those of the simulator, by the parameters of `time`.
Result<int> compareMeasured(runtime::Device &device, ToolPlanner &planner, const std::vector<std::string> &choices,
                            const attention::ForwardProblem &problem, const attention::ForwardOptions &options,
                            const TimeRequest &time, const std::string &json);

} // namespace hocket::run
