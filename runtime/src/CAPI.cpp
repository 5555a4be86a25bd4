// The C interface: devices, memory, modules, kernels and launches that are waited for.
#include "CAPIHandles.h"

#include "hocket/Runtime/File.h"
#include "hocket/Runtime/Registry.h"

using namespace hocket;
using namespace hocket::runtime;
using namespace hocket::runtime::capi;

template <typename Action> static hocket_status withDevice(hocket_device handle, Action action) {
  return with(devices(), handle, action);
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

hocket_status hocket_launch(hocket_kernel kernel, hocket_dim3 grid, hocket_dim3 block,
                            uint32_t dynamic_lds, const hocket_argument *arguments, size_t count,
                            double *seconds) {
  auto entry = kernels().find(kernel);
  if (!entry.ok())
    return report(entry.error());
  Result<std::vector<std::byte>> packed = pack(*(*entry)->kernel, arguments, count);
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
