// What the cycle model, or a device, says of a kernel on tensors whose extents are given by name.
#include "hocket/Manifest/NamedArguments.h"
#include "hocket/Simulator/RuntimeDevice.h"
#include "hocket/Tune/Tune.h"

#include "Simulator/GridTime.h"
#include "Target/Arch/ArchInfo.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/StringSwitch.h"

#include <algorithm>
#include <cmath>
#include <vector>

using namespace hocket;
using namespace hocket::tune;
using manifest::Manifest;
using manifest::Variables;

namespace {
/// As allocators of real devices place tensors at least.
constexpr uint64_t kAlignment = 256;
/// A preview has so much less of what is at least so long.
constexpr double kPreviewShare = 4, kPreviewed = 2048;
/// Launches before those that are measured.
constexpr unsigned kWarmup = 3;
} // namespace

/// What attention and products call their extents, at a size that fills a chip with work.
static std::optional<int64_t> usualExtent(llvm::StringRef name) {
  return llvm::StringSwitch<std::optional<int64_t>>(name)
      .Case("batch", 1)
      .Cases({"heads", "kv_heads"}, 16)
      .Cases({"seq_q", "seq_kv"}, 4096)
      .Cases({"m", "n", "k"}, 4096)
      .Default(std::nullopt);
}

static manifest::Value valueOf(double number) {
  bool whole = std::floor(number) == number && std::abs(number) < 9e15;
  return whole ? manifest::Value::integer(static_cast<int64_t>(number)) : manifest::Value::real(number);
}

/// The number that a requirement "NAME == NUMBER" asks for.
static std::optional<manifest::Value> requiredValue(const Manifest &manifest, llvm::StringRef name) {
  for (const manifest::Requirement &requirement : manifest.requirements) {
    auto [left, right] = llvm::StringRef(requirement.condition.text()).split("==");
    int64_t number;
    if (left.trim() == name && !right.trim().getAsInteger(10, number))
      return manifest::Value::integer(number);
  }
  return std::nullopt;
}

/// Values for all variables that extents mention. A KV head for each head, where only these are given.
static Result<Variables> extentsOf(const Manifest &manifest, const Sizes &sizes) {
  Variables variables;
  for (const manifest::TensorInfo &tensor : manifest.tensors)
    for (const manifest::Expression &extent : tensor.sizes)
      for (const std::string &name : extent.variables()) {
        auto given = sizes.values.find(name);
        if (given == sizes.values.end() && name == "kv_heads")
          given = sizes.values.find("heads");
        std::optional<int64_t> usual = usualExtent(name);
        if (given != sizes.values.end())
          variables[name] = valueOf(given->second);
        else if (usual)
          variables[name] = manifest::Value::integer(*usual);
        else
          return invalidInput("tensor '" + tensor.name + "' has an extent '" + name +
                              "' that has no value; give it one, as in '" + name + "=1024'");
      }
  return std::move(variables);
}

static Result<std::vector<int64_t>> shapeOf(const manifest::TensorInfo &tensor,
                                            const Variables &extents) {
  std::vector<int64_t> shape;
  for (const manifest::Expression &extent : tensor.sizes) {
    Result<manifest::Value> value = extent.evaluate(extents);
    if (!value.ok())
      return value.error();
    if (!value->isInteger() || value->asInteger() < 0)
      return invalidInput("tensor '" + tensor.name + "': extent '" + extent.text() +
                          "' is not a whole number from 0");
    shape.push_back(value->asInteger());
  }
  return std::move(shape);
}

/// A name that is given and that the kernel does not have is a mistake.
static Status checkNames(const Sizes &sizes, const Variables &extents, const Variables &scalars) {
  for (const auto &[name, value] : sizes.values) {
    if (extents.contains(name) || scalars.contains(name))
      continue;
    std::string known;
    for (const Variables *variables : {&extents, &scalars})
      for (const auto &[each, unused] : *variables)
        known += (known.empty() ? "" : ", ") + each;
    return invalidInput("the kernel has no extent or number '" + name + "'; it has " + known);
  }
  return Status::success();
}

static Result<manifest::NamedArguments> argumentsFor(const Manifest &manifest, const Sizes &sizes) {
  Result<Variables> extents = extentsOf(manifest, sizes);
  if (!extents.ok())
    return extents.error();
  manifest::NamedArguments arguments;
  for (const manifest::TensorInfo &tensor : manifest.tensors) {
    Result<std::vector<int64_t>> shape = shapeOf(tensor, *extents);
    if (!shape.ok())
      return shape.error();
    arguments.tensors.push_back(
        {tensor.name, 0, tensor.dtype.value_or(ElementType::F32), *std::move(shape)});
  }
  for (const std::string &name : manifest::signatureOf(manifest).scalars) {
    auto given = sizes.values.find(name);
    std::optional<manifest::Value> required = requiredValue(manifest, name);
    arguments.scalars[name] = given != sizes.values.end() ? valueOf(given->second)
                              : required                  ? *required
                                                          : manifest::Value::integer(1);
  }
  if (Status status = checkNames(sizes, *extents, arguments.scalars); !status.ok())
    return status.error();
  return std::move(arguments);
}

namespace {
/// Memory of a device, filled with zeros and given back at the end.
class Memory {
public:
  explicit Memory(runtime::Device &device) : device(device) {}
  Memory(const Memory &) = delete;
  ~Memory() {
    for (runtime::DeviceAddress address : addresses)
      (void)device.free(address).ok();
  }
  Result<uint64_t> operator()(uint64_t bytes, const std::string &name) {
    if (bytes == 0)
      return uint64_t(0);
    Result<runtime::DeviceAddress> address = device.allocate(bytes, kAlignment, name);
    if (!address.ok())
      return address.error();
    addresses.push_back(*address);
    if (device.kind() == "sim") // whose memory begins with zeros
      return *address;
    Status filled = device.fill(*address, 0, bytes);
    return filled.ok() ? Result<uint64_t>(*address) : filled.error();
  }

private:
  runtime::Device &device;
  std::vector<runtime::DeviceAddress> addresses;
};
} // namespace

static Status placeTensors(Memory &allocate, const Manifest &manifest, manifest::NamedArguments &arguments) {
  for (manifest::NamedTensor &tensor : arguments.tensors) {
    Result<uint64_t> bytes = tensor.bytes();
    if (!bytes.ok())
      return bytes.error();
    Result<uint64_t> address = allocate(*bytes, tensor.name);
    if (!address.ok())
      return address.error();
    tensor.address = *address;
  }
  Result<Variables> variables = manifest::deriveVariables(manifest, arguments);
  if (!variables.ok())
    return variables.error();
  Result<uint64_t> workspace = manifest::workspaceBytes(manifest, *variables);
  if (!workspace.ok())
    return workspace.error();
  if (*workspace == 0)
    return Status::success();
  Result<uint64_t> address = allocate(*workspace, "workspace");
  if (!address.ok())
    return address.error();
  arguments.scalars["workspace"] = manifest::Value::integer(static_cast<int64_t>(*address));
  return Status::success();
}

namespace {
/// A launch that is ready.
struct Placed {
  std::shared_ptr<runtime::Module> module;
  std::shared_ptr<runtime::Kernel> kernel;
  manifest::Binding binding;
};
} // namespace

static Result<Placed> place(runtime::Device &device, Memory &memory, const attention::CompiledKernel &kernel,
                            const Sizes &sizes) {
  const Manifest &manifest = kernel.manifest;
  Result<manifest::NamedArguments> arguments = argumentsFor(manifest, sizes);
  if (!arguments.ok())
    return arguments.error();
  if (Status status = placeTensors(memory, manifest, *arguments); !status.ok())
    return status.error();
  Result<manifest::Binding> binding = manifest::bindLaunch(manifest, *arguments);
  if (!binding.ok())
    return binding.error();
  auto module = device.loadModule(std::as_bytes(std::span(kernel.codeObject)), manifest.kernel);
  if (!module.ok())
    return module.error();
  auto loaded = (*module)->kernel(manifest.kernel);
  if (!loaded.ok())
    return loaded.error();
  return Placed{*module, *loaded, *std::move(binding)};
}

Result<double> tune::previewMicroseconds(const attention::CompiledKernel &kernel, const Sizes &sizes) {
  Result<Variables> extents = extentsOf(kernel.manifest, sizes);
  if (!extents.ok())
    return extents.error();
  Sizes smaller = sizes;
  for (const char *name : {"seq_q", "seq_kv", "k"})
    if (auto extent = extents->find(name); extent != extents->end() && extent->second.asReal() >= kPreviewed)
      smaller.values[name] = std::ceil(extent->second.asReal() / kPreviewShare);
  if (smaller.values == sizes.values)
    return 0.0;
  // As many workgroups as before, so that as many share a compute unit.
  if (smaller.values.contains("seq_q"))
    for (const char *name : {"heads", "kv_heads"})
      if (auto extent = extents->find(name); extent != extents->end())
        smaller.values[name] = extent->second.asReal() * kPreviewShare;
  return predictMicroseconds(kernel, smaller);
}

Status tune::checkTimeParameter(std::string_view parameter) { return sim::TimeParameters().set(parameter); }

Status tune::checkTimeFile(std::string_view text, std::string_view name, std::string_view architecture) {
  sim::TimeParameters parameters;
  if (Status status = parameters.read(text, name); !status.ok())
    return status;
  Result<const ArchInfo *> arch = findArch(architecture);
  return arch.ok() ? parameters.check(**arch) : arch.error();
}

Result<double> tune::predictMicroseconds(const attention::CompiledKernel &kernel, const Sizes &sizes,
                                         std::string_view parameter) {
  const Manifest &manifest = kernel.manifest;
  sim::TimingOptions timing;
  if (!sizes.timeFile.empty())
    if (Status status = timing.parameters.read(sizes.timeText, sizes.timeFile); !status.ok())
      return status.error();
  if (!parameter.empty())
    if (Status status = timing.parameters.set(parameter); !status.ok())
      return status.error();
  std::shared_ptr<runtime::Device> device = sim::createDevice(nullptr, manifest.target);
  if (!device)
    return unsupported("there is no simulator of '" + manifest.target + "'");
  Memory memory(*device);
  Result<Placed> placed = place(*device, memory, kernel, sizes);
  if (!placed.ok())
    return placed.error();
  Result<sim::GridTime> grid =
      sim::predictGrid(*device, *placed->kernel, placed->binding.shape, placed->binding.kernarg, timing);
  return grid.ok() ? Result<double>(grid->microseconds) : grid.error();
}

Result<double> tune::measureMicroseconds(runtime::Device &device, const attention::CompiledKernel &kernel, const Sizes &sizes,
                                         unsigned repetitions) {
  if (device.kind() != "hip")
    return unsupported("device '" + std::string(device.kind()) + "' measures nothing; use 'hip'");
  Memory memory(device);
  Result<Placed> placed = place(device, memory, kernel, sizes);
  if (!placed.ok())
    return placed.error();
  std::vector<double> times;
  for (unsigned i = 0; i != kWarmup + repetitions; ++i) {
    Result<runtime::LaunchReport> report = device.launch(*placed->kernel, placed->binding.shape, placed->binding.kernarg);
    if (!report.ok())
      return report.error();
    if (i >= kWarmup)
      times.push_back(1e6 * report->seconds);
  }
  std::sort(times.begin(), times.end());
  return (times[(times.size() - 1) / 2] + times[times.size() / 2]) / 2;
}
