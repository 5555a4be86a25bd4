#include "ExpectedTime.h"

#include "Simulator/GridSchedule.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <map>

using namespace hocket;
using namespace hocket::attention;

/// Workgroups beyond which looking at each takes too long for planning.
static constexpr int64_t kMostWorkgroups = 1 << 17;
/// Share of a workgroup's time that is left at least when the code is there: what code costs was measured beside others
/// and with tiles to compute, and may be more than all of a workgroup that has none.
static constexpr double kLeastWarm = 0.5;

void SlicesLaunch::forEach(
    const std::function<void(int64_t, int64_t, int64_t, int64_t)> &visit) const {
  bool lastFirst = problem.visibility.laterRowsSeeMore();
  const int64_t half = (blocks + 1) / 2;
  auto inOrder = [&](int64_t block) { return paired && block >= half ? blocks - 1 + half - block : block; };
  for (int64_t batch = 0; batch != problem.batch; ++batch)
    for (int64_t slice = 0; slice != splits; ++slice)
      for (int64_t block = 0; block != blocks; ++block)
        for (int64_t head = 0; head != problem.heads; ++head)
          visit(batch, head, lastFirst ? blocks - 1 - inOrder(block) : inOrder(block), slice);
}

/// The first XCD stands for all: workgroups are dealt to them in turn, and none has more.
double SlicesLaunch::computeMicroseconds(const Machine &machine) const {
  auto perUnit = static_cast<int64_t>(llvm::divideCeil(workgroups(), machine.units));
  const int64_t resident = std::min(cost.resident, perUnit), unitsPerXcd = machine.units / machine.xcds;
  const int64_t firsts = unitsPerXcd * resident;
  std::vector<sim::WorkgroupCycles> cyclesOf;
  int64_t number = 0;
  forEach([&](int64_t, int64_t, int64_t block, int64_t slice) {
    if (number++ % machine.xcds)
      return;
    const int64_t tiles = tilesOf(block, slice).size();
    const bool isFirst = static_cast<int64_t>(cyclesOf.size()) < firsts;
    const double alone = std::max(cost.cycles(tiles, 1), 0.0), together = std::max(cost.cycles(tiles, resident), 0.0);
    const double share = isFirst || together <= 0 ? 1 : std::max(1 - cost.coldCode / together, kLeastWarm);
    cyclesOf.push_back({alone * share, together * share, cost.skewOf(tiles, resident)});
  });
  return sim::scheduleGrid(machine.parameters, 1, static_cast<unsigned>(unitsPerXcd), static_cast<unsigned>(resident),
                           cyclesOf)
      .microseconds;
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

ForwardProblem attention::asCounted(ForwardProblem problem, const KernelEntry &kernel) {
  if (!kernel.tuning.groupRows)
    return problem;
  constexpr int64_t waveRows = 32;
  problem.seqQ *= static_cast<int64_t>(llvm::divideCeil(problem.heads / problem.kvHeads, waveRows));
  problem.heads = problem.kvHeads;
  return problem;
}

/// Whether what a workgroup computes follows from its rows, the corner of a causal mask and the lengths alone.
static bool isPlain(const ForwardProblem &problem) {
  const bool ownLengths = problem.lists.any() || problem.work.any(), isWindow = problem.visibility.kind().left >= 0;
  return !problem.isModified() && !ownLengths && !isWindow;
}

std::optional<double> attention::expectedMicroseconds(const ForwardProblem &problem, const KernelEntry &kernel,
                                                      const Machine &machine) {
  const KernelCost *cost = kernel.costOf({problem.headDim, problem.headDimV}, machine.arch->name,
                                         problem.visibility.laterRowsSeeMore(), problem.wantLse);
  if (!cost || !isPlain(problem))
    return std::nullopt;
  ForwardProblem counted = asCounted(problem, kernel);
  SlicesLaunch launch(counted, *cost, 1, kernel.tuning.blockOrder == "paired");
  if (launch.workgroups() > (cost->mostWorkgroups != 0 ? cost->mostWorkgroups : kMostWorkgroups))
    return std::nullopt;
  return launch.microseconds(machine);
}
