// One problem on one device, start to end: check, place, launch, judge.
//
// What cannot be done is refused before data is generated; what the kernel did wrong is collected
// in the report, so that one run tells everything there is to tell.
#include "hocket/Attention/RunForward.h"

#include "hocket/Attention/DeviceTensor.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/xxhash.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>

using namespace hocket;
using namespace hocket::attention;

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
class Runner {
public:
  Runner(runtime::Device &device, const ForwardProblem &problem, const ForwardOptions &options)
      : device(device), problem(problem), options(options) {}
  Result<ForwardReport> run(std::span<const PlannedLaunch> launches);

private:
  Status load(const PlannedLaunch &launch);
  Status placeInputs();
  Status placeOutputs();
  Status placeTensor(TensorName name, std::vector<uint16_t> &data);
  Status placeWorkspace();
  Status bindArguments();
  Status launchAll();
  Status launchOnce(uint64_t seed, ForwardOutputs &outputs);
  Status collect(PlacedTensor &tensor, const std::string &name, std::span<std::byte> to,
                 const std::string &launch);
  Status inspect();
  Status resetOutputs();
  Status collectOutputs(ForwardOutputs &to, const std::string &where);
  Status checkInputs();
  void compareInterleavings(const ForwardOutputs &other, uint64_t seed);
  uint64_t hashOutputs() const;
  void verify();
  void say(const std::string &phase, double fraction = 0) const {
    if (options.progress)
      options.progress(phase, fraction);
  }

  runtime::Device &device;
  const ForwardProblem &problem;
  const ForwardOptions &options;

  /// A kernel of the run, with its arguments.
  struct Loaded {
    const manifest::Manifest *manifest;
    std::shared_ptr<runtime::Module> module;
    std::shared_ptr<runtime::Kernel> kernel;
    manifest::Binding binding = {};
  };
  std::vector<Loaded> kernels;
  ForwardInputs inputs;
  ForwardOutputs outputs;   ///< of the first launch
  ForwardOutputs inspected; ///< of what `inspect` executed; empty if it is not verified
  PlacedTensor q, k, v, o, lse;
  std::unique_ptr<DeviceTensor> workspace;
  uint64_t workspaceBytes = 0;
  bool faulted = false; ///< a checked launch did not finish, its result means nothing
  ForwardReport report;
};
} // namespace

template <typename T> static std::span<std::byte> bytesOf(std::vector<T> &values) {
  return std::as_writable_bytes(std::span(values));
}

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

template <typename T>
static T sumOver(const ForwardLaunch &launch, T runtime::LaunchReport::*member) {
  T sum = launch.report.*member;
  for (const runtime::LaunchReport &next : launch.further)
    sum += next.*member;
  return sum;
}

double ForwardLaunch::seconds() const { return sumOver(*this, &runtime::LaunchReport::seconds); }
uint64_t ForwardLaunch::waveInstructions() const {
  return sumOver(*this, &runtime::LaunchReport::waveInstructions);
}
uint64_t ForwardLaunch::workgroups() const {
  return sumOver(*this, &runtime::LaunchReport::workgroups);
}

Status Runner::load(const PlannedLaunch &launch) {
  const manifest::Manifest &manifest = launch.compiled->manifest;
  if (manifest.target != device.properties().architecture)
    return unsupported("manifest of kernel '" + manifest.kernel + "' is for " + manifest.target +
                       ", device '" + device.properties().name + "' is a " +
                       device.properties().architecture + "; compile for that target");
  if (Status status = manifest::checkRequirements(manifest, problemVariables(problem));
      !status.ok())
    return status;
  Result<std::shared_ptr<runtime::Module>> loaded =
      device.loadModule(std::as_bytes(std::span(launch.compiled->codeObject)), manifest.kernel);
  if (!loaded.ok())
    return loaded.error();
  Result<std::shared_ptr<runtime::Kernel>> found = (*loaded)->kernel(manifest.kernel);
  if (!found.ok())
    return found.error();
  kernels.push_back({&manifest, *loaded, *found});
  return manifest::checkKernel(manifest, (*found)->info());
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
  for (const Loaded &kernel : kernels) {
    Result<uint64_t> bytes = manifest::workspaceBytes(*kernel.manifest, problemVariables(problem));
    if (!bytes.ok())
      return bytes.error();
    workspaceBytes = std::max(workspaceBytes, *bytes);
  }
  if (workspaceBytes == 0)
    return Status::success();
  Result<std::unique_ptr<DeviceTensor>> tensor =
      DeviceTensor::create(device, "workspace", {0}, workspaceBytes, options.alignment);
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
  for (Loaded &kernel : kernels) {
    Result<manifest::Binding> bound =
        manifest::bindLaunch(*kernel.manifest, problemVariables(problem, &pointers));
    if (!bound.ok())
      return bound.error();
    kernel.binding = *std::move(bound);
  }
  return Status::success();
}

/// Reads `tensor` back into `to` and reports bytes that changed around it.
Status Runner::collect(PlacedTensor &tensor, const std::string &name, std::span<std::byte> to,
                       const std::string &launch) {
  std::string where;
  Result<uint64_t> changes = tensor.device->download(to, where);
  if (!changes.ok())
    return changes.error();
  if (*changes != 0)
    report.failures.push_back(std::to_string(*changes) + " bytes around tensor '" + name +
                              "' were written" + launch + ", the first " + where);
  return Status::success();
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
  runtime::SimulationOptions simulation;
  simulation.seed = seed;
  simulation.threads = options.threads;
  simulation.check = options.check;
  simulation.maxWaveInstructions = options.instructionLimit;
  device.setSimulationOptions(simulation);
  std::string where =
      device.kind() == "sim" ? " (interleaving seed " + std::to_string(seed) + ")" : "";
  ForwardLaunch &launch = report.launches.emplace_back();
  launch.seed = seed;
  for (const Loaded &kernel : kernels) {
    Result<runtime::LaunchReport> launched =
        device.launch(*kernel.kernel, kernel.binding.shape, kernel.binding.kernarg);
    if (!launched.ok())
      return Error{launched.error().kind, launched.error().message + where};
    mergeFindings(report.findings, launched->findings);
    const std::string fault = launched->fault;
    if (&kernel == &kernels.front())
      launch.report = *std::move(launched);
    else
      launch.further.push_back(*std::move(launched));
    if (fault.empty())
      continue;
    faulted = true;
    report.failures.push_back("the launch did not finish: " + fault + where);
    break;
  }
  return collectOutputs(to, where);
}

Status Runner::collectOutputs(ForwardOutputs &to, const std::string &where) {
  to.o.resize(outputs.o.size());
  to.lse.resize(outputs.lse.size());
  if (Status status = collect(o, "o", bytesOf(to.o), where); !status.ok())
    return status;
  if (lse.device)
    if (Status status = collect(lse, "lse", bytesOf(to.lse), where); !status.ok())
      return status;
  if (!workspace)
    return Status::success();
  std::vector<std::byte> content(workspaceBytes);
  PlacedTensor place{std::move(workspace), content};
  Status status = collect(place, "workspace", content, where);
  workspace = std::move(place.device);
  return status;
}

void Runner::compareInterleavings(const ForwardOutputs &other, uint64_t seed) {
  // Bits, not values: NaN is not equal to itself.
  auto same = [](const auto &a, const auto &b) {
    auto x = std::as_bytes(std::span(a)), y = std::as_bytes(std::span(b));
    return std::equal(x.begin(), x.end(), y.begin(), y.end());
  };
  if (faulted || (same(outputs.o, other.o) && same(outputs.lse, other.lse)))
    return;
  report.failures.push_back("interleaving seed " + std::to_string(seed) +
                            " gives another result than seed " + std::to_string(options.seed) +
                            "; the kernel has a race or a missing wait");
}

Status Runner::launchAll() {
  for (unsigned i = 0; i != std::max(options.interleavings, 1u); ++i) {
    say("launch " + std::to_string(i + 1) + " of " + std::to_string(options.interleavings));
    ForwardOutputs other;
    if (Status status = launchOnce(options.seed + i, i == 0 ? outputs : other); !status.ok())
      return status;
    if (i != 0)
      compareInterleavings(other, options.seed + i);
  }
  if (Status status = inspect(); !status.ok())
    return status;
  return checkInputs();
}

Status Runner::inspect() {
  if (!options.inspect)
    return Status::success();
  if (options.verifyInspected)
    if (Status status = resetOutputs(); !status.ok())
      return status;
  for (const Loaded &kernel : kernels)
    if (Status status = options.inspect(*kernel.kernel, kernel.binding); !status.ok())
      return status;
  return options.verifyInspected ? collectOutputs(inspected, " (in the order of the cycle model)")
                                 : Status::success();
}

Status Runner::checkInputs() {
  std::pair<const char *, PlacedTensor *> tensors[] = {{"q", &q}, {"k", &k}, {"v", &v}};
  for (auto &[name, tensor] : tensors) {
    std::vector<std::byte> content(tensor->host.size());
    if (Status status = collect(*tensor, name, content, ""); !status.ok())
      return status;
    if (!std::equal(content.begin(), content.end(), tensor->host.begin()))
      report.failures.push_back("input tensor '" + std::string(name) + "' was overwritten");
  }
  return Status::success();
}

uint64_t Runner::hashOutputs() const {
  auto bytes = [](const auto &values) {
    return llvm::ArrayRef(reinterpret_cast<const uint8_t *>(values.data()),
                          values.size() * sizeof(values[0]));
  };
  uint64_t hashes[] = {llvm::xxh3_64bits(bytes(outputs.o)), llvm::xxh3_64bits(bytes(outputs.lse))};
  return llvm::xxh3_64bits(bytes(llvm::ArrayRef(hashes)));
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
  report.verified = true;
  report.failures.insert(report.failures.begin(), report.errors.failures.begin(),
                         report.errors.failures.end());
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
                                       &Runner::launchAll};
  for (const PlannedLaunch &launch : launches)
    if (Status status = load(launch); !status.ok())
      return status.error();
  for (auto step : steps)
    if (Status status = (this->*step)(); !status.ok())
      return status.error();
  report.outputHash = hashOutputs();
  if (options.verify && !faulted)
    verify();
  if (hasErrors(report.findings))
    report.failures.push_back("checked execution found errors");
  report.problem = problem;
  report.options = options;
  report.device = device.kind();
  report.deviceName = device.properties().name;
  report.architecture = device.properties().architecture;
  for (const Loaded &kernel : kernels)
    report.kernels.push_back({kernel.manifest->kernel, kernel.binding.shape,
                              kernel.binding.kernarg.size(), kernel.kernel->info()});
  report.workspaceBytes = workspaceBytes;
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
