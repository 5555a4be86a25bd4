// Executes workgroups in the order of model time: the wave that can issue first is stepped first.
#include "../LaunchSetup.h"
#include "../ThreadClock.h"
#include "AccessCost.h"
#include "TimeProgram.h"
#include "TimedTable.h"

#include "Target/Arch/Occupancy.h"
#include "hocket/Simulator/RuntimeDevice.h"

#include <deque>
#include <optional>

using namespace hocket;
using namespace hocket::sim;

namespace {
/// Prices the memory operations of the instruction that is being stepped.
class Prices final : public Instrument {
public:
  explicit Prices(AccessCosts &costs) : costs(costs) {}
  std::unique_ptr<Observer> observe(const LaunchContext &) override {
    return std::make_unique<Watcher>(*this, slots++);
  }

  const TimedInstruction *timed = nullptr;
  uint32_t place = 0;
  ExecutedCost cost;

private:
  /// Watches one of the workgroups that are resident together.
  struct Watcher final : Observer {
    Watcher(Prices &prices, unsigned slot) : prices(prices), slot(slot) {}
    void issued(Wave &wave, const PendingOp &op, bool) override {
      if (!prices.timed)
        return;
      if (!addresses)
        addresses.emplace(*wave.group, slot);
      prices.cost = prices.costs.of(*prices.timed, prices.place, op, &*addresses);
    }
    Prices &prices;
    const unsigned slot;
    std::optional<StableAddresses> addresses;
  };
  AccessCosts &costs;
  unsigned slots = 0;
};

/// One compute unit with the workgroups that pass through it.
class Driver {
public:
  Driver(const LaunchContext &context, const TimingOptions &options, Prices &prices,
         TimedTable &table)
      : context(context), options(options), prices(prices), table(table),
        unit(options.parameters, context.text->dwords()), reached(context.text->dwords()) {}

  Status run(TimedRun &run, unsigned resident);

private:
  /// A workgroup in execution.
  struct Slot {
    std::unique_ptr<Workgroup> group;
    unsigned number = 0; ///< index into `run.groups`
    unsigned live = 0, waiting = 0;
    bool busy = false;
  };
  Status start(Slot &slot, uint64_t cycle);
  Status step(const ComputeUnit::Choice &choice);
  Status finish(Slot &slot);
  void setNext(unsigned wave, const Wave &state) {
    unit.setNext(wave, table.get(state.pc), state.pc);
  }
  void describePlaces();

  const LaunchContext &context;
  const TimingOptions &options;
  Prices &prices;
  TimedTable &table;
  ComputeUnit unit;
  std::vector<uint8_t> reached; ///< [dwords of the text]
  std::vector<Slot> slots;
  std::vector<std::pair<unsigned, unsigned>> owners; ///< of a wave: slot and index
  std::deque<uint64_t> waiting;
  TimedRun *result = nullptr;
};
} // namespace

void Driver::describePlaces() {
  for (uint32_t place = 0; place < reached.size(); ++place)
    if (reached[place]) {
      const TimedInstruction &timed = table.get(place);
      result->places[place] = {context.text->addressOf(place), timed.text, timed.kind};
    }
}

Status Driver::start(Slot &slot, uint64_t cycle) {
  if (waiting.empty())
    return Status::success();
  uint64_t workgroup = waiting.front();
  waiting.pop_front();
  if (!slot.group->error.empty())
    return hostError(slot.group->error);
  slot.group->start(workgroup);
  slot.number = static_cast<unsigned>(result->groups.size());
  slot.live = slot.group->waveCount;
  slot.waiting = 0;
  slot.busy = true;
  result->groups.push_back({workgroup, cycle, 0, 0, {}, {}});
  for (unsigned i = 0; i < slot.group->waveCount; ++i) {
    unsigned wave = unit.addWave(slot.number, i, cycle);
    owners.emplace_back(static_cast<unsigned>(&slot - slots.data()), i);
    result->waves.push_back({slot.number, i, unit.simdOf(wave)});
    setNext(wave, slot.group->waves[i]);
  }
  return Status::success();
}

Status Driver::finish(Slot &slot) {
  TimedGroup &group = result->groups[slot.number];
  group.end = unit.endOf(slot.number);
  group.instructions = slot.group->instructions();
  result->instructions += group.instructions;
  result->cycles = std::max(result->cycles, group.end);
  slot.busy = false;
  return start(slot, group.end);
}

static void add(TimedGroup &group, const TimedInstruction &instruction, const ExecutedCost &cost) {
  Traffic &traffic = instruction.access == MemoryAccess::Store ? group.stores : group.loads;
  traffic.used += cost.inRange;
  traffic.requests += sectorBytes * cost.sectors;
  traffic.lines += lineBytes * cost.missed;
}

Status Driver::step(const ComputeUnit::Choice &choice) {
  auto [slotIndex, waveIndex] = owners[choice.wave];
  Slot &slot = slots[slotIndex];
  Wave &wave = slot.group->waves[waveIndex];
  uint32_t place = wave.pc;
  const TimedInstruction &instruction = table.get(place);
  if (place < reached.size())
    reached[place] = 1;
  prices.timed = &instruction;
  prices.place = place;
  prices.cost = {};
  if (!slot.group->step(wave))
    return executionError(slot.group->error);
  uint32_t size = context.text->instructions()[place].size;
  prices.cost.taken = instruction.branch && wave.pc != place + size;
  IssueEvent event = unit.issue(choice, prices.cost);
  add(result->groups[slot.number], instruction, prices.cost);
  result->ldsConflicts += prices.cost.ldsConflicts;
  result->ldsPairs += prices.cost.ldsPairs;
  if (result->events.size() < options.maxEvents)
    result->events.push_back(event);
  else
    result->complete = false;
  if (wave.stop == Stop::Ended)
    --slot.live;
  else
    setNext(choice.wave, wave);
  slot.waiting += wave.stop == Stop::Barrier;
  if (slot.live == 0)
    return finish(slot);
  if (slot.waiting == slot.live) {
    slot.group->releaseBarrier();
    unit.releaseBarrier(slot.number);
    slot.waiting = 0;
  }
  return Status::success();
}

Status Driver::run(TimedRun &run, unsigned resident) {
  result = &run;
  run.events.reserve(std::min<uint64_t>(options.maxEvents, 1 << 17)); // untouched pages are free
  waiting.assign(options.workgroups.begin(), options.workgroups.end());
  resident = std::min<size_t>(resident, waiting.size());
  slots.resize(resident);
  for (Slot &slot : slots)
    slot.group = std::make_unique<Workgroup>(context);
  for (Slot &slot : slots)
    if (Status status = start(slot, 0); !status.ok())
      return status;
  ComputeUnit::Choice choice;
  while (unit.choose(choice))
    if (Status status = step(choice); !status.ok())
      return status;
  run.memoryBytes = unit.memoryBytesMoved();
  describePlaces();
  return Status::success();
}

Result<unsigned> sim::residentWorkgroups(Program &program, size_t kernelNumber,
                                         const runtime::LaunchShape &shape) {
  auto arch = findArch(program.codeObject().architecture());
  if (!arch.ok())
    return arch.error();
  const runtime::KernelInfo &kernel = program.codeObject().kernels()[kernelNumber];
  KernelResources resources;
  // Metadata counts the unified registers, the accumulation registers among them.
  resources.vgprs = std::max(1u, kernel.vgprs - std::min(kernel.agprs, kernel.vgprs));
  resources.agprs = kernel.agprs;
  resources.ldsBytes = kernel.staticLds + shape.dynamicLds;
  resources.workgroupSize = shape.block.x * shape.block.y * shape.block.z;
  auto fits = occupancy(**arch, resources);
  if (!fits.ok())
    return fits.error();
  return std::max(1u, fits->workgroupsPerCu);
}

struct PreparedRun::Parts {
  Parts(const ArchInfo &arch, const TimingOptions &given)
      : options(given), costs(arch, options.parameters), prices(costs) {}
  TimingOptions options;
  AccessCosts costs;
  Prices prices;
  std::shared_ptr<TimedTable> table;
  std::unique_ptr<LaunchSetup> setup;
  TimedRun run;
};

PreparedRun::PreparedRun(std::unique_ptr<Parts> parts) : parts(std::move(parts)) {}
PreparedRun::~PreparedRun() = default;

Result<std::unique_ptr<PreparedRun>> PreparedRun::create(Program &program, size_t kernelNumber,
                                                         const runtime::LaunchShape &shape,
                                                         std::span<const std::byte> kernarg,
                                                         const TimingOptions &given) {
  auto arch = findArch(program.codeObject().architecture());
  if (!arch.ok())
    return arch.error();
  TimingOptions options = given;
  if (Status status = given.parameters.check(**arch); !status.ok())
    return status.error();
  options.parameters = given.parameters.on(**arch);
  auto parts = std::make_unique<Parts>(**arch, options);
  auto table = TimedTable::of(*program.codeObject().image().text, **arch, options.parameters);
  if (!table.ok())
    return table.error();
  parts->table = *std::move(table);
  LaunchOptions launchOptions;
  launchOptions.instrument = &parts->prices;
  launchOptions.maxWaveInstructions = options.maxWaveInstructions;
  launchOptions.stop = options.stop;
  auto setup = LaunchSetup::create(program, kernelNumber, shape, kernarg, launchOptions);
  if (!setup.ok())
    return setup.error();
  parts->setup = *std::move(setup);
  uint64_t count = uint64_t(shape.grid.x) * shape.grid.y * shape.grid.z;
  for (uint64_t workgroup : options.workgroups)
    if (workgroup >= count)
      return invalidInput("workgroup " + std::to_string(workgroup) +
                          " is to be timed, the grid has " + std::to_string(count) +
                          "; choose one below that");
  parts->run.kernel = parts->setup->context.kernel->name;
  if (options.clusters.kernel == parts->run.kernel)
    parts->run.clusters = options.clusters;
  auto fits = residentWorkgroups(program, kernelNumber, shape);
  if (!fits.ok())
    return fits.error();
  parts->run.resident = options.resident ? options.resident : *fits;
  return std::unique_ptr<PreparedRun>(new PreparedRun(std::move(parts)));
}

Result<TimedRun> PreparedRun::execute() {
  TimedRun &run = parts->run;
  double begin = threadSeconds();
  Driver driver(parts->setup->context, parts->options, parts->prices, *parts->table);
  if (Status status = driver.run(run, run.resident); !status.ok())
    return status.error();
  run.hostSeconds = threadSeconds() - begin;
  return std::move(run);
}

Result<TimedRun> sim::timeProgram(Program &program, size_t kernelNumber,
                                  const runtime::LaunchShape &shape,
                                  std::span<const std::byte> kernarg,
                                  const TimingOptions &options) {
  auto prepared = PreparedRun::create(program, kernelNumber, shape, kernarg, options);
  if (!prepared.ok())
    return prepared.error();
  return (*prepared)->execute();
}

Result<TimedRun> sim::timeWorkgroups(runtime::Device &device, runtime::Kernel &kernel,
                                     const runtime::LaunchShape &shape,
                                     std::span<const std::byte> kernarg,
                                     const TimingOptions &options) {
  Result<TimedRun> run = internalError("nothing was timed");
  Status status = withProgram(device, kernel, [&](Program &program, size_t number) {
    run = timeProgram(program, number, shape, kernarg, options);
  });
  if (!status.ok())
    return status.error();
  return run;
}
