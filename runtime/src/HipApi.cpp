// Finds libamdhip64 and its functions, and reads device properties in both layouts.
//
// hipDeviceProp_t grew in front of everything useful with HIP 6. The symbol
// hipGetDevicePropertiesR0600 fills the new layout (1472 bytes); hipGetDevicePropertiesR0000, and
// the unversioned name that dlsym finds, fill the old one (792 bytes). Offsets were taken from
// HIP 5.2.3's and 7's public headers.
#include "HipApi.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <dlfcn.h>

using namespace hocket;
using namespace hocket::runtime;

namespace {
/// Byte offsets into one layout of hipDeviceProp_t.
struct PropertyLayout {
  size_t totalMemory, ldsPerBlock, warpSize, computeUnits, architecture;
};
constexpr PropertyLayout layoutR0600 = {288, 296, 308, 388, 1160};
constexpr PropertyLayout layoutR0000 = {256, 264, 276, 336, 396};
/// Larger than every known layout; what a newer library may add at the end stays inside.
constexpr size_t propertyBytes = 8192;
constexpr size_t nameBytes = 256;
} // namespace

template <typename Function>
static bool resolve(void *handle, const char *name, Function &function, std::string &missing) {
  function = reinterpret_cast<Function>(dlsym(handle, name));
  if (!function && missing.empty())
    missing = name;
  return function != nullptr;
}

static std::string resolveAll(void *handle, HipApi &api) {
  std::string missing;
  resolve(handle, "hipInit", api.init, missing);
  resolve(handle, "hipGetDeviceCount", api.getDeviceCount, missing);
  resolve(handle, "hipGetDevice", api.getDevice, missing);
  resolve(handle, "hipSetDevice", api.setDevice, missing);
  resolve(handle, "hipMalloc", api.malloc, missing);
  resolve(handle, "hipFree", api.free, missing);
  resolve(handle, "hipMemcpyHtoD", api.memcpyHtoD, missing);
  resolve(handle, "hipMemcpyDtoH", api.memcpyDtoH, missing);
  resolve(handle, "hipMemset", api.memset, missing);
  resolve(handle, "hipMemcpyHtoDAsync", api.memcpyHtoDAsync, missing);
  resolve(handle, "hipMemcpyDtoHAsync", api.memcpyDtoHAsync, missing);
  resolve(handle, "hipMemcpyDtoDAsync", api.memcpyDtoDAsync, missing);
  resolve(handle, "hipMemsetAsync", api.memsetAsync, missing);
  resolve(handle, "hipMemGetAddressRange", api.memGetAddressRange, missing);
  resolve(handle, "hipModuleLoadData", api.moduleLoadData, missing);
  resolve(handle, "hipModuleUnload", api.moduleUnload, missing);
  resolve(handle, "hipModuleGetFunction", api.moduleGetFunction, missing);
  resolve(handle, "hipModuleLaunchKernel", api.moduleLaunchKernel, missing);
  resolve(handle, "hipDeviceSynchronize", api.deviceSynchronize, missing);
  resolve(handle, "hipStreamCreate", api.streamCreate, missing);
  resolve(handle, "hipStreamDestroy", api.streamDestroy, missing);
  resolve(handle, "hipStreamSynchronize", api.streamSynchronize, missing);
  resolve(handle, "hipStreamQuery", api.streamQuery, missing);
  resolve(handle, "hipStreamWaitEvent", api.streamWaitEvent, missing);
  resolve(handle, "hipEventCreate", api.eventCreate, missing);
  resolve(handle, "hipEventRecord", api.eventRecord, missing);
  resolve(handle, "hipEventSynchronize", api.eventSynchronize, missing);
  resolve(handle, "hipEventQuery", api.eventQuery, missing);
  resolve(handle, "hipEventElapsedTime", api.eventElapsedTime, missing);
  resolve(handle, "hipEventDestroy", api.eventDestroy, missing);
  resolve(handle, "hipGetLastError", api.getLastError, missing);
  resolve(handle, "hipGetErrorString", api.getErrorString, missing);

  std::string ignored;
  resolve(handle, "hipRuntimeGetVersion", api.runtimeGetVersion, ignored);
  resolve(handle, "hipDriverGetVersion", api.driverGetVersion, ignored);
  if (resolve(handle, "hipGetDevicePropertiesR0600", api.getPropertiesR0600, ignored) ||
      resolve(handle, "hipGetDevicePropertiesR0000", api.getPropertiesR0000, ignored))
    return missing;
  resolve(handle, "hipGetDeviceProperties", api.getPropertiesR0000, missing);
  return missing;
}

static std::string listNames(const std::vector<std::string> &names) {
  std::string list;
  for (size_t i = 0; i != names.size(); ++i)
    list += (i == 0 ? "" : i + 1 == names.size() ? " or " : ", ") + names[i];
  return list;
}

Result<std::shared_ptr<const HipApi>> HipApi::open(const HipOptions &options) {
  std::string notes;
  for (const std::string &name : options.libraries) {
    void *handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
      // "libx: cannot open" is the plain absence of libx; anything else is worth a note.
      const char *reason = dlerror();
      if (reason && std::strstr(reason, (name + ": cannot open").c_str()) != reason)
        notes += "\nnote: " + name + " cannot be loaded: " + reason;
      continue;
    }
    auto api = std::make_shared<HipApi>();
    api->library = name;
    std::string missing = resolveAll(handle, *api);
    if (!missing.empty())
      return hostError("HIP library '" + name + "' has no function '" + missing +
                       "'; install ROCm 5.2 or later, or use device 'sim'");
    return std::shared_ptr<const HipApi>(std::move(api));
  }
  return notFound("no HIP library: " + listNames(options.libraries) +
                  " cannot be opened; install ROCm, or use device 'sim'" + notes);
}

Error HipApi::failure(const std::string &call, int code) const {
  getLastError();
  const char *reason = getErrorString(code);
  return hostError(call + " failed: " + (reason ? reason : "unknown error") + " (" +
                   std::to_string(code) + ")");
}

template <typename T> static T readAt(const std::byte *bytes, size_t offset) {
  T value;
  std::memcpy(&value, bytes + offset, sizeof(T));
  return value;
}

static std::string stringAt(const std::byte *bytes, size_t offset) {
  const char *begin = reinterpret_cast<const char *>(bytes + offset);
  return std::string(begin, strnlen(begin, nameBytes));
}

/// The library and its versions, as far as it tells.
static std::string softwareOf(const HipApi &api) {
  std::string text = api.library;
  for (auto [name, query] : {std::pair(", runtime ", api.runtimeGetVersion), std::pair(", driver ", api.driverGetVersion)}) {
    int version = 0;
    if (query && query(&version) == 0)
      text += name + std::to_string(version);
    else
      api.getLastError();
  }
  return text;
}

Result<DeviceProperties> HipApi::properties(int index) const {
  alignas(16) std::array<std::byte, propertyBytes> raw{};
  bool newLayout = getPropertiesR0600 != nullptr;
  int code =
      newLayout ? getPropertiesR0600(raw.data(), index) : getPropertiesR0000(raw.data(), index);
  if (code != 0)
    return failure("reading the properties of HIP device " + std::to_string(index), code);

  const PropertyLayout &layout = newLayout ? layoutR0600 : layoutR0000;
  DeviceProperties properties;
  properties.name = stringAt(raw.data(), 0);
  properties.architecture = stringAt(raw.data(), layout.architecture);
  properties.architecture.resize(
      std::min(properties.architecture.size(), properties.architecture.find(':')));
  properties.totalMemory = readAt<uint64_t>(raw.data(), layout.totalMemory);
  properties.maxLdsPerWorkgroup =
      static_cast<uint32_t>(readAt<uint64_t>(raw.data(), layout.ldsPerBlock));
  properties.waveSize = readAt<uint32_t>(raw.data(), layout.warpSize);
  properties.computeUnits = readAt<uint32_t>(raw.data(), layout.computeUnits);
  properties.software = softwareOf(*this);
  return properties;
}
