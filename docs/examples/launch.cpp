// Launches a kernel that hocketc compiled: launch KERNEL.hsaco KERNEL.json
//
// The manifest says what the arguments mean, so this program names tensors and numbers and knows
// nothing of the argument block. It checks linear_attention.mlir, O = (scale Q K^T) V, against the
// same sums on the host.
#include <hocket/Manifest/NamedArguments.h>
#include <hocket/Runtime/File.h>
#include <hocket/Runtime/Registry.h>

#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>

using namespace hocket;
using manifest::Value;

/// The value, or the end of the program.
template <typename T> static T take(Result<T> result) {
  if (result.ok())
    return *std::move(result);
  std::fprintf(stderr, "%s\n", result.error().message.c_str());
  std::exit(1);
}
static void check(const Status &status) {
  if (status.ok())
    return;
  std::fprintf(stderr, "%s\n", status.error().message.c_str());
  std::exit(1);
}

static double widen(uint16_t bf16) { return std::bit_cast<float>(uint32_t(bf16) << 16); }

/// A bf16 tensor of (batch, sequence, heads, head dimension), on the host and on the device.
struct Tensor {
  const char *name;
  std::vector<int64_t> shape;
  std::vector<uint16_t> data = {};
  runtime::DeviceAddress address = 0;

  manifest::NamedTensor named() const { return {name, address, ElementType::BF16, shape}; }
};

/// Random numbers with 8 bits of mantissa, on the device too.
static Tensor makeTensor(runtime::Device &device, const char *name, int64_t rows) {
  static std::mt19937 random(1);
  std::normal_distribution<float> normal;
  Tensor tensor{name, {1, rows, 1, 128}};
  for (int64_t i = 0; i < rows * 128; ++i)
    tensor.data.push_back(std::bit_cast<uint32_t>(normal(random)) >> 16);
  tensor.address = take(device.allocate(2 * tensor.data.size()));
  check(device.copyToDevice(tensor.address, std::as_bytes(std::span(tensor.data))));
  return tensor;
}

/// O of query `i` in double.
static std::vector<double> expected(const Tensor &q, const Tensor &k, const Tensor &v, double scale,
                                    int64_t i) {
  std::vector<double> row(128);
  for (int64_t j = 0; j < k.shape[1]; ++j) {
    double score = 0;
    for (int64_t d = 0; d < 128; ++d)
      score += widen(q.data[i * 128 + d]) * widen(k.data[j * 128 + d]);
    for (int64_t d = 0; d < 128; ++d)
      row[d] += scale * score * widen(v.data[j * 128 + d]);
  }
  return row;
}

int main(int argc, char **argv) {
  if (argc != 3)
    return std::fprintf(stderr, "usage: launch KERNEL.hsaco KERNEL.json\n"), 2;
  std::vector<std::byte> codeObject = take(runtime::readFile(argv[1]));
  manifest::Manifest manifest =
      take(manifest::parseManifest(take(runtime::readText(argv[2])), argv[2]));

  runtime::OpenedDevice opened = take(runtime::openDevice("auto"));
  runtime::Device &device = *opened.device;
  Tensor q = makeTensor(device, "q", 150), k = makeTensor(device, "k", 333),
         v = makeTensor(device, "v", 333), o = makeTensor(device, "o", 150);
  const double scale = 0.125;

  auto module = take(device.loadModule(codeObject, argv[1]));
  auto kernel = take(module->kernel(manifest.kernel));
  manifest::NamedArguments arguments;
  arguments.tensors = {q.named(), k.named(), v.named(), o.named()};
  arguments.scalars = {{"scale", Value::real(scale)}};
  manifest::Binding launch = take(bindLaunch(manifest, arguments));
  take(device.launch(*kernel, launch.shape, launch.kernarg));
  check(device.copyFromDevice(std::as_writable_bytes(std::span(o.data)), o.address));

  double error = 0, size = 0;
  for (int64_t i = 0; i < q.shape[1]; ++i) {
    std::vector<double> row = expected(q, k, v, scale, i);
    for (int64_t d = 0; d < 128; ++d) {
      error += std::pow(widen(o.data[i * 128 + d]) - row[d], 2);
      size += row[d] * row[d];
    }
  }
  double relative = std::sqrt(error / size);
  std::printf("%s: relative error %.1e\n", manifest.kernel.c_str(), relative);
  return relative < 1e-2 ? 0 : 1; // scores and results are rounded to bf16
}
