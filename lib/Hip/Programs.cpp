// What clang's HIP programs call by themselves: they register their device code, kernels and
// variables before `main`, and a <<<>>> launch goes through a configuration that is pushed and
// popped.
//
// Nothing is loaded before it is used: errors at registration would have nowhere to go.
#include "Driver.h"

using namespace hocket;
using namespace hocket::hip;

/// The configuration that the thread pushed last.
static Outcome pop(Dim *grid, Dim *block, size_t *shared, void **stream) {
  if (Outcome outcome = needPointers(grid, block, shared, stream); !outcome.ok())
    return outcome;
  std::vector<Thread::Configuration> &stack = Thread::get().configurations;
  if (stack.empty())
    return {hipErrorMissingConfiguration, "no launch configuration was pushed"};
  const Thread::Configuration last = stack.back();
  stack.pop_back();
  *grid = last.grid;
  *block = last.block;
  *shared = last.shared;
  *stream = last.stream;
  return hipSuccess;
}

/// Registers `name` of `binary` for `host`.
static void registerSymbol(std::map<const void *, Symbol> Driver::*table, void **binary,
                           const void *host, const char *name) {
  Driver &driver = Driver::get();
  std::lock_guard lock(driver.mutex);
  auto it = driver.binaries.find(reinterpret_cast<FatBinary *>(binary));
  if (it != driver.binaries.end() && name)
    (driver.*table)[host] = {it->first, name};
}

extern "C" {

void **__hipRegisterFatBinary(const FatBinaryWrapper *wrapper) {
  Driver &driver = Driver::get();
  if (!wrapper || wrapper->magic != fatBinaryMagic || wrapper->version != 1) {
    driver.say(1, "__hipRegisterFatBinary: the program's device code has an unknown format");
    return nullptr;
  }
  std::lock_guard lock(driver.mutex);
  auto binary = std::make_unique<FatBinary>(FatBinary{wrapper->binary, nullptr});
  FatBinary *handle = binary.get();
  driver.binaries.emplace(handle, std::move(binary));
  return reinterpret_cast<void **>(handle);
}
void __hipUnregisterFatBinary(void **handle) {
  Driver &driver = Driver::get();
  std::lock_guard lock(driver.mutex);
  auto *binary = reinterpret_cast<FatBinary *>(handle);
  auto belongs = [&](const auto &entry) { return entry.second.binary == binary; };
  std::erase_if(driver.hostFunctions, belongs);
  std::erase_if(driver.hostVariables, belongs);
  driver.binaries.erase(binary);
}
void __hipRegisterFunction(void **binary, const void *hostFunction, char *, const char *name,
                           unsigned, void *, void *, void *, void *, int *) {
  registerSymbol(&Driver::hostFunctions, binary, hostFunction, name);
}
void __hipRegisterVar(void **binary, void *hostVariable, char *, char *name, int, size_t, int,
                      int) {
  registerSymbol(&Driver::hostVariables, binary, hostVariable, name);
}
void __hipRegisterManagedVar(void *, void **, void *, const char *, size_t, unsigned) {
  Driver::get().sayMissing("__hipRegisterManagedVar");
}
void __hipRegisterTexture(void **, void *, char *, char *, int, int, int) {
  Driver::get().sayMissing("__hipRegisterTexture");
}
void __hipRegisterSurface(void **, void *, char *, char *, int, int) {
  Driver::get().sayMissing("__hipRegisterSurface");
}

int __hipPushCallConfiguration(Dim grid, Dim block, size_t shared, void *stream) {
  Thread::get().configurations.push_back({grid, block, shared, stream});
  return hipSuccess;
}
int __hipPopCallConfiguration(Dim *grid, Dim *block, size_t *shared, void **stream) {
  return call("__hipPopCallConfiguration",
              [&](Driver &) { return pop(grid, block, shared, stream); });
}

int hipGetSymbolAddress(void **address, const void *symbol) {
  return call("hipGetSymbolAddress", [&](Driver &driver) {
    if (Outcome outcome = needPointers(address); !outcome.ok())
      return outcome;
    uint64_t at = 0, bytes = 0;
    Outcome found = driver.findVariable(symbol, at, bytes);
    if (found.ok())
      *address = reinterpret_cast<void *>(uintptr_t(at));
    return found;
  });
}
int hipGetSymbolSize(size_t *bytes, const void *symbol) {
  return call("hipGetSymbolSize", [&](Driver &driver) {
    if (Outcome outcome = needPointers(bytes); !outcome.ok())
      return outcome;
    uint64_t at = 0, size = 0;
    Outcome found = driver.findVariable(symbol, at, size);
    if (found.ok())
      *bytes = size;
    return found;
  });
}
int hipGetFuncBySymbol(void **to, const void *symbol) {
  return call("hipGetFuncBySymbol", [&](Driver &driver) {
    if (Outcome outcome = needPointers(to); !outcome.ok())
      return outcome;
    auto function = std::make_shared<Function>();
    Outcome found = driver.findFunction(symbol, *function);
    if (found.ok())
      *to = driver.functions.insert(std::move(function));
    return found;
  });
}
/// Names for tracers. The text lives as long as the module.
const char *hipKernelNameRef(const void *handle) {
  Driver &driver = Driver::get();
  std::lock_guard lock(driver.mutex);
  std::shared_ptr<Function> function = driver.functions.find(handle);
  return function ? function->info().name.c_str() : nullptr;
}
const char *hipKernelNameRefByPtr(const void *hostFunction, void *) {
  Driver &driver = Driver::get();
  std::lock_guard lock(driver.mutex);
  auto it = driver.hostFunctions.find(hostFunction);
  return it == driver.hostFunctions.end() ? nullptr : it->second.name.c_str();
}
}
