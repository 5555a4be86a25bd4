// From the command line to a kernel on tensors by name, and what it computes.
//
// There is no reference: whether kernels compute what they should is what other tests say. A mutant must leave the bits
// that the kernel leaves, which is stricter than any tolerance.
#define HOCKET_OPTIONS_INC "MutateKernelOptions.inc"
#include "NamedRequest.h"
#include "OptionTable.h"
#include "Output.h"
#include "RunNamed.h"

#include "hocket/Simulator/RuntimeDevice.h"

using namespace hocket;
using namespace hocket::run;
using llvm::StringRef;

static constexpr RunOptionIds kRunOptions = {OPT_seed,       OPT_interleavings, OPT_check_rows, OPT_check,
                                             OPT_hang_limit, OPT_no_verify,     OPT_count,      OPT_kind};

/// What the kernel leaves in its tensors becomes what is expected of them.
static Status expectWhatItLeaves(NamedRequest &request) {
  Result<runtime::OpenedDevice> opened = openDevice(sim::deviceNameFor(request.kernel.manifest.target));
  if (!opened.ok())
    return opened.error();
  for (KernelTensor &tensor : request.tensors)
    tensor.isOutput = true;
  Result<NamedReport> report = runNamed(*opened->device, std::as_bytes(std::span(request.kernel.codeObject)),
                                        request.kernel.manifest, request.tensors, request.scalars, {});
  if (!report.ok())
    return report.error();
  if (!report->passed())
    return invalidInput("the kernel is not right without mutation: " + report->failures.front());
  for (size_t i = 0; i != request.tensors.size(); ++i) {
    request.tensors[i].expected = std::move(report->results[i]);
    request.tensors[i].expectedFile = "the unchanged kernel";
  }
  return Status::success();
}

static Result<NamedRequest> read(const Options &options) {
  NamedRequest request;
  Result<std::string> file = options.onlyInput("code object file");
  if (!file.ok())
    return file.error();
  if (!options.has(OPT_manifest))
    return options.missing(OPT_manifest);
  Result<verify::RunOptions> run =
      readLaunchOptions(options, {kRunOptions.seed, kRunOptions.interleavings, kRunOptions.check, kRunOptions.hangLimit});
  if (!run.ok())
    return run.error();
  Result<MutantChoice> mutants = readMutantChoice(options, kRunOptions);
  if (!mutants.ok())
    return mutants.error();
  Result<manifest::Variables> scalars = readScalars(options.strings(OPT_scalar));
  if (!scalars.ok())
    return scalars.error();
  TensorTexts texts;
  texts.randoms = options.strings(OPT_random), texts.strides = options.strings(OPT_strides);
  texts.seed = run->seed;
  Result<std::vector<KernelTensor>> tensors = readTensors(texts);
  if (!tensors.ok())
    return tensors.error();
  Result<attention::CompiledKernel> kernel = readKernel(*file, options.string(OPT_manifest));
  if (!kernel.ok())
    return kernel.error();
  request.json = options.string(OPT_json);
  if (Status status = options.refuseUnread(); !status.ok())
    return status.error();
  request.kernel = *std::move(kernel);
  request.tensors = *std::move(tensors);
  request.scalars = *std::move(scalars);
  request.options = *std::move(run);
  request.mutants = *std::move(mutants);
  if (Status status = expectWhatItLeaves(request); !status.ok())
    return status.error();
  return std::move(request);
}

Result<std::optional<NamedRequest>> run::parseNamedRequest(StringRef name, StringRef summary,
                                                           llvm::ArrayRef<const char *> args) {
  static SubcommandTable table;
  CommandLine command{name.str(), "--random NAME=SHAPE,TYPE... --manifest FILE [options] FILE",
                      summary.str(), &table, OPT_INPUT, OPT_UNKNOWN, OPT_help, MutateVis};
  Result<Options> options = Options::parse(command, args);
  if (!options.ok())
    return options.error();
  if (options->wantsHelp()) {
    options->printHelp();
    return std::optional<NamedRequest>();
  }
  Result<NamedRequest> request = read(*options);
  if (!request.ok())
    return request.error();
  return std::optional<NamedRequest>(*std::move(request));
}

ProblemRunner run::runnerOf(const manifest::Manifest &manifest, const NamedRequest &request) {
  return [manifest, tensors = request.tensors, scalars = request.scalars, options = request.options](
             runtime::Device &device, std::span<const std::byte> codeObject,
             const RunControls &controls) -> Result<RunOutcome> {
    Result<NamedReport> report =
        runNamed(device, codeObject, manifest, tensors, scalars, withControls(options, controls));
    if (!report.ok())
      return report.error();
    return RunOutcome{report->findings, report->failures, report->launches.front().waveInstructions()};
  };
}
