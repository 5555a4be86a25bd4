// The `hip` device: the runtime's interface on top of libamdhip64's module API.
//
// HIP's current device is a property of the host thread, so every call sets it and puts it back.
// What HIP would answer with a crash (foreign addresses, null memory) is refused before it is
// asked.
#include "HipDevice.h"

#include <algorithm>

using namespace hocket;
using namespace hocket::runtime;

/// What hipMalloc guarantees; more needs a larger allocation.
static constexpr uint64_t hipAlignment = 256;

HipScope::HipScope(const HipDevice &device) : api(*device.api) {
  int current = -1;
  if (api.getDevice(&current) == 0 && current == device.index)
    return;
  entered = device.check("selecting HIP device " + std::to_string(device.index),
                         api.setDevice(device.index));
  if (entered.ok())
    former = current;
}

HipScope::~HipScope() {
  if (former >= 0)
    api.setDevice(former);
}

Status HipDevice::check(const std::string &call, int code) const {
  if (code != 0)
    return api->failure(call, code);
  return Status::success();
}

Status HipDevice::checkRange(std::string_view what, DeviceAddress address, uint64_t bytes) {
  auto refuse = [&](DeviceAddress base, uint64_t size) {
    return invalidInput("cannot " + std::string(what) + " " + std::to_string(bytes) +
                        " bytes at device address " + formatAddress(address) +
                        ": the allocation there is " + std::to_string(size) + " bytes at " +
                        formatAddress(base) + "; stay within it");
  };
  {
    std::lock_guard lock(mutex);
    auto it = allocations.upper_bound(address);
    if (it != allocations.begin() && address - std::prev(it)->first < std::prev(it)->second.bytes) {
      --it;
      if (bytes <= it->second.bytes - (address - it->first))
        return Status::success();
      return refuse(it->first, it->second.bytes);
    }
  }
  // Not from `allocate`; a program that brings its own allocations may use them all the same.
  void *base = nullptr;
  size_t size = 0;
  if (address == 0 || api->memGetAddressRange(&base, &size, hipPointer(address)) != 0) {
    api->getLastError();
    return invalidInput("cannot " + std::string(what) + " " + std::to_string(bytes) +
                        " bytes at device address " + formatAddress(address) +
                        ": no allocation holds it; pass an address from 'allocate'");
  }
  uint64_t begin = reinterpret_cast<uintptr_t>(base);
  if (address < begin || address - begin > size || bytes > size - (address - begin))
    return refuse(begin, size);
  return Status::success();
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
  HipScope scope(*this);
  if (!scope.status())
    return scope.status().error();
  void *raw = nullptr;
  if (Status status = check("hipMalloc of " + std::to_string(bytes) + " bytes",
                            api->malloc(&raw, bytes + slack));
      !status.ok())
    return status.error();
  uint64_t address = reinterpret_cast<uintptr_t>(raw);
  if (slack != 0)
    address = (address + alignment - 1) & ~(alignment - 1);
  std::lock_guard lock(mutex);
  allocations[address] = {raw, bytes};
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
    raw = it->second.raw;
    allocations.erase(it);
  }
  HipScope scope(*this);
  return scope.status().ok() ? check("hipFree", api->free(raw)) : scope.status();
}

Status HipDevice::copyToDevice(DeviceAddress to, std::span<const std::byte> from) {
  if (from.empty())
    return Status::success();
  if (Status status = checkHostMemory(from.data(), from.size()); !status)
    return status;
  HipScope scope(*this);
  if (!scope.status())
    return scope.status();
  if (Status status = checkRange("write", to, from.size()); !status)
    return status;
  return check("copying " + std::to_string(from.size()) + " bytes to the device",
               api->memcpyHtoD(hipPointer(to), from.data(), from.size()));
}

Status HipDevice::copyFromDevice(std::span<std::byte> to, DeviceAddress from) {
  if (to.empty())
    return Status::success();
  if (Status status = checkHostMemory(to.data(), to.size()); !status)
    return status;
  HipScope scope(*this);
  if (!scope.status())
    return scope.status();
  if (Status status = checkRange("read", from, to.size()); !status)
    return status;
  return check("copying " + std::to_string(to.size()) + " bytes from the device",
               api->memcpyDtoH(to.data(), hipPointer(from), to.size()));
}

Status HipDevice::fill(DeviceAddress to, uint8_t value, uint64_t bytes) {
  if (bytes == 0)
    return Status::success();
  HipScope scope(*this);
  if (!scope.status())
    return scope.status();
  if (Status status = checkRange("fill", to, bytes); !status)
    return status;
  if (Status status = check("filling " + std::to_string(bytes) + " bytes",
                            api->memset(hipPointer(to), value, bytes));
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
  HipScope scope(*this);
  if (!scope.status())
    return scope.status().error();
  void *handle = nullptr;
  if (Status status = check("loading code object '" + std::string(name) + "'",
                            api->moduleLoadData(&handle, codeObject.data()));
      !status.ok())
    return status.error();
  auto code = std::make_shared<const HipCode>(self(), handle, *std::move(info));
  return std::shared_ptr<Module>(std::make_shared<HipModule>(std::move(code)));
}

HipCode::~HipCode() {
  HipScope scope(*device);
  if (scope.status().ok() && device->api->moduleUnload(handle) != 0)
    device->api->getLastError();
}

Result<std::shared_ptr<Kernel>> HipModule::kernel(std::string_view name) {
  Result<const KernelInfo *> info = code->info.find(name);
  if (!info.ok())
    return info.error();
  const HipDevice &device = *code->device;
  HipScope scope(device);
  if (!scope.status())
    return scope.status().error();
  void *function = nullptr;
  std::string symbol(name);
  if (Status status =
          device.check("finding kernel '" + symbol + "'",
                       device.api->moduleGetFunction(&function, code->handle, symbol.c_str()));
      !status.ok())
    return status.error();
  return std::shared_ptr<Kernel>(std::make_shared<HipKernel>(code, **info, function));
}

Status HipDevice::synchronize() {
  HipScope scope(*this);
  return scope.status().ok() ? check("hipDeviceSynchronize", api->deviceSynchronize())
                             : scope.status();
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
  for (int index = options.index.value_or(0); index >= 0 && index < count; ++index) {
    Result<DeviceProperties> properties = (*api)->properties(index);
    if (!properties.ok())
      return properties.error();
    if (options.architecture.empty() || properties->architecture == options.architecture)
      return std::shared_ptr<Device>(
          std::make_shared<HipDevice>(*api, index, *std::move(properties)));
    found += (found.empty() ? "" : ", ") + properties->architecture;
    if (options.index)
      return notFound("HIP device " + std::to_string(index) + " is a " + found + ", not a " +
                      options.architecture + "; choose another one, or use device 'sim'");
  }
  if (options.index && count > 0)
    return notFound("no HIP device " + std::to_string(*options.index) + ": '" + library +
                    "' finds " + std::to_string(count) + ", numbered from 0");
  if (found.empty())
    return notFound("no HIP device: '" + library + "' finds none; use device 'sim'");
  return notFound("no " + options.architecture + " device: '" + library + "' finds " + found +
                  "; use device 'sim'");
}
