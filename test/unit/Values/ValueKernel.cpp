// Kernels of one workgroup on the simulator.
#include "ValueKernel.h"

#include "hocket/Manifest/Manifest.h"
#include "hocket/Pipelines/Compiler.h"
#include "hocket/Runtime/Finding.h"
#include "hocket/Simulator/RuntimeDevice.h"

#include "llvm/ADT/APFloat.h"

#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>

using namespace hocket;
using namespace hocket::test;

static const llvm::fltSemantics *semanticsOf(ElementType type) {
  switch (type) {
  case ElementType::F32:
    return &llvm::APFloat::IEEEsingle();
  case ElementType::F16:
    return &llvm::APFloat::IEEEhalf();
  case ElementType::BF16:
    return &llvm::APFloat::BFloat();
  default:
    return nullptr;
  }
}

static size_t sizeOf(ElementType type) {
  return type == ElementType::F32 || type == ElementType::I32 ? 4 : type == ElementType::I8 ? 1 : 2;
}

static uint32_t encoded(ElementType type, double value) {
  const llvm::fltSemantics *semantics = semanticsOf(type);
  if (!semantics)
    return static_cast<uint32_t>(static_cast<int64_t>(value));
  llvm::APFloat number(value);
  bool losesInfo = false;
  number.convert(*semantics, llvm::APFloat::rmNearestTiesToEven, &losesInfo);
  return static_cast<uint32_t>(number.bitcastToAPInt().getZExtValue());
}

static double decoded(ElementType type, uint32_t bits) {
  const llvm::fltSemantics *semantics = semanticsOf(type);
  if (!semantics)
    return type == ElementType::I32   ? static_cast<double>(static_cast<int32_t>(bits))
           : type == ElementType::I16 ? static_cast<double>(static_cast<int16_t>(bits))
                                      : static_cast<double>(static_cast<int8_t>(bits));
  llvm::APFloat number(*semantics, llvm::APInt(8 * sizeOf(type), bits));
  bool losesInfo = false;
  number.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &losesInfo);
  return number.convertToDouble();
}

namespace {
/// The argument block: numbers at multiples of their size.
class Block {
public:
  template <typename T> void add(T value) {
    bytes.resize((bytes.size() + sizeof(T) - 1) / sizeof(T) * sizeof(T) + sizeof(T));
    std::memcpy(bytes.data() + bytes.size() - sizeof(T), &value, sizeof(T));
  }
  std::vector<std::byte> bytes;
};
} // namespace

static std::vector<std::byte> imageOf(const Tensor &tensor) {
  std::vector<std::byte> image(tensor.numbers.size() * sizeOf(tensor.type));
  for (size_t i = 0; i != tensor.numbers.size(); ++i) {
    uint32_t bits = encoded(tensor.type, tensor.numbers[i]);
    std::memcpy(image.data() + i * sizeOf(tensor.type), &bits, sizeOf(tensor.type));
  }
  return image;
}

static void readImage(Tensor &tensor, const std::vector<std::byte> &image) {
  for (size_t i = 0; i != tensor.numbers.size(); ++i) {
    uint32_t bits = 0;
    std::memcpy(&bits, image.data() + i * sizeOf(tensor.type), sizeOf(tensor.type));
    tensor.numbers[i] = decoded(tensor.type, bits);
  }
}

/// A device with one code object loaded, and the tensors on it.
namespace {
class Run {
public:
  Status load(std::string_view text, std::string_view name, const std::string &target);
  Result<runtime::DeviceAddress> upload(Tensor &tensor);
  Status launch(const runtime::LaunchShape &shape, std::span<const std::byte> kernarg);
  const Compilation &compilation() const { return compiled; }
  Status findKernel(std::string_view name);

private:
  Compilation compiled;
  std::shared_ptr<runtime::Device> device;
  std::shared_ptr<runtime::Module> module;
  std::shared_ptr<runtime::Kernel> kernel;
  std::vector<std::pair<Tensor *, runtime::DeviceAddress>> tensors;
};
} // namespace

Status Run::load(std::string_view text, std::string_view name, const std::string &target) {
  CompileOptions options;
  options.from = Stage::Tile;
  options.target = target;
  // Programs are drawn without regard to registers; spilled numbers must be right as well.
  options.allowSpills = true;
  Result<Compilation> result = compile(text, name, options);
  if (!result)
    return result.error();
  compiled = *std::move(result);
  device = sim::createDevice(nullptr, target);
  Result<std::shared_ptr<runtime::Module>> loaded =
      device->loadModule(std::as_bytes(std::span(compiled.output)), name);
  if (!loaded)
    return loaded.error();
  module = *loaded;
  return Status::success();
}

Status Run::findKernel(std::string_view name) {
  Result<std::shared_ptr<runtime::Kernel>> found = module->kernel(name);
  if (!found)
    return found.error();
  kernel = *found;
  return Status::success();
}

Result<runtime::DeviceAddress> Run::upload(Tensor &tensor) {
  std::vector<std::byte> image = imageOf(tensor);
  Result<runtime::DeviceAddress> address = device->allocate(image.size(), 16, "tensor");
  if (!address)
    return address.error();
  if (Status status = device->copyToDevice(*address, image); !status)
    return status.error();
  tensors.push_back({&tensor, *address});
  return *address;
}

static Status judge(const runtime::LaunchReport &report) {
  if (!report.fault.empty())
    return invalidInput("the launch did not finish: " + report.fault);
  for (const runtime::Finding &finding : report.findings)
    return invalidInput("checked execution found: " + describeFinding(finding));
  return Status::success();
}

/// Under checked execution; tensors are read back.
Status Run::launch(const runtime::LaunchShape &shape, std::span<const std::byte> kernarg) {
  runtime::SimulationOptions simulation;
  simulation.check = true;
  simulation.threads = 1;
  device->setSimulationOptions(simulation);
  Result<runtime::LaunchReport> report = device->launch(*kernel, shape, kernarg);
  if (!report)
    return report.error();
  if (Status status = judge(*report); !status)
    return status;
  for (auto [tensor, address] : tensors) {
    std::vector<std::byte> image(tensor->numbers.size() * sizeOf(tensor->type));
    if (Status status = device->copyFromDevice(image, address); !status)
      return status;
    readImage(*tensor, image);
  }
  return Status::success();
}

Status hocket::test::runKernel(std::string_view text, std::string_view kernel, unsigned waves,
                               const std::vector<Argument> &arguments, const std::string &target) {
  Run run;
  if (Status status = run.load(text, kernel, target); !status)
    return status;
  if (Status status = run.findKernel(kernel); !status)
    return status;
  // Of a view pointer, stride and extents.
  Block block;
  for (const Argument &argument : arguments) {
    if (auto *number = std::get_if<float>(&argument))
      block.add(*number);
    if (auto *number = std::get_if<int32_t>(&argument))
      block.add(*number);
    auto *view = std::get_if<Tensor *>(&argument);
    if (!view)
      continue;
    Tensor &tensor = **view;
    Result<runtime::DeviceAddress> address = run.upload(tensor);
    if (!address)
      return address.error();
    block.add(*address);
    if (tensor.rank == 2) {
      block.add(tensor.columns);
      block.add(static_cast<int32_t>(tensor.rows));
    }
    block.add(static_cast<int32_t>(tensor.columns));
  }
  runtime::LaunchShape shape;
  shape.block.x = 64 * waves;
  return run.launch(shape, block.bytes);
}

Status hocket::test::runShippedKernel(const std::string &name,
                                      const std::vector<std::pair<std::string, Tensor *>> &tensors,
                                      const Sizes &sizes, const std::string &target,
                                      const std::optional<Edit> &edit) {
  std::ifstream file(std::string(HOCKET_KERNELS) + "/tile/" + name + ".mlir");
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (text.empty())
    return invalidInput("no kernel '" + name + "'");
  if (edit && text.find(edit->from) == std::string::npos)
    return invalidInput("kernel '" + name + "' has no '" + edit->from + "'");
  for (size_t at = 0; edit && (at = text.find(edit->from, at)) != std::string::npos;
       at += edit->to.size())
    text.replace(at, edit->from.size(), edit->to);
  Run run;
  if (Status status = run.load(text, name, target); !status)
    return status;
  if (run.compilation().manifest.empty())
    return invalidInput("no manifest: " + run.compilation().noManifest);
  Result<manifest::Manifest> launch = manifest::parseManifest(run.compilation().manifest, name);
  if (!launch)
    return launch.error();
  if (Status status = run.findKernel(launch->kernel); !status)
    return status;
  manifest::Variables variables;
  for (const auto &[variable, value] : sizes)
    variables[variable] = std::holds_alternative<int64_t>(value)
                              ? manifest::Value::integer(std::get<int64_t>(value))
                              : manifest::Value::real(std::get<double>(value));
  for (auto [variable, tensor] : tensors) {
    Result<runtime::DeviceAddress> address = run.upload(*tensor);
    if (!address)
      return address.error();
    variables[variable] = manifest::Value::integer(static_cast<int64_t>(*address));
  }
  Result<manifest::Binding> bound = manifest::bindLaunch(*launch, variables);
  if (!bound)
    return bound.error();
  return run.launch(bound->shape, bound->kernarg);
}
