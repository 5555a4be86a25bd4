// The `hip` device: the runtime's interface on top of libamdhip64's module API.
//
// HIP's current device is a property of the host thread, so every call sets it first. Kernel
// arguments go as one packed block (HIP_LAUNCH_PARAM_BUFFER_POINTER), which needs no knowledge of
// their types and lets HIP fill the hidden ones.
#include "HipApi.h"

#include "hocket/Runtime/CodeObjectInfo.h"

#include <algorithm>
#include <map>
#include <mutex>

using namespace hocket;
using namespace hocket::runtime;

namespace {
/// hipModuleLaunchKernel's `extra` keys; part of HIP's ABI since its first version.
void *const launchParamBufferPointer = reinterpret_cast<void *>(uintptr_t(1));
void *const launchParamBufferSize = reinterpret_cast<void *>(uintptr_t(2));
void *const launchParamEnd = reinterpret_cast<void *>(uintptr_t(3));
/// What hipMalloc guarantees; more needs a larger allocation.
constexpr uint64_t hipAlignment = 256;

class HipDevice;

class HipKernel final : public Kernel {
public:
  HipKernel(std::weak_ptr<const HipDevice> device, KernelInfo info, void *function)
      : device(std::move(device)), kernelInfo(std::move(info)), function(function) {}
  const KernelInfo &info() const override { return kernelInfo; }

  std::weak_ptr<const HipDevice> device;
  KernelInfo kernelInfo;
  void *function;
};

class HipModule final : public Module {
public:
  HipModule(std::shared_ptr<const HipDevice> device, void *handle, CodeObjectInfo info)
      : device(std::move(device)), handle(handle), codeObject(std::move(info)) {}
  ~HipModule() override;
  std::vector<std::string> kernelNames() const override { return codeObject.kernelNames(); }
  Result<std::shared_ptr<Kernel>> kernel(std::string_view name) override;

private:
  std::shared_ptr<const HipDevice> device;
  void *handle;
  CodeObjectInfo codeObject;
};

/// An event that destroys itself.
class HipEvent {
public:
  HipEvent(const HipApi &api) : api(api) {}
  ~HipEvent() {
    if (handle)
      api.eventDestroy(handle);
  }
  HipEvent(const HipEvent &) = delete;
  HipEvent &operator=(const HipEvent &) = delete;

  const HipApi &api;
  void *handle = nullptr;
};

class HipDevice final : public Device, public std::enable_shared_from_this<HipDevice> {
public:
  HipDevice(std::shared_ptr<const HipApi> api, int index, DeviceProperties properties)
      : api(std::move(api)), index(index), deviceProperties(std::move(properties)) {}

  std::string_view kind() const override { return "hip"; }
  const DeviceProperties &properties() const override { return deviceProperties; }

  Result<DeviceAddress> allocate(uint64_t bytes, uint64_t alignment,
                                 std::string_view label) override;
  Status free(DeviceAddress address) override;
  Status copyToDevice(DeviceAddress to, std::span<const std::byte> from) override;
  Status copyFromDevice(std::span<std::byte> to, DeviceAddress from) override;
  Status fill(DeviceAddress to, uint8_t value, uint64_t bytes) override;
  Result<std::shared_ptr<Module>> loadModule(std::span<const std::byte> codeObject,
                                             std::string_view name) override;
  Result<LaunchReport> launch(Kernel &kernel, const LaunchShape &shape,
                              std::span<const std::byte> kernarg) override;
  Status synchronize() override;

  /// Makes this device current in the calling thread.
  Status select() const;
  Status check(const std::string &call, int code) const;
  const std::shared_ptr<const HipApi> api;

private:
  Result<LaunchReport> timedLaunch(const HipKernel &kernel, const LaunchShape &shape,
                                   std::span<const std::byte> kernarg);
  const int index;
  const DeviceProperties deviceProperties;
  std::mutex mutex;
  std::map<DeviceAddress, void *> allocations; ///< aligned address -> what hipFree takes
};
} // namespace

static void *pointer(DeviceAddress address) {
  return reinterpret_cast<void *>(static_cast<uintptr_t>(address));
}

Status HipDevice::check(const std::string &call, int code) const {
  if (code != 0)
    return api->failure(call, code);
  return Status::success();
}

Status HipDevice::select() const {
  return check("selecting HIP device " + std::to_string(index), api->setDevice(index));
}

Result<DeviceAddress> HipDevice::allocate(uint64_t bytes, uint64_t alignment, std::string_view) {
  if (bytes == 0)
    return invalidInput("allocation of 0 bytes; at least 1 is needed");
  if (alignment == 0 || (alignment & (alignment - 1)) != 0 || alignment > (uint64_t(1) << 30))
    return invalidInput("alignment " + std::to_string(alignment) +
                        " is not a power of two up to 1073741824");
  uint64_t slack = alignment > hipAlignment ? alignment : 0;
  if (bytes > UINT64_MAX - slack)
    return hostError("allocation of " + std::to_string(bytes) + " bytes is more than a device has");
  if (Status status = select(); !status.ok())
    return status.error();
  void *raw = nullptr;
  if (Status status = check("hipMalloc of " + std::to_string(bytes) + " bytes",
                            api->malloc(&raw, bytes + slack));
      !status.ok())
    return status.error();
  uint64_t address = reinterpret_cast<uintptr_t>(raw);
  if (slack != 0)
    address = (address + alignment - 1) & ~(alignment - 1);
  std::lock_guard lock(mutex);
  allocations[address] = raw;
  return address;
}

Status HipDevice::free(DeviceAddress address) {
  void *raw = nullptr;
  {
    std::lock_guard lock(mutex);
    auto it = allocations.find(address);
    if (it == allocations.end())
      return invalidInput("no live allocation of this device starts at " + formatAddress(address) +
                          "; free what 'allocate' returned, once");
    raw = it->second;
    allocations.erase(it);
  }
  if (Status status = select(); !status.ok())
    return status;
  return check("hipFree", api->free(raw));
}

Status HipDevice::copyToDevice(DeviceAddress to, std::span<const std::byte> from) {
  if (from.empty())
    return Status::success();
  if (Status status = select(); !status.ok())
    return status;
  return check("copying " + std::to_string(from.size()) + " bytes to the device",
               api->memcpyHtoD(pointer(to), from.data(), from.size()));
}

Status HipDevice::copyFromDevice(std::span<std::byte> to, DeviceAddress from) {
  if (to.empty())
    return Status::success();
  if (Status status = select(); !status.ok())
    return status;
  return check("copying " + std::to_string(to.size()) + " bytes from the device",
               api->memcpyDtoH(to.data(), pointer(from), to.size()));
}

Status HipDevice::fill(DeviceAddress to, uint8_t value, uint64_t bytes) {
  if (bytes == 0)
    return Status::success();
  if (Status status = select(); !status.ok())
    return status;
  if (Status status = check("filling " + std::to_string(bytes) + " bytes",
                            api->memset(pointer(to), value, bytes));
      !status.ok())
    return status;
  return synchronize(); // hipMemset may return early
}

Result<std::shared_ptr<Module>> HipDevice::loadModule(std::span<const std::byte> codeObject,
                                                      std::string_view name) {
  Result<CodeObjectInfo> info = readCodeObjectInfo(codeObject, name);
  if (!info.ok())
    return info.error();
  if (info->architecture != deviceProperties.architecture)
    return unsupported("code object '" + std::string(name) + "' is for " + info->architecture +
                       ", device '" + deviceProperties.name + "' is a " +
                       deviceProperties.architecture + "; compile it for that target");
  if (Status status = select(); !status.ok())
    return status.error();
  void *handle = nullptr;
  if (Status status = check("loading code object '" + std::string(name) + "'",
                            api->moduleLoadData(&handle, codeObject.data()));
      !status.ok())
    return status.error();
  return std::shared_ptr<Module>(
      std::make_shared<HipModule>(shared_from_this(), handle, *std::move(info)));
}

HipModule::~HipModule() {
  if (device->select().ok())
    device->api->moduleUnload(handle);
}

Result<std::shared_ptr<Kernel>> HipModule::kernel(std::string_view name) {
  Result<const KernelInfo *> info = codeObject.find(name);
  if (!info.ok())
    return info.error();
  if (Status status = device->select(); !status.ok())
    return status.error();
  void *function = nullptr;
  std::string symbol(name);
  if (Status status =
          device->check("finding kernel '" + symbol + "'",
                        device->api->moduleGetFunction(&function, handle, symbol.c_str()));
      !status.ok())
    return status.error();
  return std::shared_ptr<Kernel>(std::make_shared<HipKernel>(device, **info, function));
}

Result<LaunchReport> HipDevice::launch(Kernel &kernel, const LaunchShape &shape,
                                       std::span<const std::byte> kernarg) {
  auto *hipKernel = dynamic_cast<HipKernel *>(&kernel);
  if (!hipKernel || hipKernel->device.lock().get() != this)
    return invalidInput("kernel '" + kernel.info().name +
                        "' was loaded on another device; load its module on this one");
  // HIP knows better than its property structure how much LDS a workgroup may have.
  DeviceProperties limits = deviceProperties;
  limits.maxLdsPerWorkgroup = 0;
  if (Status status = checkLaunch(kernel.info(), limits, shape, kernarg.size()); !status.ok())
    return status.error();
  if (Status status = select(); !status.ok())
    return status.error();
  return timedLaunch(*hipKernel, shape, kernarg);
}

Result<LaunchReport> HipDevice::timedLaunch(const HipKernel &kernel, const LaunchShape &shape,
                                            std::span<const std::byte> kernarg) {
  HipEvent start(*api), stop(*api);
  std::vector<std::byte> block(kernarg.begin(), kernarg.end());
  block.resize(std::max<size_t>(block.size(), kernel.kernelInfo.explicitKernargSize()));
  size_t size = block.size();
  void *extra[] = {launchParamBufferPointer, block.data(), launchParamBufferSize, &size,
                   launchParamEnd};
  void *defaultStream = nullptr;
  // In order; the first failure ends the chain.
  const std::string what = "kernel '" + kernel.kernelInfo.name + "': ";
  int code = 0;
  const char *call = "";
  auto step = [&](const char *name, auto function) {
    if (code != 0)
      return;
    call = name;
    code = function();
  };
  float milliseconds = 0;
  step("hipEventCreate", [&] { return api->eventCreate(&start.handle); });
  step("hipEventCreate", [&] { return api->eventCreate(&stop.handle); });
  step("hipEventRecord", [&] { return api->eventRecord(start.handle, defaultStream); });
  step("hipModuleLaunchKernel", [&] {
    return api->moduleLaunchKernel(kernel.function, shape.grid.x, shape.grid.y, shape.grid.z,
                                   shape.block.x, shape.block.y, shape.block.z, shape.dynamicLds,
                                   defaultStream, nullptr, extra);
  });
  step("hipEventRecord", [&] { return api->eventRecord(stop.handle, defaultStream); });
  step("hipEventSynchronize", [&] { return api->eventSynchronize(stop.handle); });
  step("hipEventElapsedTime",
       [&] { return api->eventElapsedTime(&milliseconds, start.handle, stop.handle); });
  if (code != 0)
    return api->failure(what + call, code);
  LaunchReport report;
  report.seconds = milliseconds * 1e-3;
  return report;
}

Status HipDevice::synchronize() {
  if (Status status = select(); !status.ok())
    return status;
  return check("hipDeviceSynchronize", api->deviceSynchronize());
}

Result<std::shared_ptr<Device>> runtime::openHipDevice(const HipOptions &options) {
  Result<std::shared_ptr<const HipApi>> api = HipApi::open(options);
  if (!api.ok())
    return api.error();
  const std::string &library = (*api)->library;
  int count = 0;
  int code = (*api)->init(0);
  if (code == 0)
    code = (*api)->getDeviceCount(&count);
  if (code != 0)
    return notFound("no HIP device: '" + library +
                    "' says: " + (*api)->failure("starting HIP", code).message +
                    "; check the driver, or use device 'sim'");
  std::string found;
  for (int index = 0; index < count; ++index) {
    Result<DeviceProperties> properties = (*api)->properties(index);
    if (!properties.ok())
      return properties.error();
    if (properties->architecture == options.architecture)
      return std::shared_ptr<Device>(
          std::make_shared<HipDevice>(*api, index, *std::move(properties)));
    found += (found.empty() ? "" : ", ") + properties->architecture;
  }
  if (found.empty())
    return notFound("no HIP device: '" + library + "' finds none; use device 'sim'");
  return notFound("no " + options.architecture + " device: '" + library + "' finds " + found +
                  "; use device 'sim'");
}
