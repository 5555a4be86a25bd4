// HIP's functions as its headers declare them, as far as the tests call them. The headers
// themselves are not needed to build Hocket; test/Hip compiles programs against them.
#pragma once

#include "hocket/Runtime/File.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <vector>

struct dim3 {
  uint32_t x, y, z;
};

extern "C" {
int hipInit(unsigned);
int hipDriverGetVersion(int *);
int hipGetDeviceCount(int *);
int hipGetDevice(int *);
int hipSetDevice(int);
int hipDeviceGetName(char *, int, int);
int hipDeviceGetAttribute(int *, int, int);
int hipGetDeviceProperties(void *, int);
int hipGetDevicePropertiesR0600(void *, int);
int hipDeviceSynchronize();
int hipDeviceReset();
int hipCtxGetCurrent(void **);
int hipCtxPushCurrent(void *);
int hipCtxPopCurrent(void **);
int hipCtxSetCurrent(void *);
int hipGetLastError();
int hipPeekAtLastError();
const char *hipGetErrorName(int);
const char *hipGetErrorString(int);

int hipMalloc(void **, size_t);
int hipFree(void *);
int hipMallocAsync(void **, size_t, void *);
int hipMallocFromPoolAsync(void **, size_t, void *, void *);
int hipFreeAsync(void *, void *);
int hipDeviceGetDefaultMemPool(void **, int);
int hipDeviceGetMemPool(void **, int);
int hipDeviceSetMemPool(int, void *);
int hipMemPoolCreate(void **, const void *);
int hipMemPoolDestroy(void *);
int hipMemPoolTrimTo(void *, size_t);
int hipMemPoolGetAttribute(void *, int, void *);
int hipMemPoolSetAttribute(void *, int, void *);
int hipMemPoolSetAccess(void *, const void *, size_t);
int hipMemPoolGetAccess(int *, void *, void *);
int hipMallocPitch(void **, size_t *, size_t, size_t);
int hipHostMalloc(void **, size_t, unsigned);
int hipHostFree(void *);
int hipMallocManaged(void **, size_t, unsigned);
int hipHostRegister(void *, size_t, unsigned);
int hipHostUnregister(void *);
int hipHostGetDevicePointer(void **, void *, unsigned);
int hipHostGetFlags(unsigned *, void *);
int hipMemGetInfo(size_t *, size_t *);
int hipMemGetAddressRange(void **, size_t *, void *);
int hipPointerGetAttributes(void *, const void *);
int hipPointerGetAttribute(void *, int, void *);
int hipDrvPointerGetAttributes(unsigned, const int *, void **, void *);
int hipMemcpy(void *, const void *, size_t, int);
int hipMemcpyAsync(void *, const void *, size_t, int, void *);
int hipMemcpyAsync_spt(void *, const void *, size_t, int, void *);
int hipMemcpy2D_spt(void *, size_t, const void *, size_t, size_t, size_t, int);
int hipMemcpy2DAsync_spt(void *, size_t, const void *, size_t, size_t, size_t, int, void *);
int hipMemsetAsync_spt(void *, int, size_t, void *);
int hipMemset2D_spt(void *, size_t, int, size_t, size_t);
int hipMemset2DAsync_spt(void *, size_t, int, size_t, size_t, void *);
int hipMemcpy2D(void *, size_t, const void *, size_t, size_t, size_t, int);
int hipMemcpyFromSymbol(void *, const void *, size_t, size_t, int);
int hipMemcpyToSymbol(const void *, const void *, size_t, size_t, int);
int hipMemset(void *, int, size_t);
int hipMemsetD16(void *, unsigned short, size_t);
int hipMemsetD32(void *, int, size_t);
int hipMemsetAsync(void *, int, size_t, void *);
int hipMemset2D(void *, size_t, int, size_t, size_t);
int hipGetSymbolSize(size_t *, const void *);

int hipStreamCreate(void **);
int hipStreamCreateWithFlags(void **, unsigned);
int hipStreamDestroy(void *);
int hipStreamSynchronize(void *);
int hipStreamQuery(void *);
int hipStreamWaitEvent(void *, void *, unsigned);
int hipStreamGetFlags(void *, unsigned *);
int hipStreamAddCallback(void *, void (*)(void *, int, void *), void *, unsigned);
int hipLaunchHostFunc(void *, void (*)(void *), void *);
int hipEventCreate(void **);
int hipEventCreateWithFlags(void **, unsigned);
int hipEventDestroy(void *);
int hipEventRecord(void *, void *);
int hipEventSynchronize(void *);
int hipEventQuery(void *);
int hipEventElapsedTime(float *, void *, void *);

int hipModuleLoad(void **, const char *);
int hipModuleLoadData(void **, const void *);
int hipModuleUnload(void *);
int hipModuleGetFunction(void **, void *, const char *);
int hipModuleGetGlobal(void **, size_t *, void *, const char *);
int hipFuncGetAttribute(int *, int, void *);
int hipModuleLaunchKernel(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                          unsigned, void *, void **, void **);
int hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(int *, void *, int, size_t);
int hipModuleOccupancyMaxPotentialBlockSize(int *, int *, void *, size_t, int);
int hipDrvLaunchKernelEx(const void *, void *, void **, void **);
int hipGetProcAddress(const char *, void **, int, uint64_t, int *);
int hipLaunchKernel(const void *, dim3, dim3, void **, size_t, void *);
void **__hipRegisterFatBinary(const void *);
void __hipUnregisterFatBinary(void **);
void __hipRegisterFunction(void **, const void *, char *, const char *, unsigned, void *, void *,
                           void *, void *, int *);
void __hipRegisterVar(void **, void *, char *, char *, int, size_t, int, int);
int __hipPushCallConfiguration(dim3, dim3, size_t, void *);
int __hipPopCallConfiguration(dim3 *, dim3 *, size_t *, void **);
int hipGraphClone(void **, void *);
int hipStreamBeginCapture(void *, int);
int hipStreamBeginCapture_spt(void *, int);
int hipStreamEndCapture_spt(void *, void **);
int hipStreamIsCapturing_spt(void *, int *);
int hipStreamEndCapture(void *, void **);
int hipStreamIsCapturing(void *, int *);
int hipStreamGetCaptureInfo_v2(void *, int *, unsigned long long *, void **, const void ***, size_t *);
int hipThreadExchangeStreamCaptureMode(int *);
int hipGraphGetNodes(void *, void **, size_t *);
int hipGraphDestroy(void *);
int hipGraphInstantiate(void **, void *, void **, char *, size_t);
int hipGraphInstantiateWithFlags(void **, void *, unsigned long long);
int hipGraphLaunch(void *, void *);
int hipGraphExecDestroy(void *);
int hiprtcVersion(int *, int *);
}

namespace hocket {

// HIP's error codes, from its headers.
inline constexpr int invalidValue = 1, invalidConfiguration = 9, invalidPitch = 12,
                     invalidSymbol = 13, invalidDirection = 21, missingConfiguration = 52,
                     invalidFunction = 98, invalidDevice = 101, invalidImage = 200,
                     invalidContext = 201, noBinaryForGpu = 209, fileNotFound = 301,
                     invalidHandle = 400, nameNotFound = 500, alreadyRegistered = 712,
                     notRegistered = 713, launchFailure = 719, notSupported = 801;
inline constexpr int hostToDevice = 1, deviceToHost = 2, deviceToDevice = 3, anyDirection = 4;

inline std::vector<std::byte> readBytes(const char *path) {
  auto bytes = runtime::readFile(path);
  return bytes.ok() ? *bytes : std::vector<std::byte>();
}

/// Every test begins and ends without an error of the thread's, and with a fresh device.
class HipTest : public testing::Test {
protected:
  void SetUp() override { hipGetLastError(); }
  void TearDown() override { EXPECT_EQ(hipDeviceReset(), 0); }
};

} // namespace hocket
