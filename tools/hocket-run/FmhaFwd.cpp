// hocket-run fmha-fwd: an attention forward, compiled in process, run and verified.
//
// With --code-object and --manifest it runs a kernel that is already there, ours or anyone's.
#include "Bench.h"
#include "ForwardOptions.h"
#include "Output.h"
#include "Subcommands.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

using namespace hocket;
using namespace hocket::run;
using namespace hocket::attention;

/// `report`, a JSON object, with the member "split": into how many slices the keys are split, by
/// which kernels, and what the heuristic expects of each number.
static std::string addSplit(const std::string &report, const SelectedKernels &selected) {
  llvm::StringRef body = llvm::StringRef(report).rtrim();
  if (!body.consume_back("}"))
    return report;
  llvm::json::Array kernels, estimates;
  for (const KernelEntry *kernel : selected.kernels)
    kernels.push_back(kernel->name);
  for (const SplitEstimate &estimate : selected.split.estimates)
    estimates.push_back(llvm::json::Object{{"splits", estimate.splits},
                                           {"slices_us", estimate.slices},
                                           {"combine_us", estimate.combine}});
  llvm::json::Object split{{"splits", selected.split.splits},
                           {"reason", selected.split.reason},
                           {"kernels", std::move(kernels)},
                           {"estimates", std::move(estimates)}};
  return (body.rtrim() + ",\n  \"split\": " +
          llvm::formatv("{0}", llvm::json::Value(std::move(split))).str() + "\n}\n")
      .str();
}

/// --explain: the choice, as text and as JSON.
static Result<int> explain(const Options &options, const ForwardProblem &problem) {
  const Result<KernelRegistry> &registry = KernelRegistry::shipped();
  if (!registry.ok())
    return internalError(registry.error().message);
  Result<KernelChoice> choice = registry->choose(problem, architecture(options));
  if (!choice.ok())
    return choice.error();
  llvm::raw_ostream &out = reportStream(jsonPath(options));
  out << choice->explain(problem);
  Result<runtime::OpenedDevice> opened = openDevice(deviceName(options));
  if (!opened.ok())
    return opened.error();
  Result<SelectedKernels> selected =
      selectRegistered(problem, {architecture(options), opened->device->properties().computeUnits});
  std::string json = choice->toJson(problem);
  if (selected.ok()) {
    out << "keys     " << selected->split.reason << '\n';
    if (selected->problem.tuning.isSplit())
      out << "kernels  " << selected->kernels[0]->name << ", then " << selected->kernels[1]->name
          << '\n';
    json = addSplit(json, *selected);
  }
  if (Status status = writeJson(jsonPath(options), json); !status.ok())
    return status.error();
  return selected.ok() ? Result<int>(exitRight) : selected.error();
}

/// `report`, a JSON object, with the member "choice": where the kernel came from.
static std::string addChoice(const std::string &report, const FoundKernel &found) {
  llvm::StringRef body = llvm::StringRef(report).rtrim();
  if (!body.consume_back("}"))
    return report;
  llvm::json::Object choice{{"registered", found.registered},
                            {"origin", llvm::StringRef(toString(found.kernel->origin))},
                            {"compile_seconds", found.kernel->seconds}};
  if (found.combine.compiled)
    choice["combine"] = found.combine.kernel;
  return (body.rtrim() + ",\n  \"choice\": " +
          llvm::formatv("{0}", llvm::json::Value(std::move(choice))).str() + "\n}\n")
      .str();
}

static Result<int> runProblem(const Options &options) {
  Result<ForwardProblem> problem = readProblem(options);
  if (!problem.ok())
    return problem.error();
  if (wantsExplanation(options))
    return explain(options, *problem);
  Result<ForwardOptions> forward = readForwardOptions(options);
  if (!forward.ok())
    return forward.error();
  Result<TimeRequest> time = readTimeRequest(options);
  if (!time.ok())
    return time.error();
  Result<runtime::OpenedDevice> opened = openDevice(deviceName(options));
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
  if (time->wanted()) {
    time->setClusters(kernel.manifest);
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
  llvm::raw_ostream &out = reportStream(jsonPath(options));
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
  if (Status status = writeJson(jsonPath(options), time->addTo(addChoice(toJson(*report), *found)));
      !status.ok())
    return status.error();
  return report->passed() ? exitRight : exitWrong;
}

Result<int> run::fmhaFwdCommand(llvm::ArrayRef<const char *> args) {
  Result<std::optional<Options>> options = parseForwardOptions(
      "fmha-fwd",
      "Compiles an attention forward, runs it and verifies it against a float64 reference", args);
  if (!options.ok())
    return options.error();
  return *options ? runProblem(**options) : Result<int>(exitRight);
}
