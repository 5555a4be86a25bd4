// The occupancy model, and the choice.
//
// The constants that the cycle model has too (clock, memory, launch) are its parameters; what a
// workgroup costs was measured with it. The rest follows the hardware: workgroups are dealt to the
// XCDs in turn and there to the compute unit that is free first.
#include "hocket/Attention/SplitKV.h"

#include "Simulator/TimeParameters.h"
#include "Target/Arch/ArchInfo.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <functional>
#include <map>
#include <queue>

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
static constexpr int64_t kElementBytes = 2, kPartialBytes = 4;

namespace {
/// The device as the model sees it.
struct Machine {
  const ArchInfo *arch;
  int64_t units, xcds;
  sim::TimeParameters parameters;

  Machine(const ArchInfo *arch, int64_t units)
      : arch(arch), units(units), xcds(units % arch->chip.xcds == 0 ? arch->chip.xcds : 1),
        parameters(sim::TimeParameters().on(*arch)) {}

  double clock(double busy) const { return sim::effectiveClock(parameters, busy); }
  double bytesPerMicrosecond() const {
    return parameters.memoryPeak * parameters.memoryEfficiency * 1e6;
  }
};

/// One launch of workgroups that each compute a block of rows over a slice of the keys.
class SlicesLaunch {
public:
  SlicesLaunch(const ForwardProblem &problem, const KernelCost &cost, int64_t splits)
      : problem(problem), cost(cost), splits(splits),
        blocks(static_cast<int64_t>(llvm::divideCeil(problem.seqQ, cost.rows))) {}

  int64_t workgroups() const { return blocks * problem.heads * problem.batch * splits; }
  double microseconds(const Machine &machine) const;

private:
  /// The tiles of one workgroup, as the kernel divides them: those that hold a key which some row
  /// of its block sees, dealt to the slices.
  KeyRange tilesOf(int64_t block, int64_t slice) const {
    KeyRange keys =
        problem.visibility.rangeOfBlock(block * cost.rows, cost.rows, problem.lengths());
    int64_t first = keys.begin / cost.keys;
    auto behind = static_cast<int64_t>(llvm::divideCeil(keys.end, cost.keys));
    int64_t tiles = std::max<int64_t>(behind - first, 0);
    int64_t share = tiles / splits, longer = tiles % splits;
    int64_t begin = first + slice * share + std::min(slice, longer);
    return {begin, begin + share + (slice < longer)};
  }
  /// Calls `visit` with batch, head position, block and slice of every workgroup in its order.
  void forEach(const std::function<void(int64_t, int64_t, int64_t, int64_t)> &visit) const;
  double computeMicroseconds(const Machine &machine) const;
  double memoryMicroseconds(const Machine &machine) const;
  double bytesOfRows() const;

  const ForwardProblem &problem;
  const KernelCost &cost;
  int64_t splits, blocks;
};
} // namespace

void SlicesLaunch::forEach(
    const std::function<void(int64_t, int64_t, int64_t, int64_t)> &visit) const {
  bool lastFirst = problem.visibility.laterRowsSeeMore();
  for (int64_t batch = 0; batch != problem.batch; ++batch)
    for (int64_t slice = 0; slice != splits; ++slice)
      for (int64_t block = 0; block != blocks; ++block)
        for (int64_t head = 0; head != problem.heads; ++head)
          visit(batch, head, lastFirst ? blocks - 1 - block : block, slice);
}

/// Deals workgroups to the slots of the XCDs; the clock follows from the mean share that is busy.
double SlicesLaunch::computeMicroseconds(const Machine &machine) const {
  int64_t count = workgroups();
  auto perUnit = static_cast<int64_t>(llvm::divideCeil(count, machine.units));
  int64_t resident = std::min(cost.resident, perUnit);
  using Slots = std::priority_queue<double, std::vector<double>, std::greater<>>;
  std::vector<Slots> slots(static_cast<size_t>(machine.xcds));
  for (Slots &free : slots)
    for (int64_t i = 0; i != machine.units / machine.xcds * resident; ++i)
      free.push(0);
  double end = 0, busy = 0;
  size_t next = 0;
  forEach([&](int64_t, int64_t, int64_t block, int64_t slice) {
    KeyRange tiles = tilesOf(block, slice);
    double cycles = cost.cycles(tiles.size(), resident);
    Slots &free = slots[next++ % slots.size()];
    double done = free.top() + cycles;
    free.pop();
    free.push(done);
    end = std::max(end, done);
    busy += cycles;
  });
  if (end <= 0)
    return 0;
  double share = std::min(1.0, busy / end / double(machine.units));
  return end / (machine.clock(share) * 1000);
}

/// Bytes that each row moves: Q in, and what is computed of it out.
double SlicesLaunch::bytesOfRows() const {
  int64_t out = splits > 1 ? kPartialBytes : kElementBytes;
  return double(problem.headDim * kElementBytes + problem.headDimV * out);
}

/// What memory has to bring: the keys that workgroups ask for, less those that others on the XCD ask
/// for at the same time: the share of the first that run side by side there, as the cycle model has it.
double SlicesLaunch::memoryMicroseconds(const Machine &machine) const {
  double asked = 0, sampleAsked = 0, sampleDistinct = 0;
  std::map<std::pair<int64_t, int64_t>, std::vector<KeyRange>> seen; ///< by batch and KV head
  int64_t perXcd = problem.heads % machine.xcds == 0 ? problem.heads / machine.xcds : 0;
  int64_t group = problem.heads / problem.kvHeads, number = 0;
  int64_t together = machine.units / machine.xcds * cost.resident;
  forEach([&](int64_t batch, int64_t place, int64_t block, int64_t slice) {
    KeyRange tiles = tilesOf(block, slice);
    KeyRange keys = {tiles.begin * cost.keys, std::min(tiles.end * cost.keys, problem.seqKv)};
    double length = double(keys.size());
    asked += length;
    if (int64_t index = number++; index % machine.xcds == 0 && index / machine.xcds < together) {
      int64_t head = perXcd ? place % machine.xcds * perXcd + place / machine.xcds : place;
      sampleAsked += length;
      if (length > 0)
        seen[{batch, head / group}].push_back(keys);
    }
  });
  for (auto &[head, ranges] : seen) {
    std::sort(ranges.begin(), ranges.end(),
              [](const KeyRange &a, const KeyRange &b) { return a.begin < b.begin; });
    int64_t covered = 0;
    for (const KeyRange &range : ranges) {
      sampleDistinct += double(KeyRange{std::max(range.begin, covered), range.end}.size());
      covered = std::max(covered, range.end);
    }
  }
  double distinct = sampleAsked > 0 ? asked * sampleDistinct / sampleAsked : 0;
  double keyBytes = double((problem.headDim + problem.headDimV) * kElementBytes);
  double rows = double(problem.batch * problem.heads * problem.seqQ * splits);
  return (distinct * keyBytes + rows * bytesOfRows()) / machine.bytesPerMicrosecond();
}

double SlicesLaunch::microseconds(const Machine &machine) const {
  return std::max(computeMicroseconds(machine), memoryMicroseconds(machine)) +
         machine.parameters.launchMicroseconds;
}

/// Rows are independent and alike: whole rounds. `keys` of the cost are slices folded at a time.
static double combineMicroseconds(const ForwardProblem &problem, const KernelCost &cost,
                                  int64_t splits, const Machine &machine) {
  int64_t blocks = static_cast<int64_t>(llvm::divideCeil(problem.seqQ, cost.rows)) * problem.heads *
                   problem.batch;
  int64_t together =
      std::min(cost.resident, static_cast<int64_t>(llvm::divideCeil(blocks, machine.units)));
  auto rounds = static_cast<double>(llvm::divideCeil(blocks, machine.units * together));
  auto steps = static_cast<int64_t>(llvm::divideCeil(splits, cost.keys));
  double cycles = rounds * cost.cycles(steps, together);
  double share = std::min(1.0, double(blocks) / double(machine.units));
  double bytes = double(problem.batch * problem.heads * problem.seqQ) *
                 (double(problem.headDimV * (splits * kPartialBytes + kElementBytes)) +
                  double(splits * kPartialBytes));
  double compute = cycles / (machine.clock(share) * 1000);
  return std::max(compute, bytes / machine.bytesPerMicrosecond()) +
         machine.parameters.launchMicroseconds;
}

/// The numbers of slices to look at, in order.
static std::vector<int64_t> candidates(int64_t most) {
  std::vector<int64_t> list;
  for (int64_t splits = 2; splits <= most;
       splits += splits < kEverySplit ? 1 : std::max<int64_t>(splits / 4, 1))
    list.push_back(splits);
  return list;
}

/// `problem` as the grid of `kernel` counts it: where heads of a group are rows, items (queries, or parts of their
/// groups) of KV heads.
static ForwardProblem asCounted(ForwardProblem problem, const KernelEntry &kernel) {
  if (!kernel.tuning.groupRows)
    return problem;
  constexpr int64_t waveRows = 32;
  problem.seqQ *= static_cast<int64_t>(llvm::divideCeil(problem.heads / problem.kvHeads, waveRows));
  problem.heads = problem.kvHeads;
  return problem;
}

std::vector<SplitEstimate>
attention::estimateSplits(const ForwardProblem &problem, const KernelEntry &whole,
                          const KernelEntry &slices, const KernelEntry &combine,
                          std::string_view architecture, unsigned units) {
  Result<const ArchInfo *> arch = findArch(architecture);
  HeadDims dims{problem.headDim, problem.headDimV}, out{problem.headDimV, problem.headDimV};
  const KernelCost *wholeCost = whole.costOf(dims, architecture),
                   *slicesCost = slices.costOf(dims, architecture),
                   *combineCost = combine.costOf(out, architecture);
  if (!arch.ok() || !wholeCost || !slicesCost || !combineCost || units == 0)
    return {};
  Machine machine(*arch, units);
  int64_t most = kMostRounds * machine.units * slicesCost->resident;
  std::vector<SplitEstimate> estimates;
  ForwardProblem countedWhole = asCounted(problem, whole), counted = asCounted(problem, slices);
  SlicesLaunch one(countedWhole, *wholeCost, 1);
  // A grid of many rounds is evenly loaded as it is.
  if (one.workgroups() > most)
    return {};
  estimates.push_back({1, one.microseconds(machine), 0});
  auto tiles = static_cast<int64_t>(llvm::divideCeil(problem.seqKv, slicesCost->keys));
  for (int64_t splits : candidates(std::min(tiles, mostSplits))) {
    SlicesLaunch launch(counted, *slicesCost, splits);
    if (launch.workgroups() > most)
      break;
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

Result<SelectedKernels> attention::selectKernels(const KernelRegistry &registry,
                                                 const ForwardProblem &problem,
                                                 std::string_view architecture, unsigned units) {
  if (problem.tuning.isSplit())
    return selectSplit(registry, problem, architecture);
  Result<const KernelEntry *> whole = registry.select(problem, architecture);
  if (!whole.ok())
    return whole.error();
  SelectedKernels selected{problem, {*whole}, {1, {}, "not split, as the problem says"}};
  if (problem.tuning.numSplits == 1)
    return selected;
  if (problem.work.any()) {
    selected.split.reason = problem.work.slices ? "split as the list of work says" : "not split, but listed by work";
    return selected;
  }
  if (problem.isModified()) {
    selected.split.reason = "not split: what modifications leave of the keys is not known";
    return selected;
  }
  if (problem.lists.packedQ || problem.lists.usedQ) {
    selected.split.reason = "not split: nothing combines slices of packed queries";
    return selected;
  }
  ForwardProblem split = problem;
  split.tuning.numSplits = 2;
  Result<SelectedKernels> other = selectSplit(registry, split, architecture);
  if (!other.ok()) {
    selected.split.reason = "not split: no kernel does that for such heads";
    return selected;
  }
  HeadDims dims{problem.headDim, problem.headDimV};
  for (const KernelEntry *kernel : {*whole, other->kernels[0]})
    if (units == 0 || !kernel->costOf(dims, architecture)) {
      selected.split.reason = "not split: what '" + kernel->name + "' costs is not known on " +
                              std::string(architecture);
      return selected;
    }
  selected.split = choose(
      estimateSplits(problem, **whole, *other->kernels[0], *other->kernels[1], architecture, units),
      units);
  if (selected.split.splits == 1)
    return selected;
  selected.problem.tuning.numSplits = selected.split.splits;
  selected.kernels = std::move(other->kernels);
  return selected;
}
