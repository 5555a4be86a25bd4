// Plans of a backward: which kernels run, in which order.
//
// First delta and LSE for each row, then dK and dV by workgroups that hold keys, then dQ by workgroups that hold queries:
// no sum depends on timing, so the same problem gives the same bits whenever it runs. Gradients of other tensors, if
// they are asked for, come last, a kernel for each.
//
// Where there are fewer workgroups of keys than compute units, they share the query heads of a KV head, and a launch adds
// their sums up (`partsOfGroup`).
//
// Block lists of the forward are transposed by a launch in front, where nobody gives them.
//
// Where dQ may be added up by atomics, the first kernel also sets to 0 what is added to, one loop makes dK, dV and dQ,
// and a last kernel converts dQ.
#pragma once

#include "hocket/Attention/BackwardProblem.h"
#include "hocket/Attention/LaunchPlan.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hocket::attention {

/// The kernels of a backward.
enum class BackwardPart { Delta, DkDv, Dk, Dv, Dq, Sink, Captured, Fused, Convert, Sum, Lists };
/// "delta", "dkdv", "dk", "dv", "dq", "sink", "captured", "fused", "convert", "sum": as `attn.backward` spells them;
/// "lists" is `attn.transposed_lists`.
std::string_view toString(BackwardPart part);

/// How one part is made, where there is a choice; every one computes the same.
struct BackwardTuning {
  std::string schedule;                   ///< of kernels/schedules; empty for what is no loop over tiles
  std::optional<int64_t> waves, loopTile; ///< as the head size wants where they are left out
  /// The last resort of masks with many comparisons, of large heads and of `fused` with modifications: what registers
  /// have no room for may lie elsewhere, scalars in lanes of vector registers, those in memory of the work-item's own.
  bool allowSpills = false;
  std::string blockOrder = {}; ///< "paired"; empty: those with most to do first
};

/// A kernel of a part, and what it is called.
struct BackwardKernel {
  BackwardPart part = BackwardPart::Delta;
  BackwardTuning tuning;
  std::string name; ///< "fmha_bwd_dkdv_double_buffer"
  std::string tensor = {}; ///< of `Captured`: of which
  Accumulation accumulate = Accumulation::None; ///< of `Delta`, `Fused` and `Convert`
  bool lseGradient = false;                     ///< of `Delta`
  bool groupParts = false;                      ///< of what works on keys: parts of a group's heads are apart
};

/// Kernels that compute something together, and other ways to do so, the best first. Of some heads the registers decide,
/// when it is compiled, which of them is possible.
using BackwardChoices = std::vector<std::vector<BackwardKernel>>;

/// What must be computed, in order, each in one of several ways; with `schedule` ("sequential") only those that follow
/// schedules of that name, of parts that have one.
std::vector<BackwardChoices> backwardSteps(const BackwardProblem &problem,
                                           std::string_view schedule = {});

/// The `attn.backward` of a kernel of the gradients of `semantics`, with the modifications that it names.
std::string describeBackward(const ForwardSemantics &semantics, const BackwardKernel &kernel);

class BackwardPlan : public LaunchPlan {
public:
  /// A plan of `launches` for `problem`. Errors: a launch whose manifest does not take it.
  static Result<std::shared_ptr<const BackwardPlan>> make(BackwardProblem problem,
                                                          std::vector<PlannedLaunch> launches);

  const BackwardProblem &problem() const { return description; }

private:
  BackwardPlan(BackwardProblem problem, std::vector<PlannedLaunch> launches)
      : LaunchPlan(std::move(launches), problem.tensors(), problemVariables(problem), problem.temporaries()),
        description(std::move(problem)) {}

  BackwardProblem description;
};

/// Whether there are kernels for `problem`, without making them. Errors: what `validate` refuses; Unsupported for what
/// has no backward; InvalidInput for a `schedule` that none of its parts has.
Status checkBackward(const BackwardProblem &problem, std::string_view schedule = {});

/// Makes a kernel of a part for semantics: a compiler, a cache.
using MakeBackwardKernel = std::function<Result<std::shared_ptr<const CompiledKernel>>(
    const ForwardSemantics &semantics, const BackwardKernel &kernel)>;

/// The plan for `problem`: of each step the first choice whose kernels can be made. Errors: those of
/// `checkBackward`; what making a step's last choice says.
Result<std::shared_ptr<const BackwardPlan>> planBackward(const BackwardProblem &problem,
                                                         const MakeBackwardKernel &make,
                                                         std::string_view schedule = {});

} // namespace hocket::attention
