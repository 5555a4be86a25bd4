/* Launching kernels of one's own from C, their arguments by name. On top of the runtime's C
 * interface (hocket/Runtime/CAPI.h), whose rules hold for handles, messages and threads.
 *
 *   hocket_manifest manifest;
 *   int64_t shape[] = {1000, 64};
 *   hocket_tensor tensors[] = {{"x", x, "f32", 2, shape, NULL}, {"y", y, "f32", 2, shape, NULL}};
 *   hocket_scalar scalars[] = {{"scale", 1, 0, 0.5}};
 *   hocket_named_arguments arguments = {tensors, 2, scalars, 1, 0};
 *   hocket_manifest_load_file("k.json", &manifest);
 *   hocket_manifest_launch(manifest, kernel, &arguments, NULL);
 *
 * What the names mean says hocket/Manifest/NamedArguments.h.
 */
#ifndef HOCKET_MANIFEST_CAPI_H
#define HOCKET_MANIFEST_CAPI_H

#include "hocket/Runtime/CAPI.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hocket_manifest_s *hocket_manifest;

/* A tensor in device memory. */
typedef struct hocket_tensor {
  const char *name;
  uint64_t address;
  const char *dtype; /* "bf16", "f16", "f32", "f64", "f8e4m3", "f8e5m2", "i8", "u8", ..., "u64" */
  uint32_t rank;     /* dimensions */
  const int64_t *shape;   /* extents, the fastest dimension last */
  const int64_t *strides; /* in elements; NULL: dense, in C order */
} hocket_tensor;

/* A number: `real` if is_real, else `integer`. */
typedef struct hocket_scalar {
  const char *name;
  int is_real;
  int64_t integer;
  double real;
} hocket_scalar;

typedef struct hocket_named_arguments {
  const hocket_tensor *tensors;
  size_t tensor_count;
  const hocket_scalar *scalars;
  size_t scalar_count;
  uint64_t workspace; /* device memory, where hocket_manifest_workspace asks for some; else 0 */
} hocket_named_arguments;

/* Reads a manifest from JSON text (copied) or from a file. */
hocket_status hocket_manifest_load(const char *json, size_t bytes, hocket_manifest *manifest);
hocket_status hocket_manifest_load_file(const char *path, hocket_manifest *manifest);
hocket_status hocket_manifest_release(hocket_manifest manifest);
/* The kernel's name in its code object, and in words which tensors and scalars it wants; valid
 * until the manifest is released. */
hocket_status hocket_manifest_kernel(hocket_manifest manifest, const char **name);
hocket_status hocket_manifest_signature(hocket_manifest manifest, const char **text);

/* Bytes of device memory that a launch needs as workspace; addresses in `arguments` may be 0. */
hocket_status hocket_manifest_workspace(hocket_manifest manifest,
                                        const hocket_named_arguments *arguments, uint64_t *bytes);
/* Launches `kernel` and waits. *seconds (may be NULL) receives the device time, or the host time in
 * the simulator. HOCKET_INVALID_INPUT names what is missing, too much or does not fit,
 * HOCKET_UNSUPPORTED what the kernel requires. */
hocket_status hocket_manifest_launch(hocket_manifest manifest, hocket_kernel kernel,
                                     const hocket_named_arguments *arguments, double *seconds);
/* The same on a stream, without waiting. */
hocket_status hocket_manifest_launch_on(hocket_manifest manifest, hocket_kernel kernel,
                                        const hocket_named_arguments *arguments,
                                        hocket_stream stream);

#ifdef __cplusplus
}
#endif

#endif
