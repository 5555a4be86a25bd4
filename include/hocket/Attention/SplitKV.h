// Whether and into how many slices the keys of a problem are split (docs/SplitKV.md).
//
// An occupancy model of the device: what each workgroup costs (data of the registry), how many run
// at a time, in how many rounds; the memory that they share; and the second launch that folds the
// slices. It predicts what the cycle model predicts, in microseconds instead of seconds, and is
// checked against it ('hocket-dev splits').
#pragma once

#include "hocket/Attention/Kernels.h"

#include <string>
#include <vector>

namespace hocket::attention {

/// What the heuristic expects of one number of slices, microseconds.
struct SplitEstimate {
  int64_t splits = 1;
  double slices = 0;  ///< the first launch
  double combine = 0; ///< the second; 0 without
  double total() const { return slices + combine; }
};

/// What came of the heuristic.
struct SplitChoice {
  int64_t splits = 1;
  std::vector<SplitEstimate> estimates; ///< the first is of 1; empty: not asked
  std::string reason;                   ///< one line, for people
};

/// The kernels of a plan.
struct SelectedKernels {
  ForwardProblem problem;                   ///< with the number of slices, if it is split
  std::vector<const KernelEntry *> kernels; ///< in the order of their launches
  SplitChoice split;
};

/// A workgroup costs less than so much of what it saves: a split must be expected to take at most
/// this share of the time of the whole.
inline constexpr double splitMustReach = 0.94;

/// Estimates `whole` on `problem`, and `slices` with what `registry` has to combine them for every number of slices worth
/// a thought. All entries must have costs for the problem's heads or for larger ones. `units`: compute units of the
/// device, at least 1.
std::vector<SplitEstimate> estimateSplits(const ForwardProblem &problem, const KernelEntry &whole,
                                          const KernelEntry &slices, const KernelRegistry &registry,
                                          std::string_view architecture, unsigned units);

/// The kernels that `problem` needs on a device with `units` compute units (0: do not split unless
/// the problem says so). Errors: `KernelRegistry::select`; Unsupported where the problem asks for
/// slices and nothing makes or combines them.
Result<SelectedKernels> selectKernels(const KernelRegistry &registry, const ForwardProblem &problem,
                                      std::string_view architecture, unsigned units);

} // namespace hocket::attention
