/* The runtime from C: proves that the header is C, and that one launch works through it. */
#include "hocket/Runtime/CAPI.h"
#include "hocket/Simulator/RuntimeDevice.h"

/* Fills `count` numbers with `value` on device `device_name`; returns the first status that fails.
 */
int hocket_test_fill(const char *device_name, const char *path, uint32_t *result, uint32_t count,
                     uint32_t value) {
  hocket_device device;
  hocket_module module;
  hocket_kernel kernel;
  const char *note = 0;
  uint64_t address = 0;
  double seconds = -1;
  hocket_status status;
  hocket_dim3 grid = {(count + 63) / 64, 1, 1}, block = {64, 1, 1};

  hocket_register_simulator();
  if ((status = hocket_device_open(device_name, &device, &note)))
    return status;
  if ((status = hocket_module_load_file(device, path, &module)) ||
      (status = hocket_module_kernel(module, "fill", &kernel)) ||
      (status = hocket_allocate(device, 4 * count, &address)) ||
      (status = hocket_fill(device, address, 0, 4 * count)))
    return status;
  {
    hocket_argument arguments[3] = {{&address, sizeof(address), HOCKET_NEXT_ARGUMENT},
                                    {&value, sizeof(value), HOCKET_NEXT_ARGUMENT},
                                    {&count, sizeof(count), HOCKET_NEXT_ARGUMENT}};
    if ((status = hocket_launch(kernel, grid, block, 0, arguments, 3, &seconds)))
      return status;
  }
  if (seconds < 0)
    return HOCKET_INTERNAL;
  if ((status = hocket_synchronize(device)) ||
      (status = hocket_copy_from_device(device, result, address, 4 * count)) ||
      (status = hocket_free(device, address)) || (status = hocket_kernel_release(kernel)) ||
      (status = hocket_module_release(module)) || (status = hocket_device_release(device)))
    return status;
  return HOCKET_SUCCESS;
}
