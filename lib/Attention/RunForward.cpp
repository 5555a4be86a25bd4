// One problem on one device, start to end: check, place, launch, judge.
//
// What cannot be done is refused before data is generated; what the kernel did wrong is collected
// in the report, so that one run tells everything there is to tell.
#include "hocket/Attention/RunForward.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>

using namespace hocket;
using namespace hocket::attention;
using verify::bytesOf;
using verify::DeviceTensor;

namespace {
using Clock = std::chrono::steady_clock;

double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// A tensor on the device with its content on the host.
struct PlacedTensor {
  std::unique_ptr<DeviceTensor> device;
  std::span<std::byte> host;
};

/// The state of one `runForward`.
class Runner : verify::KernelRun {
public:
  Runner(runtime::Device &device, const ForwardProblem &problem, const ForwardOptions &options)
      : KernelRun(device, options, report), problem(problem), options(options) {}
  Result<ForwardReport> run(std::span<const PlannedLaunch> launches);

private:
  Status placeInputs();
  Status placeOutputs();
  Status placeTensor(TensorName name, std::vector<uint16_t> &data);
  Status placeWorkspace();
  Status bindArguments();
  Status launchAndCompare();
  Status launchOnce(uint64_t seed, ForwardOutputs &outputs);
  Status inspectAll();
  Status resetOutputs();
  Status collectOutputs(ForwardOutputs &to, const std::string &where);
  Status checkInputs();
  void verify();

  const ForwardProblem &problem;
  const ForwardOptions &options;

  ForwardInputs inputs;
  ForwardOutputs outputs;   ///< of the first launch
  ForwardOutputs inspected; ///< of what `inspect` executed; empty if it is not verified
  PlacedTensor q, k, v, o, lse;
  std::unique_ptr<DeviceTensor> workspace;
  ForwardReport report;
};
} // namespace

/// Byte offsets of the rows of `name` in the order of dense host arrays: [batch, head, sequence].
static std::vector<uint64_t> rowOffsets(const ForwardProblem &problem, TensorName name) {
  TensorShape shape = problem.shape(name);
  TensorStrides strides = problem.stridesOf(name);
  std::vector<uint64_t> offsets;
  offsets.reserve(static_cast<size_t>(shape.rows()));
  for (int64_t b = 0; b != shape.batch; ++b)
    for (int64_t h = 0; h != shape.heads; ++h)
      for (int64_t s = 0; s != shape.sequence; ++s)
        offsets.push_back(
            2 * static_cast<uint64_t>(b * strides.batch + h * strides.head + s * strides.sequence));
  return offsets;
}

Status Runner::placeTensor(TensorName name, std::vector<uint16_t> &data) {
  PlacedTensor *places[] = {&q, &k, &v, &o};
  PlacedTensor &place = *places[static_cast<size_t>(name)];
  TensorShape shape = problem.shape(name);
  Result<std::unique_ptr<DeviceTensor>> tensor =
      DeviceTensor::create(device, std::string(toString(name)), rowOffsets(problem, name),
                           2 * static_cast<uint64_t>(shape.dim), options.alignment);
  if (!tensor.ok())
    return tensor.error();
  place.device = *std::move(tensor);
  place.host = bytesOf(data);
  return Status::success();
}

Status Runner::placeInputs() {
  say("generating data");
  inputs = generateInputs(problem, options.data, options.seed, options.threads);
  Clock::time_point start = Clock::now();
  say("uploading");
  std::pair<TensorName, std::vector<uint16_t> *> tensors[] = {
      {TensorName::Q, &inputs.q}, {TensorName::K, &inputs.k}, {TensorName::V, &inputs.v}};
  for (auto &[name, data] : tensors)
    if (Status status = placeTensor(name, *data); !status.ok())
      return status;
  for (PlacedTensor *tensor : {&q, &k, &v})
    if (Status status = tensor->device->upload(tensor->host); !status.ok())
      return status;
  report.uploadSeconds = secondsSince(start);
  return Status::success();
}

Status Runner::placeOutputs() {
  outputs.o.resize(static_cast<size_t>(problem.shape(TensorName::O).elements()));
  if (Status status = placeTensor(TensorName::O, outputs.o); !status.ok())
    return status;
  if (!problem.wantLse)
    return Status::success();
  outputs.lse.resize(static_cast<size_t>(problem.shape(TensorName::O).rows()));
  Result<std::unique_ptr<DeviceTensor>> tensor =
      DeviceTensor::create(device, "lse", {0}, 4 * outputs.lse.size(), options.alignment);
  if (!tensor.ok())
    return tensor.error();
  lse.device = *std::move(tensor);
  lse.host = bytesOf(outputs.lse);
  return Status::success();
}

Status Runner::placeWorkspace() {
  for (const verify::LoadedKernel &kernel : kernels) {
    Result<uint64_t> bytes = manifest::workspaceBytes(*kernel.manifest, problemVariables(problem));
    if (!bytes.ok())
      return bytes.error();
    report.workspaceBytes = std::max(report.workspaceBytes, *bytes);
  }
  if (report.workspaceBytes == 0)
    return Status::success();
  Result<std::unique_ptr<DeviceTensor>> tensor =
      DeviceTensor::create(device, "workspace", {0}, report.workspaceBytes, options.alignment);
  if (!tensor.ok())
    return tensor.error();
  workspace = *std::move(tensor);
  return Status::success();
}

Status Runner::bindArguments() {
  ForwardPointers pointers;
  pointers.q = q.device->address();
  pointers.k = k.device->address();
  pointers.v = v.device->address();
  pointers.o = o.device->address();
  pointers.lse = lse.device ? lse.device->address() : 0;
  pointers.workspace = workspace ? workspace->address() : 0;
  return bind(problemVariables(problem, &pointers));
}

Status Runner::resetOutputs() {
  for (DeviceTensor *tensor : {o.device.get(), lse.device.get(), workspace.get()})
    if (tensor)
      if (Status status = tensor->uploadGuards(); !status.ok())
        return status;
  return Status::success();
}

Status Runner::launchOnce(uint64_t seed, ForwardOutputs &to) {
  if (Status status = resetOutputs(); !status.ok())
    return status;
  if (Status status = launch(seed); !status.ok())
    return status;
  return collectOutputs(to, launchName(seed));
}

Status Runner::collectOutputs(ForwardOutputs &to, const std::string &where) {
  to.o.resize(outputs.o.size());
  to.lse.resize(outputs.lse.size());
  if (Status status = collect(*o.device, "tensor 'o'", bytesOf(to.o), where); !status.ok())
    return status;
  if (lse.device)
    if (Status status = collect(*lse.device, "tensor 'lse'", bytesOf(to.lse), where); !status.ok())
      return status;
  if (!workspace)
    return Status::success();
  std::vector<std::byte> content(report.workspaceBytes);
  return collect(*workspace, "tensor 'workspace'", content, where);
}

Status Runner::launchAndCompare() {
  auto launchAnother = [&](uint64_t seed, bool first) -> Status {
    ForwardOutputs other;
    if (Status status = launchOnce(seed, first ? outputs : other); !status.ok())
      return status;
    bool same = first || (verify::sameBits(bytesOf(outputs.o), bytesOf(other.o)) &&
                          verify::sameBits(bytesOf(outputs.lse), bytesOf(other.lse)));
    if (!same && !faulted)
      reportDifference(seed);
    return Status::success();
  };
  if (Status status = launchAll(launchAnother); !status.ok())
    return status;
  if (Status status = inspectAll(); !status.ok())
    return status;
  return checkInputs();
}

Status Runner::inspectAll() {
  bool verified = options.inspect && options.verifyInspected;
  if (verified)
    if (Status status = resetOutputs(); !status.ok())
      return status;
  if (Status status = inspect(); !status.ok())
    return status;
  return verified ? collectOutputs(inspected, " (in the order of the cycle model)")
                  : Status::success();
}

Status Runner::checkInputs() {
  std::pair<const char *, PlacedTensor *> tensors[] = {{"q", &q}, {"k", &k}, {"v", &v}};
  for (auto &[name, tensor] : tensors) {
    std::vector<std::byte> content(tensor->host.size());
    if (Status status = collect(*tensor->device, "tensor '" + std::string(name) + "'", content, "");
        !status.ok())
      return status;
    if (!verify::sameBits(content, tensor->host))
      report.failures.push_back("input tensor '" + std::string(name) + "' was overwritten");
  }
  return Status::success();
}

void Runner::verify() {
  Clock::time_point start = Clock::now();
  int64_t limit = options.maxCheckedRows > 0 ? options.maxCheckedRows : defaultRowLimit(problem);
  ForwardReference reference = computeReference(
      problem, inputs, chooseRows(problem, limit, options.seed), options.threads, options.progress);
  report.referenceSeconds = secondsSince(start);
  start = Clock::now();
  say("comparing");
  report.errors = compareForward(problem, inputs, reference, outputs);
  if (!inspected.o.empty())
    report.inspectedErrors = compareForward(problem, inputs, reference, inspected);
  report.compareSeconds = secondsSince(start);
  addVerdict(report.errors.failures);
  if (report.inspectedErrors)
    for (const std::string &failure : report.inspectedErrors->failures)
      report.failures.push_back("in the order of the cycle model: " + failure);
}

/// The host holds the inputs, the outputs and copies of one tensor at a time while it fills memory:
/// a problem that cannot fit is refused before anything is allocated.
static Status checkHostMemory(const ForwardProblem &problem) {
  double elements = 0;
  for (TensorName tensor : {TensorName::Q, TensorName::K, TensorName::V, TensorName::O})
    elements += static_cast<double>(problem.shape(tensor).elements());
  constexpr double bytesPerElement = 6, gib = double(1 << 30);
  double needed = elements * bytesPerElement;
  double available = static_cast<double>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
  if (needed <= 0.8 * available)
    return Status::success();
  return hostError("the problem needs some " + std::to_string(static_cast<int64_t>(needed / gib)) +
                   " GiB of host memory for its tensors, this machine has " +
                   std::to_string(static_cast<int64_t>(available / gib)) +
                   " GiB; use a smaller batch, fewer heads or shorter sequences");
}

Result<ForwardReport> Runner::run(std::span<const PlannedLaunch> launches) {
  if (Status status = validate(problem); !status.ok())
    return status.error();
  if (Status status = checkHostMemory(problem); !status.ok())
    return status.error();
  Status (Runner::*const steps[])() = {&Runner::placeWorkspace, &Runner::placeInputs,
                                       &Runner::placeOutputs, &Runner::bindArguments,
                                       &Runner::launchAndCompare};
  for (const PlannedLaunch &launch : launches)
    if (Status status = load(std::as_bytes(std::span(launch.compiled->codeObject)),
                             launch.compiled->manifest, problemVariables(problem));
        !status.ok())
      return status.error();
  for (auto step : steps)
    if (Status status = (this->*step)(); !status.ok())
      return status.error();
  report.outputHash = verify::hashBits({bytesOf(outputs.o), bytesOf(outputs.lse)});
  if (options.verify && !faulted)
    verify();
  finish();
  report.problem = problem;
  report.options = options;
  return std::move(report);
}

Result<ForwardReport> attention::runForward(runtime::Device &device,
                                            std::span<const PlannedLaunch> launches,
                                            const ForwardProblem &problem,
                                            const ForwardOptions &options) {
  if (launches.empty())
    return invalidInput("a run needs a kernel at least");
  if (problem.bias)
    return unsupported("the problem '" + problem.describe() +
                       "' adds a bias to the scores, which no kernel does; run it without");
  return Runner(device, problem, options).run(launches);
}

Result<ForwardReport> attention::runForward(runtime::Device &device,
                                            std::span<const std::byte> codeObject,
                                            const manifest::Manifest &manifest,
                                            const ForwardProblem &problem,
                                            const ForwardOptions &options) {
  auto kernel = std::make_shared<CompiledKernel>();
  kernel->codeObject.assign(reinterpret_cast<const char *>(codeObject.data()), codeObject.size());
  kernel->manifest = manifest;
  const PlannedLaunch launch{manifest.kernel, std::move(kernel)};
  return runForward(device, std::span(&launch, 1), problem, options);
}
