// HIP's binary interface, as far as libhocket_hip answers it: error codes, constants, structures.
//
// Written out from HIP's public headers (5.2.3 in Debian, 6.3) so that building needs none. Enums
// are int, handles are pointers. Where a value differs between HIP 5 and later, both are here; see
// `hipMajor` in Driver.h for which one a program gets.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hocket::hip {

/// Error codes; the same in HIP 5.2.3 and 6.3. Errors.def has their names and texts.
enum Code : int {
#define HOCKET_HIP_ERROR(NAME, VALUE, TEXT) NAME = VALUE,
#include "Errors.def"
#undef HOCKET_HIP_ERROR
};

/// dim3, which is passed by value.
struct Dim {
  uint32_t x, y, z;
};

enum MemcpyKind : int { hostToHost, hostToDevice, deviceToHost, deviceToDevice, defaultKind };

inline constexpr unsigned streamNonBlocking = 1;
inline constexpr uintptr_t streamLegacy = 1, streamPerThread = 2; ///< predefined stream handles
inline constexpr unsigned eventDisableTiming = 2;

/// hipModuleLaunchKernel's `extra` keys.
inline constexpr uintptr_t launchBufferPointer = 1, launchBufferSize = 2, launchEnd = 3;

/// hipMemoryType, renumbered by HIP 6, which added values for managed memory and for memory that
/// HIP does not know. In HIP 5 managed memory is the host's, with a flag beside it.
struct MemoryTypes {
  int host, device, managed;
};
inline constexpr MemoryTypes memoryTypes5 = {0, 1, 0};
inline constexpr MemoryTypes memoryTypes6 = {1, 2, 3};
inline constexpr int memoryTypeUnregistered = 0;

/// hipPointerAttribute_t.
struct PointerAttributes {
  int type;
  int device;
  void *devicePointer;
  void *hostPointer;
  int isManaged;
  unsigned flags;
};

/// hipPointer_attribute, as far as HIP supports them.
enum PointerAttribute : int {
  pointerMemoryType = 2,
  pointerDevicePointer = 3,
  pointerHostPointer = 4,
  pointerBufferId = 7,
  pointerIsManaged = 8,
  pointerDeviceOrdinal = 9,
  pointerRangeStart = 11,
  pointerRangeSize = 12,
  pointerMapped = 13,
};

/// hipDriverProcAddressQueryResult.
enum ProcAddressResult : int { procAddressFound, procAddressUnknown, procAddressTooOld };

/// hipGetProcAddress's flag for functions whose default stream is the thread's.
inline constexpr uint64_t procAddressPerThread = 2;

/// HIP_LAUNCH_CONFIG: a launch with attributes.
struct LaunchConfig {
  uint32_t grid[3], block[3];
  uint32_t sharedBytes;
  void *stream;
  const struct LaunchAttribute *attributes;
  uint32_t attributeCount;
};

/// hipLaunchConfig_t: the same for host functions.
struct HostLaunchConfig {
  Dim grid, block;
  size_t sharedBytes;
  void *stream;
  const struct LaunchAttribute *attributes;
  uint32_t attributeCount;
};

/// hipLaunchAttribute: which one, and its value.
struct LaunchAttribute {
  int id;
  int padding;
  union {
    char bytes[64];
    int cooperative;
  } value;
};
inline constexpr int launchCooperative = 2, launchClusterDimension = 4;

/// hipFuncAttributes.
struct FunctionAttributes {
  int binaryVersion;
  int cacheModeCA;
  size_t constantBytes;
  size_t localBytes;
  int maxDynamicSharedBytes;
  int maxThreadsPerBlock;
  int registers;
  int sharedCarveout;
  int ptxVersion;
  size_t sharedBytes;
};

/// hipFunction_attribute.
enum FunctionAttribute : int {
  functionMaxThreads,
  functionSharedBytes,
  functionConstantBytes,
  functionLocalBytes,
  functionRegisters,
  functionPtxVersion,
  functionBinaryVersion,
  functionCacheModeCA,
  functionMaxDynamicShared,
  functionSharedCarveout,
};

/// What __hipRegisterFatBinary gets.
struct FatBinaryWrapper {
  uint32_t magic;
  uint32_t version;
  const void *binary;
  void *unused;
};
inline constexpr uint32_t fatBinaryMagic = 0x48495046; ///< "HIPF"

} // namespace hocket::hip
