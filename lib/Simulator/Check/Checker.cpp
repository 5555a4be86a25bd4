// The observer that drives the checks, and the report of a launch.
#include "Simulator/Check.h"

#include "../SourceLines.h"
#include "Checker.h"
#include "HazardTrace.h"
#include "MemoryCheck.h"
#include "RegisterCheck.h"

using namespace hocket;
using namespace hocket::sim;
using namespace hocket::sim::check;
using amdgpu::InstructionClass;
using amdgpu::RegisterAccess;
using runtime::Finding;
using runtime::FindingCode;
using runtime::FindingKind;
using runtime::FindingSeverity;
using runtime::FindingSite;

namespace {
/// Watches the workgroups of one thread.
class WorkgroupChecker final : public Observer {
public:
  WorkgroupChecker(Checker &checker, const LaunchContext &context)
      : checker(checker), text(*context.text), memory(checker.global, checker.numbers, *checker.table, origins, log),
        hazards(*checker.table, context.text->dwords()) {}

  void begin(Workgroup &group) override {
    states.resize(group.waveCount);
    for (unsigned i = 0; i < group.waveCount; ++i)
      states[i].reset(group.waves[i]);
    epoch = 0;
    origins.clear();
    memory.begin(group, states);
  }
  void before(Wave &wave, uint32_t index, const sim::Instruction &instruction) override;
  void issued(Wave &wave, const PendingOp &op, bool early) override;
  void completed(Wave &wave, const PendingOp &op) override;
  void barrier(Workgroup &group) override;
  void failed(Wave &wave, const Fault &fault) override;
  void end(Workgroup &group) override { checker.log.take(group.linear, log, !group.error.empty()); }

private:
  Place placeOf(const Wave &wave) const {
    Place place;
    place.workgroup = wave.group->linear;
    place.index = states[wave.index].current;
    place.epoch = epoch;
    place.barrier = states[wave.index].barrier;
    place.wave = wave.index;
    return place;
  }
  void look(Wave &wave, const InstructionInfo &info, const sim::Instruction &instruction,
            bool clean, bool quiet);
  void setPending(WaveState &state, const InstructionInfo &info, uint8_t from, uint8_t to);

  Checker &checker;
  Text &text;
  FindingLog log;
  OriginTable origins;
  MemoryCheck memory;
  HazardTrace hazards;
  std::vector<WaveState> states;
  uint32_t epoch = 0;
};
} // namespace

void WorkgroupChecker::before(Wave &wave, uint32_t index, const sim::Instruction &instruction) {
  WaveState &state = states[wave.index];
  state.current = index;
  const InstructionInfo &info = checker.table->get(index, instruction);
  checker.table->expect(index + instruction.size);
  bool clean = hazards.follow(state, index, instruction.size);
  bool quiet = state.isQuiet(info) && !wave.gprIndexing;
  if (!clean || !quiet) [[unlikely]]
    look(wave, info, instruction, clean, quiet);
  state.sccDefined |= quiet && info.writesScc;
  HazardTrace::append(state, index);
}

/// The parts of an instruction that may be something to report: hazards unless `clean`, registers
/// unless `quiet`.
void WorkgroupChecker::look(Wave &wave, const InstructionInfo &info,
                            const sim::Instruction &instruction, bool clean, bool quiet) {
  Step step{wave,    states[wave.index], info,         instruction, log,
            origins, *checker.table,     placeOf(wave)};
  if (!clean)
    hazards.check(step);
  if (quiet)
    return;
  if (wave.gprIndexing || info.relative) [[unlikely]] {
    assumeDefined(step);
  } else {
    checkPending(step);
    checkUndefined(step);
  }
}

/// Result registers of an operation: `to` where they were `from` or, if `from` is 0, all of them.
void WorkgroupChecker::setPending(WaveState &state, const InstructionInfo &info, uint8_t from,
                                  uint8_t to) {
  for (const RegisterAccess &write : info.vectorWrites)
    for (unsigned reg = write.first; reg < write.end(); ++reg)
      if (from == 0 || state.pendingVector[reg] == from) {
        state.pendingVector[reg] = to;
        state.watchVector(reg);
      }
  for (const RegisterAccess &write : info.scalarWrites)
    for (unsigned reg = write.first; reg < write.end(); ++reg)
      if (from == 0 || state.pendingScalar[reg] == from) {
        state.pendingScalar[reg] = to;
        state.watchScalar(reg);
      }
}

void WorkgroupChecker::issued(Wave &wave, const PendingOp &op, bool early) {
  WaveState &state = states[wave.index];
  Place place = placeOf(wave);
  const InstructionInfo &info = checker.table->get(state.current, *op.instruction);
  InFlight &flight = state.inFlight[op.slot];
  flight = {true, state.current, epoch, op.mask, &info, &op};
  if (!info.vectorWrites.empty() || !info.scalarWrites.empty()) {
    ++state.registersInFlight;
    setPending(state, info, 0, static_cast<uint8_t>(op.slot + 1));
  }
  if (info.lds != MemoryKind::None) {
    bool dma = info.lds == MemoryKind::LdsDma;
    ++state.ldsInFlight;
    state.dmaInFlight += dma;
    (dma ? state.dmaSlots : state.ldsSlots).insert(op.slot);
  }
  memory.issued(wave, state, op, place);
}

void WorkgroupChecker::completed(Wave &wave, const PendingOp &op) {
  WaveState &state = states[wave.index];
  InFlight &flight = state.inFlight[op.slot];
  if (!flight.active)
    return;
  flight.active = false;
  const InstructionInfo &info = *flight.info;
  if (!info.vectorWrites.empty() || !info.scalarWrites.empty()) {
    --state.registersInFlight;
    setPending(state, info, static_cast<uint8_t>(op.slot + 1), 0);
  }
  if (info.lds != MemoryKind::None) {
    bool dma = info.lds == MemoryKind::LdsDma;
    --state.ldsInFlight;
    state.dmaInFlight -= dma;
    (dma ? state.dmaSlots : state.ldsSlots).erase(op.slot);
  }
}

void WorkgroupChecker::barrier(Workgroup &group) {
  const Wave *waiting = nullptr, *ended = nullptr;
  for (unsigned i = 0; i < group.waveCount; ++i) {
    const Wave &wave = group.waves[i];
    const Wave *&known = wave.stop == Stop::Barrier ? waiting : ended;
    if (!known)
      known = &wave;
  }
  if (!waiting)
    return;
  if (ended)
    log.add(
        FindingKind::DivergentBarrier, placeOf(*waiting), placeOf(*ended),
        [](LoggedFinding &finding) {
          finding.what =
              "waits at a barrier that another wave has ended without reaching; hardware "
              "releases it, the programming models do not allow it";
          finding.otherRole = "that wave ended with";
        },
        FindingSeverity::Advice);
  for (unsigned i = 0; i < group.waveCount; ++i)
    if (group.waves[i].stop == Stop::Barrier)
      states[i].barrier = states[i].current;
  memory.barrier(++epoch);
}

void WorkgroupChecker::failed(Wave &wave, const Fault &fault) {
  static constexpr FindingKind kinds[] = {
      FindingKind::IllegalExecution, FindingKind::InvalidGlobalAccess, FindingKind::LdsOutOfBounds,
      FindingKind::InvalidScratchAccess};
  Place place = placeOf(wave);
  place.lane = static_cast<int8_t>(fault.lane);
  // Not the last one that was executed where the limit of instructions stops the wave before it.
  const Instruction *first = text.instructions();
  const bool inside = fault.instruction >= first && fault.instruction < first + text.dwords();
  place.index = inside ? static_cast<uint32_t>(fault.instruction - first) : noInstruction;
  log.add(kinds[static_cast<unsigned>(fault.kind)], place, {},
          [&](LoggedFinding &finding) { finding.what = fault.what; });
}

std::unique_ptr<Observer> Checker::observe(const LaunchContext &context) {
  return std::make_unique<WorkgroupChecker>(*this, context);
}

namespace {
/// Places to sites with text.
class Reporter {
public:
  Reporter(InstructionTable &table, const CodeImage &image, size_t kernel,
           const runtime::LaunchShape &shape)
      : table(table), image(image), entry(image.kernelImages[kernel].entry), shape(shape),
        lines(image.debugFile) {}

  FindingCode code(uint32_t index) {
    FindingCode code;
    if (index >= image.text->dwords())
      return code;
    const uint64_t address = image.text->addressOf(index);
    const FunctionSymbol *function = image.functionAt(address);
    const bool inside = !function || function->begin == entry;
    code.instruction = table.text(index);
    code.function = inside ? "" : function->name;
    code.offset = address - (inside ? entry : function->begin);
    code.source = lines.at(address);
    return code;
  }
  FindingSite site(const Place &place) {
    FindingSite site;
    static_cast<FindingCode &>(site) = code(place.index);
    site.workgroup[0] = static_cast<uint32_t>(place.workgroup % shape.grid.x);
    site.workgroup[1] = static_cast<uint32_t>(place.workgroup / shape.grid.x % shape.grid.y);
    site.workgroup[2] = static_cast<uint32_t>(place.workgroup / shape.grid.x / shape.grid.y);
    site.wave = place.wave;
    site.lane = place.lane;
    if (place.epoch != noEpoch)
      site.epoch = place.epoch;
    if (place.barrier != noInstruction && site.epoch)
      site.barrier = code(place.barrier);
    return site;
  }

private:
  InstructionTable &table;
  const CodeImage &image;
  uint64_t entry;
  const runtime::LaunchShape &shape;
  SourceLines lines;
};
} // namespace

FindingMap Checker::findings(const Memory &memory) const {
  FindingMap all = log.join();
  // Which workgroups ran depends on threads where one has failed.
  if (!log.anyFailed())
    global.report(memory, *table, all);
  return all;
}

std::vector<Finding> Checker::report(Program &program, size_t kernel,
                                     const runtime::LaunchShape &shape) {
  const CodeImage &image = program.codeObject().image();
  const FindingMap all = this->findings(program.memory());
  Reporter reporter(*table, image, kernel, shape);
  std::vector<Finding> findings;
  for (FindingSeverity severity : {FindingSeverity::Error, FindingSeverity::Advice})
    for (const auto &[key, logged] : all) {
      if (logged.severity != severity)
        continue;
      Finding finding;
      finding.kind = std::get<0>(key);
      finding.severity = logged.severity;
      finding.kernel = image.kernels[kernel].name;
      finding.at = reporter.site(logged.at);
      if (logged.other.index != noInstruction) {
        finding.other = reporter.site(logged.other);
        finding.otherRole = logged.otherRole;
      }
      finding.what = logged.what;
      for (const LoggedStep &step : logged.trail)
        finding.trail.push_back({step.role, reporter.code(step.index)});
      finding.count = logged.count;
      findings.push_back(std::move(finding));
    }
  return findings;
}

Result<runtime::LaunchReport> sim::launchChecked(Program &program, size_t kernel,
                                                 const runtime::LaunchShape &shape,
                                                 std::span<const std::byte> kernarg,
                                                 const LaunchOptions &options) {
  const CodeImage &image = program.codeObject().image();
  auto table = InstructionTable::of(*image.text, image.architecture);
  if (!table)
    return table.error();
  Checker checker(*std::move(table), {options.lists, program.memory()});
  checker.global.begin(uint64_t(shape.grid.x) * shape.grid.y * shape.grid.z, image.text->dwords());
  LaunchOptions watched = options;
  watched.instrument = &checker;
  Result<runtime::LaunchReport> launched = launch(program, kernel, shape, kernarg, watched);
  if (!launched && (launched.error().kind != ErrorKind::Execution || !checker.log.anyFailed()))
    return launched.error();
  runtime::LaunchReport report = launched ? *launched : runtime::LaunchReport();
  if (!launched)
    report.fault = launched.error().message;
  report.findings = checker.report(program, kernel, shape);
  if (checker.global.full())
    report.checkNote = "races between workgroups were not looked for: the launch touches too much "
                       "global memory, has more than 2^26 workgroups or more than 64 MiB of code";
  return report;
}
