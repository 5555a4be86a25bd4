#include "Kernel.h"

#include "WithoutLock.h"

#include "hocket/Runtime/Hip.h"

#include <cmath>
#include <cstring>

namespace py = pybind11;
using namespace hocket;
using namespace hocket::python;
using manifest::NamedArguments;
using runtime::LaunchReport;

/// Sets `to` unless `from[key]` is None.
template <typename T, typename To> static void take(const py::dict &from, const char *key, To &to) {
  if (!from[key].is_none())
    to = from[key].cast<T>();
}

CompileOptions python::compileOptionsOf(const py::dict &given) {
  CompileOptions options;
  take<std::string>(given, "arch", options.target);
  take<std::string>(given, "schedule", options.schedule);
  take<std::string>(given, "schedule_text", options.scheduleText);
  take<int64_t>(given, "waves", options.waves);
  take<int64_t>(given, "kv_tile", options.kvTile);
  take<std::string>(given, "block_order", options.blockOrder);
  take<bool>(given, "debug", options.debugInfo);
  take<bool>(given, "allow_spills", options.allowSpills);
  if (!given["stage"].is_none())
    options.from = valueOf(parseStage(given["stage"].cast<std::string>()));
  return options;
}

/// Why `text` has no manifest, which only a compilation up to the tile stage says.
static Error noManifest(const std::string &text, const std::string &name, CompileOptions options) {
  if (options.from > Stage::Tile)
    return invalidInput("'" + name + "' cannot be launched: how that is done is known at stage " +
                        "'tile', and it begins at '" + std::string(toString(options.from)) +
                        "'; begin at 'tile' or 'attn'");
  options.to = Stage::Tile;
  Result<Compilation> compilation = hocket::compile(text, name, options);
  return compilation.ok()
             ? invalidInput("'" + name + "' cannot be launched: " + compilation->noManifest)
             : compilation.error();
}

std::shared_ptr<Kernel> Kernel::compile(const std::string &text, const std::string &name,
                                        const py::dict &given) {
  std::shared_ptr<Kernel> kernel(new Kernel(text, name, compileOptionsOf(given)));
  using Compiled = std::shared_ptr<const attention::CompiledKernel>;
  kernel->compiled = withoutLock([&](const std::stop_token &) -> Result<Compiled> {
    Result<std::shared_ptr<jit::Jit>> compiler = python::compiler();
    if (!compiler.ok())
      return compiler.error();
    Result<Compiled> compiled = (*compiler)->compile(text, name, kernel->options);
    if (compiled.ok() && (*compiled)->manifest.kernel.empty())
      return noManifest(text, name, kernel->options);
    return compiled;
  });
  return kernel;
}

Kernel::~Kernel() {
  py::gil_scoped_release released;
  loaded.clear();
}

py::dict Kernel::stages() const {
  std::vector<std::pair<Stage, std::string>> texts;
  CompileOptions all = options;
  all.onStage = [&](Stage stage, std::string_view content) {
    texts.emplace_back(stage, content);
    return Status::success();
  };
  withoutLock([&](const std::stop_token &) { return hocket::compile(text, textName, all); });
  py::dict result;
  for (const auto &[stage, content] : texts) {
    const py::str key{std::string(toString(stage))};
    if (stage == Stage::HSACO)
      result[key] = py::bytes(content);
    else
      result[key] = py::str(content);
  }
  return result;
}

std::string Kernel::draw() const {
  CompileOptions drawn = options;
  drawn.drawSchedule = true;
  drawn.to = Stage::Clusters;
  return withoutLock([&](const std::stop_token &) -> Result<std::string> {
    Result<Compilation> compilation = hocket::compile(text, textName, drawn);
    if (!compilation.ok())
      return compilation.error();
    return compilation->drawing;
  });
}

KernelArguments Kernel::arguments(const py::dict &tensors, const py::dict &scalars,
                                  int64_t stream) const {
  KernelArguments result;
  for (const auto &[key, value] : tensors) {
    auto name = key.cast<std::string>();
    std::shared_ptr<Tensor> tensor = Tensor::of(value, name, std::nullopt, stream);
    for (const manifest::TensorInfo &info : manifest().tensors) {
      const bool bits = info.name == name && info.dtype && *info.dtype != tensor->dtype &&
                        !isFloat(tensor->dtype) && isFloat(*info.dtype) &&
                        bytesOf(*info.dtype) == bytesOf(tensor->dtype);
      if (bits)
        tensor->dtype = *info.dtype;
    }
    result.tensors.push_back(std::move(tensor));
  }
  for (const auto &[key, value] : scalars) {
    auto name = key.cast<std::string>();
    if (py::isinstance<py::int_>(value))
      result.scalars[name] = manifest::Value::integer(value.cast<int64_t>());
    else
      result.scalars[name] = manifest::Value::real(value.cast<double>());
  }
  return result;
}

Result<std::shared_ptr<runtime::Kernel>> Kernel::loadedOn(runtime::Device &device) {
  std::lock_guard lock(mutex);
  std::shared_ptr<runtime::Kernel> &known = loaded[&device];
  if (known)
    return known;
  if (device.properties().architecture != manifest().target)
    return unsupported("kernel '" + manifest().kernel + "' is for " + manifest().target +
                       ", device '" + device.properties().name + "' is a " +
                       device.properties().architecture + "; compile it with arch='" +
                       device.properties().architecture + "'");
  auto module = device.loadModule(std::as_bytes(std::span(compiled->codeObject)), manifest().kernel);
  if (!module.ok())
    return module.error();
  auto kernel = (*module)->kernel(manifest().kernel);
  if (!kernel.ok())
    return kernel.error();
  known = *kernel;
  return known;
}

static manifest::NamedTensor named(const Tensor &tensor) {
  return {tensor.argument, tensor.address(), tensor.dtype, tensor.shape, tensor.strides};
}

static NamedArguments namedArguments(const KernelArguments &arguments) {
  NamedArguments result;
  for (const std::shared_ptr<Tensor> &tensor : arguments.tensors)
    result.tensors.push_back(named(*tensor));
  result.scalars = arguments.scalars;
  return result;
}

/// Bytes that the kernel wants as workspace.
static Result<uint64_t> workspaceOf(const manifest::Manifest &manifest,
                                    const NamedArguments &arguments) {
  Result<manifest::Variables> variables = manifest::deriveVariables(manifest, arguments);
  return variables.ok() ? manifest::workspaceBytes(manifest, *variables) : variables.error();
}

namespace {
/// The bytes of a tensor that the simulator cannot have where they are: those that must not change,
/// and those that end within a dword, which descriptors include and nobody may own.
class Stand {
public:
  static bool isNeeded(const Tensor &tensor) {
    return tensor.readOnly || tensor.spanBytes() % 4 != 0 || tensor.address() % 16 != 0;
  }
  explicit Stand(Tensor &tensor) : tensor(tensor), bytes((tensor.spanBytes() + 3) / 4 * 4) {
    std::memcpy(bytes.data(), tensor.data, tensor.spanBytes());
  }
  std::span<std::byte> span() { return bytes; }
  /// Gives the tensor what has been written. An error if it is read-only and something has.
  Status finish() {
    if (!tensor.readOnly)
      std::memcpy(tensor.data, bytes.data(), tensor.spanBytes());
    else if (std::memcmp(tensor.data, bytes.data(), tensor.spanBytes()) != 0)
      return invalidInput("tensor '" + tensor.argument +
                          "' is read-only, and the kernel writes it; give one that may change");
    return Status::success();
  }

private:
  Tensor &tensor;
  std::vector<std::byte> bytes;
};
} // namespace

Result<LaunchReport> Kernel::runInSimulator(const KernelArguments &given, uint64_t seed,
                                            const std::stop_token &stop) {
  Result<Context *> context = simulatorOf(manifest().target);
  if (!context.ok())
    return context.error();
  runtime::Device &device = *(*context)->device;
  Result<std::shared_ptr<runtime::Kernel>> kernel = loadedOn(device);
  if (!kernel.ok())
    return kernel.error();
  NamedArguments arguments = namedArguments(given);
  Result<uint64_t> bytes = workspaceOf(manifest(), arguments);
  if (!bytes.ok())
    return bytes.error();
  std::vector<std::byte> workspace(*bytes);
  std::vector<std::unique_ptr<Stand>> stands;
  std::lock_guard lock((*context)->mutex);
  runtime::SimulationOptions simulation;
  simulation.stop = stop;
  simulation.seed = seed;
  device.setSimulationOptions(simulation);
  SharedMemory memory(device);
  auto addressOf = [](std::span<std::byte> span) { return reinterpret_cast<uintptr_t>(span.data()); };
  for (size_t i = 0; i != given.tensors.size(); ++i) {
    Tensor &tensor = *given.tensors[i];
    std::span<std::byte> span = tensor.span();
    if (!span.empty() && Stand::isNeeded(tensor))
      span = stands.emplace_back(new Stand(tensor))->span();
    memory.add(span, tensor.argument);
    arguments.tensors[i].address = addressOf(span);
  }
  if (!workspace.empty()) {
    memory.add(workspace, "workspace");
    arguments.scalars["workspace"] =
        manifest::Value::integer(static_cast<int64_t>(addressOf(workspace)));
  }
  if (Status status = memory.share(); !status.ok())
    return status.error();
  Result<manifest::Binding> binding = manifest::bindLaunch(manifest(), arguments);
  if (!binding.ok())
    return binding.error();
  Result<LaunchReport> report = device.launch(**kernel, binding->shape, binding->kernarg);
  if (!report.ok())
    return report;
  for (std::unique_ptr<Stand> &stand : stands)
    if (Status status = stand->finish(); !status.ok())
      return status.error();
  return report;
}

Result<LaunchReport> Kernel::runOnGpu(const KernelArguments &given, std::optional<int64_t> stream) {
  Result<Context *> context = gpuOf(given.tensors.front()->device);
  if (!context.ok())
    return context.error();
  Result<std::shared_ptr<runtime::Kernel>> kernel = loadedOn(*(*context)->device);
  if (!kernel.ok())
    return kernel.error();
  const int64_t handle = stream.value_or(0);
  auto queue = runtime::borrowHipStream((*context)->device, reinterpret_cast<void *>(handle));
  if (!queue.ok())
    return queue.error();
  NamedArguments arguments = namedArguments(given);
  Result<uint64_t> bytes = workspaceOf(manifest(), arguments);
  if (!bytes.ok())
    return bytes.error();
  std::lock_guard lock((*context)->mutex);
  if (*bytes != 0) {
    Result<runtime::DeviceAddress> address = (*context)->workspace(**queue, handle, *bytes);
    if (!address.ok())
      return address.error();
    arguments.scalars["workspace"] = manifest::Value::integer(static_cast<int64_t>(*address));
  }
  Result<manifest::Binding> binding = manifest::bindLaunch(manifest(), arguments);
  if (!binding.ok())
    return binding.error();
  if (Status status = (*queue)->launch(**kernel, binding->shape, binding->kernarg); !status.ok())
    return status.error();
  if (!stream)
    if (Status status = (*queue)->synchronize(); !status.ok())
      return status.error();
  return LaunchReport();
}

py::dict Kernel::run(const KernelArguments &arguments, std::optional<int64_t> stream,
                     uint64_t seed) {
  if (arguments.tensors.empty())
    raise(invalidInput("kernel '" + manifest().kernel + "' was given no tensor; it takes " +
                       signature()));
  const Tensor &first = *arguments.tensors.front();
  for (const std::shared_ptr<Tensor> &tensor : arguments.tensors)
    if (tensor->deviceName() != first.deviceName())
      raise(invalidInput("argument '" + tensor->argument + "' is on " + tensor->deviceName() +
                         ", '" + first.argument + "' on " + first.deviceName()));
  const bool onHost = first.place == Place::Host;
  LaunchReport report;
  if (onHost) {
    report = withoutLock([&](const std::stop_token &stop) {
      return runInSimulator(arguments, seed, stop);
    });
  } else {
    std::optional<Result<LaunchReport>> launched;
    {
      py::gil_scoped_release released;
      launched = runOnGpu(arguments, stream);
    }
    report = valueOf(*std::move(launched));
  }
  py::dict result;
  result["device"] = onHost ? "sim" : "hip";
  result["workgroups"] = report.workgroups;
  result["wave_instructions"] = report.waveInstructions;
  return result;
}
