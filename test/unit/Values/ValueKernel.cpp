// Kernels of one workgroup on the simulator.
#include "ValueKernel.h"

#include "hocket/Pipelines/Compiler.h"
#include "hocket/Simulator/RuntimeDevice.h"

#include "llvm/ADT/APFloat.h"

#include <cmath>
#include <cstring>

using namespace hocket;
using namespace hocket::test;
using reference::ElementType;

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

static size_t bytesOf(ElementType type) {
  return type == ElementType::F32 || type == ElementType::I32 ? 4 : type == ElementType::I8 ? 1 : 2;
}

static uint32_t encode(ElementType type, double value) {
  const llvm::fltSemantics *semantics = semanticsOf(type);
  if (!semantics)
    return static_cast<uint32_t>(static_cast<int64_t>(value));
  llvm::APFloat number(value);
  bool losesInfo = false;
  number.convert(*semantics, llvm::APFloat::rmNearestTiesToEven, &losesInfo);
  return static_cast<uint32_t>(number.bitcastToAPInt().getZExtValue());
}

static double decode(ElementType type, uint32_t bits) {
  const llvm::fltSemantics *semantics = semanticsOf(type);
  if (!semantics)
    return type == ElementType::I32   ? static_cast<double>(static_cast<int32_t>(bits))
           : type == ElementType::I16 ? static_cast<double>(static_cast<int16_t>(bits))
                                      : static_cast<double>(static_cast<int8_t>(bits));
  llvm::APFloat number(*semantics, llvm::APInt(8 * bytesOf(type), bits));
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
  std::vector<std::byte> image(tensor.numbers.size() * bytesOf(tensor.type));
  for (size_t i = 0; i != tensor.numbers.size(); ++i) {
    uint32_t bits = encode(tensor.type, tensor.numbers[i]);
    std::memcpy(image.data() + i * bytesOf(tensor.type), &bits, bytesOf(tensor.type));
  }
  return image;
}

static void readImage(Tensor &tensor, const std::vector<std::byte> &image) {
  for (size_t i = 0; i != tensor.numbers.size(); ++i) {
    uint32_t bits = 0;
    std::memcpy(&bits, image.data() + i * bytesOf(tensor.type), bytesOf(tensor.type));
    tensor.numbers[i] = decode(tensor.type, bits);
  }
}

/// Pointer, stride, extents: the order of a view's arguments.
static Status addTensor(runtime::Device &device, const Tensor &tensor, Block &block,
                        std::vector<runtime::DeviceAddress> &addresses) {
  std::vector<std::byte> image = imageOf(tensor);
  Result<runtime::DeviceAddress> address = device.allocate(image.size(), 16, "tensor");
  if (!address)
    return address.error();
  if (Status status = device.copyToDevice(*address, image); !status)
    return status;
  addresses.push_back(*address);
  block.add(*address);
  if (tensor.rank == 2) {
    block.add(tensor.columns);
    block.add(static_cast<int32_t>(tensor.rows));
  }
  block.add(static_cast<int32_t>(tensor.columns));
  return Status::success();
}

static Status judge(const runtime::LaunchReport &report) {
  if (!report.fault.empty())
    return invalidInput("the launch did not finish: " + report.fault);
  if (!report.findings.empty())
    return invalidInput("checked execution found: " + report.findings.front().message);
  return Status::success();
}

Status hocket::test::runKernel(std::string_view text, std::string_view kernel, unsigned waves,
                               const std::vector<Argument> &arguments, const std::string &target) {
  CompileOptions options;
  options.from = Stage::Tile;
  options.target = target;
  Result<Compilation> compiled = compile(text, kernel, options);
  if (!compiled)
    return compiled.error();
  std::shared_ptr<runtime::Device> device = sim::createDevice(nullptr, target);
  Result<std::shared_ptr<runtime::Module>> module =
      device->loadModule(std::as_bytes(std::span(compiled->output)), kernel);
  if (!module)
    return module.error();
  Result<std::shared_ptr<runtime::Kernel>> loaded = (*module)->kernel(kernel);
  if (!loaded)
    return loaded.error();

  Block block;
  std::vector<runtime::DeviceAddress> addresses;
  for (const Argument &argument : arguments) {
    if (auto *tensor = std::get_if<Tensor *>(&argument)) {
      if (Status status = addTensor(*device, **tensor, block, addresses); !status)
        return status;
    } else if (auto *number = std::get_if<float>(&argument)) {
      block.add(*number);
    } else {
      block.add(std::get<int32_t>(argument));
    }
  }
  runtime::SimulationOptions simulation;
  simulation.check = true;
  simulation.threads = 1;
  device->setSimulationOptions(simulation);
  runtime::LaunchShape shape;
  shape.block.x = 64 * waves;
  Result<runtime::LaunchReport> report = device->launch(**loaded, shape, block.bytes);
  if (!report)
    return report.error();
  if (Status status = judge(*report); !status)
    return status;
  size_t next = 0;
  for (const Argument &argument : arguments)
    if (auto *tensor = std::get_if<Tensor *>(&argument)) {
      std::vector<std::byte> image((*tensor)->numbers.size() * bytesOf((*tensor)->type));
      if (Status status = device->copyFromDevice(image, addresses[next++]); !status)
        return status;
      readImage(**tensor, image);
    }
  return Status::success();
}
