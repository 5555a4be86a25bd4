// Compiles, binds and runs kernels for tests.
#include "TileKernel.h"

#include "hocket/Pipelines/Compiler.h"
#include "hocket/Simulator/RuntimeDevice.h"

#include "llvm/ADT/APFloat.h"

#include <gtest/gtest.h>

#include <random>

using namespace hocket;
using namespace hocket::language;

/// What unused memory holds: NaN in every floating-point type.
static constexpr std::byte kPoison{0xff};
/// A tensor that spans more is uploaded element by element, and nothing around it is looked at.
static constexpr uint64_t kSparse = uint64_t(1) << 26;

uint64_t language::elementBytes(const std::string &type) {
  return type == "f32" || type == "i32" ? 4 : type == "i8" ? 1 : 2;
}

static const llvm::fltSemantics &semanticsOf(const std::string &type) {
  return type == "bf16"  ? llvm::APFloat::BFloat()
         : type == "f16" ? llvm::APFloat::IEEEhalf()
                         : llvm::APFloat::IEEEsingle();
}

static uint64_t encode(const std::string &type, double value) {
  if (type[0] == 'i')
    return static_cast<uint64_t>(static_cast<int64_t>(value));
  llvm::APFloat number(value);
  bool losesInfo = false;
  number.convert(semanticsOf(type), llvm::APFloat::rmNearestTiesToEven, &losesInfo);
  return number.bitcastToAPInt().getZExtValue();
}

static double decode(const std::string &type, uint64_t bits) {
  if (type == "i32")
    return static_cast<int32_t>(bits);
  if (type == "i8")
    return static_cast<int8_t>(bits);
  llvm::APFloat number(semanticsOf(type), llvm::APInt(elementBytes(type) * 8, bits, false, true));
  bool losesInfo = false;
  number.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &losesInfo);
  return number.convertToDouble();
}

double language::rounded(const std::string &type, double value) {
  return ::decode(type, ::encode(type, value));
}

TileKernel::TileKernel(const std::string &text, const std::string &target) : target(target) {
  CompileOptions options;
  options.target = target;
  Result<Compilation> compilation = compile(text, "kernel.mlir", options);
  if (!compilation.ok()) {
    ADD_FAILURE() << compilation.error().message << "\n" << text;
    return;
  }
  if (compilation->manifest.empty()) {
    ADD_FAILURE() << compilation->noManifest;
    return;
  }
  codeObject = compilation->output;
  Result<manifest::Manifest> parsed = manifest::parseManifest(compilation->manifest, "manifest");
  if (!parsed.ok())
    ADD_FAILURE() << parsed.error().message;
  else
    manifest = *std::move(parsed);
}

std::string language::errorOf(const std::string &text, const std::string &target) {
  CompileOptions options;
  options.target = target;
  Result<Compilation> compilation = compile(text, "kernel.mlir", options);
  return compilation.ok() ? "" : compilation.error().message;
}

namespace {
/// A tensor's memory on the device and a copy of it.
struct Memory {
  runtime::DeviceAddress address = 0;
  std::vector<std::byte> bytes;
};
} // namespace

static Memory upload(runtime::Device &device, const Tensor &tensor) {
  uint64_t size = elementBytes(tensor.type), end = 0;
  for (size_t i = 0; i != tensor.values.size(); ++i)
    end = std::max(end, tensor.placeOf(i) + 1);
  Memory memory;
  if (end * size > kSparse) {
    Result<runtime::DeviceAddress> address = device.allocate(end * size, 16, tensor.name);
    EXPECT_TRUE(address.ok());
    memory.address = *address;
    for (size_t i = 0; i != tensor.values.size(); ++i) {
      uint64_t bits = encode(tensor.type, tensor.values[i]);
      std::span<const std::byte> element(reinterpret_cast<const std::byte *>(&bits), size);
      EXPECT_TRUE(device.copyToDevice(memory.address + tensor.placeOf(i) * size, element).ok());
    }
    return memory;
  }
  // To whole dwords, which descriptors of 16-bit additions include.
  memory.bytes.assign((end * size + 3) / 4 * 4, kPoison);
  for (size_t i = 0; i != tensor.values.size(); ++i) {
    uint64_t bits = encode(tensor.type, tensor.values[i]);
    std::memcpy(&memory.bytes[tensor.placeOf(i) * size], &bits, size);
  }
  Result<runtime::DeviceAddress> address = device.allocate(memory.bytes.size(), 16, tensor.name);
  EXPECT_TRUE(address.ok());
  memory.address = *address;
  EXPECT_TRUE(device.copyToDevice(memory.address, memory.bytes).ok());
  return memory;
}

/// Reads the tensor back; what lies between its elements must be as it was.
static void download(runtime::Device &device, Tensor &tensor, const Memory &memory) {
  if (memory.bytes.empty())
    return; // sparse: inputs only
  std::vector<std::byte> bytes(memory.bytes.size());
  ASSERT_TRUE(device.copyFromDevice(bytes, memory.address).ok());
  uint64_t size = elementBytes(tensor.type);
  std::vector<bool> covered(bytes.size());
  for (size_t i = 0; i != tensor.values.size(); ++i) {
    uint64_t bits = 0, at = tensor.placeOf(i) * size;
    std::memcpy(&bits, &bytes[at], size);
    tensor.values[i] = decode(tensor.type, bits);
    std::fill_n(covered.begin() + static_cast<int64_t>(at), size, true);
  }
  for (size_t i = 0; i != bytes.size(); ++i)
    ASSERT_TRUE(covered[i] || bytes[i] == memory.bytes[i])
        << "byte " << i << " of '" << tensor.name << "', which is no element's, was written";
}

void TileKernel::run(std::vector<Tensor *> tensors, manifest::Variables variables,
                     unsigned interleavings) {
  ASSERT_TRUE(valid());
  std::shared_ptr<runtime::Device> device = sim::createDevice(nullptr, target);
  Result<std::shared_ptr<runtime::Module>> module =
      device->loadModule(std::as_bytes(std::span(codeObject)), "kernel.hsaco");
  ASSERT_TRUE(module.ok()) << module.error().message;
  Result<std::shared_ptr<runtime::Kernel>> kernel = (*module)->kernel(manifest->kernel);
  ASSERT_TRUE(kernel.ok());
  std::vector<std::vector<double>> before, first;
  for (Tensor *tensor : tensors)
    before.push_back(tensor->values);
  for (unsigned seed = 0; seed != interleavings; ++seed) {
    std::vector<Memory> memory;
    for (size_t i = 0; i != tensors.size(); ++i) {
      tensors[i]->values = before[i];
      memory.push_back(upload(*device, *tensors[i]));
      variables[tensors[i]->name] =
          manifest::Value::integer(static_cast<int64_t>(memory.back().address));
    }
    Result<manifest::Binding> binding = manifest::bindLaunch(*manifest, variables);
    ASSERT_TRUE(binding.ok()) << binding.error().message;
    runtime::SimulationOptions simulation;
    simulation.seed = seed;
    simulation.check =
        std::ranges::none_of(memory, [](const Memory &tensor) { return tensor.bytes.empty(); });
    device->setSimulationOptions(simulation);
    Result<runtime::LaunchReport> report =
        device->launch(**kernel, binding->shape, binding->kernarg);
    ASSERT_TRUE(report.ok()) << report.error().message;
    ASSERT_EQ(report->fault, "");
    ASSERT_TRUE(report->findings.empty()) << report->findings.front().what;
    for (size_t i = 0; i != tensors.size(); ++i) {
      download(*device, *tensors[i], memory[i]);
      ASSERT_TRUE(device->free(memory[i].address).ok());
    }
    for (size_t i = 0; i != tensors.size(); ++i) {
      if (seed == 0)
        first.push_back(tensors[i]->values);
      else
        for (size_t j = 0; j != first[i].size(); ++j)
          ASSERT_TRUE(first[i][j] == tensors[i]->values[j] ||
                      (std::isnan(first[i][j]) && std::isnan(tensors[i]->values[j])))
              << "interleaving " << seed << " differs";
    }
  }
}

std::vector<double> language::integers(size_t count, uint64_t seed, int64_t range) {
  std::mt19937_64 generator(seed);
  std::vector<double> values(count);
  for (double &value : values)
    value = static_cast<double>(static_cast<int64_t>(generator() % (2 * range + 1)) - range);
  return values;
}

std::vector<double> language::normal(const std::string &type, size_t count, uint64_t seed) {
  std::mt19937_64 generator(seed);
  std::normal_distribution<double> distribution;
  std::vector<double> values(count);
  for (double &value : values)
    value = rounded(type, distribution(generator));
  return values;
}
