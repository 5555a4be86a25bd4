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

/* Fills with 7 on one stream, then the upper half with 9 on another that waits for it, all without
 * waiting in between; *seconds is the time of the whole. */
int hocket_test_streams(const char *device_name, const char *path, uint32_t *result, uint32_t count,
                        double *seconds) {
  hocket_device device;
  hocket_module module;
  hocket_kernel kernel;
  hocket_stream first, second;
  hocket_event start, filled, stop;
  uint64_t address = 0, upper = 0;
  uint32_t half = count / 2, seven = 7, nine = 9;
  int done = 0;
  hocket_status status;
  hocket_dim3 grid = {(count + 63) / 64, 1, 1}, block = {64, 1, 1};
  hocket_argument all[3] = {{&address, sizeof(address), HOCKET_NEXT_ARGUMENT},
                            {&seven, sizeof(seven), HOCKET_NEXT_ARGUMENT},
                            {&count, sizeof(count), HOCKET_NEXT_ARGUMENT}};
  hocket_argument rest[3] = {{&upper, sizeof(upper), HOCKET_NEXT_ARGUMENT},
                             {&nine, sizeof(nine), HOCKET_NEXT_ARGUMENT},
                             {&half, sizeof(half), HOCKET_NEXT_ARGUMENT}};

  if ((status = hocket_device_open(device_name, &device, 0)) ||
      (status = hocket_module_load_file(device, path, &module)) ||
      (status = hocket_module_kernel(module, "fill", &kernel)) ||
      (status = hocket_allocate(device, 4 * count, &address)) ||
      (status = hocket_stream_create(device, &first)) ||
      (status = hocket_stream_create(device, &second)) ||
      (status = hocket_event_create(device, &start)) ||
      (status = hocket_event_create(device, &filled)) ||
      (status = hocket_event_create(device, &stop)))
    return status;
  upper = address + 4 * half;
  if ((status = hocket_event_record(start, first)) ||
      (status = hocket_stream_fill(first, address, 0, 4 * count)) ||
      (status = hocket_stream_launch(first, kernel, grid, block, 0, all, 3)) ||
      (status = hocket_event_record(filled, first)) ||
      (status = hocket_stream_wait(second, filled)) ||
      (status = hocket_stream_launch(second, kernel, grid, block, 0, rest, 3)) ||
      (status = hocket_stream_copy_from_device(second, result, address, 4 * count)) ||
      (status = hocket_event_record(stop, second)) || (status = hocket_kernel_release(kernel)) ||
      (status = hocket_module_release(module)) || (status = hocket_event_synchronize(stop)) ||
      (status = hocket_event_query(stop, &done)))
    return status;
  if (!done)
    return HOCKET_INTERNAL;
  if ((status = hocket_stream_query(second, &done)) ||
      (status = hocket_event_seconds(start, stop, seconds)) ||
      (status = hocket_stream_copy_to_device(first, address, result, 4)) ||
      (status = hocket_stream_copy(first, address, upper, 4)) ||
      (status = hocket_stream_synchronize(first)) || (status = hocket_free(device, address)) ||
      (status = hocket_event_release(start)) || (status = hocket_event_release(filled)) ||
      (status = hocket_event_release(stop)) || (status = hocket_stream_release(first)) ||
      (status = hocket_stream_release(second)) || (status = hocket_device_release(device)))
    return status;
  return HOCKET_SUCCESS;
}
