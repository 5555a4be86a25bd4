// The device interface: what a program needs to run a code object, whatever runs it.
//
// Two devices stand behind it: `hip` (libamdhip64, opened at run time) and `sim` (the built-in
// simulator, which registers itself; see lib/Simulator/RuntimeDevice.cpp). The interface knows
// nothing of the compiler. Sizes and offsets are in bytes, addresses are device addresses, grids
// are counted in workgroups and blocks in work-items.
#pragma once

#include "hocket/Runtime/Finding.h"
#include "hocket/Support/Result.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace hocket::runtime {

/// An address in device memory; 0 is never a valid allocation.
using DeviceAddress = uint64_t;

struct Dim3 {
  uint32_t x = 1, y = 1, z = 1;
  bool operator==(const Dim3 &) const = default;
};

/// What a device is. `architecture` is LLVM's processor name without feature suffixes ("gfx950").
struct DeviceProperties {
  std::string name;
  std::string architecture;
  uint64_t totalMemory = 0;
  uint32_t computeUnits = 0;
  uint32_t waveSize = 64;
  uint32_t maxLdsPerWorkgroup = 0;
  std::string software; ///< what drives it, for reports: "libamdhip64.so.7, runtime 70051831, driver 70051831"; or ""
};

/// The shape of one launch. `dynamicLds` is added to the kernel's static LDS.
struct LaunchShape {
  Dim3 grid;  ///< workgroups
  Dim3 block; ///< work-items per workgroup
  uint32_t dynamicLds = 0;
};

/// A list of numbers (i32) in device memory that says where a kernel finds things, such as a table of pages: what it
/// holds is data, which no caller reads back, but what it may hold is known.
struct NumberList {
  std::string name;
  DeviceAddress address = 0;
  uint64_t rows = 1, numbers = 0; ///< so many rows of so many numbers
  uint64_t rowStride = 0;         ///< numbers from row to row
  int64_t least = 0, most = 0;
  bool ascending = false; ///< none is below the one before it in its row
  std::string meaning;    ///< of a number, for messages: "a page of 'k' and 'v'"
};

/// One argument of a kernel, as its metadata says. `kind` is the code object's ".value_kind":
/// "by_value", "global_buffer", "hidden_block_count_x", ...
struct KernelArgument {
  std::string name; ///< may be empty: metadata names are optional
  std::string kind;
  uint32_t offset = 0;
  uint32_t size = 0;

  /// Whether the device fills it and the caller must not.
  bool isHidden() const { return kind.starts_with("hidden_"); }
  uint64_t end() const { return uint64_t(offset) + size; }
};

/// Resources and arguments of one kernel, from its descriptor and metadata.
struct KernelInfo {
  std::string name;
  uint32_t kernargSize = 0;
  uint32_t staticLds = 0;
  uint32_t privateSegment = 0; ///< scratch bytes per work-item
  uint32_t vgprs = 0, agprs = 0, sgprs = 0;
  uint32_t vgprSpills = 0, sgprSpills = 0;
  uint32_t maxWorkgroupSize = 0;
  std::vector<KernelArgument> arguments;

  /// Bytes that the caller provides: up to the end of the last argument that is not hidden. The
  /// whole block if the metadata lists no arguments (kernels written in assembly).
  uint32_t explicitKernargSize() const;
};

/// Checks what no device accepts: a zero or too large grid or block (HIP's limits, the kernel's own
/// maximum), more LDS than `device` has, a kernarg block without all explicit arguments.
Status checkLaunch(const KernelInfo &kernel, const DeviceProperties &device,
                   const LaunchShape &shape, uint64_t kernargBytes);

/// A kernel of a loaded module, which stays loaded while the kernel lives.
class Kernel {
public:
  virtual ~Kernel();
  virtual const KernelInfo &info() const = 0;
};

/// A code object loaded on a device. Keeps its device alive.
class Module {
public:
  virtual ~Module();
  /// The names of all kernels, in the order of the metadata.
  virtual std::vector<std::string> kernelNames() const = 0;
  /// The kernel called `name`; an error that lists the kernels there are if it is missing.
  virtual Result<std::shared_ptr<Kernel>> kernel(std::string_view name) = 0;
};

/// How one launch went. On HIP only `seconds` is known.
struct LaunchReport {
  double seconds = 0;            ///< device time on HIP, host time in the simulator
  uint64_t waveInstructions = 0; ///< simulator only: wave-instructions executed
  uint64_t workgroups = 0;       ///< simulator only
  /// Checked execution only: what is wrong, errors first. What would have ended a plain launch with
  /// an error is among them; `fault` is that error then, and the launch did not finish.
  std::vector<Finding> findings;
  std::string fault;
  std::string checkNote; ///< checked execution only: what could not be checked, or ""
};

/// Options that only the simulator has; other devices ignore them.
struct SimulationOptions {
  uint64_t seed = 0;                ///< order and quantum of waves
  /// Of one workgroup, which counts as hanging beyond: wave-instructions, processor time. Both 0:
  /// the simulator's default limits; one 0: there is none.
  uint64_t maxWaveInstructions = 0;
  double maxSeconds = 0;
  uint32_t threads = 0;             ///< host threads; 0: all cores
  bool check = false;               ///< checked execution: `LaunchReport::findings`
  /// Ends launches soon after a stop is requested, with an Execution error.
  std::stop_token stop = {};
};

class Stream;
class Event;

/// One device. All calls are synchronous and may come from any thread; work that is not waited for
/// goes to a stream (Stream.h). Devices are owned by shared pointers.
class Device : public std::enable_shared_from_this<Device> {
public:
  virtual ~Device();
  /// "hip" or "sim".
  virtual std::string_view kind() const = 0;
  virtual const DeviceProperties &properties() const = 0;

  /// Uninitialised memory. `bytes` must not be 0, `alignment` is a power of two (the simulator
  /// gives exactly that, so that a kernel that needs more is found out). `label` names the
  /// allocation in the simulator's messages.
  virtual Result<DeviceAddress> allocate(uint64_t bytes, uint64_t alignment = 256,
                                         std::string_view label = {}) = 0;
  virtual Status free(DeviceAddress address) = 0;
  virtual Status copyToDevice(DeviceAddress to, std::span<const std::byte> from) = 0;
  virtual Status copyFromDevice(std::span<std::byte> to, DeviceAddress from) = 0;
  /// Fills `bytes` bytes with `value`. In the simulator memory that was never written costs
  /// nothing.
  virtual Status fill(DeviceAddress to, uint8_t value, uint64_t bytes) = 0;

  virtual Result<std::shared_ptr<Module>> loadModule(std::span<const std::byte> codeObject,
                                                     std::string_view name) = 0;

  /// Launches and waits. `kernarg` is the packed explicit argument block (Arguments.h packs one);
  /// the device fills `hidden_*` arguments. Checked: `checkLaunch`, and that `kernel` is of this
  /// device.
  virtual Result<LaunchReport> launch(Kernel &kernel, const LaunchShape &shape,
                                      std::span<const std::byte> kernarg) = 0;
  /// The same for a kernel that follows `lists`: checked execution reports what it loads of them and is not what they
  /// may hold. Devices that do not check pay no attention to them.
  virtual Result<LaunchReport> launchWith(std::span<const NumberList> lists, Kernel &kernel, const LaunchShape &shape,
                                          std::span<const std::byte> kernarg);
  /// Waits for the work of all streams.
  virtual Status synchronize() = 0;

  /// A new queue of work, and a new mark for one. Unless a device has queues of its own, a stream
  /// does its work within the call, in order.
  virtual Result<std::shared_ptr<Stream>> createStream();
  virtual Result<std::shared_ptr<Event>> createEvent();

  /// Replaces the simulator's options for later launches; no effect elsewhere.
  virtual void setSimulationOptions(const SimulationOptions &options) { (void)options; }
};

} // namespace hocket::runtime
