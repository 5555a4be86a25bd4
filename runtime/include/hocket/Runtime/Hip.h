// The `hip` device: AMD's own runtime, opened when it is asked for.
//
// Building needs no ROCm: the library is found by dlopen, newest soname first, and its functions by
// name. Only what HIP 5 to 7 have in common is used; device properties, whose layout changed with
// HIP 6, are read through the entry point that belongs to each layout.
#pragma once

#include "hocket/Runtime/Device.h"

#include <memory>
#include <string>
#include <vector>

namespace hocket::runtime {

/// How to find HIP.
struct HipOptions {
  /// File names for dlopen, tried in this order.
  std::vector<std::string> libraries = {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so"};
  /// The first device of this architecture is taken.
  std::string architecture = "gfx950";
};

/// Opens the first device of the wanted architecture. Errors: NotFound if there is no library or
/// no such device, Host if the library lacks a function or a call fails.
Result<std::shared_ptr<Device>> openHipDevice(const HipOptions &options = {});

} // namespace hocket::runtime
