// Copies and fills.
//
// What a pointer is follows from the address, as in HIP itself: a copy may say less than it knows
// (hipMemcpyDefault). What it says must not be wrong where that would read or write through an
// address of the other side.
#include "Driver.h"

#include <cstring>

using namespace hocket;
using namespace hocket::hip;

static uint64_t addressOf(const void *pointer) { return reinterpret_cast<uintptr_t>(pointer); }

/// Where the host finds `bytes` bytes at `pointer`, be it memory of the device or its own.
/// `claimed`: whether the call says that it is the device's.
static Outcome locate(Driver &driver, const void *pointer, size_t bytes, bool claimed,
                      std::byte *&where) {
  const sim::Allocation *allocation = driver.memory.find(addressOf(pointer));
  if (!allocation && claimed)
    return {hipErrorInvalidValue,
            "the address is not the device's: it is " + driver.memory.describe(addressOf(pointer))};
  if (!allocation && !pointer)
    return {hipErrorInvalidValue, "host memory of " + std::to_string(bytes) + " bytes is null"};
  if (!allocation) {
    where = static_cast<std::byte *>(const_cast<void *>(pointer));
    return hipSuccess;
  }
  where = driver.memory.translate(addressOf(pointer), bytes);
  if (!where)
    return {hipErrorInvalidValue, std::to_string(bytes) +
                                      " bytes are more than the allocation "
                                      "holds from this address on: it is " +
                                      driver.memory.describe(addressOf(pointer))};
  return hipSuccess;
}

static Outcome copy(Driver &driver, void *to, const void *from, size_t bytes, int kind) {
  if (driver.fault)
    return *driver.fault;
  if (kind < hostToHost || kind > defaultKind)
    return {hipErrorInvalidMemcpyDirection, "direction " + std::to_string(kind) + " is none"};
  if (bytes == 0)
    return hipSuccess;
  std::byte *target = nullptr, *source = nullptr;
  const bool toDevice = kind == hostToDevice || kind == deviceToDevice;
  const bool fromDevice = kind == deviceToHost || kind == deviceToDevice;
  if (Outcome outcome = locate(driver, to, bytes, toDevice, target); !outcome.ok())
    return outcome;
  if (Outcome outcome = locate(driver, from, bytes, fromDevice, source); !outcome.ok())
    return outcome;
  std::memmove(target, source, bytes);
  return hipSuccess;
}

static int copyOn(const char *name, void *to, const void *from, size_t bytes, int kind,
                  void *stream) {
  return call(name, [&](Driver &driver) {
    return driver.enqueue(stream, [=](Driver &device) { return copy(device, to, from, bytes, kind); });
  });
}

static int copy2D(const char *name, void *to, size_t toPitch, const void *from, size_t fromPitch,
                  size_t width, size_t height, int kind, void *stream) {
  return call(name, [&](Driver &driver) -> Outcome {
    if (height > 1 && (width > toPitch || width > fromPitch))
      return {hipErrorInvalidPitchValue, "the width is more than a pitch"};
    return driver.enqueue(stream, [=](Driver &device) -> Outcome {
      for (size_t row = 0; row != height; ++row)
        if (Outcome outcome = copy(device, static_cast<char *>(to) + row * toPitch,
                                   static_cast<const char *>(from) + row * fromPitch, width, kind);
            !outcome.ok())
          return outcome;
      return hipSuccess;
    });
  });
}

/// Repeats `value` `count` times from `to` on.
template <typename T> static Outcome fill(Driver &driver, void *to, T value, size_t count) {
  if (driver.fault)
    return *driver.fault;
  size_t bytes = 0;
  if (__builtin_mul_overflow(count, sizeof(T), &bytes))
    return {hipErrorInvalidValue, "the count is more than a device has"};
  if (bytes == 0)
    return hipSuccess;
  if (sizeof(T) == 1) {
    Status status = driver.memory.fill(addressOf(to), static_cast<uint8_t>(value), bytes);
    return status ? Outcome(hipSuccess) : Outcome(hipErrorInvalidValue, status.error());
  }
  std::byte *where = nullptr;
  if (Outcome outcome = locate(driver, to, bytes, /*claimed=*/true, where); !outcome.ok())
    return outcome;
  for (size_t i = 0; i != count; ++i)
    std::memcpy(where + i * sizeof(T), &value, sizeof(T));
  return hipSuccess;
}

template <typename T>
static int fillOn(const char *name, void *to, T value, size_t count, void *stream) {
  return call(name, [&](Driver &driver) {
    return driver.enqueue(stream, [=](Driver &device) { return fill(device, to, value, count); });
  });
}

static int fill2D(const char *name, void *to, size_t pitch, int value, size_t width, size_t height,
                  void *stream) {
  return call(name, [&](Driver &driver) -> Outcome {
    if (height > 1 && width > pitch)
      return {hipErrorInvalidPitchValue, "the width is more than the pitch"};
    return driver.enqueue(stream, [=](Driver &device) -> Outcome {
      for (size_t row = 0; row != height; ++row)
        if (Outcome outcome = fill<uint8_t>(device, static_cast<char *>(to) + row * pitch,
                                            static_cast<uint8_t>(value), width);
            !outcome.ok())
          return outcome;
      return hipSuccess;
    });
  });
}

/// A copy between a device variable and `other`.
static int copySymbol(const char *name, const void *symbol, bool toSymbol, const void *other,
                      size_t bytes, size_t offset, int kind, void *stream) {
  return call(name, [&](Driver &driver) -> Outcome {
    uint64_t address = 0, size = 0;
    if (Outcome outcome = driver.findVariable(symbol, address, size); !outcome.ok())
      return outcome;
    if (offset > size || bytes > size - offset)
      return {hipErrorInvalidValue, std::to_string(bytes) + " bytes at offset " +
                                        std::to_string(offset) + " are more than the variable's " +
                                        std::to_string(size)};
    void *variable = reinterpret_cast<void *>(uintptr_t(address + offset));
    return driver.enqueue(stream, [=](Driver &device) {
      return toSymbol ? copy(device, variable, other, bytes, kind)
                      : copy(device, const_cast<void *>(other), variable, bytes, kind);
    });
  });
}

extern "C" {

int hipMemcpy(void *to, const void *from, size_t bytes, int kind) {
  return copyOn("hipMemcpy", to, from, bytes, kind, nullptr);
}
int hipMemcpy_spt(void *to, const void *from, size_t bytes, int kind) {
  return copyOn("hipMemcpy_spt", to, from, bytes, kind, nullptr);
}
int hipMemcpyAsync(void *to, const void *from, size_t bytes, int kind, void *stream) {
  return copyOn("hipMemcpyAsync", to, from, bytes, kind, stream);
}
int hipMemcpyAsync_spt(void *to, const void *from, size_t bytes, int kind, void *stream) {
  return copyOn("hipMemcpyAsync_spt", to, from, bytes, kind, ofThread(stream));
}
int hipMemcpyWithStream(void *to, const void *from, size_t bytes, int kind, void *stream) {
  return copyOn("hipMemcpyWithStream", to, from, bytes, kind, stream);
}
int hipMemcpyHtoD(void *to, const void *from, size_t bytes) {
  return copyOn("hipMemcpyHtoD", to, from, bytes, hostToDevice, nullptr);
}
int hipMemcpyDtoH(void *to, void *from, size_t bytes) {
  return copyOn("hipMemcpyDtoH", to, from, bytes, deviceToHost, nullptr);
}
int hipMemcpyDtoD(void *to, void *from, size_t bytes) {
  return copyOn("hipMemcpyDtoD", to, from, bytes, deviceToDevice, nullptr);
}
int hipMemcpyHtoDAsync(void *to, const void *from, size_t bytes, void *stream) {
  return copyOn("hipMemcpyHtoDAsync", to, from, bytes, hostToDevice, stream);
}
int hipMemcpyDtoHAsync(void *to, void *from, size_t bytes, void *stream) {
  return copyOn("hipMemcpyDtoHAsync", to, from, bytes, deviceToHost, stream);
}
int hipMemcpyDtoDAsync(void *to, void *from, size_t bytes, void *stream) {
  return copyOn("hipMemcpyDtoDAsync", to, from, bytes, deviceToDevice, stream);
}
int hipMemcpy2D(void *to, size_t toPitch, const void *from, size_t fromPitch, size_t width,
                size_t height, int kind) {
  return copy2D("hipMemcpy2D", to, toPitch, from, fromPitch, width, height, kind, nullptr);
}
int hipMemcpy2DAsync(void *to, size_t toPitch, const void *from, size_t fromPitch, size_t width,
                     size_t height, int kind, void *stream) {
  return copy2D("hipMemcpy2DAsync", to, toPitch, from, fromPitch, width, height, kind, stream);
}
int hipMemcpyToSymbol(const void *symbol, const void *from, size_t bytes, size_t offset, int kind) {
  return copySymbol("hipMemcpyToSymbol", symbol, true, from, bytes, offset, kind, nullptr);
}
int hipMemcpyFromSymbol(void *to, const void *symbol, size_t bytes, size_t offset, int kind) {
  return copySymbol("hipMemcpyFromSymbol", symbol, false, to, bytes, offset, kind, nullptr);
}
int hipMemcpyToSymbolAsync(const void *symbol, const void *from, size_t bytes, size_t offset,
                           int kind, void *stream) {
  return copySymbol("hipMemcpyToSymbolAsync", symbol, true, from, bytes, offset, kind, stream);
}
int hipMemcpyFromSymbolAsync(void *to, const void *symbol, size_t bytes, size_t offset, int kind,
                             void *stream) {
  return copySymbol("hipMemcpyFromSymbolAsync", symbol, false, to, bytes, offset, kind, stream);
}

int hipMemset(void *to, int value, size_t bytes) {
  return fillOn("hipMemset", to, static_cast<uint8_t>(value), bytes, nullptr);
}
int hipMemset_spt(void *to, int value, size_t bytes) {
  return fillOn("hipMemset_spt", to, static_cast<uint8_t>(value), bytes, nullptr);
}
int hipMemsetAsync(void *to, int value, size_t bytes, void *stream) {
  return fillOn("hipMemsetAsync", to, static_cast<uint8_t>(value), bytes, stream);
}
int hipMemsetD8(void *to, unsigned char value, size_t count) {
  return fillOn("hipMemsetD8", to, value, count, nullptr);
}
int hipMemsetD8Async(void *to, unsigned char value, size_t count, void *stream) {
  return fillOn("hipMemsetD8Async", to, value, count, stream);
}
int hipMemsetD16(void *to, unsigned short value, size_t count) {
  return fillOn("hipMemsetD16", to, value, count, nullptr);
}
int hipMemsetD16Async(void *to, unsigned short value, size_t count, void *stream) {
  return fillOn("hipMemsetD16Async", to, value, count, stream);
}
int hipMemsetD32(void *to, int value, size_t count) {
  return fillOn("hipMemsetD32", to, value, count, nullptr);
}
int hipMemsetD32Async(void *to, int value, size_t count, void *stream) {
  return fillOn("hipMemsetD32Async", to, value, count, stream);
}
int hipMemset2D(void *to, size_t pitch, int value, size_t width, size_t height) {
  return fill2D("hipMemset2D", to, pitch, value, width, height, nullptr);
}
int hipMemset2DAsync(void *to, size_t pitch, int value, size_t width, size_t height, void *stream) {
  return fill2D("hipMemset2DAsync", to, pitch, value, width, height, stream);
}

/// The per-thread forms: what is asynchronous goes to the thread's own stream in place of the default one.
int hipMemcpy2D_spt(void *to, size_t toPitch, const void *from, size_t fromPitch, size_t width, size_t height, int kind) {
  return copy2D("hipMemcpy2D_spt", to, toPitch, from, fromPitch, width, height, kind, nullptr);
}
int hipMemcpy2DAsync_spt(void *to, size_t toPitch, const void *from, size_t fromPitch, size_t width, size_t height, int kind,
                         void *stream) {
  return copy2D("hipMemcpy2DAsync_spt", to, toPitch, from, fromPitch, width, height, kind, ofThread(stream));
}
int hipMemcpyToSymbol_spt(const void *symbol, const void *from, size_t bytes, size_t offset, int kind) {
  return copySymbol("hipMemcpyToSymbol_spt", symbol, true, from, bytes, offset, kind, nullptr);
}
int hipMemcpyFromSymbol_spt(void *to, const void *symbol, size_t bytes, size_t offset, int kind) {
  return copySymbol("hipMemcpyFromSymbol_spt", symbol, false, to, bytes, offset, kind, nullptr);
}
int hipMemcpyToSymbolAsync_spt(const void *symbol, const void *from, size_t bytes, size_t offset, int kind, void *stream) {
  return copySymbol("hipMemcpyToSymbolAsync_spt", symbol, true, from, bytes, offset, kind, ofThread(stream));
}
int hipMemcpyFromSymbolAsync_spt(void *to, const void *symbol, size_t bytes, size_t offset, int kind, void *stream) {
  return copySymbol("hipMemcpyFromSymbolAsync_spt", symbol, false, to, bytes, offset, kind, ofThread(stream));
}
int hipMemsetAsync_spt(void *to, int value, size_t bytes, void *stream) {
  return fillOn("hipMemsetAsync_spt", to, static_cast<uint8_t>(value), bytes, ofThread(stream));
}
int hipMemset2D_spt(void *to, size_t pitch, int value, size_t width, size_t height) {
  return fill2D("hipMemset2D_spt", to, pitch, value, width, height, nullptr);
}
int hipMemset2DAsync_spt(void *to, size_t pitch, int value, size_t width, size_t height, void *stream) {
  return fill2D("hipMemset2DAsync_spt", to, pitch, value, width, height, ofThread(stream));
}
}
