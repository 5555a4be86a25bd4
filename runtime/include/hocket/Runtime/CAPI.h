/* The runtime for C: devices, memory, modules, kernels and launches behind opaque handles.
 *
 * Every function that can fail returns a hocket_status; hocket_last_error() has the message of the
 * calling thread's last failure. Handles are numbers in disguise that are checked at every call: a
 * null or stale handle, or one of another kind, is HOCKET_INVALID_INPUT, never a crash. All
 * functions may be called from any thread. Sizes and offsets are in bytes, grids in workgroups,
 * blocks in work-items.
 *
 * A released device, module or kernel stays alive while something made from it is in use; a
 * released kernel also until the launches of it that a stream holds are done.
 */
#ifndef HOCKET_RUNTIME_CAPI_H
#define HOCKET_RUNTIME_CAPI_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hocket_device_s *hocket_device;
typedef struct hocket_module_s *hocket_module;
typedef struct hocket_kernel_s *hocket_kernel;
typedef struct hocket_stream_s *hocket_stream;
typedef struct hocket_event_s *hocket_event;

typedef enum hocket_status {
  HOCKET_SUCCESS = 0,
  HOCKET_INVALID_INPUT = 1, /* a malformed argument, file or handle */
  HOCKET_UNSUPPORTED = 2,   /* well-formed, but this device cannot */
  HOCKET_NOT_FOUND = 3,     /* no such device, file or kernel */
  HOCKET_EXECUTION = 4,     /* the kernel did something illegal */
  HOCKET_HOST = 5,          /* out of memory, a driver call failed */
  HOCKET_INTERNAL = 6       /* a bug of Hocket */
} hocket_status;

typedef struct hocket_dim3 {
  uint32_t x, y, z;
} hocket_dim3;

/* One typed argument. `offset` is HOCKET_NEXT_ARGUMENT to take the place of the kernel's next
 * explicit argument; `data` points to `size` bytes as the kernel reads them. */
#define HOCKET_NEXT_ARGUMENT UINT32_MAX
typedef struct hocket_argument {
  const void *data;
  size_t size;
  uint32_t offset;
} hocket_argument;

/* The message of this thread's last failure; "" if there was none. Valid until the thread's next
 * call. Lower case, names what was found and what was wanted. */
const char *hocket_last_error(void);

/* Opens "hip", "sim" (a gfx950), "sim:gfx942", or "auto": "hip" if a gfx950 answers, else "sim".
 * libhocket knows all of these; a program that is linked to the runtime alone makes the simulator
 * known by hocket_register_simulator (hocket/Simulator/RuntimeDevice.h). *note (may be NULL)
 * receives "" or why `auto` chose as it did; it is valid until the device is released. */
hocket_status hocket_device_open(const char *name, hocket_device *device, const char **note);
hocket_status hocket_device_release(hocket_device device);
/* "hip" or "sim", and LLVM's name of the architecture; valid until the device is released. */
hocket_status hocket_device_kind(hocket_device device, const char **kind);
hocket_status hocket_device_architecture(hocket_device device, const char **architecture);

/* Uninitialised memory aligned to 256 bytes; *address is never 0. */
hocket_status hocket_allocate(hocket_device device, uint64_t bytes, uint64_t *address);
hocket_status hocket_free(hocket_device device, uint64_t address);
hocket_status hocket_copy_to_device(hocket_device device, uint64_t to, const void *from,
                                    uint64_t bytes);
hocket_status hocket_copy_from_device(hocket_device device, void *to, uint64_t from,
                                      uint64_t bytes);
hocket_status hocket_fill(hocket_device device, uint64_t to, uint8_t value, uint64_t bytes);
hocket_status hocket_synchronize(hocket_device device);

/* Loads a code object from memory (copied) or from a file. */
hocket_status hocket_module_load(hocket_device device, const void *code_object, size_t bytes,
                                 hocket_module *module);
hocket_status hocket_module_load_file(hocket_device device, const char *path,
                                      hocket_module *module);
hocket_status hocket_module_release(hocket_module module);
hocket_status hocket_module_kernel(hocket_module module, const char *name, hocket_kernel *kernel);
hocket_status hocket_kernel_release(hocket_kernel kernel);
/* Bytes of explicit arguments, and how many there are. Either pointer may be NULL. */
hocket_status hocket_kernel_arguments(hocket_kernel kernel, uint32_t *bytes, uint32_t *count);

/* Packs the arguments, launches and waits. *seconds (may be NULL) receives the device time, or the
 * host time in the simulator. */
hocket_status hocket_launch(hocket_kernel kernel, hocket_dim3 grid, hocket_dim3 block,
                            uint32_t dynamic_lds, const hocket_argument *arguments, size_t count,
                            double *seconds);

/* Streams: calls return when the work is accepted; it is done in the order it was given, after the
 * calls above that came before it. Host memory of a copy must stay valid until the stream has
 * passed it. What goes wrong may be reported by the call or by any later call on the stream or
 * device. The simulator does the work within the call. Releasing a stream waits for its work. */
hocket_status hocket_stream_create(hocket_device device, hocket_stream *stream);
hocket_status hocket_stream_release(hocket_stream stream);
hocket_status hocket_stream_copy_to_device(hocket_stream stream, uint64_t to, const void *from,
                                           uint64_t bytes);
hocket_status hocket_stream_copy_from_device(hocket_stream stream, void *to, uint64_t from,
                                             uint64_t bytes);
/* Within the device; the ranges must not overlap. */
hocket_status hocket_stream_copy(hocket_stream stream, uint64_t to, uint64_t from, uint64_t bytes);
hocket_status hocket_stream_fill(hocket_stream stream, uint64_t to, uint8_t value, uint64_t bytes);
/* As hocket_launch, without waiting; the arguments are copied. */
hocket_status hocket_stream_launch(hocket_stream stream, hocket_kernel kernel, hocket_dim3 grid,
                                   hocket_dim3 block, uint32_t dynamic_lds,
                                   const hocket_argument *arguments, size_t count);
hocket_status hocket_stream_synchronize(hocket_stream stream);
/* *done is 1 if everything given so far is done, else 0. */
hocket_status hocket_stream_query(hocket_stream stream, int *done);

/* Events: marks in streams of the same device. */
hocket_status hocket_event_create(hocket_device device, hocket_event *event);
hocket_status hocket_event_release(hocket_event event);
/* Marks what was given to the stream so far; replaces an earlier mark. */
hocket_status hocket_event_record(hocket_event event, hocket_stream stream);
/* Work given to the stream from now on waits for the event's last mark. */
hocket_status hocket_stream_wait(hocket_stream stream, hocket_event event);
hocket_status hocket_event_synchronize(hocket_event event);
hocket_status hocket_event_query(hocket_event event, int *done);
/* Waits for both and gives the seconds from start to stop: device time on HIP, host time in the
 * simulator. HOCKET_INVALID_INPUT if one was never recorded. */
hocket_status hocket_event_seconds(hocket_event start, hocket_event stop, double *seconds);

#ifdef __cplusplus
}
#endif

#endif
