#include "Inspect.h"

#include "WithoutLock.h"

#include "Simulator/GridTime.h"
#include "Simulator/SteadyState.h"
#include "Simulator/Trace.h"
#include "Target/AMDGPU/CodeObjectFile.h"
#include "hocket/Runtime/Finding.h"
#include "hocket/Simulator/RuntimeDevice.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <pybind11/stl.h>

#include <numeric>

namespace py = pybind11;
using namespace hocket;
using namespace hocket::python;
using runtime::LaunchReport;

/// A JSON object with what `write` puts into it.
static std::string jsonObject(llvm::function_ref<void(llvm::json::OStream &)> write) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  llvm::json::OStream out(stream);
  out.object([&] { write(out); });
  return text;
}

namespace {
/// A simulator with the kernel loaded and copies of the arguments in its memory.
class Laboratory {
public:
  /// `alignment` of the copies, no better.
  static Result<std::unique_ptr<Laboratory>> create(const Kernel &kernel,
                                                    const KernelArguments &arguments,
                                                    uint64_t alignment,
                                                    sim::Instrument *instrument = nullptr);
  /// Copies what the launch left back to tensors that may change.
  Status collect(const KernelArguments &arguments);

  std::shared_ptr<runtime::Device> device;
  std::shared_ptr<runtime::Kernel> kernel;
  manifest::Binding binding;

private:
  Status place(const KernelArguments &arguments, uint64_t alignment);
  manifest::NamedArguments named;
};
} // namespace

Status Laboratory::place(const KernelArguments &arguments, uint64_t alignment) {
  named.scalars = arguments.scalars;
  for (const std::shared_ptr<Tensor> &tensor : arguments.tensors) {
    runtime::DeviceAddress address = 0;
    if (const uint64_t bytes = tensor->spanBytes()) {
      // What fills the last dword belongs to it: descriptors include it.
      auto allocated = device->allocate((bytes + 3) / 4 * 4, alignment, tensor->argument);
      if (!allocated.ok())
        return allocated.error();
      address = *allocated;
      if (Status status = device->copyToDevice(address, tensor->span()); !status.ok())
        return status;
    }
    named.tensors.push_back(
        {tensor->argument, address, tensor->dtype, tensor->shape, tensor->strides});
  }
  return Status::success();
}

Result<std::unique_ptr<Laboratory>> Laboratory::create(const Kernel &kernel,
                                                       const KernelArguments &arguments,
                                                       uint64_t alignment,
                                                       sim::Instrument *instrument) {
  const manifest::Manifest &manifest = kernel.manifest();
  auto made = std::make_unique<Laboratory>();
  made->device = sim::createDevice(instrument, manifest.target);
  auto module = made->device->loadModule(std::as_bytes(std::span(kernel.code().codeObject)),
                                         manifest.kernel);
  if (!module.ok())
    return module.error();
  auto found = (*module)->kernel(manifest.kernel);
  if (!found.ok())
    return found.error();
  made->kernel = *found;
  if (Status status = made->place(arguments, alignment); !status.ok())
    return status.error();
  Result<manifest::Variables> variables = manifest::deriveVariables(manifest, made->named);
  if (!variables.ok())
    return variables.error();
  Result<uint64_t> bytes = manifest::workspaceBytes(manifest, *variables);
  if (!bytes.ok())
    return bytes.error();
  if (*bytes != 0) {
    auto workspace = made->device->allocate(*bytes, alignment, "workspace");
    if (!workspace.ok())
      return workspace.error();
    made->named.scalars["workspace"] =
        manifest::Value::integer(static_cast<int64_t>(*workspace));
  }
  Result<manifest::Binding> binding = manifest::bindLaunch(manifest, made->named);
  if (!binding.ok())
    return binding.error();
  made->binding = *std::move(binding);
  return made;
}

Status Laboratory::collect(const KernelArguments &arguments) {
  for (size_t i = 0; i != arguments.tensors.size(); ++i) {
    const Tensor &tensor = *arguments.tensors[i];
    if (tensor.readOnly || tensor.spanBytes() == 0)
      continue;
    if (Status status = device->copyFromDevice(tensor.span(), named.tensors[i].address);
        !status.ok())
      return status;
  }
  return Status::success();
}

/// Tensors of a GPU are not the simulator's to copy.
static void checkOnHost(const KernelArguments &arguments, const char *what) {
  for (const std::shared_ptr<Tensor> &tensor : arguments.tensors)
    if (tensor->place != Place::Host)
      raise(unsupported("argument '" + tensor->argument + "' is on " + tensor->deviceName() + "; " +
                        what + " happens in the simulator, give tensors of the host"));
}

py::dict python::checkKernel(const Kernel &kernel, const KernelArguments &arguments,
                             uint64_t seed) {
  checkOnHost(arguments, "checking");
  const LaunchReport report =
      withoutLock([&](const std::stop_token &stop) -> Result<LaunchReport> {
        auto laboratory = Laboratory::create(kernel, arguments, /*alignment=*/16);
        if (!laboratory.ok())
          return laboratory.error();
        runtime::SimulationOptions options;
        options.check = true;
        options.seed = seed;
        options.stop = stop;
        runtime::Device &device = *(*laboratory)->device;
        device.setSimulationOptions(options);
        const manifest::Binding &binding = (*laboratory)->binding;
        auto launched = device.launch(*(*laboratory)->kernel, binding.shape, binding.kernarg);
        if (launched.ok() && launched->fault.empty())
          if (Status status = (*laboratory)->collect(arguments); !status.ok())
            return status.error();
        return launched;
      });
  py::list findings;
  for (const runtime::Finding &finding : runtime::groupFindings(report.findings))
    findings.append(py::make_tuple(
        std::string(runtime::findingName(finding.kind)),
        finding.severity == runtime::FindingSeverity::Error ? "error" : "advice",
        runtime::describeDetails(finding), finding.count));
  py::dict result;
  result["findings"] = findings;
  result["fault"] = report.fault;
  result["note"] = report.checkNote;
  return result;
}

static sim::ClusterNumbers clustersOf(const manifest::Manifest &manifest) {
  const manifest::Clusters &clusters = manifest.clusters;
  return {manifest.kernel, static_cast<unsigned>(clusters.kinds.size()), clusters.unroll,
          clusters.barriersBefore};
}

namespace {
struct Prediction {
  std::string text, run, grid, picture;
  double microseconds = 0;
};
} // namespace

py::dict python::predictKernel(const Kernel &kernel, const KernelArguments &arguments) {
  checkOnHost(arguments, "prediction");
  const Prediction found =
      withoutLock([&](const std::stop_token &stop) -> Result<Prediction> {
        // What allocators of real devices give at least: misaligned rows touch more cache lines.
        auto laboratory = Laboratory::create(kernel, arguments, /*alignment=*/256);
        if (!laboratory.ok())
          return laboratory.error();
        runtime::Device &device = *(*laboratory)->device;
        runtime::Kernel &launched = *(*laboratory)->kernel;
        const manifest::Binding &binding = (*laboratory)->binding;
        sim::TimingOptions options;
        options.clusters = clustersOf(kernel.manifest());
        options.stop = stop;
        auto run = sim::timeWorkgroups(device, launched, binding.shape, binding.kernarg, options);
        if (!run.ok())
          return run.error();
        auto grid = sim::predictGrid(device, launched, binding.shape, binding.kernarg, options);
        if (!grid.ok())
          return grid.error();
        const sim::TimingSummary summary = sim::summarize(*run);
        Prediction result;
        result.text = sim::toText(*run, summary) + sim::toText(*grid);
        result.run = jsonObject([&](llvm::json::OStream &out) { sim::writeMembers(out, *run, summary); });
        result.grid = jsonObject([&](llvm::json::OStream &out) { sim::writeMembers(out, *grid); });
        result.microseconds = grid->microseconds;
        if (summary.hasSteady)
          if (Result<std::string> picture = sim::toPicture(*run, summary); picture.ok())
            result.picture = *std::move(picture);
        return result;
      });
  py::dict result;
  result["text"] = found.text;
  result["run"] = found.run;
  result["grid"] = found.grid;
  result["picture"] = found.picture;
  result["microseconds"] = found.microseconds;
  return result;
}

static py::dict dictOf(const sim::InstructionCounts &counts) {
  py::dict result;
  const std::pair<const char *, unsigned> members[] = {
      {"mfma", counts.mfma},
      {"trans", counts.trans},
      {"valu", counts.valu},
      {"lds_read", counts.ldsRead},
      {"lds_write", counts.ldsWrite},
      {"lds_dma", counts.ldsDma},
      {"barrier", counts.barrier},
      {"waits", counts.waits},
      {"nop", counts.nop},
      {"nop_wait_states", counts.nopWaitStates},
      {"salu", counts.salu},
      {"branch", counts.branch},
      {"other", counts.other},
      {"empty_shadows", counts.emptyShadows},
      {"instructions", counts.instructions},
  };
  for (const auto &[name, count] : members)
    result[name] = count;
  return result;
}

/// The first wave of each half of the workgroup: one of each wave group.
static Result<std::vector<sim::SteadyState>>
countTraces(const Kernel &kernel, const std::vector<sim::WaveTrace> &traces) {
  const manifest::Manifest &manifest = kernel.manifest();
  auto codes = amdgpu::readKernels(kernel.code().codeObject);
  if (!codes.ok())
    return codes.error();
  std::vector<sim::SteadyState> states;
  for (const amdgpu::KernelCode &code : *codes) {
    if (code.name != manifest.kernel)
      continue;
    for (size_t wave : {size_t(0), traces.size() / 2}) {
      if (wave >= traces.size() || (wave == 0 && !states.empty()))
        continue;
      Result<sim::SteadyState> state =
          sim::countSteadyState(traces[wave], code, manifest.target, clustersOf(manifest),
                                static_cast<unsigned>(traces.size()));
      if (!state.ok())
        return state.error();
      states.push_back(*std::move(state));
    }
  }
  return states;
}

py::list python::countKernel(const Kernel &kernel, const KernelArguments &arguments) {
  checkOnHost(arguments, "counting");
  auto states =
      withoutLock([&](const std::stop_token &stop) -> Result<std::vector<sim::SteadyState>> {
        std::vector<unsigned> all(sim::maxWorkgroupSize / 64);
        std::iota(all.begin(), all.end(), 0u);
        sim::Tracer tracer(/*workgroup=*/0, all);
        auto laboratory = Laboratory::create(kernel, arguments, 16, &tracer.instrument());
        if (!laboratory.ok())
          return laboratory.error();
        runtime::SimulationOptions options;
        options.stop = stop;
        (*laboratory)->device->setSimulationOptions(options);
        const manifest::Binding &binding = (*laboratory)->binding;
        auto launched = (*laboratory)
                            ->device->launch(*(*laboratory)->kernel, binding.shape, binding.kernarg);
        if (!launched.ok())
          return launched.error();
        return countTraces(kernel, tracer.traces());
      });
  py::list result;
  for (const sim::SteadyState &state : states) {
    py::list clusters;
    for (const sim::InstructionCounts &cluster : state.clusters)
      clusters.append(dictOf(cluster));
    py::dict wave;
    wave["wave"] = state.wave;
    wave["turns"] = state.turns;
    wave["turns_counted"] = state.shortest;
    wave["scheduled_clusters"] = state.scheduled;
    wave["waits"] = state.waits;
    wave["total"] = dictOf(state.total);
    wave["clusters"] = clusters;
    result.append(wave);
  }
  return result;
}
