// The `hip` device: AMD's own runtime, opened when it is asked for.
//
// Building needs no ROCm: the library is found by dlopen, newest soname first, and its functions by
// name. Only what HIP 5 to 7 have in common is used; device properties, whose layout changed with
// HIP 6, are read through the entry point that belongs to each layout.
#pragma once

#include "hocket/Runtime/Stream.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace hocket::runtime {

/// How to find HIP.
struct HipOptions {
  /// File names for dlopen, tried in this order.
  std::vector<std::string> libraries = {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so"};
  /// The first device of this architecture (empty: of any) is taken, or the device `index`, which must be one.
  std::string architecture = "gfx950";
  std::optional<int> index;
};

/// Opens the wanted device. Errors: NotFound if there is no library or no such device, Host if the
/// library lacks a function or a call fails.
///
/// HIP's current device and last error are the calling thread's own: every call on the device and
/// what belongs to it leaves both as they were (an error that is reported here is cleared in HIP).
Result<std::shared_ptr<Device>> openHipDevice(const HipOptions &options = {});

/// A stream that somebody else made on `device`, as a hipStream_t (null: the default stream). It is
/// not destroyed with the result, which must not outlive it. Errors: `device` is not `hip`.
Result<std::shared_ptr<Stream>> borrowHipStream(const std::shared_ptr<Device> &device,
                                                void *hipStream);

} // namespace hocket::runtime
