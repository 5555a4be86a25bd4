// What the device is: properties in both layouts, and attributes.
//
// hipDeviceProp_t is written field by field at its offsets, which were taken from the headers of
// HIP 5.2.3 (792 bytes, hipDeviceProp_tR0000) and 6.3 (1472 bytes, hipDeviceProp_tR0600). Fields
// that are not listed are zero. A program says which layout it has by the function that it calls.
#include "Properties.h"

#include "Driver.h"

#include "Target/Arch/ArchInfo.h"

#include <cstring>

using namespace hocket;
using namespace hocket::hip;

namespace {
constexpr size_t bytesR0000 = 792, bytesR0600 = 1472;
constexpr int none = -1;

/// Where one number stands in the two layouts (`none`: nowhere), how wide it is, and its value.
struct Field {
  int r0000, r0600;
  unsigned bytes;
  uint64_t value;
};
} // namespace

static int totalMemory(const Driver &driver) {
  return static_cast<int>(std::min<uint64_t>(driver.memory.limitBytes(), INT32_MAX));
}

static std::vector<Field> fields(const Driver &driver) {
  const ArchInfo &a = simulatedChip();
  const uint64_t lds = a.lds.bytesPerWorkgroup, units = a.chip.computeUnits;
  const uint64_t threads = a.waves.maxWorkgroupSize, clock = a.chip.peakClockMHz * 1000;
  const uint64_t threadsPerUnit =
      uint64_t(a.waves.waveSize) * a.waves.simdsPerCu * a.waves.maxWavesPerSimd;
  const uint64_t registers = uint64_t(a.registers.vgprsPerSimd) * a.waves.waveSize;
  return {
      {256, 288, 8, driver.memory.limitBytes()}, // totalGlobalMem
      {264, 296, 8, lds},                        // sharedMemPerBlock
      {272, 304, 4, registers},                  // regsPerBlock
      {276, 308, 4, a.waves.waveSize},           // warpSize
      {712, 312, 8, INT32_MAX},                  // memPitch
      {280, 320, 4, threads},                    // maxThreadsPerBlock
      {284, 324, 4, threads},                    // maxThreadsDim
      {288, 328, 4, threads},
      {292, 332, 4, threads},
      {296, 336, 4, INT32_MAX}, // maxGridSize
      {300, 340, 4, 65535},
      {304, 344, 4, 65535},
      {308, 348, 4, clock},     // clockRate, kHz
      {320, 352, 8, INT32_MAX}, // totalConstMem
      {328, 360, 4, 9},         // major
      {332, 364, 4, 5},         // minor
      {720, 368, 8, 256},       // textureAlignment
      {336, 388, 4, units},     // multiProcessorCount
      {388, 400, 4, 1},         // canMapHostMemory
      {360, 576, 4, 1},         // concurrentKernels
      {none, 604, 4, 1},        // unifiedAddressing
      {340, 616, 4, a.chip.l2BytesPerXcd},
      {344, 624, 4, threadsPerUnit}, // maxThreadsPerMultiProcessor
      {none, 640, 8, lds},           // sharedMemPerMultiprocessor
      {none, 648, 4, registers},     // regsPerMultiprocessor
      {772, 652, 4, 1},              // managedMemory
      {780, 676, 4, 1},              // concurrentManagedAccess
      {none, 696, 8, lds},           // sharedMemPerBlockOptin
      {376, 1416, 8, lds},           // maxSharedMemoryPerMultiProcessor
      {352, 1424, 4, 100000},        // clockInstructionRate, kHz
      {764, 1464, 4, 1},             // isLargeBar
  };
}

static void put(std::byte *at, uint64_t value, unsigned bytes) { std::memcpy(at, &value, bytes); }

static void putText(std::byte *at, std::string_view text) {
  std::memcpy(at, text.data(), text.size());
}

/// Fills one layout, chosen by `field` and the total size.
static Outcome fill(Driver &driver, void *properties, int device, int Field::*field, size_t bytes,
                    size_t architecture) {
  if (Outcome outcome = needPointers(properties); !outcome.ok())
    return {hipErrorInvalidValue, outcome.reason};
  if (Outcome outcome = needDevice(device); !outcome.ok())
    return outcome;
  auto *raw = static_cast<std::byte *>(properties);
  std::memset(raw, 0, bytes);
  for (const Field &entry : fields(driver))
    if (entry.*field != none)
      put(raw + entry.*field, entry.value, entry.bytes);
  putText(raw, deviceName());
  putText(raw + architecture, std::string(simulatedChip().name) + ":sramecc+:xnack-");
  return hipSuccess;
}

static int propertiesR0000(const char *name, void *properties, int device) {
  return call(name, [&](Driver &driver) {
    return fill(driver, properties, device, &Field::r0000, bytesR0000, /*gcnArchName*/ 396);
  });
}

/// The attributes whose numbers HIP 5.2.3 and 6.3 share; others are unknown to this device.
static std::optional<int> attribute(const Driver &driver, int number) {
  const ArchInfo &a = simulatedChip();
  const int lds = static_cast<int>(a.lds.bytesPerWorkgroup);
  const int threads = static_cast<int>(a.waves.maxWorkgroupSize);
  const int registers = static_cast<int>(a.registers.vgprsPerSimd * a.waves.waveSize);
  switch (number) {
  case 3:     // CanMapHostMemory
  case 8:     // ConcurrentKernels
  case 9:     // ConcurrentManagedAccess
  case 24:    // ManagedMemory
  case 85:    // UnifiedAddressing
  case 88:    // MemoryPoolsSupported
  case 90:    // HostRegisterSupported
  case 10011: // IsLargeBar
    return 1;
  case 0:     // EccEnabled
  case 2:     // AsyncEngineCount
  case 6:     // ComputeMode
  case 7:     // ComputePreemptionSupported
  case 10:    // CooperativeLaunch
  case 11:    // CooperativeMultiDeviceLaunch
  case 16:    // Integrated
  case 17:    // IsMultiGpuBoard
  case 18:    // KernelExecTimeout
  case 65:    // PageableMemoryAccess
  case 66:    // PageableMemoryAccessUsesHostPageTables
  case 67:    // PciBusId
  case 68:    // PciDeviceId
  case 69:    // PciDomainID
  case 78:    // StreamPrioritiesSupported
  case 89:    // VirtualMemoryManagementSupported
  case 10013: // CanUseStreamWaitValue
  case 10014: // ImageSupport
    return 0;
  case 5: // ClockRate, kHz
    return static_cast<int>(a.chip.peakClockMHz * 1000);
  case 19: // L2CacheSize
    return static_cast<int>(a.chip.l2BytesPerXcd);
  case 23: // ComputeCapabilityMajor
    return 9;
  case 61: // ComputeCapabilityMinor
    return 5;
  case 26: // MaxBlockDimX, Y, Z
  case 27:
  case 28:
  case 55: // MaxThreadsDim
  case 56: // MaxThreadsPerBlock
    return threads;
  case 29: // MaxGridDimX
    return INT32_MAX;
  case 30: // MaxGridDimY, Z
  case 31:
    return 65535;
  case 57: // MaxThreadsPerMultiProcessor
    return static_cast<int>(a.waves.waveSize * a.waves.simdsPerCu * a.waves.maxWavesPerSimd);
  case 58: // MaxPitch
  case 83: // TotalConstantMemory
    return INT32_MAX;
  case 63:    // MultiprocessorCount
  case 10015: // PhysicalMultiProcessorCount
    return static_cast<int>(a.chip.computeUnits);
  case 71: // MaxRegistersPerBlock
  case 72: // MaxRegistersPerMultiprocessor
    return registers;
  case 74:    // MaxSharedMemoryPerBlock
  case 75:    // SharedMemPerBlockOptin
  case 76:    // SharedMemPerMultiprocessor
  case 10002: // MaxSharedMemoryPerMultiprocessor
    return lds;
  case 81: // TextureAlignment
    return 256;
  case 84: // TotalGlobalMem
    return totalMemory(driver);
  case 87: // WarpSize
    return static_cast<int>(a.waves.waveSize);
  }
  return std::nullopt;
}

extern "C" {
int hipGetDeviceProperties(void *properties, int device) {
  return propertiesR0000("hipGetDeviceProperties", properties, device);
}
int hipGetDevicePropertiesR0000(void *properties, int device) {
  return propertiesR0000("hipGetDevicePropertiesR0000", properties, device);
}
int hipGetDevicePropertiesR0600(void *properties, int device) {
  return call("hipGetDevicePropertiesR0600", [&](Driver &driver) {
    return fill(driver, properties, device, &Field::r0600, bytesR0600, /*gcnArchName*/ 1160);
  });
}
int hipDeviceGetAttribute(int *value, int number, int device) {
  return call("hipDeviceGetAttribute", [&](Driver &driver) -> Outcome {
    if (Outcome outcome = needPointers(value); !outcome.ok())
      return outcome;
    if (Outcome outcome = needDevice(device); !outcome.ok())
      return outcome;
    const std::optional<int> found = attribute(driver, number);
    if (!found)
      return {hipErrorInvalidValue, "device attribute " + std::to_string(number) + " is not known"};
    *value = *found;
    return hipSuccess;
  });
}
}
