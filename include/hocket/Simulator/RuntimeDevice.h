/* The simulator as a device of the runtime: `sim`, a gfx950 with 256 compute units, and one more
 * device for every other chip of the architecture table, `sim:gfx942`.
 *
 * The runtime does not know the simulator; libhocket makes it known when it is loaded, a program
 * that is linked to the static libraries does so itself. Usable from C.
 */
#ifndef HOCKET_SIMULATOR_RUNTIMEDEVICE_H
#define HOCKET_SIMULATOR_RUNTIMEDEVICE_H

#ifdef __cplusplus
#include "hocket/Runtime/Device.h"

#include <functional>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace hocket::sim {
class Instrument;
class Program;

/// What the simulator of a chip is called: "sim" for gfx950, "sim:gfx942".
std::string deviceNameFor(std::string_view architecture);
/// Makes `sim` and the other chips' simulators known to `runtime::openDevice`. Every opening gives
/// a new device with memory of its own. May be called more than once, from any thread.
void registerSimulator();
/// A simulator device all of whose launches `instrument` watches (null: none); it must outlive the
/// device. It presents itself as the chip `architecture`; null if the architecture table has no
/// such chip. Code objects of all chips run on it, by the rules of their own.
std::shared_ptr<runtime::Device> createDevice(Instrument *instrument = nullptr,
                                              std::string_view architecture = "gfx950");
/// Calls `use` with the program that `kernel` belongs to and its number there, while no launch
/// runs. Errors: `device` is not the simulator (Unsupported), or `kernel` is not of this device.
Status withProgram(runtime::Device &device, runtime::Kernel &kernel,
                   const std::function<void(Program &, size_t)> &use);
/// Makes host memory part of the device's, at the address that it has on the host, until
/// `runtime::Device::free` of it. It must live as long. Errors: `device` is not the simulator
/// (Unsupported); it is empty, or overlaps memory of the device.
Result<runtime::DeviceAddress> shareHostMemory(runtime::Device &device, std::span<std::byte> host,
                                               std::string_view label = {});
} // namespace hocket::sim
extern "C" {
#endif

/* registerSimulator for C. */
void hocket_register_simulator(void);

#ifdef __cplusplus
}
#endif

#endif
