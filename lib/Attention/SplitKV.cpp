// What the launches of numbers of slices are expected to take (ExpectedTime.h), and the choice.
#include "hocket/Attention/SplitKV.h"

#include "ExpectedTime.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>

using namespace hocket;
using namespace hocket::attention;

/// Rounds of workgroups beyond which more slices are not looked at: the last round is then a small
/// part of the whole.
static constexpr int64_t kMostRounds = 16;
/// Slices up to which every number is looked at; beyond, every fourth power of the root of two.
static constexpr int64_t kEverySplit = 16;
/// Of numbers of slices that are expected to be this close to the best, the smallest is taken: it
/// needs the least workspace.
static constexpr double kCloseEnough = 1.01;

/// Rows are independent and alike: whole rounds. `keys` of the cost are slices folded at a time.
static double combineMicroseconds(const ForwardProblem &problem, const KernelCost &cost,
                                  int64_t splits, const Machine &machine) {
  int64_t blocks = static_cast<int64_t>(llvm::divideCeil(problem.seqQ, cost.rows)) * problem.heads *
                   problem.batch;
  int64_t together =
      std::min(cost.resident, static_cast<int64_t>(llvm::divideCeil(blocks, machine.units)));
  auto rounds = static_cast<double>(llvm::divideCeil(blocks, machine.units * together));
  auto steps = static_cast<int64_t>(llvm::divideCeil(splits, cost.keys));
  double cycles = cost.cyclesOf({.tiles = steps}, together) +
                  (rounds - 1) * cost.cyclesOf({.tiles = steps, .isFirst = false}, together);
  double share = std::min(1.0, double(blocks) / double(machine.units));
  double bytes = double(problem.batch * problem.heads * problem.seqQ) *
                 (double(problem.valueHeadDim() * (splits * kPartialBytes + bytesOf(problem.dtype.o))) +
                  double(splits * kPartialBytes));
  double compute = cycles / (machine.clock(share) * 1000);
  return std::max(compute, bytes / machine.bytesPerMicrosecond()) +
         machine.parameters.launchMicroseconds;
}

/// The numbers of slices to look at, in order; with those that give each compute unit one workgroup, and as many as fit,
/// of `perSlice` workgroups a slice.
static std::vector<int64_t> candidates(int64_t most, int64_t perSlice, const Machine &machine, int64_t resident) {
  std::vector<int64_t> list;
  for (int64_t splits = 2; splits <= most;
       splits += splits < kEverySplit ? 1 : std::max<int64_t>(splits / 4, 1))
    list.push_back(splits);
  for (int64_t filled : {machine.units / perSlice, machine.units * resident / perSlice})
    if (filled > kEverySplit && filled <= most)
      list.push_back(filled);
  llvm::sort(list);
  list.erase(llvm::unique(list), list.end());
  return list;
}

/// What `kernel` costs with heads of `dims`, or, where that is not known, with the least that hold them: whether to split
/// is clear long before some elements of a head matter. Null: neither is known.
static const KernelCost *roughCost(const KernelEntry &kernel, HeadDims dims, std::string_view architecture,
                                   bool lse = false) {
  if (const KernelCost *cost = kernel.costOf(dims, architecture, /*causal=*/false, lse))
    return cost;
  const HeadDims *least = nullptr;
  for (const KernelCost &cost : kernel.costs)
    if (cost.architecture == architecture && cost.headDims.qk >= dims.qk && cost.headDims.v >= dims.v &&
        (!least || cost.headDims.qk + cost.headDims.v < least->qk + least->v))
      least = &cost.headDims;
  return least ? kernel.costOf(*least, architecture, /*causal=*/false, lse) : nullptr;
}

std::vector<SplitEstimate>
attention::estimateSplits(const ForwardProblem &problem, const KernelEntry &whole,
                          const KernelEntry &slices, const KernelRegistry &registry,
                          std::string_view architecture, unsigned units) {
  Result<const ArchInfo *> arch = findArch(architecture);
  HeadDims dims{problem.headDim, problem.valueHeadDim()}, out{problem.valueHeadDim(), problem.valueHeadDim()};
  const KernelCost *wholeCost = roughCost(whole, dims, architecture, problem.wantLse),
                   *slicesCost = roughCost(slices, dims, architecture);
  if (!arch.ok() || !wholeCost || !slicesCost || units == 0)
    return {};
  Machine machine(*arch, units);
  int64_t most = kMostRounds * machine.units * slicesCost->resident;
  std::vector<SplitEstimate> estimates;
  SlicesLaunch one(problem, whole, *wholeCost, 1);
  // A grid of many rounds is evenly loaded as it is.
  if (one.workgroups() > most)
    return {};
  estimates.push_back({1, one.microseconds(machine), 0});
  auto tiles = static_cast<int64_t>(llvm::divideCeil(problem.seqKv, slicesCost->keys));
  const int64_t perSlice = SlicesLaunch(problem, slices, *slicesCost, 1).workgroups();
  for (int64_t splits : candidates(std::min(tiles, mostSplits), perSlice, machine, slicesCost->resident)) {
    SlicesLaunch launch(problem, slices, *slicesCost, splits);
    if (launch.workgroups() > most)
      break;
    ForwardProblem split = problem;
    split.tuning.numSplits = splits;
    Result<const KernelEntry *> combine = registry.selectCombine(split, architecture);
    const KernelCost *combineCost = combine.ok() ? roughCost(**combine, out, architecture) : nullptr;
    if (!combineCost)
      return {};
    estimates.push_back({splits, launch.microseconds(machine),
                         combineMicroseconds(problem, *combineCost, splits, machine)});
  }
  return estimates;
}

/// The smallest number of slices that is close to the best, if that is worth it.
static SplitChoice choose(std::vector<SplitEstimate> estimates, unsigned units) {
  SplitChoice choice;
  choice.estimates = std::move(estimates);
  if (choice.estimates.empty()) {
    choice.reason = "not split: the grid has more than " + std::to_string(kMostRounds) +
                    " rounds of workgroups on " + std::to_string(units) + " compute units";
    return choice;
  }
  double whole = choice.estimates.front().total(), best = whole;
  for (const SplitEstimate &estimate : choice.estimates)
    best = std::min(best, estimate.total());
  const SplitEstimate *taken = &choice.estimates.front();
  if (best < splitMustReach * whole)
    for (const SplitEstimate &estimate : choice.estimates)
      if (estimate.total() <= kCloseEnough * best) {
        taken = &estimate;
        break;
      }
  choice.splits = taken->splits;
  if (choice.splits == 1)
    choice.reason = llvm::formatv(
        "not split: expected are {0:F1} us, and {1:F1} us at best with slices", whole, best);
  else
    choice.reason = llvm::formatv(
        "{0} slices: expected are {1:F1} us and {2:F1} us to combine, {3:F1} us without, on {4} "
        "compute units",
        choice.splits, taken->slices, taken->combine, whole, units);
  return choice;
}

/// Kernels for `problem`, which says into how many slices it is split.
static Result<SelectedKernels> selectSplit(const KernelRegistry &registry,
                                           const ForwardProblem &problem,
                                           std::string_view architecture) {
  SelectedKernels selected{problem, {}, {problem.tuning.numSplits, {}, "as the problem says"}};
  Result<const KernelEntry *> slices = registry.select(problem, architecture);
  if (!slices.ok())
    return slices.error();
  Result<const KernelEntry *> combine = registry.selectCombine(problem, architecture);
  if (!combine.ok())
    return combine.error();
  selected.kernels = {*slices, *combine};
  return selected;
}

/// Queries up to which masks and block lists are taken for such as hide nothing: of decodes, most leave most of the keys.
static constexpr int64_t kFewQueries = 128;

static bool isMasked(const ForwardProblem &problem) {
  return problem.blocks.any() || llvm::any_of(problem.modifications, [](const Modification &modification) { return modification.isMask; });
}

/// The same problem with as many keys as one block of its rows sees, for all that is known of masks.
static ForwardProblem withSeenKeys(ForwardProblem problem) {
  if (isMasked(problem))
    problem.seqKv = std::min(problem.seqKv, mostKeysOfRow(problem) + problem.seqQ - 1);
  return problem;
}

/// The same problem, with no mask where it hides nothing: a sequence's only query sees all keys up to the diagonal,
/// which ends at the bottom right.
static ForwardProblem withoutIdleMask(ForwardProblem problem) {
  if (problem.seqQ == 1 && problem.visibility == Visibility::causal())
    problem.visibility = Visibility();
  return problem;
}

static Result<SelectedKernels> select(const KernelRegistry &registry, const ForwardProblem &problem,
                                      std::string_view architecture, unsigned units) {
  if (problem.tuning.isSplit())
    return selectSplit(registry, problem, architecture);
  Result<const KernelEntry *> whole = registry.select(problem, architecture, units);
  if (!whole.ok())
    return whole.error();
  SelectedKernels selected{problem, {*whole}, {1, {}, "not split, as the problem says"}};
  if (problem.tuning.numSplits == 1)
    return selected;
  if (problem.work.any()) {
    selected.split.reason = problem.work.slices ? "split as the list of work says" : "not split, but listed by work";
    return selected;
  }
  if (isMasked(problem) && problem.seqQ > kFewQueries) {
    selected.split.reason = "not split: what masks or block lists leave of the keys is not known";
    return selected;
  }
  ForwardProblem split = problem;
  split.tuning.numSplits = 2;
  Result<SelectedKernels> other = selectSplit(registry, split, architecture);
  if (!other.ok()) {
    selected.split.reason = "not split: no kernel does that for such heads";
    return selected;
  }
  HeadDims dims{problem.headDim, problem.valueHeadDim()};
  for (const KernelEntry *kernel : {*whole, other->kernels[0]})
    if (units == 0 || !roughCost(*kernel, dims, architecture)) {
      selected.split.reason = "not split: what '" + kernel->name + "' costs is not known on " +
                              std::string(architecture);
      return selected;
    }
  selected.split = choose(
      estimateSplits(withSeenKeys(problem), **whole, *other->kernels[0], registry, architecture, units),
      units);
  if (selected.split.splits == 1)
    return selected;
  selected.problem.tuning.numSplits = selected.split.splits;
  Result<const KernelEntry *> combine = registry.selectCombine(selected.problem, architecture);
  if (!combine.ok())
    return combine.error();
  selected.kernels = {other->kernels[0], *combine};
  return selected;
}

Result<SelectedKernels> attention::selectKernels(const KernelRegistry &registry, const ForwardProblem &problem,
                                                 std::string_view architecture, unsigned units) {
  Result<SelectedKernels> selected = select(registry, withoutIdleMask(problem), architecture, units);
  // What is wrong is said of the problem as it was given.
  return selected.ok() ? std::move(selected) : select(registry, problem, architecture, units);
}
