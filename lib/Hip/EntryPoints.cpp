// hipGetProcAddress: HIP's functions by name, as Triton's driver and other programs that link to no HIP find them.
//
// A name stands for the function of the version that the program asks for: from HIP 6 on hipGetDeviceProperties and
// hipChooseDevice take a structure of another layout, under names of their own in the library.
#include "Driver.h"

#include <array>
#include <dlfcn.h>
#include <string>

using namespace hocket;
using namespace hocket::hip;

/// The major version that a program means: by 100 * major + minor as HIP documents it, or by HIP_VERSION of its
/// headers, 10,000,000 * major and more.
static int majorOf(int version) { return version >= 10'000'000 ? version / 10'000'000 : version / 100; }

/// The library's own symbol, whatever else the process has loaded; null if there is none.
static void *ownSymbol(const std::string &name) {
  const char *path = loadedFrom();
  void *self = path ? dlopen(path, RTLD_LAZY | RTLD_NOLOAD) : nullptr;
  if (!self)
    return nullptr;
  void *symbol = dlsym(self, name.c_str());
  dlclose(self); // only the reference that dlopen took
  return symbol;
}

static void *entryPoint(const std::string &name, int version, uint64_t flags) {
  static constexpr std::array<std::string_view, 2> renamed = {"hipGetDeviceProperties", "hipChooseDevice"};
  if (majorOf(version) >= 6)
    for (std::string_view old : renamed)
      if (name == old)
        return ownSymbol(name + "R0600");
  if (flags & procAddressPerThread)
    if (void *perThread = ownSymbol(name + "_spt"))
      return perThread;
  return ownSymbol(name);
}

extern "C" int hipGetProcAddress(const char *symbol, void **function, int version, uint64_t flags, int *status) {
  return call("hipGetProcAddress", [&](Driver &) -> Outcome {
    if (Outcome outcome = needPointers(symbol, function); !outcome.ok())
      return outcome;
    if (flags > procAddressPerThread)
      return {hipErrorInvalidValue, "the flags are " + std::to_string(flags) + "; 0, 1 and 2 are known"};
    *function = entryPoint(symbol, version, flags);
    if (status)
      *status = *function ? procAddressFound : procAddressUnknown;
    if (*function)
      return hipSuccess;
    return {hipErrorInvalidValue, "HIP has no function '" + std::string(symbol) + "' here"};
  });
}
