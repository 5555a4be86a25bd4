/* Manifests from C: proves that the header is C, and that a launch by name works through it. */
#include "hocket/Manifest/CAPI.h"
#include "hocket/Simulator/RuntimeDevice.h"

static const char text[] =
    "{\"hocket_manifest\": 1, \"kernel\": \"fill\", \"target\": \"gfx950\", \"kernarg_size\": 16,"
    " \"block\": [64, 1, 1], \"grid\": [\"ceildiv(n, 64)\", 1, 1],"
    " \"tensors\": [{\"name\": \"out\", \"dtype\": \"u32\", \"sizes\": [\"n\"], \"strides\": [1]}],"
    " \"arguments\": ["
    "  {\"name\": \"out\", \"offset\": 0, \"type\": \"pointer\", \"value\": \"out\"},"
    "  {\"name\": \"value\", \"offset\": 8, \"type\": \"u32\", \"value\": \"value\"},"
    "  {\"name\": \"n\", \"offset\": 12, \"type\": \"u32\", \"value\": \"n\"}]}";

/* Fills the lower half of `count` numbers with `value` and then, on a stream, the upper half with
 * value + 1; returns the first status that fails. */
int hocket_test_named_fill(const char *path, uint32_t *result, uint32_t count, uint32_t value) {
  hocket_device device;
  hocket_module module;
  hocket_kernel kernel;
  hocket_stream stream;
  hocket_manifest manifest;
  uint64_t address = 0, workspace = 1;
  double seconds = -1;
  hocket_status status;
  int64_t shape[1] = {count / 2};
  hocket_tensor tensors[1] = {{"out", 0, "i32", 1, shape, 0}};
  hocket_scalar scalars[1] = {{"value", 0, value, 0}};
  hocket_named_arguments arguments = {tensors, 1, scalars, 1, 0};

  hocket_register_simulator();
  if ((status = hocket_device_open("sim", &device, 0)) ||
      (status = hocket_module_load_file(device, path, &module)) ||
      (status = hocket_module_kernel(module, "fill", &kernel)) ||
      (status = hocket_allocate(device, 4 * count, &address)) ||
      (status = hocket_fill(device, address, 0, 4 * count)) ||
      (status = hocket_stream_create(device, &stream)) ||
      (status = hocket_manifest_load(text, sizeof(text) - 1, &manifest)) ||
      (status = hocket_manifest_workspace(manifest, &arguments, &workspace)))
    return status;
  tensors[0].address = address;
  if ((status = hocket_manifest_launch(manifest, kernel, &arguments, &seconds)))
    return status;
  tensors[0].address = address + 2 * count;
  scalars[0].integer = value + 1;
  if ((status = hocket_manifest_launch_on(manifest, kernel, &arguments, stream)) ||
      (status = hocket_stream_synchronize(stream)))
    return status;
  if (seconds < 0 || workspace != 0)
    return HOCKET_INTERNAL;
  if ((status = hocket_copy_from_device(device, result, address, 4 * count)) ||
      (status = hocket_free(device, address)) || (status = hocket_manifest_release(manifest)) ||
      (status = hocket_stream_release(stream)) || (status = hocket_kernel_release(kernel)) ||
      (status = hocket_module_release(module)) || (status = hocket_device_release(device)))
    return status;
  return HOCKET_SUCCESS;
}
