// hocket-run fmha-fwd: an attention forward, compiled in process, run and verified.
//
// With --code-object and --manifest it runs a kernel that is already there, ours or anyone's.
#include "Bench.h"
#include "ForwardOptions.h"
#include "ForwardTexts.h"
#include "Output.h"
#include "SaveForward.h"
#include "Subcommands.h"

#include "Verify/ReportParts.h"
#include "hocket/Attention/LaunchesInFront.h"
#include "hocket/Pipelines/ForwardKernel.h"
#include "hocket/Pipelines/TileCount.h"
#include "hocket/Runtime/File.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

using namespace hocket;
using namespace hocket::run;
using namespace hocket::attention;
namespace json = llvm::json;

static void writeCandidate(json::OStream &out, const Candidate &candidate) {
  out.attribute("kernel", candidate.kernel->name);
  out.attribute("priority", candidate.kernel->priority);
  out.attribute("chosen", candidate.chosen);
  out.attribute("supported", candidate.broken.empty());
  out.attribute("pays", candidate.pays);
  out.attributeArray("broken", [&] {
    for (const BrokenRule &rule : candidate.broken)
      out.object([&] {
        out.attribute("field", rule.field);
        out.attribute("text", rule.text);
      });
  });
  out.attribute("reason", candidate.reason());
}

/// Into how many slices the keys are split, by which kernels, and what the heuristic expects of
/// each number.
static void writeSplit(json::OStream &out, const SelectedKernels &selected) {
  out.attribute("splits", selected.split.splits);
  out.attribute("reason", selected.split.reason);
  out.attributeArray("kernels", [&] {
    for (const KernelEntry *kernel : selected.kernels)
      out.value(kernel->name);
  });
  out.attributeArray("estimates", [&] {
    for (const SplitEstimate &estimate : selected.split.estimates)
      out.object([&] {
        out.attribute("splits", estimate.splits);
        out.attribute("slices_us", estimate.slices);
        out.attribute("combine_us", estimate.combine);
      });
  });
}

/// How many tiles `kernel` visits, or why that is not known.
static void writeTiles(json::OStream &out, llvm::raw_ostream &text, const Result<TileCount> &count) {
  if (!count.ok()) {
    text << "tiles    not counted: " << count.error().message << '\n';
    return;
  }
  text << "tiles    of " << count->rows << " queries x " << count->keys << " keys: " << count->visited << " of "
       << count->all << " visited, " << count->cut << " of them cut by masks, " << count->visited - count->cut
       << " whole\n";
  out.attributeObject("tiles", [&] {
    out.attribute("queries", count->rows);
    out.attribute("keys", count->keys);
    out.attribute("all", count->all);
    out.attribute("visited", count->visited);
    out.attribute("cut", count->cut);
    out.attribute("whole", count->visited - count->cut);
  });
}

/// Which kernel is taken in the end: modifications may need more registers than the chosen one has, which compiling tells.
static void writeTaken(json::OStream &out, llvm::raw_ostream &text, const Result<FoundKernel> &found) {
  if (!found.ok()) {
    text << "taken    none: " << found.error().message << '\n';
    out.attribute("taken", nullptr);
    return;
  }
  for (const auto &[name, reason] : found->passedOver)
    text << "passed   " << name << ": " << llvm::StringRef(reason).split('\n').first << '\n';
  text << "taken    " << found->registered << '\n';
  out.attribute("taken", found->registered);
  out.attributeArray("passed_over", [&] {
    for (const auto &[name, reason] : found->passedOver)
      out.object([&] {
        out.attribute("kernel", name);
        out.attribute("reason", reason);
      });
  });
}

/// The chosen kernel, or that which takes its place.
static const KernelEntry &takenKernel(const KernelChoice &choice, const Result<FoundKernel> *taken) {
  if (taken && taken->ok())
    for (const Candidate &candidate : choice.candidates)
      if (candidate.kernel->name == (*taken)->registered)
        return *candidate.kernel;
  return *choice.kernel;
}

/// Why which kernel was chosen; `selected` is null where none can run.
static std::string toJson(const ForwardProblem &problem, const KernelChoice &choice, const SelectedKernels *selected,
                          const Result<FoundKernel> *taken, llvm::raw_ostream &text, llvm::StringRef arch) {
  return verify::jsonObject([&](json::OStream &out) {
    out.attribute("problem", problem.describe());
    out.attribute("kernel",
                  choice.kernel ? json::Value(choice.kernel->name) : json::Value(nullptr));
    out.attributeArray("candidates", [&] {
      for (const Candidate &candidate : choice.candidates)
        out.object([&] { writeCandidate(out, candidate); });
    });
    if (taken)
      writeTaken(out, text, *taken);
    if (choice.kernel)
      writeTiles(out, text, countTiles(problem, takenKernel(choice, taken), arch));
    if (selected)
      out.attributeObject("split", [&] { writeSplit(out, *selected); });
  });
}

/// --explain: the choice, as text and as JSON.
static Result<int> explain(const Options &options, const ForwardProblem &problem) {
  const std::string device = deviceName(options), json = jsonPath(options);
  (void)bundles(options); // where kernels come from that take the place of others
  if (Status status = options.refuseUnread(options.name() + " --explain"); !status.ok())
    return status.error();
  const Result<KernelRegistry> &registry = KernelRegistry::shipped();
  if (!registry.ok())
    return internalError(registry.error().message);
  Result<KernelChoice> choice = registry->choose(problem, architecture(options));
  if (!choice.ok())
    return choice.error();
  llvm::raw_ostream &out = reportStream(json);
  out << choice->explain(problem);
  Result<runtime::OpenedDevice> opened = openDevice(device);
  if (!opened.ok())
    return opened.error();
  Result<SelectedKernels> selected =
      selectRegistered(problem, {architecture(options), opened->device->properties().computeUnits});
  // Where others may take its place, compiling says whether one does.
  std::optional<Result<FoundKernel>> taken;
  if (choice->kernel && !registry->alternatives(*choice->kernel, problem, architecture(options)).empty())
    taken = getKernel(options, problem, opened->device->properties().computeUnits);
  clearProgress();
  std::string report = toJson(problem, *choice, selected.ok() ? &*selected : nullptr, taken ? &*taken : nullptr, out,
                              architecture(options));
  if (selected.ok()) {
    out << "keys     " << selected->split.reason << '\n';
    if (selected->problem.tuning.isSplit())
      out << "kernels  " << selected->kernels[0]->name << ", then " << selected->kernels[1]->name
          << '\n';
  }
  if (Status status = writeJson(json, report); !status.ok())
    return status.error();
  if (!selected.ok())
    return selected.error();
  return taken && !taken->ok() ? Result<int>(taken->error()) : exitRight;
}

/// Where the kernel came from.
static void writeChoice(json::OStream &out, const FoundKernel &found) {
  out.attribute("registered", found.registered);
  out.attribute("origin", llvm::StringRef(toString(found.kernel->origin)));
  out.attribute("compile_seconds", found.kernel->seconds);
  if (found.combine.compiled)
    out.attribute("combine", found.combine.kernel);
}

static Result<int> runForwardProblem(const Options &options) {
  Result<ForwardProblem> problem = readProblem(options);
  if (!problem.ok())
    return problem.error();
  if (wantsExplanation(options))
    return explain(options, *problem);
  if (std::string directory = textDirectory(options); !directory.empty())
    return writeForwardTexts(directory, options, *problem);
  Result<ForwardOptions> forward = readForwardOptions(options);
  if (!forward.ok())
    return forward.error();
  Result<TimeRequest> time = readTimeRequest(options);
  if (!time.ok())
    return time.error();
  const std::string device = deviceName(options), jsonFile = jsonPath(options), directory = saveDirectory(options);
  if (Status status = checkOptions(options); !status.ok())
    return status.error();
  Result<runtime::OpenedDevice> opened = openDevice(device);
  if (!opened.ok())
    return opened.error();
  if (forward->check && opened->device->kind() != "sim")
    return unsupported("--check needs the simulator; use '--device sim'");
  Result<FoundKernel> found =
      getKernel(options, *problem, opened->device->properties().computeUnits);
  if (!found.ok())
    return found.error();
  const CompiledKernel &kernel = *found->kernel;
  *problem = found->adapt(*problem);
  if (!directory.empty())
    forward->save = [&](const ForwardInputs &inputs, const ForwardOutputs &outputs) {
      return saveForward(directory, *problem, inputs, outputs);
    };
  if (time->wanted()) {
    time->setClusters(kernel.manifest);
    time->setUneven(problem->work.any());
    // What allocators of real devices give at least: misaligned rows would touch more cache lines.
    forward->alignment = 256;
    forward->verifyInspected = time->timesAll();
    forward->inspect = [&](runtime::Kernel &launched, const manifest::Binding &binding) {
      return time->run(*opened->device, launched, binding.shape, binding.kernarg);
    };
  }
  Result<ForwardReport> report = runForward(*opened->device, found->launches(), *problem, *forward);
  if (!report.ok())
    return report.error();
  clearProgress();
  llvm::raw_ostream &out = reportStream(jsonFile);
  out << toText(*report);
  if (!found->registered.empty())
    out << "registered    " << found->registered
        << (found->combine.compiled ? ", " + found->combine.kernel : "") << '\n';
  double seconds =
      kernel.seconds + (found->combine.compiled ? found->combine.compiled->seconds : 0);
  if (kernel.origin == KernelOrigin::Compiled)
    out << llvm::format("compiled in   %.3f s\n", seconds);
  if (kernel.origin == KernelOrigin::Disk)
    out << "compiled      earlier, taken from the cache\n";
  out << time->text();
  if (time->microseconds() > 0)
    out << llvm::format(
        "  predicted     %.1f TFLOP/s%s\n", run::tflops(*problem, time->microseconds()),
        problem->visibility == Visibility::causal() ? " (causal counts as half)" : "");
  std::string json = toJson(*report, [&](json::OStream &members) {
    members.attributeObject("choice", [&] { writeChoice(members, *found); });
    time->writeMembers(members);
  });
  if (Status status = writeJson(jsonFile, json); !status.ok())
    return status.error();
  return report->passed() ? exitRight : exitWrong;
}

Result<int> run::fmhaFwdCommand(llvm::ArrayRef<const char *> args) {
  Result<std::optional<Options>> options = parseForwardOptions(
      "fmha-fwd",
      "Compiles an attention forward, runs it and verifies it against a float64 reference", args,
      ForwardVis | KernelVis | CompileVis | FilesVis | TextsVis | RunVis | TimeVis | TimedVis);
  if (!options.ok())
    return options.error();
  return *options ? runForwardProblem(**options) : Result<int>(exitRight);
}
