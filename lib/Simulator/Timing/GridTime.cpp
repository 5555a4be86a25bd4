// Puts the pieces of a grid's prediction together.
#include "hocket/Simulator/GridTime.h"

#include "GridKinds.h"
#include "TimeProgram.h"
#include "TimedTable.h"

#include "hocket/Simulator/RuntimeDevice.h"
#include "hocket/Target/Arch/ArchInfo.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <tuple>
#include <unordered_set>

using namespace hocket;
using namespace hocket::sim;
using llvm::format;
namespace json = llvm::json;

/// Kinds that are timed; the others are interpolated.
static constexpr size_t mostTimed = 5;

namespace {
/// Counts the lines that workgroups running side by side on one XCD read, all and distinct.
class LineCounter final : public Instrument {
public:
  LineCounter(TimedTable &table, const Text &text) : table(table), text(text) {}
  std::unique_ptr<Observer> observe(const LaunchContext &) override {
    return std::make_unique<Watcher>(*this);
  }
  std::unordered_set<uint64_t> all, own;
  uint64_t asked = 0;

private:
  uint64_t bytesOf(const Instruction &instruction) {
    return table.get(static_cast<uint32_t>(&instruction - text.instructions())).bytes;
  }
  struct Watcher final : Observer {
    explicit Watcher(LineCounter &counter) : counter(counter) {}
    void begin(Workgroup &) override { counter.own.clear(); }
    void issued(Wave &, const PendingOp &op, bool) override {
      Encoding encoding = op.instruction->encoding;
      if (encoding != Encoding::MUBUF && encoding != Encoding::FLAT)
        return;
      uint64_t step = counter.bytesOf(*op.instruction);
      for (unsigned lane = 0; lane < waveSize; ++lane)
        if ((op.mask >> lane & 1) && !(op.partial && op.inRange[lane] == 0))
          counter.own.insert((op.linear ? op.address[0] + lane * step : op.address[lane]) / 128);
    }
    void end(Workgroup &) override {
      counter.asked += counter.own.size();
      counter.all.insert(counter.own.begin(), counter.own.end());
    }
    LineCounter &counter;
  };
  TimedTable &table;
  const Text &text;
};

class Predictor {
public:
  Predictor(Program &program, size_t kernel, const runtime::LaunchShape &shape,
            std::span<const std::byte> kernarg, const TimingOptions &options, KindCache *cache)
      : program(program), kernel(kernel), shape(shape), kernarg(kernarg), options(options),
        cache(cache ? *cache : ownCache) {}
  Result<GridTime> run();

private:
  Status findKinds();
  Status timeKinds();
  Result<std::pair<double, double>> timeOne(const WorkgroupKind &kind, uint64_t example);
  Status findTraffic(const ArchInfo &arch);

  Program &program;
  size_t kernel;
  const runtime::LaunchShape &shape;
  std::span<const std::byte> kernarg;
  TimingOptions options;
  KindCache ownCache;
  KindCache &cache;
  KindRule rule;
  std::vector<uint64_t> examples; ///< of each kind
  GridTime grid;
  double bytesAsked = 0; ///< of L2 by a mean workgroup
};
} // namespace

Status Predictor::findKinds() {
  LaunchOptions launch;
  launch.maxWaveInstructions = options.maxWaveInstructions;
  auto setup = LaunchSetup::create(program, kernel, shape, kernarg, launch);
  if (!setup.ok())
    return setup.error();
  WorkgroupSampler sampler((*setup)->context);
  Result<KindRule> found = findKindRule(sampler, shape.grid);
  if (!found.ok())
    return found.error();
  rule = *std::move(found);
  grid.order = rule.name;
  for (uint64_t kind = 0; kind < rule.kinds; ++kind) {
    examples.push_back(rule.example(kind));
    Result<uint64_t> count = sampler.instructions(examples.back());
    if (!count.ok())
      return count.error();
    grid.kinds.push_back({*count, 0, 0, 0, false});
  }
  for (uint64_t i = 0; i < grid.workgroups; ++i)
    ++grid.kinds[rule.of(i)].count;
  return Status::success();
}

Result<std::pair<double, double>> Predictor::timeOne(const WorkgroupKind &kind, uint64_t example) {
  auto key = std::pair(kind.instructions, grid.resident);
  if (auto found = cache.find(key); found != cache.end())
    return found->second;
  TimingOptions one = options;
  one.maxEvents = 0;
  // As many of its kind as a compute unit holds, side by side, and as many again behind them.
  one.workgroups.assign(2 * grid.resident, example);
  one.resident = grid.resident;
  Result<TimedRun> run = timeProgram(program, kernel, shape, kernarg, one);
  if (!run.ok())
    return run.error();
  double first = 0, later = 0;
  for (size_t i = 0; i < run->groups.size(); ++i) {
    double cycles = double(run->groups[i].end - run->groups[i].begin);
    (i < grid.resident ? first : later) += cycles / grid.resident;
  }
  return cache[key] = std::pair(first, later);
}

Status Predictor::timeKinds() {
  std::vector<size_t> order(grid.kinds.size());
  for (size_t i = 0; i < order.size(); ++i)
    order[i] = i;
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::pair(grid.kinds[a].instructions, a) < std::pair(grid.kinds[b].instructions, b);
  });
  std::vector<const WorkgroupKind *> known; ///< by instructions
  size_t timed = std::min(order.size(), mostTimed);
  for (size_t i = 0; i < timed; ++i) {
    size_t at = order[timed == 1 ? 0 : i * (order.size() - 1) / (timed - 1)];
    WorkgroupKind &kind = grid.kinds[at];
    auto cycles = timeOne(kind, examples[at]);
    if (!cycles.ok())
      return cycles.error();
    std::tie(kind.firstCycles, kind.cycles) = *cycles;
    kind.timed = true;
    known.push_back(&kind);
  }
  for (WorkgroupKind &kind : grid.kinds) {
    if (kind.timed)
      continue;
    size_t i = 1;
    while (i + 1 < known.size() && known[i]->instructions < kind.instructions)
      ++i;
    const WorkgroupKind &a = *known[i - 1], &b = *known[i];
    double span = double(b.instructions) - double(a.instructions);
    double at = span > 0 ? (double(kind.instructions) - double(a.instructions)) / span : 0;
    kind.firstCycles = a.firstCycles + (b.firstCycles - a.firstCycles) * at;
    kind.cycles = a.cycles + (b.cycles - a.cycles) * at;
  }
  return Status::success();
}

/// Of the workgroups that run side by side on the first XCD, a sample: what they ask of L2, and how
/// much of it others of them ask for too.
Status Predictor::findTraffic(const ArchInfo &arch) {
  Text &text = *program.codeObject().image().text;
  auto table = TimedTable::of(text, arch, options.parameters);
  if (!table.ok())
    return table.error();
  LineCounter counter(**table, text);
  LaunchOptions launch;
  launch.instrument = &counter;
  launch.maxWaveInstructions = options.maxWaveInstructions;
  auto setup = LaunchSetup::create(program, kernel, shape, kernarg, launch);
  if (!setup.ok())
    return setup.error();
  Workgroup group((*setup)->context);
  constexpr unsigned sample = 8;
  uint64_t together = uint64_t(arch.chip.computeUnitsPerXcd()) * grid.resident;
  uint64_t onXcd = (grid.workgroups + arch.chip.xcds - 1) / arch.chip.xcds;
  together = std::min(together, onXcd);
  // Neighbours share most: a sample of neighbours, so that sharing is not underestimated.
  unsigned count = 0;
  for (uint64_t i = 0; i < std::min<uint64_t>(together, sample); ++i, ++count) {
    group.start(i * arch.chip.xcds);
    if (!group.run())
      return executionError(group.error);
  }
  if (count == 0 || counter.asked == 0)
    return Status::success();
  grid.l2Hits = 1 - double(counter.all.size()) / double(counter.asked);
  uint64_t instructions = 0;
  for (uint64_t i = 0; i < count; ++i)
    instructions += grid.kinds[rule.of(i * arch.chip.xcds)].instructions;
  // Bytes go with the work: the sample may be of heavier or lighter workgroups than the mean.
  double total = 0;
  for (const WorkgroupKind &kind : grid.kinds)
    total += double(kind.instructions) * double(kind.count);
  bytesAsked = 128.0 * double(counter.asked) * total / double(std::max<uint64_t>(instructions, 1));
  return Status::success();
}

Result<GridTime> Predictor::run() {
  auto arch = findArch(program.codeObject().architecture());
  if (!arch.ok())
    return arch.error();
  options.parameters = options.parameters.on(**arch);
  grid.workgroups = uint64_t(shape.grid.x) * shape.grid.y * shape.grid.z;
  const TimeParameters &p = options.parameters;
  Result<unsigned> resident = residentWorkgroups(program, kernel, shape);
  if (!resident.ok())
    return resident.error();
  // A grid that does not fill the chip gives each workgroup a compute unit of its own.
  uint64_t perUnit =
      (grid.workgroups + (*arch)->chip.computeUnits - 1) / (*arch)->chip.computeUnits;
  grid.resident = static_cast<unsigned>(
      std::min<uint64_t>(options.resident ? options.resident : *resident, perUnit));
  if (Status status = findKinds(); !status.ok())
    return status.error();
  if (Status status = timeKinds(); !status.ok())
    return status.error();
  if (Status status = findTraffic(**arch); !status.ok())
    return status.error();
  uint64_t firsts = uint64_t((*arch)->chip.computeUnits) * grid.resident;
  std::vector<double> cyclesOf(grid.workgroups);
  for (uint64_t i = 0; i < grid.workgroups; ++i)
    cyclesOf[i] = i < firsts ? grid.kinds[rule.of(i)].firstCycles : grid.kinds[rule.of(i)].cycles;
  GridSchedule schedule = scheduleGrid(p, (*arch)->chip.xcds, (*arch)->chip.computeUnitsPerXcd(),
                                       grid.resident, cyclesOf);
  grid.cycles = schedule.cycles;
  grid.busyShare = schedule.busyShare;
  grid.clock = schedule.microseconds > 0 ? schedule.cycles / schedule.microseconds / 1000 : 0;
  double bandwidth = p.memoryPeak * p.memoryEfficiency * 1e6; // bytes a microsecond
  if (bandwidth > 0)
    grid.memoryMicroseconds = bytesAsked * (1 - grid.l2Hits) / bandwidth;
  grid.executeMicroseconds = std::max(schedule.microseconds, grid.memoryMicroseconds);
  grid.microseconds = grid.executeMicroseconds + p.launchMicroseconds;
  return std::move(grid);
}

Result<GridTime> sim::predictGrid(runtime::Device &device, runtime::Kernel &kernel,
                                  const runtime::LaunchShape &shape,
                                  std::span<const std::byte> kernarg, const TimingOptions &options,
                                  KindCache *cache) {
  Result<GridTime> grid = internalError("nothing was predicted");
  Status status = withProgram(device, kernel, [&](Program &program, size_t number) {
    grid = Predictor(program, number, shape, kernarg, options, cache).run();
  });
  if (!status.ok())
    return status.error();
  return grid;
}

std::string sim::toText(const GridTime &grid) {
  std::string text;
  llvm::raw_string_ostream out(text);
  size_t timed = std::count_if(grid.kinds.begin(), grid.kinds.end(),
                               [](const WorkgroupKind &kind) { return kind.timed; });
  out << "predicted for the whole grid\n  workgroups    " << grid.workgroups << " of "
      << grid.kinds.size() << " kinds by " << grid.order << ", " << timed << " kinds timed, "
      << grid.resident << " at a time on a compute unit\n";
  out << format(
      "  time          %.1f us: %.0f cycles at %.2f GHz, %.1f%% of the compute units busy\n",
      grid.microseconds, grid.cycles, grid.clock, 100 * grid.busyShare);
  out << format("  memory        %.1f us at least, %.1f%% of the lines come from L2\n",
                grid.memoryMicroseconds, 100 * grid.l2Hits);
  return text;
}

std::string sim::toJson(const GridTime &grid) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  json::OStream out(stream, 2);
  out.object([&] {
    out.attribute("prediction", true);
    out.attribute("workgroups", int64_t(grid.workgroups));
    out.attribute("resident_workgroups", grid.resident);
    out.attribute("order", grid.order);
    out.attribute("cycles", grid.cycles);
    out.attribute("busy_share", grid.busyShare);
    out.attribute("clock_ghz", grid.clock);
    out.attribute("execute_us", grid.executeMicroseconds);
    out.attribute("memory_us", grid.memoryMicroseconds);
    out.attribute("l2_hits", grid.l2Hits);
    out.attribute("us", grid.microseconds);
    out.attributeArray("kinds", [&] {
      for (const WorkgroupKind &kind : grid.kinds)
        out.object([&] {
          out.attribute("instructions", int64_t(kind.instructions));
          out.attribute("count", int64_t(kind.count));
          out.attribute("first_cycles", kind.firstCycles);
          out.attribute("cycles", kind.cycles);
          out.attribute("timed", kind.timed);
        });
    });
  });
  stream << '\n';
  return text;
}
