// Puts the pieces of a grid's prediction together.
#include "Simulator/GridTime.h"

#include "GridKinds.h"
#include "TimeProgram.h"
#include "TimedTable.h"

#include "hocket/Simulator/RuntimeDevice.h"
#include "Target/Arch/ArchInfo.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/ThreadPool.h"

#include <algorithm>
#include <optional>

using namespace hocket;
using namespace hocket::sim;

/// Kinds that are timed; the others are interpolated.
static constexpr size_t mostTimed = 5;
/// Wave-instructions that counting lines may execute, and workgroups that it looks at in any case:
/// neighbours that share may be as far apart as a grid has heads on an XCD.
static constexpr uint64_t countingBudget = 1 << 25, leastCounted = 24;
/// Places of a grid of workgroups that are not alike at which lines are counted.
static constexpr uint64_t placesCounted = 8;

/// When workgroups that pass through a compute unit end, in the order in which they began.
using Ends = std::vector<double>;

namespace {
/// Counts the lines that workgroups running side by side on one XCD read, all and distinct.
class LineCounter final : public Instrument {
public:
  LineCounter(TimedTable &table, const Text &text) : table(table), text(text) {}
  std::unique_ptr<Observer> observe(const LaunchContext &) override {
    return std::make_unique<Watcher>(*this);
  }
  llvm::DenseSet<uint64_t> all, own;
  std::vector<uint64_t> fresh; ///< for each workgroup: lines that none before it asked for
  uint64_t asked = 0, updated = 0; ///< lines; bytes that atomics update

private:
  const TimedInstruction &timed(const Instruction &instruction) {
    return table.get(static_cast<uint32_t>(&instruction - text.instructions()));
  }
  struct Watcher final : Observer {
    explicit Watcher(LineCounter &counter) : counter(counter) {}
    void begin(Workgroup &) override { counter.own.clear(); }
    void issued(Wave &, const PendingOp &op, bool) override {
      Encoding encoding = op.instruction->encoding;
      if (encoding != Encoding::MUBUF && encoding != Encoding::FLAT)
        return;
      const TimedInstruction &timed = counter.timed(*op.instruction);
      uint64_t step = timed.bytes;
      std::optional<uint64_t> last; // neighbours are mostly on one line
      for (unsigned lane = 0; lane < waveSize; ++lane) {
        if (!(op.mask >> lane & 1) || (op.partial && op.inRange[lane] == 0))
          continue;
        const uint64_t line = (op.linear ? op.address[0] + lane * step : op.address[lane]) / 128;
        if (line != last)
          counter.own.insert(*(last = line));
        counter.updated += timed.atomic ? step : 0;
      }
    }
    void end(Workgroup &) override {
      const size_t before = counter.all.size();
      counter.asked += counter.own.size();
      counter.all.insert(counter.own.begin(), counter.own.end());
      counter.fresh.push_back(counter.all.size() - before);
    }
    LineCounter &counter;
  };
  TimedTable &table;
  const Text &text;
};

class Predictor {
public:
  Predictor(Program &program, size_t kernel, const runtime::LaunchShape &shape,
            std::span<const std::byte> kernarg, const TimingOptions &options)
      : program(program), kernel(kernel), shape(shape), kernarg(kernarg), options(options) {}
  Result<std::vector<GridTime>> run(std::span<const Assumption> assumptions);

private:
  Status assume(const Assumption &assumption, const ArchInfo &arch);
  Status findResident(const ArchInfo &arch);
  Status findKinds(const ArchInfo &arch);
  Status timeKinds();
  Result<bool> isOrdered(const ArchInfo &arch);
  TimingOptions optionsFor(uint64_t example, unsigned together) const;
  void timeAhead(const std::vector<size_t> &kinds);
  Result<Ends> timeOne(const WorkgroupKind &kind, uint64_t example, unsigned together);
  /// Of part of the grid: bytes that it asks of L2, the share of them that L2 has, and what atomics update.
  struct Sample {
    double bytes = 0, hits = 0, updated = 0; ///< `updated`: bytes that atomics update
  };
  Result<Sample> sampleTraffic(LineCounter &counter, Workgroup &group, const ArchInfo &arch, uint64_t first,
                               uint64_t behind);
  Status countLines(LineCounter &counter, Workgroup &group);
  Status findTraffic(const ArchInfo &arch);
  /// What a workgroup's share of the grid's traffic goes with.
  double weightOf(uint64_t number) const { return linesOf[rule.of(number)]; }
  GridTime scheduled(const ArchInfo &arch) const;

  Program &program;
  size_t kernel;
  const runtime::LaunchShape &shape;
  std::span<const std::byte> kernarg;
  TimingOptions options; ///< with the parameters that are assumed
  KindCache ownCache;
  KindCache *cache = nullptr; ///< under these parameters
  KindRule rule;
  std::vector<uint64_t> examples; ///< of each kind
  std::vector<double> linesOf;    ///< of each kind: lines that it asks for; of lists instructions
  GridTime grid; ///< what does not depend on parameters, and kinds under those that are assumed
  double bytesAsked = 0, bytesUpdated = 0; ///< of L2 by all workgroups; by atomics
  unsigned threads = 1;
};
} // namespace

/// Whether workgroups may act on what others have done: with global atomics they do so in one
/// order, one at a time. Looks at what has been executed so far.
Result<bool> Predictor::isOrdered(const ArchInfo &arch) {
  Text &text = *program.codeObject().image().text;
  auto table = TimedTable::of(text, arch, options.parameters);
  if (!table.ok())
    return table.error();
  for (uint32_t place = 0; place < text.dwords(); ++place) {
    const Instruction &instruction = text.instructions()[place];
    if (!executeOf(instruction))
      continue;
    Encoding encoding = instruction.encoding;
    bool global =
        encoding == Encoding::MUBUF || encoding == Encoding::FLAT || encoding == Encoding::SMEM;
    if (global && llvm::StringRef((*table)->get(place).name).contains("ATOMIC"))
      return true;
  }
  return false;
}

Status Predictor::findKinds(const ArchInfo &arch) {
  LaunchOptions launch;
  launch.maxWaveInstructions = options.maxWaveInstructions;
  launch.stop = options.stop;
  auto setup = LaunchSetup::create(program, kernel, shape, kernarg, launch);
  if (!setup.ok())
    return setup.error();
  WorkgroupSampler sampler((*setup)->context);
  // Workgroups beyond the end of a list hide those before it from a few random samples.
  Result<KindRule> found =
      options.uneven ? findStretches(sampler, grid.workgroups) : findKindRule(sampler, shape.grid);
  if (!found.ok())
    return found.error();
  rule = *std::move(found);
  grid.order = rule.name;
  for (uint64_t kind = 0; kind < rule.kinds; ++kind)
    examples.push_back(rule.example(kind));
  Result<bool> ordered = isOrdered(arch);
  if (!ordered.ok())
    return ordered.error();
  threads = *ordered ? 1 : llvm::hardware_concurrency(options.threads).compute_thread_count();
  if (threads > 1)
    sampler.executeAhead(examples, threads);
  for (uint64_t kind = 0; kind < rule.kinds; ++kind) {
    Result<WorkDone> work = sampler.workOf(examples[kind]);
    if (!work.ok())
      return work.error();
    grid.kinds.push_back({.work = *work});
  }
  for (uint64_t i = 0; i < grid.workgroups; ++i)
    ++grid.kinds[rule.of(i)].count;
  return Status::success();
}

/// `together` of one kind side by side, and as many again behind them.
TimingOptions Predictor::optionsFor(uint64_t example, unsigned together) const {
  TimingOptions one = options;
  one.maxEvents = 0;
  one.workgroups.assign(2 * together, example);
  one.resident = together;
  return one;
}

static Ends endsOf(const TimedRun &run) {
  Ends ends;
  for (const TimedGroup &group : run.groups)
    ends.push_back(double(group.end));
  return ends;
}

Result<Ends> Predictor::timeOne(const WorkgroupKind &kind, uint64_t example, unsigned together) {
  auto key = std::pair(kind.work, together);
  if (auto found = cache->find(key); found != cache->end())
    return found->second;
  Result<TimedRun> run = timeProgram(program, kernel, shape, kernarg, optionsFor(example, together));
  if (!run.ok())
    return run.error();
  return (*cache)[key] = endsOf(*run);
}

/// Times kinds whose cycles are not known, several at a time. One that fails does so again, with
/// its error, when its turn comes.
void Predictor::timeAhead(const std::vector<size_t> &kinds) {
  struct Job {
    std::pair<WorkDone, unsigned> key;
    std::unique_ptr<PreparedRun> prepared;
    std::optional<Ends> ends;
  };
  std::vector<Job> jobs;
  auto prepare = [&](size_t kind, unsigned together) {
    auto key = std::pair(grid.kinds[kind].work, together);
    bool known = cache->count(key) || llvm::any_of(jobs, [&](Job &job) { return job.key == key; });
    if (known)
      return;
    auto run = PreparedRun::create(program, kernel, shape, kernarg, optionsFor(examples[kind], together));
    if (run.ok())
      jobs.push_back({key, *std::move(run), {}});
  };
  for (size_t kind : kinds) {
    prepare(kind, 1);
    prepare(kind, grid.resident);
  }
  llvm::DefaultThreadPool pool(llvm::hardware_concurrency(threads));
  // The longest first.
  for (Job &job : llvm::reverse(jobs))
    pool.async([this, &job] {
      if (Result<TimedRun> run = job.prepared->execute(); run.ok())
        job.ends = endsOf(*run);
    });
  pool.wait();
  for (Job &job : jobs)
    if (job.ends)
      (*cache)[job.key] = *job.ends;
}

/// `at` of the way from `a` to `b`.
static double between(double a, double b, double at) { return a + (b - a) * at; }

static WorkgroupCycles between(const WorkgroupCycles &a, const WorkgroupCycles &b, double at) {
  return {between(a.alone, b.alone, at), between(a.together, b.together, at), between(a.skew, b.skew, at)};
}

namespace {
/// Two kinds that are known, and where between them, by instructions, another is.
struct Neighbours {
  const WorkgroupKind *a, *b;
  double at;
};
} // namespace

/// `known`: by instructions, two at least unless there is one kind.
static Neighbours neighboursOf(const WorkgroupKind &kind, const std::vector<const WorkgroupKind *> &known) {
  size_t i = 1;
  while (i + 1 < known.size() && known[i]->work.instructions < kind.work.instructions)
    ++i;
  const WorkgroupKind &a = *known[i - 1], &b = *known[i];
  const double from = double(a.work.instructions), span = double(b.work.instructions) - from;
  return {&a, &b, span > 0 ? (double(kind.work.instructions) - from) / span : 0};
}

Status Predictor::timeKinds() {
  std::vector<size_t> order(grid.kinds.size());
  for (size_t i = 0; i < order.size(); ++i)
    order[i] = i;
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::pair(grid.kinds[a].work.instructions, a) < std::pair(grid.kinds[b].work.instructions, b);
  });
  std::vector<size_t> timed(std::min(order.size(), mostTimed)); ///< kinds, by instructions
  for (size_t i = 0; i < timed.size(); ++i)
    timed[i] = order[timed.size() == 1 ? 0 : i * (order.size() - 1) / (timed.size() - 1)];
  if (threads > 1)
    timeAhead(timed);
  std::vector<const WorkgroupKind *> known; ///< by instructions
  for (size_t at : timed) {
    WorkgroupKind &kind = grid.kinds[at];
    Result<Ends> alone = timeOne(kind, examples[at], 1);
    if (!alone.ok())
      return alone.error();
    Result<Ends> together = timeOne(kind, examples[at], grid.resident);
    if (!together.ok())
      return together.error();
    const UnitCycles cycles = fitCycles(*together, alone->front(), alone->back() - alone->front());
    kind.first = cycles.first;
    kind.later = cycles.later;
    kind.timed = true;
    known.push_back(&kind);
  }
  for (WorkgroupKind &kind : grid.kinds) {
    if (kind.timed)
      continue;
    const Neighbours near = neighboursOf(kind, known);
    kind.first = between(near.a->first, near.b->first, near.at);
    kind.later = between(near.a->later, near.b->later, near.at);
  }
  return Status::success();
}

double sim::shareOfHits(const std::vector<uint64_t> &fresh, uint64_t asked, uint64_t together) {
  if (fresh.empty() || asked == 0)
    return 0;
  double distinct = 0, late = 0;
  const size_t count = fresh.size(), quarter = std::max<size_t>(1, count / 4);
  for (size_t i = 0; i != count; ++i) {
    distinct += double(fresh[i]);
    late += i >= count - quarter ? double(fresh[i]) : 0;
  }
  const double more = together > count ? double(together - count) : 0;
  return 1 - (distinct + more * late / double(quarter)) /
                 (double(asked) * (double(count) + more) / double(count));
}

/// What workgroups from number `first` on that run side by side on an XCD ask of L2, and how much of it others of them ask
/// for too: of all, or of the first where that would take too long.
Result<Predictor::Sample> Predictor::sampleTraffic(LineCounter &counter, Workgroup &group, const ArchInfo &arch,
                                                   uint64_t first, uint64_t behind) {
  counter.all.clear(), counter.fresh.clear(), counter.asked = counter.updated = 0;
  uint64_t together = uint64_t(arch.chip.computeUnitsPerXcd()) * grid.resident;
  together = std::min(together, (behind - first + arch.chip.xcds - 1) / arch.chip.xcds);
  Sample sample;
  uint64_t count = 0, instructions = 0;
  double weight = 0;
  while (count < together && (count < leastCounted || instructions < countingBudget)) {
    const uint64_t number = first + count * arch.chip.xcds;
    group.start(number);
    if (!group.run())
      return executionError(group.error);
    instructions += group.instructions();
    weight += options.uneven ? double(group.instructions()) : weightOf(number);
    ++count;
  }
  if (count == 0 || counter.asked == 0)
    return sample;
  sample.hits = shareOfHits(counter.fresh, counter.asked, together);
  // The sample may be of heavier or lighter workgroups than the mean.
  double total = 0;
  for (uint64_t number = first; number != behind; ++number)
    total += weightOf(number);
  double more = total / std::max(weight, 1.0);
  sample.bytes = 128.0 * double(counter.asked) * more;
  sample.updated = double(counter.updated) * more;
  return sample;
}

/// Of those kinds that are timed, and of the others by interpolation over instructions.
Status Predictor::countLines(LineCounter &counter, Workgroup &group) {
  std::vector<const WorkgroupKind *> known; ///< by instructions
  for (const WorkgroupKind &kind : grid.kinds) {
    linesOf.push_back(double(kind.work.instructions));
    if (kind.timed)
      known.push_back(&kind);
  }
  if (options.uneven || grid.kinds.size() == 1)
    return Status::success();
  llvm::sort(known, [](const WorkgroupKind *a, const WorkgroupKind *b) {
    return std::pair(a->work.instructions, a) < std::pair(b->work.instructions, b);
  });
  auto indexOf = [&](const WorkgroupKind *kind) { return static_cast<size_t>(kind - grid.kinds.data()); };
  for (const WorkgroupKind *kind : known) {
    counter.asked = 0;
    group.start(examples[indexOf(kind)]);
    if (!group.run())
      return executionError(group.error);
    linesOf[indexOf(kind)] = double(counter.asked);
  }
  for (const WorkgroupKind &kind : grid.kinds)
    if (!kind.timed) {
      const Neighbours near = neighboursOf(kind, known);
      linesOf[indexOf(&kind)] = between(linesOf[indexOf(near.a)], linesOf[indexOf(near.b)], near.at);
    }
  return Status::success();
}

/// Where workgroups are not alike, neighbours share more in one place of the grid than in another: several are looked at,
/// each for the workgroups from there up to the next.
Status Predictor::findTraffic(const ArchInfo &arch) {
  Text &text = *program.codeObject().image().text;
  auto table = TimedTable::of(text, arch, options.parameters);
  if (!table.ok())
    return table.error();
  LineCounter counter(**table, text);
  LaunchOptions launch;
  launch.instrument = &counter;
  launch.maxWaveInstructions = options.maxWaveInstructions;
  launch.stop = options.stop;
  auto setup = LaunchSetup::create(program, kernel, shape, kernarg, launch);
  if (!setup.ok())
    return setup.error();
  Workgroup group((*setup)->context);
  if (Status status = countLines(counter, group); !status.ok())
    return status.error();
  const uint64_t places = options.uneven ? std::min<uint64_t>(placesCounted, grid.workgroups) : 1;
  double fetched = 0;
  for (uint64_t place = 0; place != places; ++place) {
    const uint64_t first = place * grid.workgroups / places, behind = (place + 1) * grid.workgroups / places;
    Result<Sample> sample = sampleTraffic(counter, group, arch, first, behind);
    if (!sample.ok())
      return sample.error();
    bytesAsked += sample->bytes;
    bytesUpdated += sample->updated;
    fetched += sample->bytes * (1 - sample->hits);
    grid.l2Hits = sample->hits;
  }
  if (places > 1)
    grid.l2Hits = bytesAsked > 0 ? 1 - fetched / bytesAsked : 0;
  return Status::success();
}

/// From here on predictions are of these parameters.
Status Predictor::assume(const Assumption &assumption, const ArchInfo &arch) {
  if (Status status = assumption.parameters.check(arch); !status.ok())
    return status;
  options.parameters = assumption.parameters.on(arch);
  ownCache.clear();
  cache = assumption.cache ? assumption.cache : &ownCache;
  return Status::success();
}

Status Predictor::findResident(const ArchInfo &arch) {
  Result<unsigned> resident = residentWorkgroups(program, kernel, shape);
  if (!resident.ok())
    return resident.error();
  // A grid that does not fill the chip gives each workgroup a compute unit of its own.
  const uint64_t perUnit = (grid.workgroups + arch.chip.computeUnits - 1) / arch.chip.computeUnits;
  grid.resident =
      static_cast<unsigned>(std::min<uint64_t>(options.resident ? options.resident : *resident, perUnit));
  return Status::success();
}

/// The whole grid from its kinds and its traffic.
GridTime Predictor::scheduled(const ArchInfo &arch) const {
  GridTime whole = grid;
  const TimeParameters &p = options.parameters;
  const uint64_t firsts = uint64_t(arch.chip.computeUnits) * whole.resident;
  std::vector<WorkgroupCycles> cyclesOf(whole.workgroups);
  for (uint64_t i = 0; i < whole.workgroups; ++i)
    cyclesOf[i] = i < firsts ? whole.kinds[rule.of(i)].first : whole.kinds[rule.of(i)].later;
  const GridSchedule schedule =
      scheduleGrid(p, arch.chip.xcds, arch.chip.computeUnitsPerXcd(), whole.resident, cyclesOf);
  whole.cycles = schedule.cycles;
  whole.busyShare = schedule.busyShare;
  whole.clock = schedule.microseconds > 0 ? schedule.cycles / schedule.microseconds / 1000 : 0;
  const double bandwidth = p.memoryPeak * p.memoryEfficiency * 1e6; // bytes a microsecond
  if (bandwidth > 0)
    whole.memoryMicroseconds = bytesAsked * (1 - whole.l2Hits) / bandwidth;
  if (p.atomicsRate > 0)
    whole.atomicMicroseconds = bytesUpdated / (p.atomicsRate * 1e6);
  whole.executeMicroseconds = std::max({schedule.microseconds, whole.memoryMicroseconds, whole.atomicMicroseconds});
  whole.microseconds = whole.executeMicroseconds + p.launchMicroseconds;
  return whole;
}

Result<std::vector<GridTime>> Predictor::run(std::span<const Assumption> assumptions) {
  auto arch = findArch(program.codeObject().architecture());
  if (!arch.ok())
    return arch.error();
  grid.workgroups = uint64_t(shape.grid.x) * shape.grid.y * shape.grid.z;
  if (Status status = findResident(**arch); !status.ok())
    return status.error();
  std::vector<GridTime> predicted;
  for (const Assumption &assumption : assumptions) {
    if (Status status = assume(assumption, **arch); !status.ok())
      return status.error();
    const bool first = predicted.empty();
    if (Status status = first ? findKinds(**arch) : Status::success(); !status.ok())
      return status.error();
    if (Status status = timeKinds(); !status.ok())
      return status.error();
    if (Status status = first ? findTraffic(**arch) : Status::success(); !status.ok())
      return status.error();
    predicted.push_back(scheduled(**arch));
  }
  return std::move(predicted);
}

Result<std::vector<GridTime>> sim::predictGrids(Program &program, size_t kernelNumber, const runtime::LaunchShape &shape,
                                                std::span<const std::byte> kernarg, const TimingOptions &options,
                                                std::span<const Assumption> assumptions) {
  return Predictor(program, kernelNumber, shape, kernarg, options).run(assumptions);
}

Result<std::vector<GridTime>> sim::predictGrids(runtime::Device &device, runtime::Kernel &kernel,
                                                const runtime::LaunchShape &shape, std::span<const std::byte> kernarg,
                                                const TimingOptions &options, std::span<const Assumption> assumptions) {
  Result<std::vector<GridTime>> grids = internalError("nothing was predicted");
  Status status = withProgram(device, kernel, [&](Program &program, size_t number) {
    grids = predictGrids(program, number, shape, kernarg, options, assumptions);
  });
  if (!status.ok())
    return status.error();
  return grids;
}

Result<GridTime> sim::predictGrid(Program &program, size_t kernelNumber, const runtime::LaunchShape &shape,
                                  std::span<const std::byte> kernarg, const TimingOptions &options, KindCache *cache) {
  const Assumption only = {options.parameters, cache};
  Result<std::vector<GridTime>> grids = predictGrids(program, kernelNumber, shape, kernarg, options, std::span(&only, 1));
  return grids.ok() ? Result<GridTime>(std::move(grids->front())) : grids.error();
}

Result<GridTime> sim::predictGrid(runtime::Device &device, runtime::Kernel &kernel, const runtime::LaunchShape &shape,
                                  std::span<const std::byte> kernarg, const TimingOptions &options, KindCache *cache) {
  const Assumption only = {options.parameters, cache};
  Result<std::vector<GridTime>> grids = predictGrids(device, kernel, shape, kernarg, options, std::span(&only, 1));
  return grids.ok() ? Result<GridTime>(std::move(grids->front())) : grids.error();
}
