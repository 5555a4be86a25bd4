// HIP's C interface as this runtime sees it: the functions it calls, resolved by name, and the two
// layouts of the device properties. Internal to the `hip` device.
//
// Types are written out as the ABI has them (handles are pointers, errors and sizes integers), so
// no HIP header is needed and no enumerator that changed between HIP 5 and 7 is used.
#pragma once

#include "hocket/Runtime/Hip.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace hocket::runtime {

/// hipErrorNotReady, the one error code that is looked at; the same in HIP 5.2.3 and 6.3.
inline constexpr int hipNotReady = 600;

/// The functions of one libamdhip64. The library is never closed: HIP keeps threads of its own.
struct HipApi {
  std::string library; ///< the name it was opened by

  int (*init)(unsigned);
  int (*getDeviceCount)(int *);
  int (*getDevice)(int *);
  int (*setDevice)(int);
  int (*malloc)(void **, size_t);
  int (*free)(void *);
  int (*memcpyHtoD)(void *, const void *, size_t);
  int (*memcpyDtoH)(void *, void *, size_t);
  int (*memset)(void *, int, size_t);
  int (*memcpyHtoDAsync)(void *, const void *, size_t, void *);
  int (*memcpyDtoHAsync)(void *, void *, size_t, void *);
  int (*memcpyDtoDAsync)(void *, void *, size_t, void *);
  int (*memsetAsync)(void *, int, size_t, void *);
  int (*memGetAddressRange)(void **, size_t *, void *);
  int (*moduleLoadData)(void **, const void *);
  int (*moduleUnload)(void *);
  int (*moduleGetFunction)(void **, void *, const char *);
  int (*moduleLaunchKernel)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                            unsigned, void *, void **, void **);
  int (*deviceSynchronize)();
  int (*streamCreate)(void **);
  int (*streamDestroy)(void *);
  int (*streamSynchronize)(void *);
  int (*streamQuery)(void *);
  int (*streamWaitEvent)(void *, void *, unsigned);
  int (*eventCreate)(void **);
  int (*eventRecord)(void *, void *);
  int (*eventSynchronize)(void *);
  int (*eventQuery)(void *);
  int (*eventElapsedTime)(float *, void *, void *);
  int (*eventDestroy)(void *);
  int (*getLastError)();
  const char *(*getErrorString)(int);
  /// For reports; null where the library has none.
  int (*runtimeGetVersion)(int *) = nullptr;
  int (*driverGetVersion)(int *) = nullptr;

  /// One of these is set; R0600 is preferred.
  int (*getPropertiesR0600)(void *, int) = nullptr;
  int (*getPropertiesR0000)(void *, int) = nullptr;

  /// Opens the first library of `options` that can be opened and has every function.
  static Result<std::shared_ptr<const HipApi>> open(const HipOptions &options);

  /// `call` failed with `code`: "hipMalloc of 16 bytes failed: out of memory (2)". Clears HIP's
  /// per-thread error, which is not the program's own.
  Error failure(const std::string &call, int code) const;

  /// The properties of device `index`; the architecture without feature suffixes.
  Result<DeviceProperties> properties(int index) const;
};

} // namespace hocket::runtime
