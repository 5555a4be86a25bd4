// Which devices there are, and how one is opened by name.
//
// The runtime itself brings `hip`. The simulator is another library, on which the runtime does not
// depend: libhocket makes it known when it is loaded, a program that is linked to the static
// libraries calls `sim::registerSimulator()` (hocket/Simulator/RuntimeDevice.h) first.
#pragma once

#include "hocket/Runtime/Device.h"

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace hocket::runtime {

/// Makes a device, or says why it cannot.
using DeviceFactory = std::function<Result<std::shared_ptr<Device>>()>;

/// Registers `factory` under `name`; a second registration of the same name replaces the first.
/// Thread-safe.
void registerDevice(std::string name, DeviceFactory factory);

/// The names that `openDevice` knows besides "auto", sorted.
std::vector<std::string> deviceNames();

/// An open device. `note` is not empty if the choice needs saying: `auto` fell back to `sim`, and
/// why.
struct OpenedDevice {
  std::shared_ptr<Device> device;
  std::string note;
};

/// Opens "hip" (the first gfx950), "hip:N" (HIP's device N, of any architecture), "hip:gfx942" (the first of that
/// architecture), "sim" or another registered device; "auto" takes `hip` if a gfx950 answers and `sim` otherwise. Errors: InvalidInput for an unknown name, NotFound or Host as the device says.
Result<OpenedDevice> openDevice(std::string_view name);

} // namespace hocket::runtime
