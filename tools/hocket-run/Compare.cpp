// hocket-run compare A B: two kernels on the same problem, executed, verified and timed in one run,
// side by side.
#include "ForwardOptions.h"
#include "KernelFinder.h"
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
};

/// One line of the comparison.
struct Line {
  std::string key, title;
  std::function<double(const Side &)> value;
};
} // namespace

static Result<Side> runSide(KernelFinder &finder, const std::string &choice,
                            const ForwardProblem &problem, ForwardOptions options,
                            const sim::TimingOptions &timing) {
  Side side;
  side.choice = choice;
  showProgress("running " + choice, 0);
  Result<FoundKernel> found = finder.find(choice, problem);
  if (!found.ok())
    return found.error();
  std::shared_ptr<runtime::Device> device = sim::createDevice();
  options.alignment = 256;
  sim::TimingOptions withClusters = timing;
  withClusters.clusters = clustersOf(found->kernel->manifest);
  options.inspect = [&](runtime::Kernel &launched, const manifest::Binding &binding) -> Status {
    Result<sim::TimedRun> run =
        sim::timeWorkgroups(*device, launched, binding.shape, binding.kernarg, withClusters);
    if (!run.ok())
      return run.error();
    if (side.run.groups.empty()) // of split KV, the producer
      side.run = *std::move(run);
    return Status::success();
  };
  Result<ForwardReport> report =
      runForward(*device, found->launches(), found->adapt(problem), options);
  if (!report.ok())
    return report.error();
  side.failures = report->failures;
  side.summary = sim::summarize(side.run);
  for (const sim::IssueEvent &event : side.run.events)
    ++side.mix[unsigned(side.run.places.at(event.place).kind)];
  return std::move(side);
}

static std::vector<Line> makeLines(const std::vector<Side> &sides) {
  std::vector<Line> lines = {
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
  for (const Line &line : makeLines(sides)) {
    out << format("%-40s", line.title.c_str());
    for (const Side &side : sides)
      out << format(" %20.1f", line.value(side));
    double first = line.value(sides[0]), second = line.value(sides[1]);
    if (first > 0)
      out << format(" %8.3f", second / first);
    out << '\n';
  }
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
    out.attributeArray("kernels", [&] {
      for (const Side &side : sides)
        out.object([&] {
          out.attribute("kernel", side.choice);
          out.attribute("passed", side.failures.empty());
          for (const Line &line : makeLines(sides))
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
      args);
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
  Result<KernelFinder> finder = KernelFinder::make();
  if (!finder.ok())
    return finder.error();
  std::vector<Side> sides;
  for (const std::string &choice : choices) {
    Result<Side> side = runSide(*finder, choice, *problem, *forward, time->timing());
    if (!side.ok())
      return side.error();
    sides.push_back(*std::move(side));
  }
  clearProgress();
  print(reportStream(jsonPath(**options)), sides);
  if (Status status = writeJson(jsonPath(**options), toJson(sides)); !status.ok())
    return status.error();
  return sides[0].failures.empty() && sides[1].failures.empty() ? exitRight : exitWrong;
}
