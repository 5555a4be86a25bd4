// hocket-run kernel: a kernel of one's own, on tensors by name.
//
// The kernel is a text, which is compiled in process, or a code object with its manifest. What the
// manifest calls tensors and scalars comes from the command line; everything else follows from the
// tensors' shapes.
#define HOCKET_OPTIONS_INC "KernelOptions.inc"
#include "Measure.h"
#include "ToolPlanner.h"
#include "OptionTable.h"
#include "Output.h"
#include "RunNamed.h"
#include "RunOptions.h"
#include "Subcommands.h"
#include "TimeRequest.h"

#include "hocket/Jit/Jit.h"
#include "hocket/Runtime/File.h"
#include "Verify/ReportParts.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"

using namespace hocket;
using namespace hocket::run;
using llvm::StringRef;
namespace json = llvm::json;

using Kernel = std::shared_ptr<const attention::CompiledKernel>;

/// Options that say how a text is compiled.
static Status refuseCompileOptions(const Options &options) {
  for (auto [id, name] : {std::pair(OPT_schedule, "--schedule"), std::pair(OPT_arch, "--arch")})
    if (options.has(id))
      return invalidInput(std::string(name) +
                          " has no effect on a code object, which is compiled already; leave it "
                          "out");
  return Status::success();
}

static Result<Kernel> readCodeObject(const Options &options, const std::string &file) {
  if (Status status = refuseCompileOptions(options); !status.ok())
    return status.error();
  std::string manifest = options.string(OPT_manifest);
  if (manifest.empty()) {
    llvm::SmallString<128> beside(file);
    llvm::sys::path::replace_extension(beside, "json");
    manifest = beside.str().str();
    if (!llvm::sys::fs::exists(manifest))
      return invalidInput("a code object is launched by its manifest, and there is no '" +
                          manifest +
                          "'; name it with --manifest ('hocketc --manifest=FILE' writes it)");
  }
  Result<attention::CompiledKernel> kernel = readKernel(file, manifest);
  if (!kernel.ok())
    return kernel.error();
  return Kernel(std::make_shared<attention::CompiledKernel>(*std::move(kernel)));
}

/// Why the text has no manifest, which only a compilation up to the tile stage says.
static Error noManifest(const std::string &text, const std::string &file, CompileOptions options) {
  options.to = Stage::Tile;
  Result<Compilation> compilation = compile(text, file, options);
  if (!compilation.ok())
    return compilation.error();
  return invalidInput("'" + file + "' cannot be launched: " + compilation->noManifest);
}

static Result<Kernel> compileText(const Options &options, const std::string &file,
                                  const std::string &text) {
  if (options.has(OPT_manifest))
    return invalidInput("--manifest has no effect on a kernel that is compiled, which makes its "
                        "own; leave it out");
  std::string arch = options.string(OPT_arch, kArchitecture);
  if (Result<ChosenChip> chip = chipNamed(arch); !chip.ok())
    return chip.error();
  CompileOptions compileOptions;
  compileOptions.target = arch;
  // Findings name lines then; the code is the same.
  compileOptions.debugInfo = options.has(OPT_check);
  if (options.has(OPT_schedule))
    compileOptions.schedule = options.string(OPT_schedule);
  Result<std::shared_ptr<jit::Jit>> compiler = jit::Jit::create();
  if (!compiler.ok())
    return compiler.error();
  showProgress("compiling", 0);
  Result<Kernel> kernel = (*compiler)->compile(text, file, compileOptions);
  if (!kernel.ok())
    return kernel.error();
  if ((*kernel)->manifest.kernel.empty())
    return noManifest(text, file, compileOptions);
  return kernel;
}

static Result<Kernel> getKernel(const Options &options, const std::string &file) {
  Result<std::string> content = runtime::readText(file, runtime::largestFile);
  if (!content.ok())
    return content.error();
  return StringRef(*content).starts_with("\x7f"
                                         "ELF")
             ? readCodeObject(options, file)
             : compileText(options, file, *content);
}

/// Says how to read a file as what the kernel takes, where its numbers are of another type.
static Status checkTypes(const manifest::Manifest &manifest,
                         const std::vector<KernelTensor> &tensors) {
  for (const manifest::TensorInfo &info : manifest.tensors)
    for (const KernelTensor &tensor : tensors)
      if (tensor.name == info.name && info.dtype &&
          !areCompatible(*info.dtype, tensor.initial.dtype))
        return invalidInput(
            "tensor '" + tensor.name + "' has elements of " +
            std::string(toString(tensor.initial.dtype)) + ", kernel '" + manifest.kernel +
            "' takes " + std::string(toString(*info.dtype)) +
            "; ':TYPE' behind a file's name rounds floats, or takes integers for their bits");
  return Status::success();
}

static std::string describeStrides(const KernelTensor &tensor) {
  std::string text;
  for (int64_t stride : tensor.strides)
    text += (text.empty() ? " strides " : "x") + std::to_string(stride);
  return text;
}

static void print(llvm::raw_ostream &out, const NamedReport &report,
                  const std::vector<KernelTensor> &tensors, bool checked) {
  verify::deviceLine(out, report);
  verify::kernelLines(out, report);
  for (const KernelTensor &tensor : tensors)
    verify::line(out, "tensor",
                 tensor.name + ": " + describe(tensor.initial) + describeStrides(tensor) + ", " +
                     tensor.source);
  verify::launchLines(out, report);
  for (const Verdict &verdict : report.verdicts) {
    const KernelTensor &tensor = tensors[verdict.tensor];
    const Comparison &found = verdict.comparison;
    std::string text = tensor.name + ": " + std::to_string(found.elements - found.wrong) + " of " +
                       std::to_string(found.elements) + " as in '" + tensor.expectedFile + "'";
    if (found.worst < 0)
      text += ", all to the bit";
    else
      text += ", the worst at " + position(tensor.initial, found.worst) + " is " +
              showNumber(found.found) + " for " + showNumber(found.wanted);
    verify::line(out, "expected", text);
  }
  verify::outcomeLines(out, report, checked);
}

static void writeVerdict(json::OStream &out, const KernelTensor &tensor, const Comparison &found) {
  out.attribute("file", tensor.expectedFile);
  out.attribute("absolute_tolerance", tensor.tolerance.absolute);
  out.attribute("relative_tolerance", tensor.tolerance.relative);
  out.attribute("wrong_elements", found.wrong);
  if (found.worst < 0)
    return;
  out.attributeArray("worst", [&] {
    int64_t rest = found.worst, size = found.elements;
    for (int64_t extent : tensor.initial.shape) {
      size /= extent;
      out.value(rest / size);
      rest %= size;
    }
  });
  out.attribute("found", verify::finiteValue(found.found));
  out.attribute("wanted", verify::finiteValue(found.wanted));
  out.attribute("ratio", verify::finiteValue(found.ratio));
}

static void writeTensor(json::OStream &out, const KernelTensor &tensor, const Verdict *verdict) {
  out.attribute("name", tensor.name);
  out.attribute("dtype", StringRef(toString(tensor.initial.dtype)));
  out.attributeArray("shape", [&] {
    for (int64_t extent : tensor.initial.shape)
      out.value(extent);
  });
  if (!tensor.strides.empty())
    out.attributeArray("strides", [&] {
      for (int64_t stride : tensor.strides)
        out.value(stride);
    });
  out.attribute("source", tensor.source);
  out.attributeArray("saved", [&] {
    for (const std::string &file : tensor.saveTo)
      out.value(file);
  });
  if (verdict)
    out.attributeObject("expected", [&] { writeVerdict(out, tensor, verdict->comparison); });
}

static std::string describe(const Measurement &measured) {
  return llvm::formatv("{0:f2} us, quartiles {1:f2} and {2:f2}, of {3} launches", measured.median, measured.low, measured.high,
                       measured.repetitions);
}

static void writeMeasured(json::OStream &out, const Measurement &measured) {
  out.attribute("median_us", measured.median);
  out.attribute("low_us", measured.low);
  out.attribute("high_us", measured.high);
  out.attribute("repetitions", measured.repetitions);
}

static std::string toJson(const NamedReport &report, const std::vector<KernelTensor> &tensors,
                          const std::string &file, bool checked, const TimeRequest &time,
                          const std::optional<Measurement> &measured) {
  return verify::jsonObject([&](json::OStream &out) {
    verify::writeVerdict(out, report);
    out.attribute("file", file);
    verify::writeDevice(out, report);
    out.attributeObject("kernel", [&] { verify::writeKernel(out, report.kernels.front()); });
    out.attributeArray("tensors", [&] {
      for (size_t i = 0; i != tensors.size(); ++i) {
        auto verdict = llvm::find_if(
            report.verdicts, [&](const Verdict &candidate) { return candidate.tensor == i; });
        const Verdict *judged = verdict == report.verdicts.end() ? nullptr : &*verdict;
        out.object([&] { writeTensor(out, tensors[i], judged); });
      }
    });
    verify::writeLaunches(out, report);
    if (checked)
      verify::writeFindings(out, report.findings);
    time.writeMembers(out);
    if (measured)
      out.attributeObject("measured", [&] { writeMeasured(out, *measured); });
  });
}

static Status saveResults(const NamedReport &report, const std::vector<KernelTensor> &tensors) {
  for (size_t i = 0; i != tensors.size(); ++i)
    for (const std::string &file : tensors[i].saveTo)
      if (Status status = writeNpy(file, report.results[i]); !status.ok())
        return status;
  return Status::success();
}

/// --no-launch, and what it leaves without a meaning.
static Status readNoLaunch(const Options &options, const std::vector<KernelTensor> &tensors, verify::RunOptions &run) {
  if (!options.has(OPT_no_launch))
    return Status::success();
  if (!options.has(OPT_time))
    return invalidInput("--no-launch leaves nothing to do without '--time'; add it");
  for (auto [id, name] : {std::pair(OPT_check, "check"), std::pair(OPT_interleavings, "interleavings")})
    if (options.has(id))
      return invalidInput("--" + std::string(name) + " is of a launch, and --no-launch has none; leave one of them out");
  for (const KernelTensor &tensor : tensors)
    if (!tensor.saveTo.empty() || !tensor.expectedFile.empty())
      return invalidInput("tensor '" + tensor.name + "' is to be " + (tensor.saveTo.empty() ? "compared" : "saved") +
                          " after a launch, and --no-launch has none; give it by --random, or leave that out");
  run.launches = false;
  return Status::success();
}

static Result<int> runKernel(const Options &options) {
  Result<std::string> file = options.onlyInput("kernel file");
  if (!file.ok())
    return file.error();
  Result<verify::RunOptions> runOptions =
      readLaunchOptions(options, {OPT_seed, OPT_interleavings, OPT_check, OPT_hang_limit});
  if (!runOptions.ok())
    return runOptions.error();
  if (Status status = readInstructionLimit(options, OPT_instruction_limit, *runOptions);
      !status.ok())
    return status.error();
  Result<TimeRequest> time =
      TimeRequest::read(options, {OPT_time, OPT_time_file, OPT_time_param, OPT_time_workgroup, OPT_trace,
                                  OPT_picture, OPT_time_grid, OPT_time_vary});
  if (!time.ok())
    return time.error();
  Result<manifest::Variables> scalars = readScalars(options.strings(OPT_scalar));
  if (!scalars.ok())
    return scalars.error();
  Result<std::vector<KernelTensor>> tensors = readTensors(
      {options.strings(OPT_tensor), options.strings(OPT_random), options.strings(OPT_strides),
       options.strings(OPT_save),
       options.strings(OPT_expect), options.strings(OPT_tolerance), runOptions->seed});
  if (!tensors.ok())
    return tensors.error();
  if (Status status = readNoLaunch(options, *tensors, *runOptions); !status.ok())
    return status.error();
  Result<Kernel> kernel = getKernel(options, *file);
  if (!kernel.ok())
    return kernel.error();
  if (Status status = checkTypes((*kernel)->manifest, *tensors); !status.ok())
    return status.error();
  Result<runtime::OpenedDevice> opened =
      openDevice(deviceFor(options.string(OPT_device, "auto"), (*kernel)->manifest.target));
  if (!opened.ok())
    return opened.error();
  if (runOptions->check && opened->device->kind() != "sim")
    return unsupported("--check needs the simulator; use '--device sim'");
  time->setClusters((*kernel)->manifest);
  if (time->wanted()) {
    // What allocators of real devices give at least: misaligned rows would touch more cache lines.
    runOptions->alignment = 256;
    runOptions->inspect = [&](runtime::Kernel &launched, const manifest::Binding &binding) {
      return time->run(*opened->device, launched, binding.shape, binding.kernarg);
    };
  }
  std::optional<Measurement> measured;
  if (options.has(OPT_measure)) {
    Result<unsigned> repetitions = readRepetitions("measure", options.string(OPT_measure));
    if (!repetitions.ok())
      return repetitions.error();
    if (time->wanted())
      return invalidInput("--measure is of a device, and --time of the simulator; leave one of them out");
    runOptions->alignment = 256;
    runOptions->inspect = [&, count = *repetitions](runtime::Kernel &launched, const manifest::Binding &binding) -> Status {
      Result<Measurement> found = measureLaunch(*opened->device, launched, binding.shape, binding.kernarg, {3, count});
      if (!found.ok())
        return found.error();
      measured = *found;
      return Status::success();
    };
  }
  Result<NamedReport> report =
      runNamed(*opened->device, std::as_bytes(std::span((*kernel)->codeObject)),
               (*kernel)->manifest, *tensors, *scalars, *runOptions);
  if (!report.ok())
    return report.error();
  clearProgress();
  const std::string json = options.string(OPT_json);
  llvm::raw_ostream &out = reportStream(json);
  print(out, *report, *tensors, runOptions->check);
  out << time->text();
  if (measured)
    verify::line(out, "measured", describe(*measured));
  if (Status status = saveResults(*report, *tensors); !status.ok())
    return status.error();
  if (Status status =
          writeJson(json, toJson(*report, *tensors, *file, runOptions->check, *time, measured));
      !status.ok())
    return status.error();
  return report->passed() ? exitRight : exitWrong;
}

Result<int> run::kernelCommand(llvm::ArrayRef<const char *> args) {
  static SubcommandTable table;
  CommandLine command{"kernel",
                      "[--tensor NAME=FILE]... [--scalar NAME=NUMBER]... [options] FILE",
                      "Runs the kernel in FILE, a text or a code object, on tensors by name, and "
                      "compares what it computes",
                      &table,
                      OPT_INPUT,
                      OPT_UNKNOWN,
                      OPT_help,
                      TimeVis | TimedVis};
  return runSubcommand(command, args, runKernel);
}
