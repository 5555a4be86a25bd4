// Streams of a device that has no queues of its own: every call does its work before it returns.
//
// That is a legal order of any set of streams: work starts after everything that was given before
// it, to whatever stream, so all dependencies between streams hold. Time is the host's.
#include "hocket/Runtime/Stream.h"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <optional>

using namespace hocket;
using namespace hocket::runtime;

Event::~Event() = default;
Stream::~Stream() = default;

Status runtime::checkHostMemory(const void *data, uint64_t bytes) {
  if (data || bytes == 0)
    return Status::success();
  return invalidInput("host memory of a copy of " + std::to_string(bytes) +
                      " bytes is null; pass memory of that size");
}

namespace {
using Clock = std::chrono::steady_clock;

class SynchronousEvent final : public Event {
public:
  explicit SynchronousEvent(std::shared_ptr<Device> device) : device(std::move(device)) {}
  Status synchronize() override { return Status::success(); }
  Result<bool> isComplete() override { return true; }
  Result<double> secondsSince(Event &start) override;

  void record() {
    std::lock_guard lock(mutex);
    mark = Clock::now();
  }
  std::optional<Clock::time_point> recorded() const {
    std::lock_guard lock(mutex);
    return mark;
  }
  const std::shared_ptr<Device> device;

private:
  mutable std::mutex mutex;
  std::optional<Clock::time_point> mark;
};

class SynchronousStream final : public Stream {
public:
  explicit SynchronousStream(std::shared_ptr<Device> device) : device(std::move(device)) {}

  Status copyToDevice(DeviceAddress to, std::span<const std::byte> from) override {
    return device->copyToDevice(to, from);
  }
  Status copyFromDevice(std::span<std::byte> to, DeviceAddress from) override {
    return device->copyFromDevice(to, from);
  }
  Status copyOnDevice(DeviceAddress to, DeviceAddress from, uint64_t bytes) override;
  Status fill(DeviceAddress to, uint8_t value, uint64_t bytes) override {
    return device->fill(to, value, bytes);
  }
  Status launch(Kernel &kernel, const LaunchShape &shape,
                std::span<const std::byte> kernarg) override;
  Status record(Event &event) override;
  Status wait(Event &event) override;
  Status synchronize() override { return device->synchronize(); }
  Result<bool> isComplete() override { return true; }

private:
  const std::shared_ptr<Device> device;
};
} // namespace

/// `event` as one of `device`'s.
static Result<SynchronousEvent *> ownEvent(const std::shared_ptr<Device> &device, Event &event) {
  auto *own = dynamic_cast<SynchronousEvent *>(&event);
  if (!own || own->device != device)
    return invalidInput("event was made by another device; make it on this one");
  return own;
}

Result<double> SynchronousEvent::secondsSince(Event &start) {
  Result<SynchronousEvent *> own = ownEvent(device, start);
  if (!own)
    return own.error();
  const auto begin = (*own)->recorded(), end = recorded();
  if (!begin || !end)
    return invalidInput("event was never recorded; record it on a stream before its time is asked");
  return std::chrono::duration<double>(*end - *begin).count();
}

Status SynchronousStream::copyOnDevice(DeviceAddress to, DeviceAddress from, uint64_t bytes) {
  constexpr uint64_t pieceBytes = uint64_t(16) << 20;
  std::vector<std::byte> piece(std::min(bytes, pieceBytes));
  for (uint64_t done = 0; done != bytes;) {
    std::span<std::byte> part(piece.data(), std::min(bytes - done, pieceBytes));
    if (Status status = device->copyFromDevice(part, from + done); !status)
      return status;
    if (Status status = device->copyToDevice(to + done, part); !status)
      return status;
    done += part.size();
  }
  return Status::success();
}

Status SynchronousStream::launch(Kernel &kernel, const LaunchShape &shape,
                                 std::span<const std::byte> kernarg) {
  Result<LaunchReport> report = device->launch(kernel, shape, kernarg);
  if (!report)
    return report.error();
  if (!report->fault.empty())
    return executionError("kernel '" + kernel.info().name + "': " + report->fault);
  for (const Finding &finding : report->findings)
    if (finding.severity == FindingSeverity::Error)
      return executionError("kernel '" + finding.kernel +
                            "': " + std::string(findingName(finding.kind)) + ": " +
                            describeDetails(finding));
  return Status::success();
}

Status SynchronousStream::record(Event &event) {
  Result<SynchronousEvent *> own = ownEvent(device, event);
  if (!own)
    return own.error();
  (*own)->record();
  return Status::success();
}

Status SynchronousStream::wait(Event &event) {
  Result<SynchronousEvent *> own = ownEvent(device, event);
  return own ? Status::success() : Status(own.error());
}

static Error unowned() {
  return invalidInput("device is not owned by a shared pointer, streams could outlive it; open it "
                      "with 'openDevice'");
}

Result<std::shared_ptr<Stream>> Device::createStream() {
  std::shared_ptr<Device> self = weak_from_this().lock();
  if (!self)
    return unowned();
  return std::shared_ptr<Stream>(std::make_shared<SynchronousStream>(std::move(self)));
}

Result<std::shared_ptr<Event>> Device::createEvent() {
  std::shared_ptr<Device> self = weak_from_this().lock();
  if (!self)
    return unowned();
  return std::shared_ptr<Event>(std::make_shared<SynchronousEvent>(std::move(self)));
}
