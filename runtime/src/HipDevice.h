// The `hip` device's classes, shared by its sources. Internal to the runtime.
#pragma once

#include "HipApi.h"

#include "hocket/Runtime/CodeObjectInfo.h"
#include "hocket/Runtime/Stream.h"

#include <map>
#include <mutex>

namespace hocket::runtime {

class HipDevice;

/// While it lives, a device is current in the calling thread; then the former one is again.
class HipScope {
public:
  explicit HipScope(const HipDevice &device);
  ~HipScope();
  HipScope(const HipScope &) = delete;
  HipScope &operator=(const HipScope &) = delete;
  const Status &status() const { return entered; }

private:
  const HipApi &api;
  int former = -1; ///< to go back to; -1: nothing to do
  Status entered;
};

/// A loaded module; unloaded with the last kernel or module object that holds it.
class HipCode {
public:
  HipCode(std::shared_ptr<HipDevice> device, void *handle, CodeObjectInfo info)
      : device(std::move(device)), handle(handle), info(std::move(info)) {}
  ~HipCode();
  HipCode(const HipCode &) = delete;
  HipCode &operator=(const HipCode &) = delete;

  const std::shared_ptr<HipDevice> device;
  void *const handle;
  const CodeObjectInfo info;
};

class HipKernel final : public Kernel {
public:
  HipKernel(std::shared_ptr<const HipCode> code, const KernelInfo &info, void *function)
      : code(std::move(code)), kernelInfo(info), function(function) {}
  const KernelInfo &info() const override { return kernelInfo; }

  const std::shared_ptr<const HipCode> code;
  const KernelInfo &kernelInfo; ///< within `code`
  void *const function;
};

class HipModule final : public Module {
public:
  explicit HipModule(std::shared_ptr<const HipCode> code) : code(std::move(code)) {}
  std::vector<std::string> kernelNames() const override { return code->info.kernelNames(); }
  Result<std::shared_ptr<Kernel>> kernel(std::string_view name) override;

private:
  const std::shared_ptr<const HipCode> code;
};

class HipDevice final : public Device {
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
  Result<std::shared_ptr<Stream>> createStream() override;
  Result<std::shared_ptr<Event>> createEvent() override;

  /// An error that names `call` if HIP answered it with a `code` other than success.
  Status check(const std::string &call, int code) const;
  /// Refuses a range that is not within one allocation of this device, its own or anybody's.
  Status checkRange(std::string_view what, DeviceAddress address, uint64_t bytes);
  /// Checks a launch and gives it to `stream`; the device must be current.
  Status enqueue(Kernel &kernel, const LaunchShape &shape, std::span<const std::byte> kernarg,
                 void *stream);
  std::shared_ptr<HipDevice> self() {
    return std::static_pointer_cast<HipDevice>(shared_from_this());
  }

  const std::shared_ptr<const HipApi> api;
  const int index;

private:
  struct Allocation {
    void *raw;      ///< what hipFree takes
    uint64_t bytes; ///< from the aligned address on
  };
  const DeviceProperties deviceProperties;
  std::mutex mutex;
  std::map<DeviceAddress, Allocation> allocations; ///< by aligned address
};

/// `address` as HIP takes it.
inline void *hipPointer(DeviceAddress address) {
  return reinterpret_cast<void *>(static_cast<uintptr_t>(address));
}

} // namespace hocket::runtime
