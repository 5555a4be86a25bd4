// An attention forward from a plain HIP program: loads a code object that hocketc compiled,
// launches it, and checks the result against the definition in double.
//
// There is nothing of Hocket in here. It compiles against HIP's headers alone, runs on a gfx950,
// and without one on libhocket_hip (README.md beside this file).
#include <hip/hip_runtime_api.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

static void check(hipError_t error, const char *what) {
  if (error == hipSuccess)
    return;
  std::fprintf(stderr, "%s: %s\n", what, hipGetErrorString(error));
  std::exit(1);
}
#define HIP(CALL) check((CALL), #CALL)

constexpr int32_t queries = 100, keys = 150, heads = 2, dim = 128;

// What the kernel's manifest (hocketc --manifest) lists: tensors with strides and sizes, then the
// scale. All tensors are [batch, sequence, head, dim] here, LSE is [batch, head, query].
struct Tensor {
  void *data;
  int64_t strideBatch, strideSequence, strideHead; // elements
  int32_t batch, sequence, heads;
};
struct Arguments {
  Tensor q, k, v, o;
  void *lse;
  int64_t lseStrideBatch, lseStrideHead;
  int32_t lseBatch, lseHeads, lseQueries;
  float scale;
};
static_assert(sizeof(Arguments) == 232, "kernarg_size of the manifest");

static uint16_t toBf16(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  return uint16_t((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}
static float fromBf16(uint16_t value) {
  uint32_t bits = uint32_t(value) << 16;
  float result;
  std::memcpy(&result, &bits, 4);
  return result;
}

// Numbers in [-1, 1) that every run draws alike.
static std::vector<uint16_t> draw(int32_t rows, uint32_t seed) {
  std::vector<uint16_t> values(size_t(rows) * heads * dim);
  for (uint16_t &value : values) {
    seed = seed * 1664525 + 1013904223;
    value = toBf16(float(seed >> 8) / float(1 << 23) - 1.0f);
  }
  return values;
}

static void *upload(const std::vector<uint16_t> &values) {
  void *memory = nullptr;
  HIP(hipMalloc(&memory, values.size() * 2));
  HIP(hipMemcpy(memory, values.data(), values.size() * 2, hipMemcpyHostToDevice));
  return memory;
}

static Tensor describe(void *data, int32_t rows) {
  return {data, int64_t(rows) * heads * dim, int64_t(heads) * dim, dim, 1, rows, heads};
}

// The largest error of one row of O against softmax(scale * q k^T) v.
static double rowError(const uint16_t *q, const uint16_t *k, const uint16_t *v, const uint16_t *o,
                       double scale) {
  std::vector<double> weights(keys);
  double sum = 0, worst = 0;
  for (int32_t j = 0; j != keys; ++j) {
    double score = 0;
    for (int32_t d = 0; d != dim; ++d)
      score += double(fromBf16(q[d])) * fromBf16(k[size_t(j) * heads * dim + d]);
    sum += weights[j] = std::exp(scale * score);
  }
  for (int32_t d = 0; d != dim; ++d) {
    double expected = 0;
    for (int32_t j = 0; j != keys; ++j)
      expected += weights[j] / sum * fromBf16(v[size_t(j) * heads * dim + d]);
    worst = std::fmax(worst, std::fabs(expected - fromBf16(o[d])));
  }
  return worst;
}

int main(int argc, char **argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: %s CODE_OBJECT KERNEL\n", argv[0]);
    return 2;
  }
  hipDeviceProp_t properties;
  HIP(hipGetDeviceProperties(&properties, 0));
  std::printf("device: %s, %s\n", properties.name, properties.gcnArchName);

  hipModule_t module;
  hipFunction_t kernel;
  HIP(hipModuleLoad(&module, argv[1]));
  HIP(hipModuleGetFunction(&kernel, module, argv[2]));

  const std::vector<uint16_t> q = draw(queries, 1), k = draw(keys, 2), v = draw(keys, 3);
  std::vector<uint16_t> o(q.size());
  Arguments arguments = {};
  arguments.q = describe(upload(q), queries);
  arguments.k = describe(upload(k), keys);
  arguments.v = describe(upload(v), keys);
  arguments.o = describe(upload(o), queries);
  HIP(hipMalloc(&arguments.lse, sizeof(float) * heads * queries));
  arguments.lseStrideBatch = heads * queries;
  arguments.lseStrideHead = queries;
  arguments.lseBatch = 1;
  arguments.lseHeads = heads;
  arguments.lseQueries = queries;
  arguments.scale = 1.0f / std::sqrt(float(dim));

  hipStream_t stream;
  hipEvent_t start, stop;
  HIP(hipStreamCreate(&stream));
  HIP(hipEventCreate(&start));
  HIP(hipEventCreate(&stop));
  size_t size = sizeof(arguments);
  void *block[] = {HIP_LAUNCH_PARAM_BUFFER_POINTER, &arguments, HIP_LAUNCH_PARAM_BUFFER_SIZE, &size,
                   HIP_LAUNCH_PARAM_END};
  // The manifest's grid, ceildiv(seq_q, 256) * heads workgroups, and its block.
  const unsigned workgroups = (queries + 255) / 256 * heads;
  HIP(hipEventRecord(start, stream));
  HIP(hipModuleLaunchKernel(kernel, workgroups, 1, 1, 512, 1, 1, 0, stream, nullptr, block));
  HIP(hipEventRecord(stop, stream));
  HIP(hipMemcpyAsync(o.data(), arguments.o.data, o.size() * 2, hipMemcpyDeviceToHost, stream));
  HIP(hipStreamSynchronize(stream));
  float milliseconds = 0;
  HIP(hipEventElapsedTime(&milliseconds, start, stop));

  double worst = 0;
  for (int32_t row = 0; row != queries; ++row)
    for (int32_t head = 0; head != heads; ++head) {
      const size_t at = (size_t(row) * heads + head) * dim;
      worst = std::fmax(worst, rowError(&q[at], &k[size_t(head) * dim], &v[size_t(head) * dim],
                                        &o[at], arguments.scale));
    }
  // Half a unit in the last place of bf16 below 1, and as much again for the weights.
  const bool right = worst <= 1.0 / 128;
  std::printf("%d rows in %.3f ms: %s, largest error %.2g\n", queries * heads, milliseconds,
              right ? "right" : "WRONG", worst);

  for (void *memory :
       {arguments.q.data, arguments.k.data, arguments.v.data, arguments.o.data, arguments.lse})
    HIP(hipFree(memory));
  HIP(hipEventDestroy(start));
  HIP(hipEventDestroy(stop));
  HIP(hipStreamDestroy(stream));
  HIP(hipModuleUnload(module));
  return right ? 0 : 1;
}
