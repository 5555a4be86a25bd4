// hocket-run steady-state: what a kernel executes in one turn of its hot loop, from a trace.
//
// The problem is run and verified like by fmha-fwd, on the simulator, with one wave of each wave
// group of one workgroup traced. The counts are the machine code's, not the compiler's. Of a
// backward's launches one is counted.
#include "BackwardRequest.h"
#include "ForwardOptions.h"
#include "GemmRequest.h"
#include "Output.h"
#include "ProblemRunner.h"
#include "Subcommands.h"
#include "TimeRequest.h"

#include "hocket/Simulator/RuntimeDevice.h"
#include "Simulator/SteadyState.h"
#include "Target/HSACO/ResourceReport.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <numeric>

using namespace hocket;
using namespace hocket::run;
using namespace hocket::attention;
using sim::InstructionCounts;
using sim::SteadyState;
namespace json = llvm::json;

namespace {
/// All that the report says.
struct Steady {
  hsaco::KernelReport resources;
  std::vector<SteadyState> waves; ///< one of each wave group
  double tiles = 0;               ///< tiles of one turn; 0: not known
};

struct Column {
  const char *key, *title;
  unsigned InstructionCounts::*count;
};
constexpr Column columns[] = {
    {"mfma", "mfma", &InstructionCounts::mfma},
    {"trans", "trans", &InstructionCounts::trans},
    {"valu", "valu", &InstructionCounts::valu},
    {"lds_read", "lds rd", &InstructionCounts::ldsRead},
    {"lds_write", "lds wr", &InstructionCounts::ldsWrite},
    {"lds_dma", "dma", &InstructionCounts::ldsDma},
    {"barrier", "barr", &InstructionCounts::barrier},
    {"waits", "waits", &InstructionCounts::waits},
    {"nop", "nop", &InstructionCounts::nop},
    {"nop_wait_states", "states", &InstructionCounts::nopWaitStates},
    {"salu", "salu", &InstructionCounts::salu},
    {"branch", "branch", &InstructionCounts::branch},
    {"other", "other", &InstructionCounts::other},
    {"empty_shadows", "bare", &InstructionCounts::emptyShadows},
    {"instructions", "all", &InstructionCounts::instructions},
};
} // namespace

static void writeCounts(json::OStream &out, const InstructionCounts &counts) {
  for (const Column &column : columns)
    out.attribute(column.key, counts.*column.count);
}

static void writeClusters(json::OStream &out, const SteadyState &state) {
  out.attribute("turns", state.turns);
  out.attribute("turns_counted", state.shortest);
  out.attribute("scheduled_clusters", state.scheduled);
  out.attributeArray("wait_counts", [&] {
    for (const std::string &wait : state.waits)
      out.value(wait);
  });
  out.attributeArray("per_cluster", [&] {
    for (size_t i = 0; i != state.clusters.size(); ++i)
      out.object([&] {
        out.attribute("cluster", int64_t(state.scheduled ? i % state.scheduled : i));
        writeCounts(out, state.clusters[i]);
      });
  });
}

static std::string toJson(const Steady &steady) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  json::OStream out(stream, 2);
  const SteadyState &first = steady.waves.front();
  out.object([&] {
    out.attribute("kernel", steady.resources.name);
    out.attribute("clusters", static_cast<int64_t>(first.clusters.size()));
    out.attribute("tiles", steady.tiles);
    writeCounts(out, first.total);
    out.attribute("vgpr", steady.resources.vgpr);
    out.attribute("agpr", steady.resources.agpr);
    out.attribute("sgpr", steady.resources.sgpr);
    out.attribute("spills", steady.resources.vgprSpills + steady.resources.sgprSpills);
    out.attribute("scratch", static_cast<int64_t>(steady.resources.scratchBytes));
    out.attribute("lds_bytes", static_cast<int64_t>(steady.resources.ldsBytes));
    writeClusters(out, first);
    out.attributeArray("waves", [&] {
      for (const SteadyState &state : steady.waves)
        out.object([&] {
          out.attribute("wave", state.wave);
          writeCounts(out, state.total);
          writeClusters(out, state);
        });
    });
  });
  stream << '\n';
  return text;
}

static void printRow(llvm::raw_ostream &out, const std::string &name,
                     const InstructionCounts &counts) {
  out << llvm::format("%-10s", name.c_str());
  for (const Column &column : columns)
    out << llvm::format("%7u", counts.*column.count);
  out << '\n';
}

static void print(llvm::raw_ostream &out, const Steady &steady) {
  const SteadyState &first = steady.waves.front();
  out << "one turn of the hot loop of '" << steady.resources.name << "', wave " << first.wave
      << llvm::format(", %g tiles; ", steady.tiles) << first.shortest << " of " << first.turns
      << " turns were such\n";
  out << llvm::format("%-10s", "cluster");
  for (const Column &column : columns)
    out << llvm::format("%7s", column.title);
  out << '\n';
  for (size_t i = 0; i != first.clusters.size(); ++i)
    printRow(out, sim::clusterLabel(i, first.scheduled, first.clusters.size()), first.clusters[i]);
  printRow(out, "total", first.total);
  for (const std::string &wait : first.waits)
    out << "s_waitcnt " << wait << '\n';
  out << steady.resources.vgpr << " VGPRs, " << steady.resources.agpr << " AGPRs, "
      << steady.resources.sgpr << " SGPRs, " << steady.resources.vgprSpills << " + "
      << steady.resources.sgprSpills << " spills, " << steady.resources.ldsBytes
      << " bytes of LDS\n";
}

/// Tiles of one turn. For each key (or step in depth) of a tile, `perRow` multiply-adds are done
/// for each query row (or element of a product). 0: as many as the schedule's turn has.
static double tilesOf(const SteadyState &state, const manifest::Manifest &manifest, double perRow) {
  if (perRow == 0)
    return manifest.clusters.unroll;
  if (manifest.tileKeys == 0 || manifest.waveRows == 0)
    return 0;
  return double(state.total.matrixMultiplies) / perRow / manifest.waveRows / manifest.tileKeys;
}

/// Counts the traced waves; of foreign code too, if its hot loop has matrix instructions.
static Result<Steady> count(const CompiledKernel &kernel, double perRow,
                            const std::vector<sim::WaveTrace> &traces) {
  Result<hsaco::ResourceReport> report = hsaco::readReport(kernel.codeObject);
  if (!report.ok())
    return report.error();
  Result<std::vector<amdgpu::KernelCode>> kernels = amdgpu::readKernels(kernel.codeObject);
  if (!kernels.ok())
    return kernels.error();
  Steady steady;
  for (size_t i = 0; i != kernels->size(); ++i) {
    const amdgpu::KernelCode &code = (*kernels)[i];
    if (code.name != kernel.manifest.kernel)
      continue;
    steady.resources = report->kernels[i];
    // The first wave of each half of the workgroup: one of each wave group.
    for (size_t wave : {size_t(0), traces.size() / 2}) {
      if (wave >= traces.size() || (wave == 0 && !steady.waves.empty()))
        continue;
      const sim::WaveTrace &trace = traces[wave];
      Result<SteadyState> state = sim::countSteadyState(
          trace, code, report->cpu, verify::clustersOf(kernel.manifest), unsigned(traces.size()));
      if (!state.ok())
        return state.error();
      steady.waves.push_back(*std::move(state));
    }
  }
  if (steady.waves.empty())
    return internalError("no wave of kernel '" + kernel.manifest.kernel + "' was traced");
  steady.tiles = tilesOf(steady.waves.front(), kernel.manifest, perRow);
  return steady;
}

namespace {
/// What the command line asks for.
struct SteadyRequest {
  CompiledKernel kernel;
  ProblemRunner run;
  RunControls controls;
  double perRow = 1; ///< as in `tilesOf`
  std::string device, json;
};
} // namespace

/// Whether a device of this name, as given to --device, is or may be the simulator.
static bool isSimulator(llvm::StringRef name) { return name == "auto" || name.starts_with("sim"); }

static Result<std::optional<SteadyRequest>> readForward(llvm::ArrayRef<const char *> args) {
  Result<std::optional<Options>> options = parseForwardOptions(
      "steady-state", "Counts what a forward kernel executes in one turn of its hot loop", args,
      ForwardVis | KernelVis | CompileVis | RunVis);
  if (!options.ok())
    return options.error();
  if (!*options)
    return std::optional<SteadyRequest>();
  Result<ForwardProblem> problem = readProblem(**options);
  if (!problem.ok())
    return problem.error();
  if (problem->tuning.isSplit())
    return invalidInput("steady-state counts one kernel; '--num-splits " +
                        std::to_string(problem->tuning.numSplits) + "' launches two, leave it out");
  problem->tuning.numSplits = 1;
  Result<ForwardOptions> forward = readForwardOptions(**options);
  if (!forward.ok())
    return forward.error();
  SteadyRequest request;
  request.device = deviceName(**options);
  request.json = jsonPath(**options);
  request.controls = {forward->seed, forward->interleavings, forward->check, forward->verify, 0};
  request.perRow = double(problem->headDim + problem->valueHeadDim());
  if (Status status = checkOptions(**options); !status.ok())
    return status.error();
  if (!isSimulator(request.device))
    return std::optional(std::move(request)); // refused before anything is compiled
  Result<ForwardPlanPointer> plan = makeForwardPlan(**options, *problem);
  if (!plan.ok())
    return plan.error();
  request.kernel = *(*plan)->attention().compiled;
  request.run = runnerOf(copyLaunches(**plan), (*plan)->attentionNumber(), (*plan)->problem(), *forward);
  return std::optional(std::move(request));
}

/// The first launch of a backward that follows a schedule.
static size_t firstLoop(std::span<const PlannedLaunch> launches) {
  auto hasClusters = [](const PlannedLaunch &launch) { return !launch.compiled->manifest.clusters.kinds.empty(); };
  return size_t(std::find_if(launches.begin(), launches.end(), hasClusters) - launches.begin());
}

static Result<std::optional<SteadyRequest>> readBackward(llvm::ArrayRef<const char *> args) {
  Result<std::optional<Options>> options = parseForwardOptions(
      "steady-state fmha-bwd", "Counts what a kernel of a backward executes in one turn of its hot loop", args,
      BackwardVis | KernelVis | LaunchVis | RunVis);
  if (!options.ok())
    return options.error();
  if (!*options)
    return std::optional<SteadyRequest>();
  Result<BackwardProblem> problem = readBackwardProblem(**options);
  if (!problem.ok())
    return problem.error();
  Result<BackwardOptions> backward = readBackwardOptions(**options);
  if (!backward.ok())
    return backward.error();
  SteadyRequest request;
  request.device = deviceName(**options);
  request.json = jsonPath(**options);
  request.controls = {backward->seed, backward->interleavings, backward->check, backward->verify, 0};
  request.perRow = 0;
  Result<std::optional<size_t>> named = launchNumber(**options);
  if (!named.ok())
    return named.error();
  if (Status status = checkOptions(**options); !status.ok())
    return status.error();
  if (!isSimulator(request.device))
    return std::optional(std::move(request)); // refused before anything is compiled
  Result<std::shared_ptr<const BackwardPlan>> plan = makeBackwardPlan(**options, *problem);
  if (!plan.ok())
    return plan.error();
  std::vector<PlannedLaunch> launches = copyLaunches(**plan);
  const size_t number = named->value_or(firstLoop(launches));
  if (number >= launches.size())
    return invalidInput("--launch is " + std::to_string(number + 1) + ", the backward has " +
                        std::to_string(launches.size()) + " launches");
  request.kernel = *launches[number].compiled;
  request.run = runnerOf(std::move(launches), number, *problem, *backward);
  return std::optional(std::move(request));
}

static Result<std::optional<SteadyRequest>> readProduct(llvm::ArrayRef<const char *> args) {
  Result<std::optional<GemmRequest>> gemm = parseGemmRequest(
      "steady-state gemm",
      "Counts what a kernel for C = A B^T executes in one turn of its hot loop", args, RunVis);
  if (!gemm.ok())
    return gemm.error();
  if (!*gemm)
    return std::optional<SteadyRequest>();
  const gemm::GemmOptions &options = (*gemm)->options;
  SteadyRequest request;
  request.device = (*gemm)->device;
  request.json = (*gemm)->json;
  request.controls = {options.seed, options.interleavings, options.check, options.verify, 0};
  request.kernel = (*gemm)->kernel;
  request.run = runnerOf(request.kernel.manifest, (*gemm)->problem, options);
  return std::optional(std::move(request));
}

static Result<int> runSteadyState(const SteadyRequest &request) {
  if (!isSimulator(request.device))
    return invalidInput("steady-state counts what the simulator executes; '--device " +
                        request.device + "' cannot be traced, leave the option out");
  std::vector<unsigned> all(sim::maxWorkgroupSize / 64);
  std::iota(all.begin(), all.end(), 0u);
  sim::Tracer tracer(/*workgroup=*/0, all, request.kernel.manifest.kernel);
  std::shared_ptr<runtime::Device> device =
      sim::createDevice(&tracer.instrument(), request.kernel.manifest.target);
  Result<RunOutcome> outcome =
      request.run(*device, std::as_bytes(std::span(request.kernel.codeObject)), request.controls);
  if (!outcome.ok())
    return outcome.error();
  Result<Steady> steady = count(request.kernel, request.perRow, tracer.traces());
  if (!steady.ok())
    return steady.error();
  clearProgress();
  llvm::raw_ostream &out = reportStream(request.json);
  print(out, *steady);
  for (const std::string &failure : outcome->failures)
    out << "wrong result: " << failure << '\n';
  if (Status status = writeJson(request.json, toJson(*steady)); !status.ok())
    return status.error();
  return outcome->failures.empty() ? exitRight : exitWrong;
}

Result<int> run::steadyStateCommand(llvm::ArrayRef<const char *> args) {
  llvm::StringRef kind = args.empty() ? llvm::StringRef() : args.front();
  auto request = kind == "gemm"       ? readProduct(args.drop_front())
                 : kind == "fmha-bwd" ? readBackward(args.drop_front())
                                      : readForward(args);
  if (!request.ok())
    return request.error();
  return *request ? runSteadyState(**request) : Result<int>(exitRight);
}
