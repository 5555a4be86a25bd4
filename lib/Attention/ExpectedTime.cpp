#include "ExpectedTime.h"

#include "Grid/GridSchedule.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <map>
#include <optional>

using namespace hocket;
using namespace hocket::attention;

/// Workgroups beyond which looking at each takes too long for planning.
static constexpr int64_t kMostWorkgroups = 1 << 17;
void SlicesLaunch::forEach(
    const std::function<bool(int64_t, int64_t, int64_t, int64_t)> &visit) const {
  bool lastFirst = problem.visibility.laterRowsSeeMore();
  const int64_t half = (blocks + 1) / 2;
  auto inOrder = [&](int64_t block) { return paired && block >= half ? blocks - 1 + half - block : block; };
  for (int64_t batch = 0; batch != problem.batch; ++batch)
    for (int64_t slice = 0; slice != splits; ++slice)
      for (int64_t block = 0; block != blocks; ++block)
        for (int64_t head = 0; head != problem.heads; ++head)
          if (!visit(batch, head, lastFirst ? blocks - 1 - inOrder(block) : inOrder(block), slice))
            return;
}

WorkgroupLoad SlicesLaunch::loadOf(int64_t block, int64_t slice, bool isFirst) const {
  const KeyRange keys = keysOf(block), tiles = tilesOf(block, slice);
  const bool holdsLast = tiles.end * cost.keys >= keys.end;
  // Blocks that execute the same are alike to the cycle model, which times the first.
  const double rows = double(std::min(problem.seqQ - (blocksDiffer ? block : 0) * cost.rows, cost.rows));
  return {.tiles = tiles.size(),
          .lastKeys = holdsLast ? keys.end % cost.keys : 0,
          .rowShare = rows / double(cost.rows),
          .isFirst = isFirst};
}

/// Rounds of workgroups from which on it does not matter that XCDs get unlike ones.
static constexpr int64_t kManyRounds = 8;

/// Workgroups are dealt to the XCDs in turn. Where heads are dealt evenly the first stands for all: none has more.
double SlicesLaunch::computeMicroseconds(const Machine &machine) const {
  const auto perUnit = static_cast<int64_t>(llvm::divideCeil(workgroups(), machine.units));
  const int64_t resident = std::min(cost.resident, perUnit);
  // What is known of workgroups of a block and a slice, behind the first on their units and these: they are few.
  std::vector<std::optional<sim::WorkgroupCycles>> known(2 * blocks * splits);
  auto cyclesOfOne = [&](int64_t block, int64_t slice, bool isFirst) {
    std::optional<sim::WorkgroupCycles> &cycles = known[(block * splits + slice) * 2 + isFirst];
    if (!cycles) {
      const WorkgroupLoad load = loadOf(block, slice, isFirst);
      cycles = {cost.cyclesOf(load, 1), cost.cyclesOf(load, resident), cost.skewOf(load.tiles, resident)};
    }
    return *cycles;
  };
  const bool areXcdsAlike = problem.heads % machine.xcds == 0 || perUnit > kManyRounds * resident;
  std::vector<sim::WorkgroupCycles> cyclesOf;
  int64_t number = 0;
  forEach([&](int64_t, int64_t, int64_t block, int64_t slice) {
    const int64_t index = number++;
    if (!areXcdsAlike || index % machine.xcds == 0)
      cyclesOf.push_back(cyclesOfOne(block, slice, index < machine.units * resident));
    return true;
  });
  const auto xcds = static_cast<unsigned>(areXcdsAlike ? 1 : machine.xcds);
  const auto unitsPerXcd = static_cast<unsigned>(machine.units / machine.xcds);
  return sim::scheduleGrid(machine.parameters, xcds, unitsPerXcd, static_cast<unsigned>(resident), cyclesOf)
      .microseconds;
}

static double bytesOfRow(ElementType type, int64_t elements) {
  constexpr double bitsOfByte = 8;
  return double(elements) * infoOf(type).bits / bitsOfByte;
}

/// Bytes of the rows of a head: Q in, unless no key is seen, and what is computed of it out.
double SlicesLaunch::bytesOfRows(int64_t block, int64_t slice) const {
  const int64_t rows = std::min(problem.seqQ - block * cost.rows, cost.rows);
  const double in = tilesOf(block, slice).empty() ? 0 : bytesOfRow(problem.dtype.q, problem.headDim);
  const int64_t out = splits > 1 ? kPartialBytes : bytesOf(problem.dtype.o);
  return double(rows) * (in + double(problem.valueHeadDim() * out));
}

KeyRange SlicesLaunch::keysRead(int64_t block, int64_t slice) const {
  const KeyRange tiles = tilesOf(block, slice);
  return {tiles.begin * cost.keys, std::min(tiles.end * cost.keys, problem.seqKv)};
}

/// Of the keys that the first workgroups which run side by side on an XCD ask for, the share that no other asks for.
double SlicesLaunch::distinctShare(const Machine &machine) const {
  std::map<std::pair<int64_t, int64_t>, std::vector<KeyRange>> seen; ///< by batch and KV head
  const int64_t perXcd = problem.heads % machine.xcds == 0 ? problem.heads / machine.xcds : 0;
  const int64_t group = problem.heads / problem.kvHeads, together = machine.units / machine.xcds * cost.resident;
  double asked = 0, distinct = 0;
  int64_t number = 0;
  forEach([&](int64_t batch, int64_t place, int64_t block, int64_t slice) {
    const int64_t index = number++;
    if (index % machine.xcds != 0)
      return true;
    if (index / machine.xcds >= together)
      return false;
    const KeyRange keys = keysRead(block, slice);
    const int64_t head = perXcd ? place % machine.xcds * perXcd + place / machine.xcds : place;
    asked += double(keys.size());
    if (!keys.empty())
      seen[{batch, head / group}].push_back(keys);
    return true;
  });
  for (auto &[head, ranges] : seen) {
    std::sort(ranges.begin(), ranges.end(),
              [](const KeyRange &a, const KeyRange &b) { return a.begin < b.begin; });
    int64_t covered = 0;
    for (const KeyRange &range : ranges) {
      distinct += double(KeyRange{std::max(range.begin, covered), range.end}.size());
      covered = std::max(covered, range.end);
    }
  }
  return asked > 0 ? distinct / asked : 0;
}

/// What memory has to bring: rows, and the keys that workgroups ask for, less those that others on the XCD ask for at
/// the same time, as the cycle model has it.
double SlicesLaunch::memoryMicroseconds(const Machine &machine) const {
  double keys = 0, rowBytes = 0;
  for (int64_t block = 0; block != blocks; ++block)
    for (int64_t slice = 0; slice != splits; ++slice) {
      keys += double(keysRead(block, slice).size());
      rowBytes += bytesOfRows(block, slice);
    }
  const double ofKey = bytesOfRow(problem.dtype.k, problem.headDim) + bytesOfRow(problem.dtype.v, problem.valueHeadDim());
  const double keyBytes = ofKey * distinctShare(machine);
  return double(problem.batch * problem.heads) * (keys * keyBytes + rowBytes) / machine.bytesPerMicrosecond();
}

double SlicesLaunch::microseconds(const Machine &machine) const {
  return std::max(computeMicroseconds(machine), memoryMicroseconds(machine)) +
         machine.parameters.launchMicroseconds;
}

Machine Machine::under(const sim::TimeVariation &variation) const {
  Machine other = *this;
  for (const sim::TimeParameterInfo &info : sim::timeParameterTable())
    if (info.key == variation.key)
      other.parameters.*info.field = variation.value;
  return other;
}

double SlicesLaunch::loopShare() const {
  double loop = 0, all = 0;
  for (int64_t block = 0; block != blocks; ++block)
    for (int64_t slice = 0; slice != splits; ++slice) {
      WorkgroupLoad load = loadOf(block, slice, /*isFirst=*/false);
      const double cycles = cost.cyclesOf(load, cost.resident);
      load.tiles = std::min<int64_t>(load.tiles, 1);
      loop += std::max(cycles - cost.cyclesOf(load, cost.resident), 0.0);
      all += cycles;
    }
  return all > 0 ? loop / all : 0;
}

ExpectedTime SlicesLaunch::expected(const Machine &machine) const {
  const double compute = computeMicroseconds(machine), memory = memoryMicroseconds(machine);
  const double launch = machine.parameters.launchMicroseconds, loop = loopShare();
  ExpectedTime time = {std::max(compute, memory) + launch, {}};
  for (const sim::TimeVariation &variation : sim::timeVariations()) {
    const double slower = machine.bytesPerMicrosecond() / machine.under(variation).bytesPerMicrosecond();
    const double share = 1 + loop * (cost.shareUnder(sim::assignmentOf(variation)) - 1);
    time.varied.push_back(std::max(compute * share, memory * slower) + launch);
  }
  return time;
}

ForwardProblem attention::asCounted(ForwardProblem problem, const KernelEntry &kernel) {
  if (!kernel.tuning.groupRows)
    return problem;
  problem.seqQ *= problem.heads / problem.kvHeads;
  problem.heads = problem.kvHeads;
  return problem;
}

SlicesLaunch::SlicesLaunch(const ForwardProblem &problem, const KernelEntry &kernel, const KernelCost &cost,
                           int64_t splits)
    : problem(asCounted(problem, kernel)), lengths(problem.lengths()),
      rowsOfQuery(kernel.tuning.groupRows ? problem.heads / problem.kvHeads : 1), cost(cost), splits(splits), paired(kernel.tuning.blockOrder == "paired"),
      blocks(static_cast<int64_t>(llvm::divideCeil(this->problem.seqQ, cost.rows))),
      blocksDiffer(kernel.tuning.groupRows || problem.visibility.laterRowsSeeMore()) {}

/// Whether what a workgroup computes follows from its rows, the corner of a causal mask and the lengths alone.
static bool isPlain(const ForwardProblem &problem) {
  const bool ownLengths = problem.lists.any() || problem.work.any(), isWindow = problem.visibility.kind().left >= 0;
  return !problem.isModified() && !ownLengths && !isWindow;
}

std::optional<ExpectedTime> attention::expectedTime(const ForwardProblem &problem, const KernelEntry &kernel,
                                                    const Machine &machine) {
  const KernelCost *cost = kernel.costOf({problem.headDim, problem.valueHeadDim()}, machine.arch->name,
                                         problem.visibility.laterRowsSeeMore(), problem.wantLse);
  if (!cost || !isPlain(problem))
    return std::nullopt;
  SlicesLaunch launch(problem, kernel, *cost, 1);
  if (launch.workgroups() > kMostWorkgroups)
    return std::nullopt;
  return launch.expected(machine);
}
