// Runs and verifies a problem of a list, forward or backward, as `hocket-run fmha-fwd` and `fmha-bwd` do.
#pragma once

#include "ListedContents.h"
#include "ToolPlanner.h"

#include "Verify/TypedArray.h"

#include <variant>

namespace hocket::run {

/// A plan of a problem of a list.
using ListedPlan = std::variant<ForwardPlanPointer, BackwardPlanPointer>;
const attention::LaunchPlan &launchPlanOf(const ListedPlan &plan);
/// By `choice`, as `ToolPlanner::plan` takes it.
Result<ListedPlan> planListed(ToolPlanner &planner, llvm::StringRef choice, const ListedProblem &problem);

/// What came of it.
struct ListedVerdict {
  std::vector<std::string> failures; ///< empty: right
  /// What was computed, by the tensors' names, in order; LSE as f32.
  std::vector<std::pair<std::string, verify::TypedArray>> outputs;

  bool passed() const { return failures.empty(); }
};

/// Compares at most so many rows with the float64 reference (0: none, guards and unwritten elements alone). An error is
/// what cannot be run.
Result<ListedVerdict> verifyListed(runtime::Device &device, const ListedPlan &plan, const ListMaking &making,
                                   int64_t rows);

} // namespace hocket::run
