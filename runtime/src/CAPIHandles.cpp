// The C interface's tables, error reports and argument lists.
#include "CAPIHandles.h"

#include "hocket/Runtime/Arguments.h"

using namespace hocket;
using namespace hocket::runtime;
using namespace hocket::runtime::capi;

uintptr_t HandleKeys::take(const char *kind) {
  std::lock_guard lock(mutex);
  // Odd and far from any allocation, so that it is not mistaken for a pointer in a debugger.
  next += 2;
  kinds.emplace(next, kind);
  return next;
}

void HandleKeys::giveBack(uintptr_t key) {
  std::lock_guard lock(mutex);
  kinds.erase(key);
}

const char *HandleKeys::kindOf(uintptr_t key) {
  std::lock_guard lock(mutex);
  auto it = kinds.find(key);
  return it == kinds.end() ? nullptr : it->second;
}

HandleKeys &capi::handleKeys() {
  static auto *keys = new HandleKeys;
  return *keys;
}

HandleTable<hocket_device, DeviceEntry> &capi::devices() {
  static auto *table = new HandleTable<hocket_device, DeviceEntry>("device");
  return *table;
}
HandleTable<hocket_module, ModuleEntry> &capi::modules() {
  static auto *table = new HandleTable<hocket_module, ModuleEntry>("module");
  return *table;
}
HandleTable<hocket_kernel, KernelEntry> &capi::kernels() {
  static auto *table = new HandleTable<hocket_kernel, KernelEntry>("kernel");
  return *table;
}

HandleTable<hocket_stream, StreamEntry> &capi::streams() {
  static auto *table = new HandleTable<hocket_stream, StreamEntry>("stream");
  return *table;
}
HandleTable<hocket_event, EventEntry> &capi::events() {
  static auto *table = new HandleTable<hocket_event, EventEntry>("event");
  return *table;
}

std::string &capi::lastError() {
  thread_local std::string message;
  return message;
}

hocket_status capi::report(const Error &error) {
  lastError() = error.message;
  switch (error.kind) {
  case ErrorKind::InvalidInput:
    return HOCKET_INVALID_INPUT;
  case ErrorKind::Unsupported:
    return HOCKET_UNSUPPORTED;
  case ErrorKind::NotFound:
    return HOCKET_NOT_FOUND;
  case ErrorKind::Execution:
    return HOCKET_EXECUTION;
  case ErrorKind::Host:
    return HOCKET_HOST;
  case ErrorKind::Internal:
    break;
  }
  return HOCKET_INTERNAL;
}

hocket_status capi::report(const Status &status) {
  return status.ok() ? HOCKET_SUCCESS : report(status.error());
}

Status capi::checkPointer(const void *pointer, const char *name) {
  if (pointer)
    return Status::success();
  return invalidInput(std::string("parameter '") + name + "' is null");
}

static Result<std::vector<ArgumentValue>> readArguments(const hocket_argument *arguments,
                                                        size_t count) {
  std::vector<ArgumentValue> values;
  if (count != 0)
    if (Status status = checkPointer(arguments, "arguments"); !status.ok())
      return status.error();
  for (size_t i = 0; i != count; ++i) {
    if (!arguments[i].data && arguments[i].size != 0)
      return invalidInput("data of argument " + std::to_string(i) + " is null");
    auto *data = static_cast<const std::byte *>(arguments[i].data);
    ArgumentValue value{"bytes", {data, data + arguments[i].size}, std::nullopt};
    if (arguments[i].offset != HOCKET_NEXT_ARGUMENT)
      value.offset = arguments[i].offset;
    values.push_back(std::move(value));
  }
  return values;
}

Result<std::vector<std::byte>> capi::pack(const Kernel &kernel, const hocket_argument *arguments,
                                          size_t count) {
  Result<std::vector<ArgumentValue>> values = readArguments(arguments, count);
  if (!values.ok())
    return values.error();
  return packArguments(kernel.info(), *values);
}
