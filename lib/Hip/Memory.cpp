// Allocating, freeing and asking about memory.
//
// Device memory has addresses that mean nothing to the host, as on a GPU. Pinned and managed memory
// has the same address on both sides, so the host's pointer can be a kernel's argument.
#include "Driver.h"

#include <cstring>
#include <sys/mman.h>

using namespace hocket;
using namespace hocket::hip;

static constexpr size_t pitchAlignment = 256;

static uint64_t addressOf(const void *pointer) { return reinterpret_cast<uintptr_t>(pointer); }
static void *pointerTo(uint64_t address) { return reinterpret_cast<void *>(uintptr_t(address)); }

Outcome hip::allocate(Driver &driver, void **pointer, size_t bytes) {
  if (Outcome outcome = needPointers(pointer); !outcome.ok())
    return outcome;
  *pointer = nullptr;
  if (Outcome outcome = driver.checkOutsideCapture("an allocation"); !outcome.ok())
    return outcome;
  if (bytes == 0)
    return hipSuccess;
  auto address = driver.memory.allocate(bytes);
  if (!address)
    return {hipErrorOutOfMemory, address.error()};
  driver.allocations.insert(*address);
  *pointer = pointerTo(*address);
  return hipSuccess;
}

/// Pages of the host that the device sees at the same address.
static Outcome allocateHost(Driver &driver, void **pointer, size_t bytes, unsigned flags,
                            bool managed) {
  if (Outcome outcome = needPointers(pointer); !outcome.ok())
    return outcome;
  *pointer = nullptr;
  if (Outcome outcome = driver.checkOutsideCapture("an allocation"); !outcome.ok())
    return outcome;
  if (bytes == 0)
    return hipSuccess;
  void *pages = bytes > PTRDIFF_MAX ? MAP_FAILED
                                    : mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (pages == MAP_FAILED)
    return {hipErrorOutOfMemory,
            "the host has no " + std::to_string(bytes) + " bytes of memory left"};
  auto *data = static_cast<std::byte *>(pages);
  auto address = driver.memory.share({data, bytes}, managed ? "managed" : "pinned");
  if (!address) {
    munmap(pages, bytes);
    return {hipErrorUnknown, address.error()};
  }
  driver.hostMemory[*address] = {data, bytes, flags, managed};
  *pointer = pages;
  return hipSuccess;
}

/// Ends pinned or managed memory that starts at `address`.
static Outcome freeHost(Driver &driver, uint64_t address) {
  auto it = driver.hostMemory.find(address);
  if (it == driver.hostMemory.end() || !it->second.pages)
    return {hipErrorInvalidValue,
            "no pinned memory starts at this address: it is " + driver.memory.describe(address)};
  Status status = driver.memory.free(address);
  if (!status)
    return {hipErrorUnknown, status.error()};
  munmap(it->second.pages, it->second.bytes);
  driver.hostMemory.erase(it);
  return hipSuccess;
}

Outcome hip::freeDevice(Driver &driver, uint64_t address) {
  if (address == 0)
    return hipSuccess;
  if (Outcome outcome = driver.checkOutsideCapture("freeing memory"); !outcome.ok())
    return outcome;
  if (driver.hostMemory.count(address))
    return freeHost(driver, address);
  if (driver.allocations.erase(address) == 0)
    return {hipErrorInvalidValue,
            "no allocation starts at this address: it is " + driver.memory.describe(address)};
  driver.pools.take(address);
  Status status = driver.memory.free(address);
  return status ? Outcome(hipSuccess) : Outcome(hipErrorInvalidValue, status.error());
}

/// The pinned, registered or managed range that holds `address`, or the end.
static std::map<uint64_t, HostMemory>::iterator findHost(Driver &driver, uint64_t address) {
  auto it = driver.hostMemory.upper_bound(address);
  if (it == driver.hostMemory.begin() ||
      address - std::prev(it)->first >= std::prev(it)->second.bytes)
    return driver.hostMemory.end();
  return std::prev(it);
}

/// One of hipPointer_attribute's values for the allocation that holds `address`, written to `to`
/// in the type that HIP documents for it.
static Outcome storeAttribute(Driver &driver, void *to, int attribute, uint64_t address) {
  const sim::Allocation *allocation = driver.memory.find(address);
  if (!allocation)
    return {hipErrorInvalidValue,
            "no allocation holds this address: it is " + driver.memory.describe(address)};
  auto host = findHost(driver, address);
  const bool isHost = host != driver.hostMemory.end();
  const bool isManaged = isHost && host->second.managed;
  const MemoryTypes &types = hipMajor() < 6 ? memoryTypes5 : memoryTypes6;
  auto store = [to](auto value) {
    std::memcpy(to, &value, sizeof(value));
    return Outcome(hipSuccess);
  };
  switch (attribute) {
  case pointerMemoryType:
    return store(isManaged ? types.managed : isHost ? types.host : types.device);
  case pointerDevicePointer:
    return store(address);
  case pointerHostPointer:
    if (!isHost)
      return {hipErrorInvalidValue, "device memory has no address on the host"};
    return store(address);
  case pointerBufferId:
    return store(uint64_t(allocation->base));
  case pointerIsManaged:
    return store(isManaged);
  case pointerDeviceOrdinal:
    return store(int(0));
  case pointerRangeStart:
    return store(uint64_t(allocation->base));
  case pointerRangeSize:
    return store(uint64_t(allocation->size));
  case pointerMapped:
    return store(true);
  }
  return {hipErrorNotSupported, "pointer attribute " + std::to_string(attribute) +
                                    " is not known; ask for the type, an address, the range, the "
                                    "device or whether memory is managed"};
}

extern "C" {

int hipMalloc(void **pointer, size_t bytes) {
  return call("hipMalloc", [&](Driver &driver) { return allocate(driver, pointer, bytes); });
}
int hipExtMallocWithFlags(void **pointer, size_t bytes, unsigned) {
  return call("hipExtMallocWithFlags",
              [&](Driver &driver) { return allocate(driver, pointer, bytes); });
}
int hipMallocPitch(void **pointer, size_t *pitch, size_t width, size_t height) {
  return call("hipMallocPitch", [&](Driver &driver) -> Outcome {
    if (Outcome outcome = needPointers(pitch); !outcome.ok())
      return outcome;
    if (width > SIZE_MAX - pitchAlignment)
      return {hipErrorInvalidValue, "the width is more than a device has"};
    *pitch = (width + pitchAlignment - 1) / pitchAlignment * pitchAlignment;
    size_t bytes = 0;
    if (__builtin_mul_overflow(*pitch, height, &bytes))
      return {hipErrorOutOfMemory, "width times height is more than a device has"};
    return allocate(driver, pointer, bytes);
  });
}
int hipMemAllocPitch(void **pointer, size_t *pitch, size_t width, size_t height, unsigned) {
  return hipMallocPitch(pointer, pitch, width, height);
}
int hipFree(void *pointer) {
  return call("hipFree", [&](Driver &driver) { return freeDevice(driver, addressOf(pointer)); });
}

int hipHostMalloc(void **pointer, size_t bytes, unsigned flags) {
  return call("hipHostMalloc", [&](Driver &driver) {
    return allocateHost(driver, pointer, bytes, flags, /*managed=*/false);
  });
}
int hipHostAlloc(void **pointer, size_t bytes, unsigned flags) {
  return hipHostMalloc(pointer, bytes, flags);
}
int hipMallocHost(void **pointer, size_t bytes) { return hipHostMalloc(pointer, bytes, 0); }
int hipMemAllocHost(void **pointer, size_t bytes) { return hipHostMalloc(pointer, bytes, 0); }
int hipMallocManaged(void **pointer, size_t bytes, unsigned flags) {
  return call("hipMallocManaged", [&](Driver &driver) {
    return allocateHost(driver, pointer, bytes, flags, /*managed=*/true);
  });
}
int hipHostFree(void *pointer) {
  return call("hipHostFree", [&](Driver &driver) -> Outcome {
    return pointer ? freeHost(driver, addressOf(pointer)) : Outcome(hipSuccess);
  });
}
int hipFreeHost(void *pointer) { return hipHostFree(pointer); }

int hipHostRegister(void *pointer, size_t bytes, unsigned flags) {
  return call("hipHostRegister", [&](Driver &driver) -> Outcome {
    if (!pointer || bytes == 0)
      return {hipErrorInvalidValue, "there is no memory to register"};
    auto address = driver.memory.share({static_cast<std::byte *>(pointer), bytes}, "registered");
    if (!address)
      return {hipErrorHostMemoryAlreadyRegistered, address.error()};
    driver.hostMemory[*address] = {nullptr, bytes, flags, /*managed=*/false};
    return hipSuccess;
  });
}
int hipHostUnregister(void *pointer) {
  return call("hipHostUnregister", [&](Driver &driver) -> Outcome {
    auto it = driver.hostMemory.find(addressOf(pointer));
    if (it == driver.hostMemory.end() || it->second.pages)
      return {hipErrorHostMemoryNotRegistered, "no registered memory starts at this address"};
    driver.hostMemory.erase(it);
    Status status = driver.memory.free(addressOf(pointer));
    return status ? Outcome(hipSuccess) : Outcome(hipErrorUnknown, status.error());
  });
}
int hipHostGetDevicePointer(void **devicePointer, void *hostPointer, unsigned) {
  return call("hipHostGetDevicePointer", [&](Driver &driver) -> Outcome {
    if (Outcome outcome = needPointers(devicePointer); !outcome.ok())
      return outcome;
    if (findHost(driver, addressOf(hostPointer)) == driver.hostMemory.end())
      return {hipErrorInvalidValue, "no pinned memory holds this address"};
    *devicePointer = hostPointer;
    return hipSuccess;
  });
}
int hipHostGetFlags(unsigned *flags, void *hostPointer) {
  return call("hipHostGetFlags", [&](Driver &driver) -> Outcome {
    if (Outcome outcome = needPointers(flags); !outcome.ok())
      return outcome;
    auto it = findHost(driver, addressOf(hostPointer));
    if (it == driver.hostMemory.end())
      return {hipErrorInvalidValue, "no pinned memory holds this address"};
    *flags = it->second.flags;
    return hipSuccess;
  });
}

/// Hints; memory is where it is.
int hipMemPrefetchAsync(const void *, size_t, int, void *stream) {
  return call("hipMemPrefetchAsync", [&](Driver &driver) { return driver.checkStream(stream); });
}
int hipMemAdvise(const void *, size_t, int, int) { return hipSuccess; }

int hipMemGetInfo(size_t *free, size_t *total) {
  return call("hipMemGetInfo", [&](Driver &driver) {
    if (Outcome outcome = needPointers(free, total); !outcome.ok())
      return outcome;
    *total = driver.memory.limitBytes();
    *free = driver.memory.limitBytes() - driver.memory.liveBytes();
    return Outcome(hipSuccess);
  });
}
int hipMemGetAddressRange(void **base, size_t *bytes, void *pointer) {
  return call("hipMemGetAddressRange", [&](Driver &driver) -> Outcome {
    const sim::Allocation *allocation = driver.memory.find(addressOf(pointer));
    if (!allocation)
      return {hipErrorNotFound, "no allocation holds this address: it is " +
                                    driver.memory.describe(addressOf(pointer))};
    if (base)
      *base = pointerTo(allocation->base);
    if (bytes)
      *bytes = allocation->size;
    return hipSuccess;
  });
}
int hipMemPtrGetInfo(void *pointer, size_t *bytes) {
  return call("hipMemPtrGetInfo", [&](Driver &driver) -> Outcome {
    if (Outcome outcome = needPointers(bytes); !outcome.ok())
      return outcome;
    const sim::Allocation *allocation = driver.memory.find(addressOf(pointer));
    if (!allocation)
      return {hipErrorInvalidValue, "no allocation holds this address"};
    *bytes = allocation->size;
    return hipSuccess;
  });
}
int hipPointerGetAttribute(void *value, int attribute, void *pointer) {
  return call("hipPointerGetAttribute", [&](Driver &driver) {
    const Outcome valid = needPointers(value);
    return valid.ok() ? storeAttribute(driver, value, attribute, addressOf(pointer)) : valid;
  });
}
int hipDrvPointerGetAttributes(unsigned count, const int *attributes, void **values,
                               void *pointer) {
  return call("hipDrvPointerGetAttributes", [&](Driver &driver) -> Outcome {
    if (Outcome outcome = needPointers(attributes, values); !outcome.ok())
      return outcome;
    if (count == 0)
      return {hipErrorInvalidValue, "no attribute is asked for"};
    for (unsigned index = 0; index != count; ++index) {
      if (Outcome outcome = needPointers(values[index]); !outcome.ok())
        return outcome;
      Outcome stored = storeAttribute(driver, values[index], attributes[index], addressOf(pointer));
      if (!stored.ok())
        return stored;
    }
    return hipSuccess;
  });
}
int hipPointerGetAttributes(PointerAttributes *attributes, const void *pointer) {
  return call("hipPointerGetAttributes", [&](Driver &driver) -> Outcome {
    if (Outcome outcome = needPointers(attributes); !outcome.ok())
      return outcome;
    const bool old = hipMajor() < 6;
    const MemoryTypes &types = old ? memoryTypes5 : memoryTypes6;
    *attributes = {};
    void *plain = const_cast<void *>(pointer);
    if (auto host = findHost(driver, addressOf(pointer)); host != driver.hostMemory.end()) {
      const bool managed = host->second.managed;
      *attributes = {
          managed ? types.managed : types.host, 0, plain, plain, managed, host->second.flags};
      return hipSuccess;
    }
    if (driver.memory.find(addressOf(pointer))) {
      *attributes = {types.device, 0, plain, nullptr, 0, 0};
      return hipSuccess;
    }
    if (old)
      return {hipErrorInvalidValue, "no allocation holds this address: it is " +
                                        driver.memory.describe(addressOf(pointer))};
    attributes->type = memoryTypeUnregistered;
    attributes->device = -2; // hipInvalidDeviceId
    return hipSuccess;
  });
}
}
