// One product on one device, start to end: check, place, launch, judge.
#include "hocket/Gemm/RunGemm.h"

#include "hocket/Attention/DeviceTensor.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/xxhash.h"

#include <algorithm>
#include <memory>

using namespace hocket;
using namespace hocket::gemm;
using attention::DeviceTensor;

namespace {
/// The state of one `runGemm`.
class Runner {
public:
  Runner(runtime::Device &device, const manifest::Manifest &manifest, const GemmProblem &problem,
         const GemmOptions &options)
      : device(device), manifest(manifest), problem(problem), options(options) {}
  Result<GemmReport> run(std::span<const std::byte> codeObject);

private:
  Status load(std::span<const std::byte> codeObject);
  Status place();
  Status launchAll();
  Status launchOnce(uint64_t seed, std::vector<uint16_t> &to);
  Status collect(MatrixName matrix, std::span<std::byte> to, const std::string &launch);
  Status checkInputs();
  void verify();
  DeviceTensor &matrix(MatrixName name) { return *matrices[static_cast<size_t>(name)]; }
  void say(const std::string &phase) const {
    if (options.progress)
      options.progress(phase, 0);
  }

  runtime::Device &device;
  const manifest::Manifest &manifest;
  const GemmProblem &problem;
  const GemmOptions &options;

  std::shared_ptr<runtime::Module> module;
  std::shared_ptr<runtime::Kernel> kernel;
  manifest::Binding binding;
  GemmInputs inputs;
  std::vector<uint16_t> output; ///< of the first launch
  std::unique_ptr<DeviceTensor> matrices[3];
  bool faulted = false; ///< a checked launch did not finish, its result means nothing
  GemmReport report;
};
} // namespace

static std::span<std::byte> bytesOf(std::vector<uint16_t> &values) {
  return std::as_writable_bytes(std::span(values));
}

Status Runner::load(std::span<const std::byte> codeObject) {
  if (manifest.target != device.properties().architecture)
    return unsupported("manifest of kernel '" + manifest.kernel + "' is for " + manifest.target +
                       ", device '" + device.properties().name + "' is a " +
                       device.properties().architecture + "; compile for that target");
  if (Status status = manifest::checkRequirements(manifest, problemVariables(problem));
      !status.ok())
    return status;
  Result<std::shared_ptr<runtime::Module>> loaded = device.loadModule(codeObject, manifest.kernel);
  if (!loaded.ok())
    return loaded.error();
  module = *loaded;
  Result<std::shared_ptr<runtime::Kernel>> found = module->kernel(manifest.kernel);
  if (!found.ok())
    return found.error();
  kernel = *found;
  return manifest::checkKernel(manifest, kernel->info());
}

Status Runner::place() {
  say("generating data");
  inputs = generateInputs(problem, options.data, options.seed, options.threads);
  output.resize(static_cast<size_t>(problem.m * problem.n));
  // Checked execution reports what is accessed outside of allocations. So these end with their
  // matrices: reads beyond are found too, even where a mask hides what they return.
  uint64_t guardBehind = options.check ? 0 : attention::guardBytes;
  for (MatrixName name : {MatrixName::A, MatrixName::B, MatrixName::C}) {
    std::vector<uint64_t> rows;
    for (int64_t row = 0; row != problem.rows(name); ++row)
      rows.push_back(2 * static_cast<uint64_t>(row * problem.stride(name)));
    Result<std::unique_ptr<DeviceTensor>> tensor = DeviceTensor::create(
        device, std::string(toString(name)), std::move(rows),
        2 * static_cast<uint64_t>(problem.columns(name)), options.alignment, guardBehind);
    if (!tensor.ok())
      return tensor.error();
    matrices[static_cast<size_t>(name)] = *std::move(tensor);
  }
  if (Status status = matrix(MatrixName::A).upload(bytesOf(inputs.a)); !status.ok())
    return status;
  if (Status status = matrix(MatrixName::B).upload(bytesOf(inputs.b)); !status.ok())
    return status;
  GemmPointers pointers{matrix(MatrixName::A).address(), matrix(MatrixName::B).address(),
                        matrix(MatrixName::C).address()};
  Result<manifest::Binding> bound =
      manifest::bindLaunch(manifest, problemVariables(problem, &pointers));
  if (!bound.ok())
    return bound.error();
  binding = *std::move(bound);
  return Status::success();
}

/// Reads a matrix back and reports bytes that changed around its rows.
Status Runner::collect(MatrixName name, std::span<std::byte> to, const std::string &launch) {
  std::string where;
  Result<uint64_t> changes = matrix(name).download(to, where);
  if (!changes.ok())
    return changes.error();
  if (*changes != 0)
    report.failures.push_back(std::to_string(*changes) + " bytes around matrix '" +
                              std::string(toString(name)) + "' were written" + launch +
                              ", the first " + where);
  return Status::success();
}

Status Runner::launchOnce(uint64_t seed, std::vector<uint16_t> &to) {
  if (Status status = matrix(MatrixName::C).uploadGuards(); !status.ok())
    return status;
  runtime::SimulationOptions simulation;
  simulation.seed = seed;
  simulation.threads = options.threads;
  simulation.check = options.check;
  simulation.maxWaveInstructions = options.instructionLimit;
  device.setSimulationOptions(simulation);
  Result<runtime::LaunchReport> launched = device.launch(*kernel, binding.shape, binding.kernarg);
  std::string where =
      device.kind() == "sim" ? " (interleaving seed " + std::to_string(seed) + ")" : "";
  if (!launched.ok())
    return Error{launched.error().kind, launched.error().message + where};
  mergeFindings(report.findings, launched->findings);
  report.launches.push_back(*launched);
  if (!launched->fault.empty()) {
    faulted = true;
    report.failures.push_back("the launch did not finish: " + launched->fault + where);
  }
  to.resize(output.size());
  return collect(MatrixName::C, bytesOf(to), where);
}

Status Runner::launchAll() {
  for (unsigned i = 0; i != std::max(options.interleavings, 1u); ++i) {
    say("launch " + std::to_string(i + 1) + " of " + std::to_string(options.interleavings));
    std::vector<uint16_t> other;
    if (Status status = launchOnce(options.seed + i, i == 0 ? output : other); !status.ok())
      return status;
    if (i != 0 && !faulted && other != output)
      report.failures.push_back("interleaving seed " + std::to_string(options.seed + i) +
                                " gives another result than seed " + std::to_string(options.seed) +
                                "; the kernel has a race or a missing wait");
  }
  if (options.inspect)
    if (Status status = options.inspect(*kernel, binding); !status.ok())
      return status;
  return checkInputs();
}

Status Runner::checkInputs() {
  for (auto [name, wanted] :
       {std::pair(MatrixName::A, &inputs.a), std::pair(MatrixName::B, &inputs.b)}) {
    std::vector<uint16_t> content(wanted->size());
    if (Status status = collect(name, bytesOf(content), ""); !status.ok())
      return status;
    if (content != *wanted)
      report.failures.push_back("input matrix '" + std::string(toString(name)) +
                                "' was overwritten");
  }
  return Status::success();
}

void Runner::verify() {
  int64_t limit = options.maxCheckedRows > 0 ? options.maxCheckedRows : defaultRowLimit(problem);
  std::vector<int64_t> rows;
  if (problem.m <= limit)
    for (int64_t row = 0; row != problem.m; ++row)
      rows.push_back(row);
  else
    rows = attention::addSample({0, problem.m - 1}, problem.m, limit, options.seed);
  GemmReference reference =
      computeReference(problem, inputs, std::move(rows), options.threads, options.progress);
  say("comparing");
  report.errors = compareGemm(problem, options.data, reference, output);
  report.verified = true;
  report.failures.insert(report.failures.begin(), report.errors.failures.begin(),
                         report.errors.failures.end());
}

Result<GemmReport> Runner::run(std::span<const std::byte> codeObject) {
  if (Status status = validate(problem); !status.ok())
    return status.error();
  if (Status status = load(codeObject); !status.ok())
    return status.error();
  for (auto step : {&Runner::place, &Runner::launchAll})
    if (Status status = (this->*step)(); !status.ok())
      return status.error();
  std::span<std::byte> bytes = bytesOf(output);
  report.outputHash = llvm::xxh3_64bits(
      llvm::ArrayRef(reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size()));
  if (options.verify && !faulted)
    verify();
  if (hasErrors(report.findings))
    report.failures.push_back("checked execution found errors");
  report.problem = problem;
  report.options = options;
  report.kernel = manifest.kernel;
  report.device = device.kind();
  report.deviceName = device.properties().name;
  report.architecture = device.properties().architecture;
  report.shape = binding.shape;
  report.kernelInfo = kernel->info();
  return std::move(report);
}

Result<GemmReport> gemm::runGemm(runtime::Device &device, std::span<const std::byte> codeObject,
                                 const manifest::Manifest &manifest, const GemmProblem &problem,
                                 const GemmOptions &options) {
  return Runner(device, manifest, problem, options).run(codeObject);
}
