// Work that runs in the order it was given, and marks in it that can be waited for and timed.
//
// A stream's calls return when the work is accepted, not when it is done; a device without queues
// of its own (the simulator) does the work within the call. So the host memory of a copy must stay
// valid and untouched until the stream has passed it (`synchronize`, or an event recorded behind
// it), and what went wrong may be reported by the call itself or by any later call on the stream or
// its device. Streams and events keep their device alive. All calls may come from any thread; the
// order of calls from different threads is the order in which they happen.
//
// The calls of `Device` itself order themselves with all its streams: they wait for what was given
// to any stream before, and later stream work waits for them.
#pragma once

#include "hocket/Runtime/Device.h"

#include <memory>
#include <span>

namespace hocket::runtime {

/// A mark in a stream. Made by `Device::createEvent`; belongs to that device.
class Event {
public:
  virtual ~Event();
  /// Waits until the work before the last record is done. Returns at once if there was no record.
  virtual Status synchronize() = 0;
  /// Whether the work before the last record is done; true if there was no record.
  virtual Result<bool> isComplete() = 0;
  /// Seconds from `start` to this event, after waiting for both: device time on HIP, host time in
  /// the simulator. Errors (InvalidInput): one was never recorded, or is of another device.
  virtual Result<double> secondsSince(Event &start) = 0;
};

/// A queue of work. Destroying it waits for what it holds.
class Stream {
public:
  virtual ~Stream();
  virtual Status copyToDevice(DeviceAddress to, std::span<const std::byte> from) = 0;
  virtual Status copyFromDevice(std::span<std::byte> to, DeviceAddress from) = 0;
  /// Copies `bytes` bytes within the device; the ranges must not overlap.
  virtual Status copyOnDevice(DeviceAddress to, DeviceAddress from, uint64_t bytes) = 0;
  virtual Status fill(DeviceAddress to, uint8_t value, uint64_t bytes) = 0;
  /// As `Device::launch`, without waiting. `kernarg` is copied; `kernel` must live until the launch
  /// is done. Findings of checked execution that are errors make this an Execution error.
  virtual Status launch(Kernel &kernel, const LaunchShape &shape,
                        std::span<const std::byte> kernarg) = 0;
  /// Marks what was given to this stream so far; replaces an earlier mark of `event`.
  virtual Status record(Event &event) = 0;
  /// Work given to this stream from now on waits for the last record of `event`.
  virtual Status wait(Event &event) = 0;
  /// Waits until everything given so far is done.
  virtual Status synchronize() = 0;
  virtual Result<bool> isComplete() = 0;
};

/// Refuses null host memory of more than 0 bytes.
Status checkHostMemory(const void *data, uint64_t bytes);

} // namespace hocket::runtime
