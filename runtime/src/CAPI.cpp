// The C interface: handles are keys of a table, so that any misuse is found before it is followed.
//
// Keys are counted up and never used again; a stale handle can therefore not name a newer object.
#include "hocket/Runtime/CAPI.h"

#include "hocket/Runtime/Arguments.h"
#include "hocket/Runtime/File.h"
#include "hocket/Runtime/Registry.h"

#include <map>
#include <mutex>

using namespace hocket;
using namespace hocket::runtime;

namespace {
struct DeviceEntry {
  std::shared_ptr<Device> device;
  std::string kind, architecture, note;
};
struct ModuleEntry {
  std::shared_ptr<Device> device;
  std::shared_ptr<Module> module;
};
struct KernelEntry {
  std::shared_ptr<Device> device;
  std::shared_ptr<Module> module;
  std::shared_ptr<Kernel> kernel;
};

/// Live objects of one kind by handle. Entries are shared so that a release on one thread does not
/// pull an object from under a call on another.
template <typename Handle, typename Entry> class HandleTable {
public:
  HandleTable(const char *what) : what(what) {}

  Handle insert(Entry entry) {
    std::lock_guard lock(mutex);
    // Odd and far from any allocation, so that it is not mistaken for a pointer in a debugger.
    Handle handle = reinterpret_cast<Handle>(next += 2);
    entries.emplace(handle, std::make_shared<const Entry>(std::move(entry)));
    return handle;
  }
  Result<std::shared_ptr<const Entry>> find(Handle handle) {
    std::lock_guard lock(mutex);
    auto it = entries.find(handle);
    if (it == entries.end())
      return stale(handle);
    return it->second;
  }
  Status erase(Handle handle) {
    std::shared_ptr<const Entry> last; // destroyed after the lock is given back
    std::lock_guard lock(mutex);
    auto it = entries.find(handle);
    if (it == entries.end())
      return stale(handle);
    last = std::move(it->second);
    entries.erase(it);
    return Status::success();
  }

private:
  Error stale(Handle handle) const {
    return invalidInput(
        std::string(what) + " handle is " +
        (handle ? "not valid; it was released or never made" : "null; open one first"));
  }
  const char *what;
  std::mutex mutex;
  std::map<Handle, std::shared_ptr<const Entry>> entries;
  uintptr_t next = 1;
};
} // namespace

static HandleTable<hocket_device, DeviceEntry> &devices() {
  static auto *table = new HandleTable<hocket_device, DeviceEntry>("device");
  return *table;
}
static HandleTable<hocket_module, ModuleEntry> &modules() {
  static auto *table = new HandleTable<hocket_module, ModuleEntry>("module");
  return *table;
}
static HandleTable<hocket_kernel, KernelEntry> &kernels() {
  static auto *table = new HandleTable<hocket_kernel, KernelEntry>("kernel");
  return *table;
}

static std::string &lastError() {
  thread_local std::string message;
  return message;
}

static hocket_status report(const Error &error) {
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

static hocket_status report(const Status &status) {
  return status.ok() ? HOCKET_SUCCESS : report(status.error());
}

/// Refuses a null `pointer` by the parameter's name.
static Status checkPointer(const void *pointer, const char *name) {
  if (pointer)
    return Status::success();
  return invalidInput(std::string("parameter '") + name + "' is null");
}

/// Calls `action` with the device behind `handle`.
template <typename Action> static hocket_status withDevice(hocket_device handle, Action action) {
  auto entry = devices().find(handle);
  return entry.ok() ? report(action(**entry)) : report(entry.error());
}

const char *hocket_last_error(void) { return lastError().c_str(); }

hocket_status hocket_device_open(const char *name, hocket_device *device, const char **note) {
  if (Status status = checkPointer(name, "name"); !status.ok())
    return report(status);
  if (Status status = checkPointer(device, "device"); !status.ok())
    return report(status);
  *device = nullptr;
  Result<OpenedDevice> opened = openDevice(name);
  if (!opened.ok())
    return report(opened.error());
  DeviceEntry entry{opened->device, std::string(opened->device->kind()),
                    opened->device->properties().architecture, opened->note};
  *device = devices().insert(std::move(entry));
  if (note)
    *note = (*devices().find(*device))->note.c_str();
  return HOCKET_SUCCESS;
}

hocket_status hocket_device_release(hocket_device device) {
  return report(devices().erase(device));
}

hocket_status hocket_device_kind(hocket_device device, const char **kind) {
  return withDevice(device, [&](const DeviceEntry &entry) {
    Status status = checkPointer(kind, "kind");
    if (status.ok())
      *kind = entry.kind.c_str();
    return status;
  });
}

hocket_status hocket_device_architecture(hocket_device device, const char **architecture) {
  return withDevice(device, [&](const DeviceEntry &entry) {
    Status status = checkPointer(architecture, "architecture");
    if (status.ok())
      *architecture = entry.architecture.c_str();
    return status;
  });
}

hocket_status hocket_allocate(hocket_device device, uint64_t bytes, uint64_t *address) {
  return withDevice(device, [&](const DeviceEntry &entry) -> Status {
    if (Status status = checkPointer(address, "address"); !status.ok())
      return status;
    Result<DeviceAddress> result = entry.device->allocate(bytes);
    if (!result.ok())
      return result.error();
    *address = *result;
    return Status::success();
  });
}

hocket_status hocket_free(hocket_device device, uint64_t address) {
  return withDevice(device, [&](const DeviceEntry &entry) { return entry.device->free(address); });
}

hocket_status hocket_copy_to_device(hocket_device device, uint64_t to, const void *from,
                                    uint64_t bytes) {
  return withDevice(device, [&](const DeviceEntry &entry) -> Status {
    if (bytes == 0)
      return Status::success();
    if (Status status = checkPointer(from, "from"); !status.ok())
      return status;
    return entry.device->copyToDevice(to, {static_cast<const std::byte *>(from), bytes});
  });
}

hocket_status hocket_copy_from_device(hocket_device device, void *to, uint64_t from,
                                      uint64_t bytes) {
  return withDevice(device, [&](const DeviceEntry &entry) -> Status {
    if (bytes == 0)
      return Status::success();
    if (Status status = checkPointer(to, "to"); !status.ok())
      return status;
    return entry.device->copyFromDevice({static_cast<std::byte *>(to), bytes}, from);
  });
}

hocket_status hocket_fill(hocket_device device, uint64_t to, uint8_t value, uint64_t bytes) {
  return withDevice(device,
                    [&](const DeviceEntry &entry) { return entry.device->fill(to, value, bytes); });
}

hocket_status hocket_synchronize(hocket_device device) {
  return withDevice(device, [&](const DeviceEntry &entry) { return entry.device->synchronize(); });
}

static Status loadModule(const DeviceEntry &entry, std::span<const std::byte> bytes,
                         std::string_view name, hocket_module *module) {
  Result<std::shared_ptr<Module>> loaded = entry.device->loadModule(bytes, name);
  if (!loaded.ok())
    return loaded.error();
  *module = modules().insert({entry.device, *std::move(loaded)});
  return Status::success();
}

hocket_status hocket_module_load(hocket_device device, const void *code_object, size_t bytes,
                                 hocket_module *module) {
  return withDevice(device, [&](const DeviceEntry &entry) -> Status {
    if (Status status = checkPointer(code_object, "code_object"); !status.ok())
      return status;
    if (Status status = checkPointer(module, "module"); !status.ok())
      return status;
    *module = nullptr;
    return loadModule(entry, {static_cast<const std::byte *>(code_object), bytes}, "memory",
                      module);
  });
}

hocket_status hocket_module_load_file(hocket_device device, const char *path,
                                      hocket_module *module) {
  return withDevice(device, [&](const DeviceEntry &entry) -> Status {
    if (Status status = checkPointer(path, "path"); !status.ok())
      return status;
    if (Status status = checkPointer(module, "module"); !status.ok())
      return status;
    *module = nullptr;
    Result<std::vector<std::byte>> bytes = readFile(path);
    if (!bytes.ok())
      return bytes.error();
    return loadModule(entry, *bytes, path, module);
  });
}

hocket_status hocket_module_release(hocket_module module) {
  return report(modules().erase(module));
}

hocket_status hocket_module_kernel(hocket_module module, const char *name, hocket_kernel *kernel) {
  auto entry = modules().find(module);
  if (!entry.ok())
    return report(entry.error());
  if (Status status = checkPointer(name, "name"); !status.ok())
    return report(status);
  if (Status status = checkPointer(kernel, "kernel"); !status.ok())
    return report(status);
  *kernel = nullptr;
  Result<std::shared_ptr<Kernel>> found = (*entry)->module->kernel(name);
  if (!found.ok())
    return report(found.error());
  *kernel = kernels().insert({(*entry)->device, (*entry)->module, *std::move(found)});
  return HOCKET_SUCCESS;
}

hocket_status hocket_kernel_release(hocket_kernel kernel) {
  return report(kernels().erase(kernel));
}

hocket_status hocket_kernel_arguments(hocket_kernel kernel, uint32_t *bytes, uint32_t *count) {
  auto entry = kernels().find(kernel);
  if (!entry.ok())
    return report(entry.error());
  const KernelInfo &info = (*entry)->kernel->info();
  if (bytes)
    *bytes = info.explicitKernargSize();
  if (count) {
    *count = 0;
    for (const KernelArgument &argument : info.arguments)
      *count += argument.isHidden() ? 0 : 1;
  }
  return HOCKET_SUCCESS;
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

hocket_status hocket_launch(hocket_kernel kernel, hocket_dim3 grid, hocket_dim3 block,
                            uint32_t dynamic_lds, const hocket_argument *arguments, size_t count,
                            double *seconds) {
  auto entry = kernels().find(kernel);
  if (!entry.ok())
    return report(entry.error());
  Result<std::vector<ArgumentValue>> values = readArguments(arguments, count);
  if (!values.ok())
    return report(values.error());
  Result<std::vector<std::byte>> packed = packArguments((*entry)->kernel->info(), *values);
  if (!packed.ok())
    return report(packed.error());
  LaunchShape shape{{grid.x, grid.y, grid.z}, {block.x, block.y, block.z}, dynamic_lds};
  Result<LaunchReport> launched = (*entry)->device->launch(*(*entry)->kernel, shape, *packed);
  if (!launched.ok())
    return report(launched.error());
  if (seconds)
    *seconds = launched->seconds;
  return HOCKET_SUCCESS;
}
