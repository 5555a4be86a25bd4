// The C interface's streams and events.
//
// A launch may outlast the handle of its kernel, so a stream keeps the kernels that were launched
// on it until it has been waited for.
#include "CAPIHandles.h"

using namespace hocket;
using namespace hocket::runtime;
using namespace hocket::runtime::capi;

hocket_status hocket_stream_create(hocket_device device, hocket_stream *stream) {
  return with(devices(), device, [&](const DeviceEntry &entry) -> Status {
    if (Status status = checkPointer(stream, "stream"); !status.ok())
      return status;
    *stream = nullptr;
    Result<std::shared_ptr<Stream>> made = entry.device->createStream();
    if (!made.ok())
      return made.error();
    *stream =
        streams().insert({entry.device, std::make_shared<LaunchedKernels>(), *std::move(made)});
    return Status::success();
  });
}

hocket_status hocket_stream_release(hocket_stream stream) {
  return report(streams().erase(stream));
}

hocket_status hocket_stream_copy_to_device(hocket_stream stream, uint64_t to, const void *from,
                                           uint64_t bytes) {
  return with(streams(), stream, [&](const StreamEntry &entry) -> Status {
    if (bytes == 0)
      return Status::success();
    if (Status status = checkPointer(from, "from"); !status.ok())
      return status;
    return entry.stream->copyToDevice(to, {static_cast<const std::byte *>(from), bytes});
  });
}

hocket_status hocket_stream_copy_from_device(hocket_stream stream, void *to, uint64_t from,
                                             uint64_t bytes) {
  return with(streams(), stream, [&](const StreamEntry &entry) -> Status {
    if (bytes == 0)
      return Status::success();
    if (Status status = checkPointer(to, "to"); !status.ok())
      return status;
    return entry.stream->copyFromDevice({static_cast<std::byte *>(to), bytes}, from);
  });
}

hocket_status hocket_stream_copy(hocket_stream stream, uint64_t to, uint64_t from, uint64_t bytes) {
  return with(streams(), stream, [&](const StreamEntry &entry) {
    return entry.stream->copyOnDevice(to, from, bytes);
  });
}

hocket_status hocket_stream_fill(hocket_stream stream, uint64_t to, uint8_t value, uint64_t bytes) {
  return with(streams(), stream,
              [&](const StreamEntry &entry) { return entry.stream->fill(to, value, bytes); });
}

hocket_status hocket_stream_launch(hocket_stream stream, hocket_kernel kernel, hocket_dim3 grid,
                                   hocket_dim3 block, uint32_t dynamic_lds,
                                   const hocket_argument *arguments, size_t count) {
  auto launched = kernels().find(kernel);
  if (!launched.ok())
    return report(launched.error());
  return with(streams(), stream, [&](const StreamEntry &entry) -> Status {
    Result<std::vector<std::byte>> packed = pack(*(*launched)->kernel, arguments, count);
    if (!packed.ok())
      return packed.error();
    LaunchShape shape{{grid.x, grid.y, grid.z}, {block.x, block.y, block.z}, dynamic_lds};
    entry.launched->add((*launched)->kernel);
    return entry.stream->launch(*(*launched)->kernel, shape, *packed);
  });
}

hocket_status hocket_stream_synchronize(hocket_stream stream) {
  return with(streams(), stream, [&](const StreamEntry &entry) {
    // What is added while this waits may not be done after it.
    const std::set<std::shared_ptr<Kernel>> done = entry.launched->take();
    Status status = entry.stream->synchronize();
    if (!status.ok())
      for (const std::shared_ptr<Kernel> &kernel : done)
        entry.launched->add(kernel);
    return status;
  });
}

/// Stores the answer of a query.
static Status answer(const Result<bool> &done, int *to) {
  if (!done.ok())
    return done.error();
  if (Status status = checkPointer(to, "done"); !status.ok())
    return status;
  *to = *done ? 1 : 0;
  return Status::success();
}

hocket_status hocket_stream_query(hocket_stream stream, int *done) {
  return with(streams(), stream,
              [&](const StreamEntry &entry) { return answer(entry.stream->isComplete(), done); });
}

hocket_status hocket_stream_wait(hocket_stream stream, hocket_event event) {
  auto marked = events().find(event);
  if (!marked.ok())
    return report(marked.error());
  return with(streams(), stream,
              [&](const StreamEntry &entry) { return entry.stream->wait(*(*marked)->event); });
}

hocket_status hocket_event_create(hocket_device device, hocket_event *event) {
  return with(devices(), device, [&](const DeviceEntry &entry) -> Status {
    if (Status status = checkPointer(event, "event"); !status.ok())
      return status;
    *event = nullptr;
    Result<std::shared_ptr<Event>> made = entry.device->createEvent();
    if (!made.ok())
      return made.error();
    *event = events().insert({entry.device, *std::move(made)});
    return Status::success();
  });
}

hocket_status hocket_event_release(hocket_event event) { return report(events().erase(event)); }

hocket_status hocket_event_record(hocket_event event, hocket_stream stream) {
  auto marked = events().find(event);
  if (!marked.ok())
    return report(marked.error());
  return with(streams(), stream,
              [&](const StreamEntry &entry) { return entry.stream->record(*(*marked)->event); });
}

hocket_status hocket_event_synchronize(hocket_event event) {
  return with(events(), event, [&](const EventEntry &entry) { return entry.event->synchronize(); });
}

hocket_status hocket_event_query(hocket_event event, int *done) {
  return with(events(), event,
              [&](const EventEntry &entry) { return answer(entry.event->isComplete(), done); });
}

hocket_status hocket_event_seconds(hocket_event start, hocket_event stop, double *seconds) {
  auto first = events().find(start);
  if (!first.ok())
    return report(first.error());
  return with(events(), stop, [&](const EventEntry &entry) -> Status {
    if (Status status = checkPointer(seconds, "seconds"); !status.ok())
      return status;
    Result<double> result = entry.event->secondsSince(*(*first)->event);
    if (!result.ok())
      return result.error();
    *seconds = *result;
    return Status::success();
  });
}
