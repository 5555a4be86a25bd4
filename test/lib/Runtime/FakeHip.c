/* A libamdhip64 for tests: HIP's entry points over malloc, with one kernel that fills an array.
 *
 * Compiled several times to stand for the versions there are and the ways to fail:
 *   FAKE_LAYOUT 600     hipGetDevicePropertiesR0600 with the layout of HIP 6 and later
 *   FAKE_LAYOUT 0       hipGetDevicePropertiesR0000, as HIP 6 and later have it too
 *   FAKE_LAYOUT 5       hipGetDeviceProperties alone, as HIP 5 has it
 *   FAKE_ARCHITECTURE   gcnArchName of device 1; device 0 is always a gfx90a
 *   FAKE_DEVICES        how many devices there are
 *   FAKE_INCOMPLETE     hipModuleLaunchKernel is missing
 * Whatever its name, a kernel takes {uint32_t *to; uint32_t value; uint32_t count} and fills `to`.
 * A value of 0xdead fails the launch, so that error texts can be tested.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifndef FAKE_ARCHITECTURE
#define FAKE_ARCHITECTURE "gfx950:sramecc+:xnack-"
#endif
#ifndef FAKE_DEVICES
#define FAKE_DEVICES 2
#endif

enum {
  success = 0,
  invalidValue = 1,
  noDevice = 100,
  notFound = 500,
  notReady = 600,
  launchFailure = 719
};
static _Thread_local int current = 0, lastError = 0;

static const char *architecture(int device) {
  return device == 0 ? "gfx90a:sramecc+:xnack-" : FAKE_ARCHITECTURE;
}

static void put64(char *at, uint64_t value) { memcpy(at, &value, sizeof(value)); }
static void put32(char *at, uint32_t value) { memcpy(at, &value, sizeof(value)); }

/* Offsets of HIP 6's and later's structure, 1472 bytes. */
static int fillNew(char *properties, int device) {
  if (device < 0 || device >= FAKE_DEVICES)
    return invalidValue;
  memset(properties, 0x5a, 1472);
  strcpy(properties, "Fake new");
  put64(properties + 288, 1000000);
  put64(properties + 296, 163840);
  put32(properties + 308, 64);
  put32(properties + 388, 256);
  strcpy(properties + 1160, architecture(device));
  return success;
}

/* Offsets of HIP 5.2.3's structure, 792 bytes. */
static int fillOld(char *properties, int device) {
  if (device < 0 || device >= FAKE_DEVICES)
    return invalidValue;
  memset(properties, 0x5a, 792);
  strcpy(properties, "Fake old");
  put64(properties + 256, 2000000);
  put64(properties + 264, 163840);
  put32(properties + 276, 64);
  put32(properties + 336, 255);
  strcpy(properties + 396, architecture(device));
  return success;
}

#if FAKE_LAYOUT == 600
int hipGetDevicePropertiesR0600(void *properties, int device) {
  return fillNew(properties, device);
}
/* The unversioned name gets the old layout in every version. */
int hipGetDeviceProperties(void *properties, int device) { return fillOld(properties, device); }
#elif FAKE_LAYOUT == 0
int hipGetDevicePropertiesR0000(void *properties, int device) {
  return fillOld(properties, device);
}
#else
int hipGetDeviceProperties(void *properties, int device) { return fillOld(properties, device); }
#endif

int hipInit(unsigned flags) { return flags == 0 ? success : invalidValue; }
int hipGetDeviceCount(int *count) {
  *count = FAKE_DEVICES;
  return FAKE_DEVICES == 0 ? noDevice : success;
}
int hipGetDevice(int *device) {
  *device = current;
  return success;
}
int hipSetDevice(int device) {
  current = device;
  return device >= 0 && device < FAKE_DEVICES ? success : invalidValue;
}
int hipMalloc(void **pointer, size_t bytes) {
  if (current != 1) /* the device that the tests open */
    return invalidValue;
  if (bytes > ((size_t)1 << 30))
    return 2;
  *pointer = aligned_alloc(256, (bytes + 255) / 256 * 256);
  return *pointer ? success : 2;
}
int hipFree(void *pointer) {
  free(pointer);
  return success;
}
int hipMemcpyHtoD(void *to, const void *from, size_t bytes) {
  memcpy(to, from, bytes);
  return success;
}
int hipMemcpyDtoH(void *to, void *from, size_t bytes) {
  memcpy(to, from, bytes);
  return success;
}
int hipMemset(void *to, int value, size_t bytes) {
  memset(to, value, bytes);
  return success;
}
int hipMemcpyHtoDAsync(void *to, const void *from, size_t bytes, void *stream) {
  return stream ? hipMemcpyHtoD(to, from, bytes) : invalidValue;
}
int hipMemcpyDtoHAsync(void *to, void *from, size_t bytes, void *stream) {
  return stream ? hipMemcpyDtoH(to, from, bytes) : invalidValue;
}
int hipMemcpyDtoDAsync(void *to, void *from, size_t bytes, void *stream) {
  return stream ? hipMemcpyDtoH(to, from, bytes) : invalidValue;
}
int hipMemsetAsync(void *to, int value, size_t bytes, void *stream) {
  return stream ? hipMemset(to, value, bytes) : invalidValue;
}
/* Knows one allocation that the tests did not make through the device. */
char fakeForeignMemory[64];
int hipMemGetAddressRange(void **base, size_t *size, void *address) {
  if ((char *)address < fakeForeignMemory || (char *)address >= fakeForeignMemory + 64)
    return lastError = notFound;
  *base = fakeForeignMemory;
  *size = 64;
  return success;
}
int hipModuleLoadData(void **module, const void *image) {
  if (memcmp(image, "\177ELF", 4) != 0)
    return invalidValue;
  *module = malloc(1);
  return success;
}
int hipModuleUnload(void *module) {
  free(module);
  return success;
}
int hipModuleGetFunction(void **function, void *module, const char *name) {
  if (strcmp(name, "") == 0)
    return notFound;
  *function = module;
  return success;
}

#ifndef FAKE_INCOMPLETE
int hipModuleLaunchKernel(void *function, unsigned gridX, unsigned gridY, unsigned gridZ,
                          unsigned blockX, unsigned blockY, unsigned blockZ, unsigned lds,
                          void *stream, void **parameters, void **extra) {
  (void)function, (void)gridX, (void)gridY, (void)gridZ;
  (void)blockX, (void)blockY, (void)blockZ, (void)lds, (void)stream;
  if (parameters || (uintptr_t)extra[0] != 1 || (uintptr_t)extra[2] != 2 ||
      (uintptr_t)extra[4] != 3)
    return invalidValue;
  struct {
    uint32_t *to;
    uint32_t value, count;
  } arguments;
  if (*(size_t *)extra[3] < sizeof(arguments))
    return invalidValue;
  memcpy(&arguments, extra[1], sizeof(arguments));
  if (arguments.value == 0xdead)
    return lastError = launchFailure;
  for (uint32_t i = 0; i < arguments.count; ++i)
    arguments.to[i] = arguments.value;
  return success;
}
#endif

int hipDeviceSynchronize(void) { return success; }
/* A stream is never done when it is asked first, and always when it is asked again. */
int hipStreamCreate(void **stream) {
  *stream = calloc(1, sizeof(int));
  return success;
}
int hipStreamDestroy(void *stream) {
  free(stream);
  return success;
}
int hipStreamSynchronize(void *stream) { return stream ? success : invalidValue; }
int hipStreamQuery(void *stream) {
  return (*(int *)stream)++ == 0 ? lastError = notReady : success;
}
int hipStreamWaitEvent(void *stream, void *event, unsigned flags) {
  return stream && event && flags == 0 ? success : invalidValue;
}
int hipGetLastError(void) {
  int error = lastError;
  lastError = success;
  return error;
}
int hipEventQuery(void *event) { return event ? success : invalidValue; }
int hipEventCreate(void **event) {
  *event = malloc(1);
  return success;
}
int hipEventRecord(void *event, void *stream) {
  (void)stream;
  return event ? success : invalidValue;
}
int hipEventSynchronize(void *event) { return event ? success : invalidValue; }
int hipEventElapsedTime(float *milliseconds, void *start, void *stop) {
  *milliseconds = 2.5f;
  return start && stop ? success : invalidValue;
}
int hipEventDestroy(void *event) {
  free(event);
  return success;
}
const char *hipGetErrorString(int code) {
  return code == noDevice        ? "no ROCm-capable device is detected"
         : code == launchFailure ? "unspecified launch failure"
                                 : "error";
}
