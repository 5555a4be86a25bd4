// hipMallocAsync and the pools that it takes memory from.
#include "Driver.h"

#include <cstring>

using namespace hocket;
using namespace hocket::hip;

namespace {
/// hipMemLocation.
struct Location {
  int type, id;
};
constexpr int locationDevice = 1;

/// hipMemPoolProps.
struct PoolProperties {
  int allocationType, handleTypes;
  Location location;
  void *securityAttributes;
  size_t maxSize;
  unsigned char reserved[56];
};
constexpr int allocationPinned = 1;

/// hipMemAccessDesc.
struct Access {
  Location location;
  int flags;
};
constexpr int accessNone = 0, accessReadWrite = 3;

/// hipMemPoolAttr: the first three are int, the others uint64_t.
enum PoolAttribute : int {
  reuseFollowsEvents = 1,
  reuseInternal = 3,
  releaseThreshold = 4,
  reservedCurrent = 5,
  reservedHigh = 6,
  usedCurrent = 7,
  usedHigh = 8,
};
} // namespace

static Outcome findPool(Driver &driver, const void *handle, std::shared_ptr<Pool> &pool) {
  pool = driver.pools.made.find(handle);
  if (pool)
    return hipSuccess;
  return {hipErrorInvalidValue, "there is no such memory pool; it was destroyed, or is none"};
}

static Outcome allocateFrom(Driver &driver, void **pointer, size_t bytes, const std::shared_ptr<Pool> &pool) {
  if (Outcome outcome = needPointers(pointer); !outcome.ok())
    return outcome;
  *pointer = nullptr;
  if (pool->most && bytes > pool->most - pool->used)
    return {hipErrorOutOfMemory, "the pool may give out " + std::to_string(pool->most) + " bytes, and has given out " +
                                     std::to_string(pool->used)};
  Outcome outcome = allocate(driver, pointer, bytes);
  if (outcome.ok() && *pointer)
    driver.pools.give(reinterpret_cast<uintptr_t>(*pointer), pool, bytes);
  return outcome;
}

static Outcome checkLocation(const Location &location) {
  if (location.type != locationDevice)
    return {hipErrorInvalidValue, "the location's type is " + std::to_string(location.type) + "; memory is a device's, 1"};
  return needDevice(location.id);
}

static Outcome readAttribute(const Pool &pool, int attribute, void *value) {
  auto store = [value](auto number) {
    std::memcpy(value, &number, sizeof(number));
    return Outcome(hipSuccess);
  };
  if (attribute >= reuseFollowsEvents && attribute <= reuseInternal)
    return store(pool.reuse[attribute - reuseFollowsEvents]);
  switch (attribute) {
  case releaseThreshold:
    return store(pool.threshold);
  case reservedCurrent:
  case usedCurrent:
    return store(pool.used);
  case reservedHigh:
  case usedHigh:
    return store(pool.mostUsed);
  }
  return {hipErrorInvalidValue, "pool attribute " + std::to_string(attribute) + " is not known; they are 1 to 8"};
}

static Outcome writeAttribute(Pool &pool, int attribute, const void *value) {
  if (attribute >= reuseFollowsEvents && attribute <= reuseInternal) {
    std::memcpy(&pool.reuse[attribute - reuseFollowsEvents], value, sizeof(int));
    return hipSuccess;
  }
  uint64_t number = 0;
  if (attribute >= releaseThreshold && attribute <= usedHigh)
    std::memcpy(&number, value, sizeof(number));
  switch (attribute) {
  case releaseThreshold:
    pool.threshold = number;
    return hipSuccess;
  case reservedHigh:
  case usedHigh:
    if (number != 0)
      return {hipErrorInvalidValue, "the most that a pool has given out is set to " + std::to_string(number) +
                                        "; it can only be begun anew, by 0"};
    pool.mostUsed = pool.used;
    return hipSuccess;
  }
  return {hipErrorInvalidValue, "pool attribute " + std::to_string(attribute) + " cannot be set; 1 to 4, 6 and 8 can"};
}

extern "C" {

int hipMallocAsync(void **pointer, size_t bytes, void *stream) {
  return call("hipMallocAsync", [&](Driver &driver) -> Outcome {
    if (Outcome outcome = driver.checkStream(stream); !outcome.ok())
      return outcome;
    return allocateFrom(driver, pointer, bytes, driver.pools.made.find(driver.pools.current));
  });
}
int hipMallocFromPoolAsync(void **pointer, size_t bytes, void *handle, void *stream) {
  return call("hipMallocFromPoolAsync", [&](Driver &driver) -> Outcome {
    std::shared_ptr<Pool> pool;
    if (Outcome outcome = findPool(driver, handle, pool); !outcome.ok())
      return outcome;
    if (Outcome outcome = driver.checkStream(stream); !outcome.ok())
      return outcome;
    return allocateFrom(driver, pointer, bytes, pool);
  });
}
int hipFreeAsync(void *pointer, void *stream) {
  return call("hipFreeAsync", [&](Driver &driver) {
    const Outcome valid = driver.checkStream(stream);
    return valid.ok() ? freeDevice(driver, reinterpret_cast<uintptr_t>(pointer)) : valid;
  });
}

static int poolOfDevice(const char *name, void **handle, int device, void *Pools::*which) {
  return call(name, [&](Driver &driver) -> Outcome {
    if (Outcome outcome = needPointers(handle); !outcome.ok())
      return outcome;
    if (Outcome outcome = needDevice(device); !outcome.ok())
      return outcome;
    *handle = driver.pools.*which;
    return hipSuccess;
  });
}
int hipDeviceGetDefaultMemPool(void **handle, int device) {
  return poolOfDevice("hipDeviceGetDefaultMemPool", handle, device, &Pools::handleOfUsual);
}
int hipDeviceGetMemPool(void **handle, int device) {
  return poolOfDevice("hipDeviceGetMemPool", handle, device, &Pools::current);
}
int hipDeviceSetMemPool(int device, void *handle) {
  return call("hipDeviceSetMemPool", [&](Driver &driver) -> Outcome {
    std::shared_ptr<Pool> pool;
    if (Outcome outcome = needDevice(device); !outcome.ok())
      return outcome;
    if (Outcome outcome = findPool(driver, handle, pool); !outcome.ok())
      return outcome;
    driver.pools.current = handle;
    return hipSuccess;
  });
}

int hipMemPoolCreate(void **handle, const PoolProperties *properties) {
  return call("hipMemPoolCreate", [&](Driver &driver) -> Outcome {
    if (Outcome outcome = needPointers(handle, properties); !outcome.ok())
      return outcome;
    if (properties->allocationType != allocationPinned)
      return {hipErrorInvalidValue, "the type of allocations is " + std::to_string(properties->allocationType) +
                                        "; pools have pinned ones, 1"};
    if (properties->handleTypes != 0)
      return {hipErrorNotSupported, "pools are not shared with other processes; ask for handles of type 0"};
    if (Outcome outcome = checkLocation(properties->location); !outcome.ok())
      return outcome;
    auto pool = std::make_shared<Pool>();
    pool->most = properties->maxSize;
    *handle = driver.pools.made.insert(std::move(pool));
    return hipSuccess;
  });
}
int hipMemPoolDestroy(void *handle) {
  return call("hipMemPoolDestroy", [&](Driver &driver) -> Outcome {
    std::shared_ptr<Pool> pool;
    if (Outcome outcome = findPool(driver, handle, pool); !outcome.ok())
      return outcome;
    if (pool == driver.pools.usual)
      return {hipErrorInvalidValue, "the device's default memory pool stays"};
    if (driver.pools.current == handle)
      driver.pools.current = driver.pools.handleOfUsual;
    driver.pools.made.erase(handle);
    return hipSuccess;
  });
}
/// Pools keep nothing that could be given back.
int hipMemPoolTrimTo(void *handle, size_t) {
  return call("hipMemPoolTrimTo", [&](Driver &driver) {
    std::shared_ptr<Pool> pool;
    return findPool(driver, handle, pool);
  });
}
int hipMemPoolGetAttribute(void *handle, int attribute, void *value) {
  return call("hipMemPoolGetAttribute", [&](Driver &driver) -> Outcome {
    std::shared_ptr<Pool> pool;
    if (Outcome outcome = needPointers(value); !outcome.ok())
      return outcome;
    Outcome outcome = findPool(driver, handle, pool);
    return outcome.ok() ? readAttribute(*pool, attribute, value) : outcome;
  });
}
int hipMemPoolSetAttribute(void *handle, int attribute, void *value) {
  return call("hipMemPoolSetAttribute", [&](Driver &driver) -> Outcome {
    std::shared_ptr<Pool> pool;
    if (Outcome outcome = needPointers(value); !outcome.ok())
      return outcome;
    Outcome outcome = findPool(driver, handle, pool);
    return outcome.ok() ? writeAttribute(*pool, attribute, value) : outcome;
  });
}
int hipMemPoolSetAccess(void *handle, const Access *accesses, size_t count) {
  return call("hipMemPoolSetAccess", [&](Driver &driver) -> Outcome {
    std::shared_ptr<Pool> pool;
    if (Outcome outcome = needPointers(accesses); !outcome.ok())
      return outcome;
    if (Outcome outcome = findPool(driver, handle, pool); !outcome.ok())
      return outcome;
    for (size_t i = 0; i != count; ++i) {
      if (Outcome outcome = checkLocation(accesses[i].location); !outcome.ok())
        return outcome;
      if (accesses[i].flags != accessReadWrite)
        return {hipErrorInvalidValue, "access " + std::to_string(accesses[i].flags) +
                                          " is asked for; the device reads and writes its memory, 3"};
    }
    return hipSuccess;
  });
}
int hipMemPoolGetAccess(int *flags, void *handle, Location *location) {
  return call("hipMemPoolGetAccess", [&](Driver &driver) -> Outcome {
    std::shared_ptr<Pool> pool;
    if (Outcome outcome = needPointers(flags, location); !outcome.ok())
      return outcome;
    if (Outcome outcome = findPool(driver, handle, pool); !outcome.ok())
      return outcome;
    *flags = checkLocation(*location).ok() ? accessReadWrite : accessNone;
    return hipSuccess;
  });
}

} // extern "C"
