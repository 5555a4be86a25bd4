// The device and its contexts. There is one device and one context, which always exists; contexts
// can be made current and asked for, but are no more than that.
#include "Driver.h"
#include "Properties.h"

#include <algorithm>
#include <cstring>

using namespace hocket;
using namespace hocket::hip;

/// The one context's handle.
static void *const context = reinterpret_cast<void *>(uintptr_t(0x800));

/// Stores `value` if there is somewhere to.
template <typename T> static Outcome store(T *to, T value) {
  if (Outcome outcome = needPointers(to); !outcome.ok())
    return outcome;
  *to = value;
  return hipSuccess;
}

static Outcome storeText(char *to, int bytes, std::string_view text) {
  if (!to || bytes <= 0)
    return {hipErrorInvalidValue, "there is no room for the text"};
  const size_t length = std::min<size_t>(text.size(), static_cast<size_t>(bytes) - 1);
  std::memcpy(to, text.data(), length);
  to[length] = '\0';
  return hipSuccess;
}

static Outcome needContext(const void *handle) {
  if (handle == nullptr || handle == context)
    return hipSuccess;
  return {hipErrorInvalidContext, "the context was never made"};
}

/// As libamdhip64 counts: major, minor, and a patch that is unlike any of AMD's.
static int version() {
  const unsigned major = hipMajor();
  return static_cast<int>(major * 10'000'000 + (major == 5 ? 200'000 : 0));
}

extern "C" {
int hipInit(unsigned flags) {
  return call("hipInit", [&](Driver &) -> Outcome {
    if (flags == 0)
      return hipSuccess;
    return {hipErrorInvalidValue, "flags must be 0"};
  });
}
int hipDriverGetVersion(int *to) {
  return call("hipDriverGetVersion", [&](Driver &) { return store(to, version()); });
}
int hipRuntimeGetVersion(int *to) {
  return call("hipRuntimeGetVersion", [&](Driver &) { return store(to, version()); });
}
int hipGetDeviceCount(int *count) {
  return call("hipGetDeviceCount", [&](Driver &) { return store(count, 1); });
}
int hipGetDevice(int *device) {
  return call("hipGetDevice", [&](Driver &) { return store(device, 0); });
}
int hipSetDevice(int device) {
  return call("hipSetDevice", [&](Driver &) { return needDevice(device); });
}
int hipDeviceGet(int *device, int ordinal) {
  return call("hipDeviceGet", [&](Driver &) {
    const Outcome valid = needDevice(ordinal);
    return valid.ok() ? store(device, 0) : valid;
  });
}
int hipDeviceGetName(char *name, int bytes, int device) {
  return call("hipDeviceGetName", [&](Driver &) {
    const Outcome valid = needDevice(device);
    return valid.ok() ? storeText(name, bytes, deviceName()) : valid;
  });
}
int hipDeviceGetPCIBusId(char *id, int bytes, int device) {
  return call("hipDeviceGetPCIBusId", [&](Driver &) {
    const Outcome valid = needDevice(device);
    return valid.ok() ? storeText(id, bytes, pciBusId) : valid;
  });
}
int hipDeviceGetByPCIBusId(int *device, const char *id) {
  return call("hipDeviceGetByPCIBusId", [&](Driver &) -> Outcome {
    if (!id || id != pciBusId)
      return {hipErrorInvalidDevice, "no device has this PCI address"};
    return store(device, 0);
  });
}
int hipDeviceGetUuid(void *uuid, int device) {
  return call("hipDeviceGetUuid", [&](Driver &) {
    if (Outcome outcome = needPointers(uuid); !outcome.ok())
      return outcome;
    if (Outcome outcome = needDevice(device); !outcome.ok())
      return outcome;
    std::memcpy(uuid, "hocket-simulator", 16);
    return Outcome(hipSuccess);
  });
}
int hipDeviceTotalMem(size_t *bytes, int device) {
  return call("hipDeviceTotalMem", [&](Driver &driver) {
    const Outcome valid = needDevice(device);
    return valid.ok() ? store<size_t>(bytes, driver.memory.limitBytes()) : valid;
  });
}
int hipDeviceComputeCapability(int *major, int *minor, int device) {
  return call("hipDeviceComputeCapability", [&](Driver &) {
    if (Outcome outcome = needDevice(device); !outcome.ok())
      return outcome;
    const Outcome first = store(major, 9);
    return first.ok() ? store(minor, 5) : first;
  });
}
int hipChooseDevice(int *device, const void *) {
  return call("hipChooseDevice", [&](Driver &) { return store(device, 0); });
}
int hipChooseDeviceR0600(int *device, const void *) {
  return call("hipChooseDeviceR0600", [&](Driver &) { return store(device, 0); });
}
int hipDeviceCanAccessPeer(int *can, int device, int peer) {
  return call("hipDeviceCanAccessPeer", [&](Driver &) {
    if (Outcome outcome = needDevice(device); !outcome.ok())
      return outcome;
    const Outcome valid = needDevice(peer);
    return valid.ok() ? store(can, 0) : valid;
  });
}
int hipDeviceSynchronize() {
  return call("hipDeviceSynchronize", [&](Driver &driver) {
    Outcome outside = driver.checkOutsideCapture("a wait for the device");
    return outside.ok() ? driver.fault.value_or(Outcome(hipSuccess)) : outside;
  });
}
int hipDeviceReset() {
  return call("hipDeviceReset", [&](Driver &driver) {
    driver.reset();
    return Outcome(hipSuccess);
  });
}
int hipSetDeviceFlags(unsigned flags) {
  return call("hipSetDeviceFlags", [&](Driver &driver) {
    driver.deviceFlags = flags;
    return Outcome(hipSuccess);
  });
}
int hipGetDeviceFlags(unsigned *flags) {
  return call("hipGetDeviceFlags",
              [&](Driver &driver) { return store(flags, driver.deviceFlags); });
}
int hipSetValidDevices(int *, int) { return hipSuccess; }

/// Preferences for caches and banks that the chip does not have; HIP ignores them too.
int hipDeviceSetCacheConfig(int) { return hipSuccess; }
int hipDeviceGetCacheConfig(int *config) {
  return call("hipDeviceGetCacheConfig", [&](Driver &) { return store(config, 0); });
}
int hipDeviceSetSharedMemConfig(int) { return hipSuccess; }
int hipDeviceGetSharedMemConfig(int *config) {
  return call("hipDeviceGetSharedMemConfig", [&](Driver &) { return store(config, 0); });
}
int hipFuncSetCacheConfig(const void *, int) { return hipSuccess; }
int hipFuncSetSharedMemConfig(const void *, int) { return hipSuccess; }

int hipDevicePrimaryCtxRetain(void **to, int device) {
  return call("hipDevicePrimaryCtxRetain", [&](Driver &) {
    const Outcome valid = needDevice(device);
    return valid.ok() ? store(to, context) : valid;
  });
}
int hipDevicePrimaryCtxRelease(int device) {
  return call("hipDevicePrimaryCtxRelease", [&](Driver &) { return needDevice(device); });
}
int hipDevicePrimaryCtxSetFlags(int device, unsigned) {
  return call("hipDevicePrimaryCtxSetFlags", [&](Driver &) { return needDevice(device); });
}
int hipDevicePrimaryCtxGetState(int device, unsigned *flags, int *active) {
  return call("hipDevicePrimaryCtxGetState", [&](Driver &) {
    if (Outcome outcome = needDevice(device); !outcome.ok())
      return outcome;
    const Outcome first = store(flags, 0u);
    return first.ok() ? store(active, 1) : first;
  });
}
int hipCtxCreate(void **to, unsigned, int device) {
  return call("hipCtxCreate", [&](Driver &) {
    if (Outcome outcome = needDevice(device); !outcome.ok())
      return outcome;
    Thread::get().contexts.push_back(context);
    return store(to, context);
  });
}
int hipCtxDestroy(void *handle) {
  return call("hipCtxDestroy", [&](Driver &) {
    std::vector<void *> &stack = Thread::get().contexts;
    if (!stack.empty() && stack.back() == handle)
      stack.pop_back();
    return needContext(handle);
  });
}
int hipCtxSetCurrent(void *handle) {
  return call("hipCtxSetCurrent", [&](Driver &) { return needContext(handle); });
}
int hipCtxGetCurrent(void **to) {
  return call("hipCtxGetCurrent", [&](Driver &) { return store(to, context); });
}
int hipCtxPushCurrent(void *handle) {
  return call("hipCtxPushCurrent", [&](Driver &) {
    const Outcome valid = needContext(handle);
    if (valid.ok())
      Thread::get().contexts.push_back(context);
    return valid;
  });
}
int hipCtxPopCurrent(void **to) {
  return call("hipCtxPopCurrent", [&](Driver &) -> Outcome {
    std::vector<void *> &stack = Thread::get().contexts;
    if (stack.empty())
      return {hipErrorInvalidContext, "no context was pushed"};
    if (to)
      *to = stack.back();
    stack.pop_back();
    return hipSuccess;
  });
}
int hipCtxGetDevice(int *device) {
  return call("hipCtxGetDevice", [&](Driver &) { return store(device, 0); });
}
int hipCtxGetFlags(unsigned *flags) {
  return call("hipCtxGetFlags", [&](Driver &driver) { return store(flags, driver.deviceFlags); });
}
int hipCtxSynchronize() { return hipDeviceSynchronize(); }
}
