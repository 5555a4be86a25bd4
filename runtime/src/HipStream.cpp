// Streams, events and launches of the `hip` device.
//
// Streams are HIP's default kind, which order themselves with the default stream that `Device`'s
// own calls use. Kernel arguments go as one packed block (HIP_LAUNCH_PARAM_BUFFER_POINTER), which
// needs no knowledge of their types and lets HIP fill the hidden ones.
#include "HipDevice.h"

#include <algorithm>
#include <atomic>

using namespace hocket;
using namespace hocket::runtime;

namespace {
/// hipModuleLaunchKernel's `extra` keys; part of HIP's ABI since its first version.
void *const launchParamBufferPointer = reinterpret_cast<void *>(uintptr_t(1));
void *const launchParamBufferSize = reinterpret_cast<void *>(uintptr_t(2));
void *const launchParamEnd = reinterpret_cast<void *>(uintptr_t(3));

class HipEvent final : public Event {
public:
  HipEvent(std::shared_ptr<HipDevice> device, void *handle)
      : device(std::move(device)), handle(handle) {}
  ~HipEvent() override {
    HipScope scope(*device);
    if (scope.status().ok() && device->api->eventDestroy(handle) != 0)
      device->api->getLastError();
  }
  Status synchronize() override;
  Result<bool> isComplete() override;
  Result<double> secondsSince(Event &start) override;

  const std::shared_ptr<HipDevice> device;
  void *const handle;
  std::atomic<bool> recorded = false;
};

class HipStream final : public Stream {
public:
  HipStream(std::shared_ptr<HipDevice> device, void *handle, bool owned)
      : device(std::move(device)), handle(handle), owned(owned) {}
  ~HipStream() override;

  Status copyToDevice(DeviceAddress to, std::span<const std::byte> from) override;
  Status copyFromDevice(std::span<std::byte> to, DeviceAddress from) override;
  Status copyOnDevice(DeviceAddress to, DeviceAddress from, uint64_t bytes) override;
  Status fill(DeviceAddress to, uint8_t value, uint64_t bytes) override;
  Status launch(Kernel &kernel, const LaunchShape &shape,
                std::span<const std::byte> kernarg) override;
  Status record(Event &event) override;
  Status wait(Event &event) override;
  Status synchronize() override;
  Result<bool> isComplete() override;

private:
  const std::shared_ptr<HipDevice> device;
  void *const handle;
  const bool owned;
};
} // namespace

static Result<HipEvent *> ownEvent(const std::shared_ptr<HipDevice> &device, Event &event) {
  auto *own = dynamic_cast<HipEvent *>(&event);
  if (!own || own->device != device)
    return invalidInput("event was made by another device; make it on this one");
  return own;
}

/// The answer of hipStreamQuery and hipEventQuery.
static Result<bool> readQuery(const HipDevice &device, const char *call, int code) {
  if (code == hipNotReady) {
    device.api->getLastError();
    return false;
  }
  if (Status status = device.check(call, code); !status)
    return status.error();
  return true;
}

Status HipEvent::synchronize() {
  HipScope scope(*device);
  return scope.status().ok()
             ? device->check("hipEventSynchronize", device->api->eventSynchronize(handle))
             : scope.status();
}

Result<bool> HipEvent::isComplete() {
  HipScope scope(*device);
  if (!scope.status())
    return scope.status().error();
  return readQuery(*device, "hipEventQuery", device->api->eventQuery(handle));
}

Result<double> HipEvent::secondsSince(Event &start) {
  Result<HipEvent *> own = ownEvent(device, start);
  if (!own)
    return own.error();
  if (!recorded || !(*own)->recorded)
    return invalidInput("event was never recorded; record it on a stream before its time is asked");
  if (Status status = start.synchronize(); !status)
    return status.error();
  if (Status status = synchronize(); !status)
    return status.error();
  HipScope scope(*device);
  if (!scope.status())
    return scope.status().error();
  float milliseconds = 0;
  if (Status status =
          device->check("hipEventElapsedTime",
                        device->api->eventElapsedTime(&milliseconds, (*own)->handle, handle));
      !status)
    return status.error();
  return milliseconds * 1e-3;
}

HipStream::~HipStream() {
  HipScope scope(*device);
  if (!owned || !scope.status())
    return;
  const int waited = device->api->streamSynchronize(handle);
  const int destroyed = device->api->streamDestroy(handle);
  if (waited != 0 || destroyed != 0)
    device->api->getLastError();
}

Status HipStream::copyToDevice(DeviceAddress to, std::span<const std::byte> from) {
  if (from.empty())
    return Status::success();
  if (Status status = checkHostMemory(from.data(), from.size()); !status)
    return status;
  HipScope scope(*device);
  if (!scope.status())
    return scope.status();
  if (Status status = device->checkRange("write", to, from.size()); !status)
    return status;
  return device->check(
      "copying " + std::to_string(from.size()) + " bytes to the device",
      device->api->memcpyHtoDAsync(hipPointer(to), from.data(), from.size(), handle));
}

Status HipStream::copyFromDevice(std::span<std::byte> to, DeviceAddress from) {
  if (to.empty())
    return Status::success();
  if (Status status = checkHostMemory(to.data(), to.size()); !status)
    return status;
  HipScope scope(*device);
  if (!scope.status())
    return scope.status();
  if (Status status = device->checkRange("read", from, to.size()); !status)
    return status;
  return device->check(
      "copying " + std::to_string(to.size()) + " bytes from the device",
      device->api->memcpyDtoHAsync(to.data(), hipPointer(from), to.size(), handle));
}

Status HipStream::copyOnDevice(DeviceAddress to, DeviceAddress from, uint64_t bytes) {
  if (bytes == 0)
    return Status::success();
  HipScope scope(*device);
  if (!scope.status())
    return scope.status();
  if (Status status = device->checkRange("read", from, bytes); !status)
    return status;
  if (Status status = device->checkRange("write", to, bytes); !status)
    return status;
  return device->check(
      "copying " + std::to_string(bytes) + " bytes on the device",
      device->api->memcpyDtoDAsync(hipPointer(to), hipPointer(from), bytes, handle));
}

Status HipStream::fill(DeviceAddress to, uint8_t value, uint64_t bytes) {
  if (bytes == 0)
    return Status::success();
  HipScope scope(*device);
  if (!scope.status())
    return scope.status();
  if (Status status = device->checkRange("fill", to, bytes); !status)
    return status;
  return device->check("filling " + std::to_string(bytes) + " bytes",
                       device->api->memsetAsync(hipPointer(to), value, bytes, handle));
}

Status HipStream::launch(Kernel &kernel, const LaunchShape &shape,
                         std::span<const std::byte> kernarg) {
  HipScope scope(*device);
  return scope.status().ok() ? device->enqueue(kernel, shape, kernarg, handle) : scope.status();
}

Status HipStream::record(Event &event) {
  Result<HipEvent *> own = ownEvent(device, event);
  if (!own)
    return own.error();
  HipScope scope(*device);
  if (!scope.status())
    return scope.status();
  Status status = device->check("hipEventRecord", device->api->eventRecord((*own)->handle, handle));
  if (status.ok())
    (*own)->recorded = true;
  return status;
}

Status HipStream::wait(Event &event) {
  Result<HipEvent *> own = ownEvent(device, event);
  if (!own)
    return own.error();
  HipScope scope(*device);
  if (!scope.status())
    return scope.status();
  return device->check("hipStreamWaitEvent",
                       device->api->streamWaitEvent(handle, (*own)->handle, 0));
}

Status HipStream::synchronize() {
  HipScope scope(*device);
  return scope.status().ok()
             ? device->check("hipStreamSynchronize", device->api->streamSynchronize(handle))
             : scope.status();
}

Result<bool> HipStream::isComplete() {
  HipScope scope(*device);
  if (!scope.status())
    return scope.status().error();
  return readQuery(*device, "hipStreamQuery", device->api->streamQuery(handle));
}

Result<std::shared_ptr<Stream>> HipDevice::createStream() {
  HipScope scope(*this);
  if (!scope.status())
    return scope.status().error();
  void *handle = nullptr;
  if (Status status = check("hipStreamCreate", api->streamCreate(&handle)); !status)
    return status.error();
  return std::shared_ptr<Stream>(std::make_shared<HipStream>(self(), handle, /*owned=*/true));
}

Result<std::shared_ptr<Event>> HipDevice::createEvent() {
  HipScope scope(*this);
  if (!scope.status())
    return scope.status().error();
  void *handle = nullptr;
  if (Status status = check("hipEventCreate", api->eventCreate(&handle)); !status)
    return status.error();
  return std::shared_ptr<Event>(std::make_shared<HipEvent>(self(), handle));
}

Result<std::shared_ptr<Stream>> runtime::borrowHipStream(const std::shared_ptr<Device> &device,
                                                         void *hipStream) {
  auto hip = std::dynamic_pointer_cast<HipDevice>(device);
  if (!hip)
    return invalidInput("a HIP stream can be used on device 'hip' only, this is '" +
                        std::string(device ? device->kind() : "none") + "'");
  return std::shared_ptr<Stream>(
      std::make_shared<HipStream>(std::move(hip), hipStream, /*owned=*/false));
}

Status HipDevice::enqueue(Kernel &kernel, const LaunchShape &shape,
                          std::span<const std::byte> kernarg, void *stream) {
  auto *own = dynamic_cast<HipKernel *>(&kernel);
  if (!own || own->code->device.get() != this)
    return invalidInput("kernel '" + kernel.info().name +
                        "' was loaded on another device; load its module on this one");
  // HIP knows better than its property structure how much LDS a workgroup may have.
  DeviceProperties limits = deviceProperties;
  limits.maxLdsPerWorkgroup = 0;
  if (Status status = checkLaunch(own->kernelInfo, limits, shape, kernarg.size()); !status)
    return status;
  std::vector<std::byte> block(kernarg.begin(), kernarg.end());
  block.resize(std::max<size_t>(block.size(), own->kernelInfo.explicitKernargSize()));
  size_t size = block.size();
  void *extra[] = {launchParamBufferPointer, block.data(), launchParamBufferSize, &size,
                   launchParamEnd};
  return check("kernel '" + own->kernelInfo.name + "': hipModuleLaunchKernel",
               api->moduleLaunchKernel(own->function, shape.grid.x, shape.grid.y, shape.grid.z,
                                       shape.block.x, shape.block.y, shape.block.z,
                                       shape.dynamicLds, stream, nullptr, extra));
}

/// Launches on the default stream between two events.
Result<LaunchReport> HipDevice::launch(Kernel &kernel, const LaunchShape &shape,
                                       std::span<const std::byte> kernarg) {
  HipScope scope(*this);
  if (!scope.status())
    return scope.status().error();
  Result<std::shared_ptr<Event>> start = createEvent();
  if (!start)
    return start.error();
  Result<std::shared_ptr<Event>> stop = createEvent();
  if (!stop)
    return stop.error();
  HipStream stream(self(), /*handle=*/nullptr, /*owned=*/false);
  if (Status status = stream.record(**start); !status)
    return status.error();
  if (Status status = enqueue(kernel, shape, kernarg, /*stream=*/nullptr); !status)
    return status.error();
  if (Status status = stream.record(**stop); !status)
    return status.error();
  Result<double> seconds = (*stop)->secondsSince(**start);
  if (!seconds)
    return hostError("kernel '" + kernel.info().name + "': " + seconds.error().message);
  LaunchReport report;
  report.seconds = *seconds;
  return report;
}
