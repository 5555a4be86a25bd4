// Modules, their kernels and variables, and what a kernel needs.
#include "Driver.h"
#include "Properties.h"

#include "hocket/Runtime/File.h"

#include <algorithm>

using namespace hocket;
using namespace hocket::hip;

static Outcome loadModule(Driver &driver, void **to, const void *image, uint64_t size,
                          std::string name) {
  if (Outcome outcome = needPointers(to, image); !outcome.ok())
    return outcome;
  *to = nullptr;
  std::shared_ptr<Module> module;
  if (Outcome outcome = driver.load(image, size, std::move(name), module); !outcome.ok())
    return outcome;
  *to = driver.modules.insert(std::move(module));
  return hipSuccess;
}

static Outcome findModule(Driver &driver, const void *handle, std::shared_ptr<Module> &module) {
  module = driver.modules.find(handle);
  if (module)
    return hipSuccess;
  return {hipErrorInvalidHandle, "the module was unloaded or never loaded"};
}

static Outcome findFunction(Driver &driver, const void *handle,
                            std::shared_ptr<Function> &function) {
  function = driver.functions.find(handle);
  if (function)
    return hipSuccess;
  return {hipErrorInvalidHandle, "the function was never got, or its module was unloaded"};
}

/// The dynamic LDS that is left to a kernel.
static int dynamicLds(const runtime::KernelInfo &info) {
  const uint32_t most = simulatedChip().lds.bytesPerWorkgroup;
  return static_cast<int>(most - std::min(most, info.staticLds));
}

static int threadsOf(const runtime::KernelInfo &info) {
  return static_cast<int>(info.maxWorkgroupSize ? info.maxWorkgroupSize : sim::maxWorkgroupSize);
}

static Outcome attribute(const runtime::KernelInfo &info, int which, int *value) {
  switch (which) {
  case functionMaxThreads:
    *value = threadsOf(info);
    return hipSuccess;
  case functionSharedBytes:
    *value = static_cast<int>(info.staticLds);
    return hipSuccess;
  case functionLocalBytes:
    *value = static_cast<int>(info.privateSegment);
    return hipSuccess;
  case functionRegisters:
    *value = static_cast<int>(info.vgprs);
    return hipSuccess;
  case functionMaxDynamicShared:
    *value = dynamicLds(info);
    return hipSuccess;
  case functionConstantBytes:
  case functionPtxVersion:
  case functionBinaryVersion:
  case functionCacheModeCA:
  case functionSharedCarveout:
    *value = 0;
    return hipSuccess;
  }
  return {hipErrorInvalidValue, "function attribute " + std::to_string(which) + " is not known"};
}

extern "C" {

int hipModuleLoad(void **module, const char *path) {
  return call("hipModuleLoad", [&](Driver &driver) -> Outcome {
    if (Outcome outcome = needPointers(path); !outcome.ok())
      return outcome;
    auto bytes = runtime::readFile(path);
    if (!bytes)
      return {hipErrorFileNotFound, bytes.error()};
    if (bytes->empty())
      return {hipErrorInvalidImage, "'" + std::string(path) + "' is empty"};
    return loadModule(driver, module, bytes->data(), bytes->size(), path);
  });
}
int hipModuleLoadData(void **module, const void *image) {
  return call("hipModuleLoadData", [&](Driver &driver) {
    return loadModule(driver, module, image, unknownSize, "memory");
  });
}
int hipModuleLoadDataEx(void **module, const void *image, unsigned, int *, void **) {
  return call("hipModuleLoadDataEx", [&](Driver &driver) {
    return loadModule(driver, module, image, unknownSize, "memory");
  });
}
int hipModuleUnload(void *handle) {
  return call("hipModuleUnload", [&](Driver &driver) {
    std::shared_ptr<Module> module;
    if (Outcome outcome = findModule(driver, handle, module); !outcome.ok())
      return outcome;
    driver.functions.eraseIf([&](const Function &function) { return function.module == module; });
    driver.modules.erase(handle);
    return Outcome(hipSuccess);
  });
}
int hipModuleGetFunction(void **to, void *handle, const char *name) {
  return call("hipModuleGetFunction", [&](Driver &driver) -> Outcome {
    if (Outcome outcome = needPointers(to, name); !outcome.ok())
      return outcome;
    *to = nullptr;
    auto function = std::make_shared<Function>();
    if (Outcome outcome = findModule(driver, handle, function->module); !outcome.ok())
      return outcome;
    auto index = function->module->program->codeObject().kernelIndex(name);
    if (!index)
      return {hipErrorNotFound, index.error()};
    function->kernel = *index;
    *to = driver.functions.insert(std::move(function));
    return hipSuccess;
  });
}
int hipModuleGetGlobal(void **address, size_t *bytes, void *handle, const char *name) {
  return call("hipModuleGetGlobal", [&](Driver &driver) -> Outcome {
    if (Outcome outcome = needPointers(name); !outcome.ok())
      return outcome;
    std::shared_ptr<Module> module;
    if (Outcome outcome = findModule(driver, handle, module); !outcome.ok())
      return outcome;
    const std::optional<Variable> variable = findVariable(module->bytes, name);
    if (!variable)
      return {hipErrorNotFound,
              "module '" + module->name + "' has no variable '" + std::string(name) + "'"};
    if (address)
      *address = reinterpret_cast<void *>(uintptr_t(module->program->base() + variable->address));
    if (bytes)
      *bytes = variable->bytes;
    return hipSuccess;
  });
}
int hipFuncGetAttribute(int *value, int which, void *handle) {
  return call("hipFuncGetAttribute", [&](Driver &driver) {
    if (Outcome outcome = needPointers(value); !outcome.ok())
      return outcome;
    std::shared_ptr<Function> function;
    const Outcome found = findFunction(driver, handle, function);
    return found.ok() ? attribute(function->info(), which, value) : found;
  });
}
int hipFuncGetAttributes(FunctionAttributes *to, const void *hostFunction) {
  return call("hipFuncGetAttributes", [&](Driver &driver) {
    if (Outcome outcome = needPointers(to); !outcome.ok())
      return outcome;
    Function function;
    if (Outcome outcome = driver.findFunction(hostFunction, function); !outcome.ok())
      return outcome;
    const runtime::KernelInfo &info = function.info();
    *to = {};
    to->localBytes = info.privateSegment;
    to->maxDynamicSharedBytes = dynamicLds(info);
    to->maxThreadsPerBlock = threadsOf(info);
    to->registers = static_cast<int>(info.vgprs);
    to->sharedBytes = info.staticLds;
    return Outcome(hipSuccess);
  });
}
/// All LDS is a kernel's to use: there is no limit to raise, and no carve-out.
int hipFuncSetAttribute(const void *hostFunction, int, int) {
  return call("hipFuncSetAttribute", [&](Driver &driver) {
    Function function;
    return driver.findFunction(hostFunction, function);
  });
}
}
