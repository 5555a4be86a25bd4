// hocket-run compare A B: two kernels on the same problem, executed, verified and timed in one run,
// side by side: by the cycle model in the simulator, or measured on a GPU (CompareMeasured.h).
#include "CompareMeasured.h"
#include "ForwardOptions.h"
#include "ToolPlanner.h"
#include "Output.h"
#include "Subcommands.h"

#include "hocket/Simulator/RuntimeDevice.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <functional>

using namespace hocket;
using namespace hocket::run;
using namespace hocket::attention;
using llvm::format;
using llvm::StringRef;
namespace json = llvm::json;

namespace {
/// One kernel's run.
struct Side {
  std::string choice;
  sim::TimedRun run;
  sim::TimingSummary summary;
  std::vector<std::string> failures;
  std::array<uint64_t, amdgpu::kInstructionClasses> mix = {}; ///< issued, of all waves timed
  uint64_t workgroups = 0;  ///< of the launch that is timed
  double microseconds = 0;  ///< predicted for the grids of all launches; 0: not asked for
  uint64_t matrix() const { return mix[unsigned(amdgpu::InstructionClass::Mfma)]; }
};

/// One line of the comparison.
struct ComparedFigure {
  std::string key, title;
  std::function<double(const Side &)> value;
};
} // namespace

static Result<Side> runSide(ToolPlanner &planner, const std::string &choice,
                            const ForwardProblem &problem, ForwardOptions options,
                            const std::string &deviceName, const TimeRequest &time) {
  Side side;
  side.choice = choice;
  showProgress("running " + choice, 0);
  Result<ForwardPlanPointer> plan = planner.plan(choice, problem);
  if (!plan.ok())
    return plan.error();
  // Of its own, so that neither finds what the other left in memory.
  Result<runtime::OpenedDevice> opened = openDevice(deviceName);
  if (!opened.ok())
    return opened.error();
  runtime::Device &device = *opened->device;
  options.alignment = 256;
  options.verifyInspected = time.timesAll();
  options.inspect = [&](runtime::Kernel &launched, const manifest::Binding &binding) -> Status {
    sim::TimingOptions timing = time.timing(binding.shape.grid);
    timing.clusters = verify::clustersOf((*plan)->attention().compiled->manifest);
    Result<sim::TimedRun> run =
        sim::timeWorkgroups(device, launched, binding.shape, binding.kernarg, timing);
    if (!run.ok())
      return run.error();
    if (time.predictsGrid()) {
      Result<sim::GridTime> grid =
          sim::predictGrid(device, launched, binding.shape, binding.kernarg, timing);
      if (!grid.ok())
        return grid.error();
      side.microseconds += grid->microseconds;
    }
    if (side.run.groups.empty()) { // of split KV, the producer
      side.run = *std::move(run);
      const runtime::Dim3 &grid = binding.shape.grid;
      side.workgroups = uint64_t(grid.x) * grid.y * grid.z;
    }
    return Status::success();
  };
  Result<ForwardReport> report =
      runForward(device, (*plan)->launches(), (*plan)->problem(), options);
  if (!report.ok())
    return report.error();
  side.failures = report->failures;
  side.summary = sim::summarize(side.run);
  for (const sim::IssueEvent &event : side.run.events)
    ++side.mix[unsigned(side.run.places.at(event.place).kind)];
  return std::move(side);
}

/// Why the cycles of the workgroups are not those of the same work; "" if they are.
static std::string unequalWork(const std::vector<Side> &sides) {
  const Side &a = sides[0], &b = sides[1];
  auto share = [](const Side &side) {
    return std::to_string(side.run.groups.size()) + " of " + std::to_string(side.workgroups) +
           " workgroups";
  };
  // Whole launches are the same work, however it is divided.
  bool wholes = a.run.groups.size() == a.workgroups && b.run.groups.size() == b.workgroups;
  if (wholes || (a.workgroups == b.workgroups && a.matrix() == b.matrix()))
    return "";
  return "what is timed is unequal work: of '" + a.choice + "' " + share(a) + " with " +
         std::to_string(a.matrix()) + " matrix instructions, of '" + b.choice + "' " + share(b) +
         " with " + std::to_string(b.matrix()) +
         "; '--time-workgroup all' times the same, '--time-grid' predicts both grids";
}

static std::vector<ComparedFigure> makeLines(const std::vector<Side> &sides) {
  std::vector<ComparedFigure> lines = {
      {"cycles", "cycles of the workgroups", [](const Side &s) { return double(s.run.cycles); }},
      {"instructions", "wave-instructions",
       [](const Side &s) { return double(s.run.instructions); }},
      {"lds_conflict_cycles", "LDS conflict cycles",
       [](const Side &s) { return double(s.run.ldsConflicts); }},
      {"steady_cycles", "cycles of a turn of the hot loop",
       [](const Side &s) { return s.summary.steady.cycles; }},
      {"steady_tiles", "tiles of a turn (0: not known)",
       [](const Side &s) { return double(s.summary.steady.tiles); }}};
  for (sim::TimedUnit unit :
       {sim::TimedUnit::Matrix, sim::TimedUnit::Vector, sim::TimedUnit::Scalar, sim::TimedUnit::Lds,
        sim::TimedUnit::Memory}) {
    std::string name(sim::name(unit));
    lines.push_back({"busy_" + name, name + " busy in it, %", [unit](const Side &s) {
                       return 100 * s.summary.steady.busy[unsigned(unit)];
                     }});
  }
  for (unsigned stall = 1; stall < sim::stalls; ++stall) {
    auto value = [stall](const Side &s) {
      return s.summary.steady.waves.empty() ? 0.0 : s.summary.steady.waves[0].total.stall[stall];
    };
    std::string name(sim::name(static_cast<sim::Stall>(stall)));
    for (const Side &side : sides)
      if (value(side) > 0) {
        lines.push_back({"stall_" + name, "wave 0 waits in it: " + name, value});
        break;
      }
  }
  if (sides[0].microseconds > 0)
    lines.push_back(
        {"predicted_us", "whole grids, us", [](const Side &s) { return s.microseconds; }});
  for (unsigned kind = 0; kind < amdgpu::kInstructionClasses; ++kind) {
    auto value = [kind](const Side &s) { return double(s.mix[kind]); };
    std::string name = amdgpu::className(static_cast<amdgpu::InstructionClass>(kind)).str();
    for (const Side &side : sides)
      if (value(side) > 0) {
        lines.push_back({"issued_" + name, "issued: " + name, value});
        break;
      }
  }
  return lines;
}

static void print(llvm::raw_ostream &out, const std::vector<Side> &sides) {
  out << "predicted by the cycle model for one compute unit\n" << std::string(40, ' ');
  for (const Side &side : sides)
    out << format(" %20s", StringRef(side.choice).rsplit('/').second.empty()
                               ? side.choice.c_str()
                               : StringRef(side.choice).rsplit('/').second.str().c_str());
  out << format(" %8s\n", "ratio");
  for (const ComparedFigure &line : makeLines(sides)) {
    out << format("%-40s", line.title.c_str());
    for (const Side &side : sides)
      out << format(" %20.1f", line.value(side));
    double first = line.value(sides[0]), second = line.value(sides[1]);
    if (first > 0)
      out << format(" %8.3f", second / first);
    out << '\n';
  }
  if (std::string unequal = unequalWork(sides); !unequal.empty())
    out << "note: " << unequal << '\n';
  for (const Side &side : sides)
    for (const std::string &failure : side.failures)
      out << "wrong result of '" << side.choice << "': " << failure << '\n';
}

static std::string toJson(const std::vector<Side> &sides) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  json::OStream out(stream, 2);
  out.object([&] {
    out.attribute("prediction", true);
    out.attribute("equal_work", unequalWork(sides).empty());
    out.attributeArray("kernels", [&] {
      for (const Side &side : sides)
        out.object([&] {
          out.attribute("kernel", side.choice);
          out.attribute("passed", side.failures.empty());
          out.attribute("workgroups", side.workgroups);
          out.attribute("workgroups_timed", side.run.groups.size());
          for (const ComparedFigure &line : makeLines(sides))
            out.attribute(line.key, line.value(side));
        });
    });
  });
  stream << '\n';
  return text;
}

Result<int> run::compareCommand(llvm::ArrayRef<const char *> args) {
  std::vector<std::string> choices;
  while (choices.size() < 2 && !args.empty() && !StringRef(args.front()).starts_with("-")) {
    choices.push_back(args.front());
    args = args.drop_front();
  }
  Result<std::optional<Options>> options = parseForwardOptions(
      "compare A B",
      "Runs, verifies and times two kernels (each CO,MANIFEST, a registered kernel, auto or a "
      "schedule) on one problem",
      args, ForwardVis | RunVis | TimeVis);
  if (!options.ok())
    return options.error();
  if (!*options)
    return exitRight;
  if (choices.size() != 2)
    return invalidInput("compare needs two kernels in front of its options, each CO,MANIFEST or a "
                        "schedule; found " +
                        std::to_string(choices.size()));
  Result<ForwardProblem> problem = readProblem(**options);
  if (!problem.ok())
    return problem.error();
  Result<ForwardOptions> forward = readForwardOptions(**options);
  if (!forward.ok())
    return forward.error();
  Result<TimeRequest> time = readTimeRequest(**options, /*always=*/true);
  if (!time.ok())
    return time.error();
  // The cycle model is the simulator's: "auto" is that here. A GPU is asked for by name.
  std::string device = deviceName(**options);
  if (device == "auto")
    device = sim::deviceNameFor(architecture(**options));
  Result<ChosenChip> chip = chipNamed(architecture(**options));
  if (!chip.ok())
    return chip.error();
  const std::vector<std::string> directories = bundles(**options);
  const std::string json = jsonPath(**options);
  if (Status status = (*options)->refuseUnread(); !status.ok())
    return status.error();
  Result<ToolPlanner> planner = ToolPlanner::make(directories, *chip);
  if (!planner.ok())
    return planner.error();
  Result<runtime::OpenedDevice> opened = openDevice(device);
  if (!opened.ok())
    return opened.error();
  if (opened->device->kind() != "sim")
    return compareMeasured(*opened->device, *planner, choices, *problem, *forward, *time, json);
  std::vector<Side> sides;
  for (const std::string &choice : choices) {
    Result<Side> side = runSide(*planner, choice, *problem, *forward, device, *time);
    if (!side.ok())
      return side.error();
    sides.push_back(*std::move(side));
  }
  clearProgress();
  print(reportStream(json), sides);
  if (Status status = writeJson(json, toJson(sides)); !status.ok())
    return status.error();
  return sides[0].failures.empty() && sides[1].failures.empty() ? exitRight : exitWrong;
}
