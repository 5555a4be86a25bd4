// hocket-run fmha-bwd: the gradients of an attention forward, compiled in process, run and verified.
#include "BackwardRequest.h"
#include "Explain.h"
#include "ForwardOptions.h"
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

/// Q, K, V, O and LSE as 'fmha-fwd' saves them, and the gradients.
static Status saveBackward(const std::string &directory, const BackwardProblem &problem,
                           const BackwardInputs &inputs, const BackwardOutputs &outputs) {
  ForwardProblem forward = problem.forward;
  forward.wantLse = true;
  if (Status status = saveForward(directory, forward, inputs.forward, {inputs.o, inputs.lse});
      !status.ok())
    return status;
  for (const auto &[name, values] :
       {std::pair("do", &inputs.dO), std::pair("dq", &outputs.dq), std::pair("dk", &outputs.dk),
        std::pair("dv", &outputs.dv)})
    if (Status status = saveHeads(directory, problem.forward, problem.tensor(name), values->bytes()); !status.ok())
      return status;
  for (const auto &[name, values] : outputs.others)
    if (Status status = saveWhole(directory, problem.tensor("d_" + name), values.bytes()); !status.ok())
      return status;
  return Status::success();
}

static Result<int> runBackwardProblem(const Options &options) {
  Result<BackwardProblem> read = readBackwardProblem(options);
  if (!read.ok())
    return read.error();
  const BackwardProblem &problem = *read;
  if (wantsExplanation(options))
    return explainBackward(options, problem);
  Result<BackwardOptions> run = readBackwardOptions(options);
  if (!run.ok())
    return run.error();
  Result<TimeRequest> time = readTimeRequest(options);
  if (!time.ok())
    return time.error();
  const std::string device = deviceName(options), jsonFile = jsonPath(options), directory = saveDirectory(options);
  if (Status status = checkOptions(options); !status.ok())
    return status.error();
  Result<runtime::OpenedDevice> opened = openDevice(device);
  if (!opened.ok())
    return opened.error();
  if (run->check && opened->device->kind() != "sim")
    return unsupported("--check needs the simulator; use '--device sim'");
  Result<std::shared_ptr<const BackwardPlan>> plan = makeBackwardPlan(options, problem);
  if (!plan.ok())
    return plan.error();
  if (!directory.empty())
    run->save = [&](const BackwardInputs &inputs, const BackwardOutputs &outputs) {
      return saveBackward(directory, problem, inputs, outputs);
    };
  std::span<const PlannedLaunch> launches = (*plan)->launches();
  if (time->wanted()) {
    run->alignment = 256; // what allocators of real devices give at least
    run->inspect = [&, next = size_t(0)](runtime::Kernel &kernel,
                                         const manifest::Binding &binding) mutable {
      time->setClusters(launches[next++ % launches.size()].compiled->manifest);
      return time->run(*opened->device, kernel, binding.shape, binding.kernarg);
    };
  }
  Result<BackwardReport> report = runBackward(*opened->device, launches, problem, *run);
  if (!report.ok())
    return report.error();
  clearProgress();
  llvm::raw_ostream &out = reportStream(jsonFile);
  out << toText(*report);
  out << time->text();
  if (time->microseconds() > 0)
    out << llvm::format("  predicted     %.1f TFLOP/s for all launches, of five products%s\n",
                        tflops(problem, time->microseconds()),
                        problem.forward.visibility == Visibility::causal() ? " (causal counts as half)"
                                                                    : "");
  std::string json = toJson(*report, [&](json::OStream &members) {
    members.attributeArray("choice", [&] {
      for (const PlannedLaunch &launch : launches)
        members.value(launch.kernel);
    });
    time->writeMembers(members);
  });
  if (Status status = writeJson(jsonFile, json); !status.ok())
    return status.error();
  return report->passed() ? exitRight : exitWrong;
}

Result<int> run::fmhaBwdCommand(llvm::ArrayRef<const char *> args) {
  Result<std::optional<Options>> options = parseForwardOptions(
      "fmha-bwd",
      "Compiles the backward of an attention, runs it and verifies dQ, dK and dV against a float64 "
      "reference",
      args, BackwardVis | KernelVis | FilesVis | RunVis | TimeVis | TimedVis);
  if (!options.ok())
    return options.error();
  return *options ? runBackwardProblem(**options) : Result<int>(exitRight);
}
