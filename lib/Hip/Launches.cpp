// Launches: of module functions, by packed block or by pointers to arguments, and of <<<>>>
// kernels.
#include "Driver.h"

#include <cstring>
#include <span>

using namespace hocket;
using namespace hocket::hip;
using runtime::LaunchShape;

// The handles in the names of the two functions that HIP has as C++.
struct ihipModuleSymbol_t;
struct ihipStream_t;
struct ihipEvent_t;

/// The explicit arguments that `parameters` point to, packed as the metadata says.
static Outcome packParameters(const runtime::KernelInfo &kernel, void **parameters,
                              std::vector<std::byte> &block) {
  block.assign(kernel.explicitKernargSize(), std::byte(0));
  if (kernel.arguments.empty() && !block.empty())
    return {hipErrorInvalidValue, "kernel '" + kernel.name +
                                      "' does not say what its arguments are; pass them as one "
                                      "block (HIP_LAUNCH_PARAM_BUFFER_POINTER)"};
  size_t index = 0;
  for (const runtime::KernelArgument &argument : kernel.arguments) {
    if (argument.isHidden())
      continue;
    if (!parameters || !parameters[index])
      return {hipErrorInvalidValue,
              "argument " + std::to_string(index) + " of kernel '" + kernel.name + "' is null"};
    std::memcpy(block.data() + argument.offset, parameters[index++], argument.size);
  }
  return hipSuccess;
}

/// The block that `extra` holds.
static Outcome readExtra(void **extra, std::vector<std::byte> &block) {
  const void *data = nullptr;
  const size_t *bytes = nullptr;
  for (;; extra += 2) {
    const auto key = reinterpret_cast<uintptr_t>(extra[0]);
    if (key == launchEnd)
      break;
    if (key == launchBufferPointer)
      data = extra[1];
    else if (key == launchBufferSize)
      bytes = static_cast<const size_t *>(extra[1]);
    else
      return {hipErrorInvalidValue, "'extra' has the unknown key " + std::to_string(key)};
  }
  if (!bytes || (!data && *bytes != 0))
    return {hipErrorInvalidValue, "'extra' has no buffer or no size"};
  const auto *begin = static_cast<const std::byte *>(data);
  block.assign(begin, begin + *bytes);
  return hipSuccess;
}

static Outcome launchFunction(Driver &driver, const void *handle, const LaunchShape &shape,
                              const void *stream, void **parameters, void **extra) {
  std::shared_ptr<Function> function = driver.functions.find(handle);
  if (!function)
    return {hipErrorInvalidHandle, "the function was never got, or its module was unloaded"};
  if (parameters && extra)
    return {hipErrorInvalidValue, "both 'kernelParams' and 'extra' are given; give one"};
  std::vector<std::byte> block;
  const Outcome packed =
      extra ? readExtra(extra, block) : packParameters(function->info(), parameters, block);
  if (!packed.ok())
    return packed;
  return driver.enqueue(stream, [function, shape, block](Driver &device) { return device.launch(*function, shape, block); });
}

static int launchHost(const char *name, const void *hostFunction, Dim grid, Dim block,
                      void **parameters, size_t shared, const void *stream) {
  return call(name, [&](Driver &driver) -> Outcome {
    Function function;
    if (Outcome outcome = driver.findFunction(hostFunction, function); !outcome.ok())
      return outcome;
    if (shared > UINT32_MAX)
      return {hipErrorInvalidConfiguration, "the dynamic LDS is more than a device has"};
    std::vector<std::byte> kernarg;
    if (Outcome outcome = packParameters(function.info(), parameters, kernarg); !outcome.ok())
      return outcome;
    const LaunchShape shape{
        {grid.x, grid.y, grid.z}, {block.x, block.y, block.z}, static_cast<uint32_t>(shared)};
    return driver.enqueue(stream, [function, shape, kernarg](Driver &device) { return device.launch(function, shape, kernarg); });
  });
}

/// Refuses attributes that change what a launch does and that the simulator does not follow; hints are passed by.
static Outcome checkAttributes(const LaunchAttribute *attributes, uint32_t count) {
  if (count != 0 && !attributes)
    return {hipErrorInvalidValue, "the launch has attributes, and their list is null"};
  for (const LaunchAttribute &attribute : std::span(attributes, count)) {
    if (attribute.id == launchCooperative && attribute.value.cooperative)
      return {hipErrorNotSupported, "cooperative launches are not supported: the simulator runs workgroups one after "
                                    "the other; launch without the attribute"};
    if (attribute.id == launchClusterDimension)
      return {hipErrorNotSupported, "clusters of workgroups are not supported; launch without the attribute"};
  }
  return hipSuccess;
}

/// Launches whose grid is counted in work-items, between two events.
static int launchWorkItems(const char *name, const void *function, Dim items, Dim block,
                           size_t shared, void *stream, void **parameters, void **extra,
                           void *start, void *stop) {
  return call(name, [&](Driver &driver) -> Outcome {
    if (block.x == 0 || block.y == 0 || block.z == 0 || shared > UINT32_MAX)
      return {hipErrorInvalidConfiguration, "a dimension of the block is 0, or the LDS too much"};
    auto groups = [](uint32_t n, uint32_t size) { return n / size + (n % size != 0); };
    const LaunchShape shape{
        {groups(items.x, block.x), groups(items.y, block.y), groups(items.z, block.z)},
        {block.x, block.y, block.z},
        static_cast<uint32_t>(shared)};
    if (items.x % block.x || items.y % block.y || items.z % block.z)
      return {hipErrorNotSupported, "the work-items are no multiple of the block, and partial "
                                    "workgroups are not supported"};
    auto mark = [&](const void *handle) {
      if (std::shared_ptr<Event> event = driver.events.find(handle))
        event->mark = driver.clock.now();
    };
    mark(start);
    Outcome outcome = launchFunction(driver, function, shape, stream, parameters, extra);
    mark(stop);
    return outcome;
  });
}

extern "C" {

int hipModuleLaunchKernel(void *function, unsigned gridX, unsigned gridY, unsigned gridZ,
                          unsigned blockX, unsigned blockY, unsigned blockZ, unsigned shared,
                          void *stream, void **parameters, void **extra) {
  return call("hipModuleLaunchKernel", [&](Driver &driver) {
    return launchFunction(driver, function,
                          {{gridX, gridY, gridZ}, {blockX, blockY, blockZ}, shared}, stream,
                          parameters, extra);
  });
}
int hipDrvLaunchKernelEx(const LaunchConfig *config, void *function, void **parameters, void **extra) {
  return call("hipDrvLaunchKernelEx", [&](Driver &driver) -> Outcome {
    if (Outcome outcome = needPointers(config); !outcome.ok())
      return outcome;
    if (Outcome outcome = checkAttributes(config->attributes, config->attributeCount); !outcome.ok())
      return outcome;
    const auto &[gridX, gridY, gridZ] = config->grid;
    const auto &[blockX, blockY, blockZ] = config->block;
    return launchFunction(driver, function, {{gridX, gridY, gridZ}, {blockX, blockY, blockZ}, config->sharedBytes},
                          config->stream, parameters, extra);
  });
}
int hipLaunchKernelExC(const HostLaunchConfig *config, const void *function, void **parameters) {
  const int code = call("hipLaunchKernelExC", [&](Driver &) -> Outcome {
    const Outcome outcome = needPointers(config);
    return outcome.ok() ? checkAttributes(config->attributes, config->attributeCount) : outcome;
  });
  if (code != hipSuccess)
    return code;
  return launchHost("hipLaunchKernelExC", function, config->grid, config->block, parameters, config->sharedBytes,
                    config->stream);
}
int hipLaunchKernel(const void *function, Dim grid, Dim block, void **parameters, size_t shared,
                    void *stream) {
  return launchHost("hipLaunchKernel", function, grid, block, parameters, shared, stream);
}
int hipLaunchKernel_spt(const void *function, Dim grid, Dim block, void **parameters, size_t shared,
                        void *stream) {
  return launchHost("hipLaunchKernel_spt", function, grid, block, parameters, shared, ofThread(stream));
}
}

int hipExtModuleLaunchKernel(ihipModuleSymbol_t *function, uint32_t itemsX, uint32_t itemsY,
                             uint32_t itemsZ, uint32_t blockX, uint32_t blockY, uint32_t blockZ,
                             size_t shared, ihipStream_t *stream, void **parameters, void **extra,
                             ihipEvent_t *start, ihipEvent_t *stop, uint32_t) {
  return launchWorkItems("hipExtModuleLaunchKernel", function, {itemsX, itemsY, itemsZ},
                         {blockX, blockY, blockZ}, shared, stream, parameters, extra, start, stop);
}
int hipHccModuleLaunchKernel(ihipModuleSymbol_t *function, uint32_t itemsX, uint32_t itemsY,
                             uint32_t itemsZ, uint32_t blockX, uint32_t blockY, uint32_t blockZ,
                             size_t shared, ihipStream_t *stream, void **parameters, void **extra,
                             ihipEvent_t *start, ihipEvent_t *stop) {
  return launchWorkItems("hipHccModuleLaunchKernel", function, {itemsX, itemsY, itemsZ},
                         {blockX, blockY, blockZ}, shared, stream, parameters, extra, start, stop);
}
