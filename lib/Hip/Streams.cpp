// Streams and events. Work is done when it is given, so waiting is over at once, a query always
// says that all is done, and an event's time is that of its record (Clock.h).
#include "Driver.h"

using namespace hocket;
using namespace hocket::hip;

/// What waiting reports: an invalid stream, or a launch that failed before.
static Outcome waitFor(Driver &driver, const void *stream) {
  const Outcome valid = driver.checkStream(stream);
  if (!valid.ok())
    return valid;
  if (std::shared_ptr<Capture> capture = driver.captureOf(stream)) {
    capture->valid = false;
    return {hipErrorStreamCaptureUnsupported, "the stream is captured, so nothing can be waited for in it; end the "
                                              "capture before"};
  }
  return driver.fault.value_or(Outcome(hipSuccess));
}

static Outcome findEvent(Driver &driver, const void *handle, std::shared_ptr<Event> &event) {
  event = driver.events.find(handle);
  if (event)
    return hipSuccess;
  return {hipErrorInvalidHandle, "the event was destroyed or never made"};
}

static Outcome createStream(Driver &driver, void **stream, unsigned flags, int priority) {
  if (Outcome outcome = needPointers(stream); !outcome.ok())
    return outcome;
  if (flags > streamNonBlocking)
    return {hipErrorInvalidValue, "stream flags " + std::to_string(flags) + " are unknown"};
  *stream = driver.streams.insert(std::make_shared<Stream>(Stream{flags, priority}));
  return hipSuccess;
}

/// Captures `stream`, too; `capture` is null where it is over.
static Outcome joinCapture(Driver &driver, const void *stream, std::shared_ptr<Capture> capture) {
  if (!capture || !capture->valid)
    return {hipErrorStreamCaptureIsolation, "the event was recorded in a capture that is over; record it anew"};
  std::shared_ptr<Capture> own = driver.captureOf(stream);
  if (own && own != capture)
    return {hipErrorStreamCaptureMerge, "the event was recorded in another capture than this stream's"};
  if (!own)
    driver.captures[captureKey(stream)] = std::move(capture);
  return hipSuccess;
}

static int recordEvent(const char *name, void *handle, void *stream) {
  return call(name, [&](Driver &driver) {
    std::shared_ptr<Event> event;
    if (Outcome outcome = driver.checkStream(stream); !outcome.ok())
      return outcome;
    if (Outcome outcome = findEvent(driver, handle, event); !outcome.ok())
      return outcome;
    std::shared_ptr<Capture> capture = driver.captureOf(stream);
    event->capture = capture ? capture->id : 0;
    return driver.enqueue(stream, [event](Driver &device) {
      event->mark = device.clock.now();
      return Outcome(hipSuccess);
    });
  });
}

static int waitStream(const char *name, void *stream) {
  return call(name, [&](Driver &driver) { return waitFor(driver, stream); });
}

static int waitEvent(const char *name, void *stream, void *handle) {
  return call(name, [&](Driver &driver) {
    std::shared_ptr<Event> event;
    const Outcome valid = driver.checkStream(stream);
    const Outcome found = valid.ok() ? findEvent(driver, handle, event) : valid;
    // A stream that waits for captured work is captured with it.
    return found.ok() && event->capture ? joinCapture(driver, stream, driver.openCapture(event->capture)) : found;
  });
}

static int getStream(const char *name, void *handle, auto store) {
  return call(name, [&](Driver &driver) {
    if (Outcome outcome = driver.checkStream(handle); !outcome.ok())
      return outcome;
    std::shared_ptr<Stream> stream = driver.streams.find(handle);
    return store(stream ? *stream : Stream{});
  });
}

extern "C" {

int hipStreamCreate(void **stream) {
  return call("hipStreamCreate",
              [&](Driver &driver) { return createStream(driver, stream, 0, 0); });
}
int hipStreamCreateWithFlags(void **stream, unsigned flags) {
  return call("hipStreamCreateWithFlags",
              [&](Driver &driver) { return createStream(driver, stream, flags, 0); });
}
int hipStreamCreateWithPriority(void **stream, unsigned flags, int priority) {
  return call("hipStreamCreateWithPriority",
              [&](Driver &driver) { return createStream(driver, stream, flags, priority); });
}
int hipStreamDestroy(void *stream) {
  return call("hipStreamDestroy", [&](Driver &driver) -> Outcome {
    if (driver.streams.erase(stream))
      return hipSuccess;
    return {hipErrorInvalidHandle, "the stream was destroyed before or never made"};
  });
}
int hipStreamSynchronize(void *stream) { return waitStream("hipStreamSynchronize", stream); }
int hipStreamSynchronize_spt(void *stream) {
  return waitStream("hipStreamSynchronize_spt", ofThread(stream));
}
int hipStreamQuery(void *stream) { return waitStream("hipStreamQuery", stream); }
int hipStreamQuery_spt(void *stream) { return waitStream("hipStreamQuery_spt", ofThread(stream)); }
int hipStreamWaitEvent(void *stream, void *event, unsigned) {
  return waitEvent("hipStreamWaitEvent", stream, event);
}
int hipStreamWaitEvent_spt(void *stream, void *event, unsigned) {
  return waitEvent("hipStreamWaitEvent_spt", ofThread(stream), event);
}
int hipStreamGetFlags(void *stream, unsigned *flags) {
  return getStream("hipStreamGetFlags", stream, [&](const Stream &found) {
    const Outcome valid = needPointers(flags);
    if (valid.ok())
      *flags = found.flags;
    return valid;
  });
}
int hipStreamGetPriority(void *stream, int *priority) {
  return getStream("hipStreamGetPriority", stream, [&](const Stream &found) {
    const Outcome valid = needPointers(priority);
    if (valid.ok())
      *priority = found.priority;
    return valid;
  });
}
int hipStreamGetFlags_spt(void *stream, unsigned *flags) { return hipStreamGetFlags(stream, flags); }
int hipStreamGetPriority_spt(void *stream, int *priority) {
  return hipStreamGetPriority(stream, priority);
}
int hipStreamGetDevice(void *stream, int *device) {
  return getStream("hipStreamGetDevice", stream, [&](const Stream &) {
    const Outcome valid = needPointers(device);
    if (valid.ok())
      *device = 0;
    return valid;
  });
}
int hipDeviceGetStreamPriorityRange(int *least, int *greatest) {
  return call("hipDeviceGetStreamPriorityRange", [&](Driver &) {
    if (least)
      *least = 0;
    if (greatest)
      *greatest = 0;
    return Outcome(hipSuccess);
  });
}

/// Callbacks run at once in the calling thread, outside of the lock: they may call HIP.
int hipStreamAddCallback(void *stream, void (*callback)(void *, int, void *), void *data,
                         unsigned flags) {
  const int code = call("hipStreamAddCallback", [&](Driver &driver) -> Outcome {
    if (!callback || flags != 0)
      return {hipErrorInvalidValue, "a callback is needed, and no flags"};
    if (driver.captureOf(stream))
      return {hipErrorStreamCaptureUnsupported, "callbacks cannot be captured; use hipLaunchHostFunc"};
    return driver.checkStream(stream);
  });
  if (code == hipSuccess)
    callback(stream, hipSuccess, data);
  return code;
}
int hipLaunchHostFunc(void *stream, void (*function)(void *), void *data) {
  bool captured = false;
  const int code = call("hipLaunchHostFunc", [&](Driver &driver) -> Outcome {
    if (!function)
      return {hipErrorInvalidValue, "a function is needed"};
    if (std::shared_ptr<Capture> capture = driver.captureOf(stream)) {
      captured = true;
      capture->graph->work.push_back({{}, [=] { function(data); }});
    }
    return driver.checkStream(stream);
  });
  if (code == hipSuccess && !captured)
    function(data);
  return code;
}

int hipStreamAddCallback_spt(void *stream, void (*callback)(void *, int, void *), void *data,
                             unsigned flags) {
  return hipStreamAddCallback(ofThread(stream), callback, data, flags);
}
int hipLaunchHostFunc_spt(void *stream, void (*function)(void *), void *data) {
  return hipLaunchHostFunc(ofThread(stream), function, data);
}

int hipEventCreateWithFlags(void **event, unsigned flags) {
  return call("hipEventCreateWithFlags", [&](Driver &driver) {
    if (Outcome outcome = needPointers(event); !outcome.ok())
      return outcome;
    *event = driver.events.insert(std::make_shared<Event>(Event{flags, std::nullopt, 0}));
    return Outcome(hipSuccess);
  });
}
int hipEventCreate(void **event) { return hipEventCreateWithFlags(event, 0); }
int hipEventDestroy(void *event) {
  return call("hipEventDestroy", [&](Driver &driver) -> Outcome {
    if (driver.events.erase(event))
      return hipSuccess;
    return {hipErrorInvalidHandle, "the event was destroyed before or never made"};
  });
}
int hipEventRecord(void *event, void *stream) {
  return recordEvent("hipEventRecord", event, stream);
}
int hipEventRecord_spt(void *event, void *stream) {
  return recordEvent("hipEventRecord_spt", event, ofThread(stream));
}
int hipEventSynchronize(void *handle) {
  return call("hipEventSynchronize", [&](Driver &driver) {
    std::shared_ptr<Event> event;
    if (Outcome valid = findEvent(driver, handle, event); !valid.ok())
      return valid;
    if (std::shared_ptr<Capture> capture = driver.openCapture(event->capture); capture && capture->valid) {
      capture->valid = false;
      return Outcome(hipErrorCapturedEvent, "the event was recorded in a capture, so nothing can be waited for");
    }
    return driver.fault.value_or(Outcome(hipSuccess));
  });
}
int hipEventQuery(void *handle) {
  return call("hipEventQuery", [&](Driver &driver) {
    std::shared_ptr<Event> event;
    return findEvent(driver, handle, event);
  });
}
int hipEventElapsedTime(float *milliseconds, void *startHandle, void *stopHandle) {
  return call("hipEventElapsedTime", [&](Driver &driver) -> Outcome {
    if (Outcome outcome = needPointers(milliseconds); !outcome.ok())
      return outcome;
    std::shared_ptr<Event> start, stop;
    if (Outcome outcome = findEvent(driver, startHandle, start); !outcome.ok())
      return outcome;
    if (Outcome outcome = findEvent(driver, stopHandle, stop); !outcome.ok())
      return outcome;
    if (((start->flags | stop->flags) & eventDisableTiming) || !start->mark || !stop->mark)
      return {hipErrorInvalidHandle,
              "an event was never recorded, or was made without timing; record both"};
    *milliseconds = std::chrono::duration<float, std::milli>(*stop->mark - *start->mark).count();
    return hipSuccess;
  });
}
}
