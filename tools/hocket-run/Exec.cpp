// hocket-run exec: any kernel of any code object, with arguments from a JSON file.
//
// With several interleavings the buffers start afresh each time, and what is saved must come out
// the same: a kernel whose result depends on the order of waves is wrong.
#define HOCKET_OPTIONS_INC "ExecOptions.inc"
#include "ExecBuffers.h"
#include "OptionTable.h"
#include "Output.h"
#include "RunOptions.h"
#include "Subcommands.h"
#include "TimeRequest.h"

#include "hocket/Runtime/CodeObjectInfo.h"
#include "hocket/Runtime/File.h"
#include "Verify/ReportParts.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

using namespace hocket;
using namespace hocket::run;
using llvm::StringRef;
namespace json = llvm::json;

namespace {
/// The command line, read.
struct Request {
  std::string file, kernel, argumentFile, device, json;
  runtime::LaunchShape shape;
  verify::RunOptions run;
  TimeRequest time;
};

/// The state of one `exec`.
class Execution {
public:
  explicit Execution(Request request) : request(std::move(request)) {}
  Result<int> run();

private:
  Status load();
  Result<std::vector<std::byte>> packKernarg(const ExecBuffers &buffers) const;
  Status launchAll(const ExecBuffers &buffers);
  Status collect(const ExecBuffers &buffers, uint64_t seed, bool first);
  Status save() const;
  std::string toJson(const ExecBuffers &buffers) const;
  void printSummary(llvm::raw_ostream &out) const;

  Request request;
  ArgumentFile file;
  std::shared_ptr<runtime::Device> device;
  std::shared_ptr<runtime::Module> module;
  std::shared_ptr<runtime::Kernel> kernel;
  std::vector<std::byte> kernarg;
  std::vector<std::vector<std::byte>> saved; ///< by buffer, of the first launch
  verify::RunReport report;
  bool faulted = false; ///< a checked launch did not finish
};
} // namespace

static Result<Request> readRequest(const Options &options) {
  Request request;
  Result<std::string> file = options.onlyInput("code object file");
  if (!file.ok())
    return file.error();
  request.file = *file;
  Result<runtime::Dim3> grid = options.dim3(OPT_grid);
  Result<runtime::Dim3> block = grid.ok() ? options.dim3(OPT_block) : grid;
  if (!block.ok())
    return block.error();
  Result<int64_t> lds = options.integer(OPT_dynamic_lds, 0, 0, 1 << 24);
  if (!lds.ok())
    return lds.error();
  request.shape = {*grid, *block, static_cast<uint32_t>(*lds)};
  Result<verify::RunOptions> run =
      readLaunchOptions(options, {OPT_seed, OPT_interleavings, OPT_check, OPT_hang_limit});
  if (!run.ok())
    return run.error();
  if (Status status = readInstructionLimit(options, OPT_instruction_limit, *run); !status.ok())
    return status.error();
  request.run = *std::move(run);
  request.kernel = options.string(OPT_kernel);
  request.argumentFile = options.string(OPT_args);
  request.device = options.string(OPT_device, "auto");
  request.json = options.string(OPT_json);
  Result<TimeRequest> time =
      TimeRequest::read(options, {OPT_time, OPT_time_file, OPT_time_param, OPT_time_workgroup, OPT_trace,
                                  OPT_picture, OPT_time_grid, OPT_time_vary});
  if (!time.ok())
    return time.error();
  request.time = *std::move(time);
  return request;
}

Status Execution::load() {
  Result<std::vector<std::byte>> bytes = runtime::readFile(request.file);
  if (!bytes.ok())
    return bytes.error();
  Result<runtime::CodeObjectInfo> info = runtime::readCodeObjectInfo(*bytes, request.file);
  if (!info.ok())
    return info.error();
  if (request.kernel.empty() && info->kernels.size() == 1)
    request.kernel = info->kernels.front().name;
  if (request.kernel.empty()) {
    std::string names;
    for (const std::string &name : info->kernelNames())
      names += (names.empty() ? "'" : ", '") + name + "'";
    return invalidInput("code object '" + request.file + "' has " +
                        std::to_string(info->kernels.size()) +
                        " kernels; choose one with --kernel: " + names);
  }
  if (Result<const runtime::KernelInfo *> found = info->find(request.kernel); !found.ok())
    return found.error();
  Result<runtime::OpenedDevice> opened = openDevice(request.device);
  if (!opened.ok())
    return opened.error();
  device = opened->device;
  report.describe(*device);
  if (request.run.check && device->kind() != "sim")
    return unsupported("--check needs the simulator; use '--device sim'");
  Result<std::shared_ptr<runtime::Module>> loaded = device->loadModule(*bytes, request.file);
  if (!loaded.ok())
    return loaded.error();
  module = *loaded;
  Result<std::shared_ptr<runtime::Kernel>> found = module->kernel(request.kernel);
  if (!found.ok())
    return found.error();
  kernel = *found;
  return Status::success();
}

Result<std::vector<std::byte>> Execution::packKernarg(const ExecBuffers &buffers) const {
  std::vector<runtime::ArgumentValue> values;
  for (const ArgumentSpec &spec : file.arguments) {
    runtime::ArgumentValue value = spec.value;
    if (spec.buffer) {
      std::optional<uint32_t> offset = value.offset;
      value = runtime::ArgumentValue::pointer(buffers.address(*spec.buffer) + spec.byteOffset);
      value.offset = offset;
    }
    values.push_back(std::move(value));
  }
  return runtime::packArguments(kernel->info(), values, file.kernargSize);
}

Status Execution::collect(const ExecBuffers &buffers, uint64_t seed, bool first) {
  saved.resize(file.buffers.size());
  for (size_t i = 0; i != file.buffers.size(); ++i) {
    if (file.buffers[i].saveFile.empty())
      continue;
    Result<std::vector<std::byte>> content = buffers.read(i);
    if (!content.ok())
      return content.error();
    if (first) {
      saved[i] = *std::move(content);
      continue;
    }
    auto [a, b] = std::mismatch(saved[i].begin(), saved[i].end(), content->begin());
    if (a != saved[i].end())
      report.failures.push_back(file.buffers[i].describe(i) +
                                " differs between interleavings: seed " + std::to_string(seed) +
                                " and seed " + std::to_string(request.run.seed) + " at byte " +
                                std::to_string(a - saved[i].begin()));
  }
  return Status::success();
}

Status Execution::launchAll(const ExecBuffers &buffers) {
  for (unsigned i = 0; i != request.run.interleavings; ++i) {
    showProgress("launch " + std::to_string(i + 1) + " of " + std::to_string(request.run.interleavings),
                 0);
    if (Status status = buffers.initialise(); !status.ok())
      return status;
    runtime::SimulationOptions simulation;
    simulation.seed = request.run.seed + i;
    simulation.maxWaveInstructions = request.run.instructionLimit;
    simulation.maxSeconds = request.run.hangSeconds;
    simulation.check = request.run.check;
    device->setSimulationOptions(simulation);
    Result<runtime::LaunchReport> launched = device->launch(*kernel, request.shape, kernarg);
    if (!launched.ok()) {
      std::string seed = request.run.interleavings > 1
                             ? "\nnote: with interleaving seed " + std::to_string(simulation.seed)
                             : "";
      return Error{launched.error().kind, launched.error().message + seed};
    }
    report.launches.push_back({simulation.seed, {*launched}});
    runtime::mergeFindings(report.findings, launched->findings);
    if (!launched->fault.empty()) {
      report.failures.push_back("the launch did not finish: " +
                                runtime::describeFault(launched->fault, launched->findings));
      faulted = true;
      break;
    }
    if (Status status = collect(buffers, simulation.seed, i == 0); !status.ok())
      return status;
  }
  // On fresh buffers, and after what is saved has been read.
  if (request.time.wanted()) {
    if (Status status = buffers.initialise(); !status.ok())
      return status;
    if (Status status = request.time.run(*device, *kernel, request.shape, kernarg); !status.ok())
      return status;
  }
  clearProgress();
  return Status::success();
}

Status Execution::save() const {
  for (size_t i = 0; i != file.buffers.size(); ++i)
    if (!file.buffers[i].saveFile.empty())
      if (Status status = runtime::writeFile(file.buffers[i].saveFile, saved[i]); !status.ok())
        return status;
  return Status::success();
}

std::string Execution::toJson(const ExecBuffers &buffers) const {
  return verify::jsonObject([&](json::OStream &out) {
    out.attribute("passed", report.passed());
    out.attributeArray("failures", [&] {
      for (const std::string &failure : report.failures)
        out.value(failure);
    });
    out.attribute("file", request.file);
    out.attribute("kernel", request.kernel);
    verify::writeDevice(out, report);
    verify::writeDim(out, "grid", request.shape.grid);
    verify::writeDim(out, "block", request.shape.block);
    out.attribute("dynamic_lds", request.shape.dynamicLds);
    out.attribute("kernarg_bytes", static_cast<uint64_t>(kernarg.size()));
    verify::writeLaunches(out, report);
    if (request.run.check)
      verify::writeFindings(out, report.findings);
    out.attributeArray("buffers", [&] {
      for (size_t i = 0; i != file.buffers.size(); ++i)
        out.object([&] {
          out.attribute("name", file.buffers[i].name);
          out.attribute("bytes", file.buffers[i].bytes);
          out.attribute("address", runtime::formatAddress(buffers.address(i)));
          if (!file.buffers[i].saveFile.empty())
            out.attribute("saved", file.buffers[i].saveFile);
        });
    });
    request.time.writeMembers(out);
  });
}

void Execution::printSummary(llvm::raw_ostream &out) const {
  for (const verify::RunLaunch &launch : report.launches) {
    out << request.kernel << " on " << StringRef(device->kind()) << ": "
        << llvm::format("%.6f s", launch.seconds());
    if (device->kind() == "sim")
      out << " of host time, " << launch.waveInstructions()
          << " wave-instructions, interleaving seed " << launch.seed;
    out << '\n';
  }
  for (const runtime::Finding &finding : runtime::groupFindings(report.findings))
    out << "hocket-run: " << runtime::describeFinding(finding) << '\n';
  for (const std::string &failure : report.failures)
    out << "hocket-run: wrong: " << failure << '\n';
}

Result<int> Execution::run() {
  if (!request.argumentFile.empty()) {
    Result<std::string> text = runtime::readText(request.argumentFile);
    if (!text.ok())
      return text.error();
    Result<ArgumentFile> parsed = parseArguments(*text, request.argumentFile);
    if (!parsed.ok())
      return parsed.error();
    file = *std::move(parsed);
  }
  if (Status status = load(); !status.ok())
    return status.error();
  Result<ExecBuffers> buffers = ExecBuffers::create(*device, file.buffers);
  if (!buffers.ok())
    return buffers.error();
  Result<std::vector<std::byte>> packed = packKernarg(*buffers);
  if (!packed.ok())
    return packed.error();
  kernarg = *std::move(packed);
  if (Status status = launchAll(*buffers); !status.ok())
    return status.error();
  if (Status status = faulted ? Status::success() : save(); !status.ok())
    return status.error();
  if (runtime::hasErrors(report.findings))
    report.failures.push_back("checked execution found errors");
  llvm::raw_ostream &out = reportStream(request.json);
  printSummary(out);
  out << request.time.text();
  if (Status status = writeJson(request.json, toJson(*buffers)); !status.ok())
    return status.error();
  return report.passed() ? exitRight : exitWrong;
}

static Result<int> runExec(const Options &options) {
  Result<Request> request = readRequest(options);
  if (!request.ok())
    return request.error();
  return Execution(*std::move(request)).run();
}

Result<int> run::execCommand(llvm::ArrayRef<const char *> args) {
  static SubcommandTable table;
  CommandLine command{"exec",
                      "--grid X,Y,Z --block X,Y,Z [options] FILE",
                      "Runs a kernel of the code object FILE with arguments from a JSON file",
                      &table,
                      OPT_INPUT,
                      OPT_UNKNOWN,
                      OPT_help,
                      TimeVis | TimedVis};
  return runSubcommand(command, args, runExec);
}
