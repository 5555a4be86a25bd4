// hocket-run fmha-fwd: an attention forward, compiled in process, run and verified.
//
// With --code-object and --manifest it runs a kernel that is already there, ours or anyone's.
#include "Explain.h"
#include "ForwardOptions.h"
#include "ForwardTexts.h"
#include "ListedProblem.h"
#include "Output.h"
#include "SaveForward.h"
#include "Subcommands.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

using namespace hocket;
using namespace hocket::run;
using namespace hocket::attention;
namespace json = llvm::json;

/// Where the kernel came from.
static void writeChoice(json::OStream &out, const ForwardPlan &plan) {
  const PlannedLaunch &attention = plan.attention();
  out.attribute("registered", attention.kernel);
  out.attribute("origin", llvm::StringRef(toString(attention.compiled->origin)));
  out.attribute("compile_seconds", attention.compiled->seconds);
  if (const PlannedLaunch *combine = plan.combine())
    out.attribute("combine", combine->kernel);
}

static Result<int> runForwardProblem(const Options &options) {
  Result<ForwardProblem> problem = readProblem(options);
  if (!problem.ok())
    return problem.error();
  if (wantsExplanation(options))
    return explainForward(options, *problem);
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
  Result<ForwardPlanPointer> made = makeForwardPlan(options, *problem, opened->device->properties().computeUnits);
  if (!made.ok())
    return made.error();
  const ForwardPlan &plan = **made;
  const CompiledKernel &kernel = *plan.attention().compiled;
  *problem = plan.problem();
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
  Result<ForwardReport> report = runForward(*opened->device, plan.launches(), *problem, *forward);
  if (!report.ok())
    return report.error();
  clearProgress();
  llvm::raw_ostream &out = reportStream(jsonFile);
  out << toText(*report);
  const PlannedLaunch *combine = plan.combine();
  if (const std::string &name = plan.attention().kernel; !name.empty())
    out << "registered    " << name << (combine ? ", " + combine->kernel : "") << '\n';
  double seconds = kernel.seconds + (combine ? combine->compiled->seconds : 0);
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
    members.attributeObject("choice", [&] { writeChoice(members, plan); });
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
