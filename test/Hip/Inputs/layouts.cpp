// Prints what the headers say is where.
#include <hip/hip_runtime_api.h>

#include <cstdio>
#include <cstdlib>

static int attribute(hipDeviceAttribute_t which) {
  int value = -1;
  return hipDeviceGetAttribute(&value, which, 0) == hipSuccess ? value : -1;
}

static const char *typeOf(const void *pointer) {
  hipPointerAttribute_t attributes;
  if (hipPointerGetAttributes(&attributes, pointer) != hipSuccess)
    return "none";
  switch (attributes.memoryType) {
  case hipMemoryTypeHost:
    return attributes.isManaged ? "managed" : "host";
  case hipMemoryTypeDevice:
    return "device";
  default:
    return "other";
  }
}

int main() {
  hipDeviceProp_t p;
  if (hipGetDeviceProperties(&p, 0) != hipSuccess)
    return 1;
  std::printf("name %s\ngcnArchName %s\n", p.name, p.gcnArchName);
  std::printf("totalGlobalMem %zu\nsharedMemPerBlock %zu\n", p.totalGlobalMem, p.sharedMemPerBlock);
  std::printf("maxSharedMemoryPerMultiProcessor %zu\n", p.maxSharedMemoryPerMultiProcessor);
  std::printf("regsPerBlock %d\nwarpSize %d\n", p.regsPerBlock, p.warpSize);
  std::printf("maxThreadsPerBlock %d\n", p.maxThreadsPerBlock);
  std::printf("maxThreadsDim %d %d %d\n", p.maxThreadsDim[0], p.maxThreadsDim[1],
              p.maxThreadsDim[2]);
  std::printf("maxGridSize %d %d %d\n", p.maxGridSize[0], p.maxGridSize[1], p.maxGridSize[2]);
  std::printf("clockRate %d\nversion %d.%d\n", p.clockRate, p.major, p.minor);
  std::printf("multiProcessorCount %d\n", p.multiProcessorCount);
  std::printf("maxThreadsPerMultiProcessor %d\n", p.maxThreadsPerMultiProcessor);
  std::printf("l2CacheSize %d\ncanMapHostMemory %d\n", p.l2CacheSize, p.canMapHostMemory);
  std::printf("concurrentKernels %d\nmanagedMemory %d\n", p.concurrentKernels, p.managedMemory);
  std::printf("isLargeBar %d\n", p.isLargeBar);

  const bool agree =
      attribute(hipDeviceAttributeWarpSize) == p.warpSize &&
      attribute(hipDeviceAttributeMultiprocessorCount) == p.multiProcessorCount &&
      attribute(hipDeviceAttributeMaxThreadsPerBlock) == p.maxThreadsPerBlock &&
      attribute(hipDeviceAttributeMaxThreadsPerMultiProcessor) == p.maxThreadsPerMultiProcessor &&
      attribute(hipDeviceAttributeMaxGridDimX) == p.maxGridSize[0] &&
      attribute(hipDeviceAttributeMaxGridDimY) == p.maxGridSize[1] &&
      attribute(hipDeviceAttributeMaxBlockDimZ) == p.maxThreadsDim[2] &&
      attribute(hipDeviceAttributeMaxSharedMemoryPerBlock) == int(p.sharedMemPerBlock) &&
      attribute(hipDeviceAttributeMaxRegistersPerBlock) == p.regsPerBlock &&
      attribute(hipDeviceAttributeClockRate) == p.clockRate &&
      attribute(hipDeviceAttributeL2CacheSize) == p.l2CacheSize &&
      attribute(hipDeviceAttributeComputeCapabilityMajor) == p.major &&
      attribute(hipDeviceAttributeComputeCapabilityMinor) == p.minor &&
      attribute(hipDeviceAttributeManagedMemory) == p.managedMemory &&
      attribute(hipDeviceAttributeConcurrentKernels) == p.concurrentKernels &&
      attribute(hipDeviceAttributeIsLargeBar) == p.isLargeBar;
  std::printf("attributes %s\n", agree ? "agree" : "DIFFER");

  void *device = nullptr, *host = nullptr, *managed = nullptr;
  if (hipMalloc(&device, 8) != hipSuccess || hipHostMalloc(&host, 8, 0) != hipSuccess ||
      hipMallocManaged(&managed, 8, hipMemAttachGlobal) != hipSuccess)
    return 1;
  std::printf("pointers %s %s %s\n", typeOf(device), typeOf(host), typeOf(managed));
  int version = 0;
  if (hipRuntimeGetVersion(&version) != hipSuccess)
    return 1;
  std::printf("runtime %d\n", version / 10000000);
  return 0;
}
