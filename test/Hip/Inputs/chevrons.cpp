// A program in the HIP language. Built-ins stand for threadIdx and its like, which need AMD's
// device libraries. <stdlib.h> comes first: clang's wrapper of <new> wants it.
// clang-format off
#include <stdlib.h>
// clang-format on
#include <hip/hip_runtime_api.h>

#include <cstdio>
#include <cstring>
#include <thread>
#include <vector>

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))

__device__ int counter = 7;

struct Pair {
  float scale;
  short add;
};

static __device__ unsigned globalId() {
  return __builtin_amdgcn_workgroup_id_x() * __builtin_amdgcn_workgroup_size_x() +
         __builtin_amdgcn_workitem_id_x();
}

__global__ void saxpy(Pair pair, const float *x, float *y, int n) {
  int i = globalId();
  if (i < n)
    y[i] = pair.scale * x[i] + y[i] + pair.add;
  if (i == 0)
    counter += 101;
}

template <typename T> __global__ void reverse(T *data) {
  __shared__ T buffer[256];
  unsigned lane = __builtin_amdgcn_workitem_id_x();
  buffer[lane] = data[lane];
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
  data[lane] = buffer[255 - lane];
}

// No barrier between the waves' stores and loads.
__global__ void race(int *out) {
  __shared__ volatile int buffer[128];
  unsigned lane = __builtin_amdgcn_workitem_id_x();
  buffer[lane] = lane;
  out[lane] = buffer[127 - lane];
}

static bool runSaxpy(hipStream_t stream) {
  const int n = 1000;
  std::vector<float> x(n), y(n), result(n);
  for (int i = 0; i != n; ++i) {
    x[i] = float(i % 17);
    y[i] = float(i % 5);
  }
  float *dx = nullptr, *dy = nullptr;
  bool ok =
      hipMalloc((void **)&dx, 4 * n) == hipSuccess && hipMalloc((void **)&dy, 4 * n) == hipSuccess;
  ok = ok && hipMemcpyAsync(dx, x.data(), 4 * n, hipMemcpyHostToDevice, stream) == hipSuccess;
  ok = ok && hipMemcpyAsync(dy, y.data(), 4 * n, hipMemcpyHostToDevice, stream) == hipSuccess;
  saxpy<<<dim3((n + 127) / 128), dim3(128), 0, stream>>>(Pair{2.5f, 3}, dx, dy, n);
  ok = ok && hipGetLastError() == hipSuccess;
  ok = ok && hipMemcpyAsync(result.data(), dy, 4 * n, hipMemcpyDeviceToHost, stream) == hipSuccess;
  ok = ok && hipStreamSynchronize(stream) == hipSuccess;
  for (int i = 0; i != n; ++i)
    ok = ok && result[i] == 2.5f * x[i] + y[i] + 3;
  return hipFree(dx) == hipSuccess && hipFree(dy) == hipSuccess && ok;
}

static int runRace() {
  int *out = nullptr;
  (void)hipMalloc((void **)&out, 512);
  race<<<dim3(1), dim3(128)>>>(out);
  std::printf("race: %s\n", hipGetErrorString(hipGetLastError()));
  return 0;
}

int main(int argc, char **argv) {
  if (argc > 1 && std::strcmp(argv[1], "race") == 0)
    return runRace();
  int before = 0, after = 0;
  (void)hipMemcpyFromSymbol(&before, counter, sizeof(int), 0, hipMemcpyDeviceToHost);
  std::printf("saxpy %s\n", runSaxpy(nullptr) ? "right" : "WRONG");
  (void)hipMemcpyFromSymbol(&after, counter, sizeof(int), 0, hipMemcpyDeviceToHost);
  std::printf("counter %d then %d\n", before, after);

  hipFuncAttributes attributes;
  (void)hipFuncGetAttributes(&attributes, (const void *)&reverse<int>);
  std::printf("threads %d, static LDS %zu\n", attributes.maxThreadsPerBlock,
              attributes.sharedSizeBytes);
  int blocks = 0, grid = 0, best = 0;
  (void)hipOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, (const void *)&saxpy, 256, 0);
  (void)hipOccupancyMaxPotentialBlockSize(&grid, &best, (const void *)&saxpy, 0, 0);
  std::printf("blocks per unit %d, best block %d\n", blocks, best);

  // Pinned memory is a kernel's argument as it is.
  int *pinned = nullptr;
  (void)hipHostMalloc((void **)&pinned, 1024, hipHostMallocMapped);
  for (int i = 0; i != 256; ++i)
    pinned[i] = i;
  reverse<<<dim3(1), dim3(256)>>>(pinned);
  bool right = hipDeviceSynchronize() == hipSuccess;
  for (int i = 0; i != 256; ++i)
    right = right && pinned[i] == 255 - i;
  std::printf("shared memory %s\n", right ? "right" : "WRONG");
  (void)hipHostFree(pinned);

  bool each[4] = {};
  std::vector<std::thread> threads;
  for (bool &one : each)
    threads.emplace_back([&one] {
      hipStream_t stream;
      one = hipStreamCreate(&stream) == hipSuccess && runSaxpy(stream) &&
            hipStreamDestroy(stream) == hipSuccess;
    });
  for (std::thread &thread : threads)
    thread.join();
  std::printf("threads %s\n", each[0] && each[1] && each[2] && each[3] ? "right" : "WRONG");

  saxpy<<<dim3(1), dim3(4096)>>>(Pair{}, nullptr, nullptr, 0);
  std::printf("too large: %s\n", hipGetErrorString(hipGetLastError()));
  std::printf("last error: %s\n", hipGetErrorString(hipGetLastError()));
  return 0;
}
