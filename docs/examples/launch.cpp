// Launches a kernel that hocketc compiled: launch KERNEL.hsaco KERNEL.json
//
// The manifest says what the arguments mean, so this program knows nothing of the argument block.
// It checks linear_attention.mlir, O = (scale Q K^T) V, against the same sums on the host.
#include <hocket/Attention/ForwardProblem.h>
#include <hocket/Manifest/Manifest.h>
#include <hocket/Runtime/File.h>
#include <hocket/Runtime/Registry.h>
#include <hocket/Simulator/RuntimeDevice.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>

using namespace hocket;
using namespace hocket::attention;

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

/// Standard normal numbers, as the kernel reads them.
static std::vector<uint16_t> normal(DataType type, int64_t count) {
  static std::mt19937 random(1);
  std::normal_distribution<double> distribution;
  std::vector<uint16_t> values(count);
  for (uint16_t &value : values)
    value = roundTo(type, distribution(random));
  return values;
}

/// Q, K and V of one head.
struct Inputs {
  std::vector<uint16_t> q, k, v;
};

/// O of query `i`, computed in double.
static std::vector<double> expected(const ForwardProblem &problem, const Inputs &inputs,
                                    int64_t i) {
  std::vector<double> row(128);
  for (int64_t j = 0; j < problem.seqKv; ++j) {
    double score = 0;
    for (int64_t d = 0; d < 128; ++d)
      score +=
          widen(problem.dtype, inputs.q[i * 128 + d]) * widen(problem.dtype, inputs.k[j * 128 + d]);
    for (int64_t d = 0; d < 128; ++d)
      row[d] += problem.effectiveScale() * score * widen(problem.dtype, inputs.v[j * 128 + d]);
  }
  return row;
}

int main(int argc, char **argv) {
  if (argc != 3)
    return std::fprintf(stderr, "usage: launch KERNEL.hsaco KERNEL.json\n"), 2;
  std::vector<std::byte> codeObject = take(runtime::readFile(argv[1]));
  std::vector<std::byte> text = take(runtime::readFile(argv[2]));
  manifest::Manifest manifest = take(
      manifest::parseManifest({reinterpret_cast<const char *>(text.data()), text.size()}, argv[2]));

  ForwardProblem problem;
  problem.seqQ = 150;
  problem.seqKv = 333;
  Inputs inputs;
  for (auto [name, to] :
       {std::pair("q", &inputs.q), std::pair("k", &inputs.k), std::pair("v", &inputs.v)})
    *to = normal(problem.dtype, problem.tensor(name).elements());

  sim::registerSimulator();
  runtime::OpenedDevice opened = take(runtime::openDevice("auto"));
  runtime::Device &device = *opened.device;
  auto upload = [&](std::vector<uint16_t> &data) {
    runtime::DeviceAddress address = take(device.allocate(2 * data.size()));
    check(device.copyToDevice(address, std::as_bytes(std::span(data))));
    return address;
  };
  std::vector<uint16_t> output(150 * 128);
  manifest::Addresses addresses = {{"q", upload(inputs.q)},
                                   {"k", upload(inputs.k)},
                                   {"v", upload(inputs.v)},
                                   {"o", upload(output)}};

  auto module = take(device.loadModule(codeObject, argv[1]));
  auto kernel = take(module->kernel(manifest.kernel));
  manifest::Binding launch = take(bindLaunch(manifest, problemVariables(problem, &addresses)));
  take(device.launch(*kernel, launch.shape, launch.kernarg));
  check(device.copyFromDevice(std::as_writable_bytes(std::span(output)), addresses["o"]));

  double error = 0, size = 0;
  for (int64_t i = 0; i < problem.seqQ; ++i) {
    std::vector<double> row = expected(problem, inputs, i);
    for (int64_t d = 0; d < 128; ++d) {
      error += std::pow(widen(problem.dtype, output[i * 128 + d]) - row[d], 2);
      size += row[d] * row[d];
    }
  }
  double relative = std::sqrt(error / size);
  std::printf("%s: relative error %.1e\n", manifest.kernel.c_str(), relative);
  return relative < 1e-2 ? 0 : 1; // scores and results are rounded to bf16
}
