/* Attention from C: proves that the header is C, and that a forward works through it. */
#include "hocket/Attention/CAPI.h"
#include "hocket/Simulator/RuntimeDevice.h"

#include <string.h>

/* One query and two keys, of which a mask in text shows the one that a number names, and a sink that is as large as the
 * score: O is half the row `which` of V. `rows` has two rows of 128 numbers of fp16. */
int hocket_test_modified(const uint16_t *rows, int which, uint16_t *o) {
  static const char text[] =
      "attn.mask_mod @only(%batch: i32, %head: i32, %query: i32, %key: i32, %which: i32) {\n"
      "  %seen = arith.cmpi eq, %key, %which : i32\n"
      "  attn.yield %seen : i1\n"
      "}\n";
  static const char *const names[] = {"q", "k", "v", "o", "sink"};
  hocket_modification only;
  hocket_number number;
  hocket_planner planner;
  hocket_device device;
  hocket_plan plan;
  hocket_forward_problem problem;
  hocket_named_buffer buffers[5];
  hocket_status status;
  int i;

  hocket_register_simulator();
  hocket_forward_problem_init(&problem);
  problem.dtype = HOCKET_FP16;
  problem.seq_kv = 2;
  problem.has_scale = 1; /* scores are 0, and so is the sink */
  problem.scale = 0;
  problem.sink = 1;
  only.name = "only.mlir", only.text = text;
  problem.modifications = &only, problem.modification_count = 1;
  number.name = "which", number.value = which;
  problem.numbers = &number, problem.number_count = 1;
  if ((status = hocket_device_open("sim", &device, 0)) || (status = hocket_planner_create(0, &planner)) ||
      (status = hocket_planner_plan(planner, &problem, &plan)))
    return status;
  for (i = 0; i < 5; ++i) {
    static const float zero = 0;
    const void *content = i == 4 ? (const void *)&zero : (const void *)rows;
    hocket_buffer *buffer = &buffers[i].buffer;
    buffers[i].name = names[i];
    if ((status = hocket_plan_buffer_bytes(plan, names[i], &buffer->bytes)) ||
        (status = hocket_allocate(device, buffer->bytes, &buffer->address)) ||
        (status = hocket_copy_to_device(device, buffer->address, content, buffer->bytes)))
      return status;
  }
  if ((status = hocket_plan_run_named(plan, device, buffers, 5, 0)) ||
      (status = hocket_copy_from_device(device, o, buffers[3].buffer.address, 256)) ||
      (status = hocket_plan_unload(plan, device)) || (status = hocket_plan_release(plan)) ||
      (status = hocket_planner_release(planner)) || (status = hocket_device_release(device)))
    return status;
  return HOCKET_SUCCESS;
}

/* A cache of one page of four rows, none of them used yet, gets the one row `row` of 128 numbers of fp16, which is then
 * what is attended to: O is that row, and `v` the page. */
int hocket_test_appended(const uint16_t *row, uint16_t *o, uint16_t *v) {
  static const char *const names[] = {"q", "k", "v", "o", "seqused_k", "block_table", "k_new", "v_new"};
  enum { count = sizeof(names) / sizeof(names[0]) };
  static const uint16_t zeros[4 * 128];
  hocket_planner planner;
  hocket_device device;
  hocket_plan plan;
  hocket_forward_problem problem;
  hocket_named_buffer buffers[count];
  hocket_status status;
  int i;

  hocket_register_simulator();
  hocket_forward_problem_init(&problem);
  problem.dtype = HOCKET_FP16;
  problem.seq_kv = 4;
  problem.seqused_k = 1;
  problem.page_size = 4;
  problem.page_layout = "hnd";
  problem.append_rows = 1;
  if ((status = hocket_device_open("sim", &device, 0)) || (status = hocket_planner_create(0, &planner)) ||
      (status = hocket_planner_plan(planner, &problem, &plan)))
    return status;
  for (i = 0; i < count; ++i) {
    hocket_buffer *buffer = &buffers[i].buffer;
    buffers[i].name = names[i];
    if ((status = hocket_plan_buffer_bytes(plan, names[i], &buffer->bytes)) ||
        (status = hocket_allocate(device, buffer->bytes, &buffer->address)) ||
        (status = hocket_copy_to_device(device, buffer->address, i < 6 ? zeros : row, buffer->bytes)))
      return status;
  }
  if ((status = hocket_plan_run_named(plan, device, buffers, count, 0)) ||
      (status = hocket_copy_from_device(device, o, buffers[3].buffer.address, 256)) ||
      (status = hocket_copy_from_device(device, v, buffers[2].buffer.address, 4 * 256)) ||
      (status = hocket_plan_unload(plan, device)) || (status = hocket_plan_release(plan)) ||
      (status = hocket_planner_release(planner)) || (status = hocket_device_release(device)))
    return status;
  return HOCKET_SUCCESS;
}

/* One query that sees one key: O is the row of V, whatever Q and K are. Returns the first status
 * that fails; `o` receives 128 numbers of 16 bits. */
int hocket_test_forward(const uint16_t *row, uint16_t *o, int on_stream) {
  hocket_planner planner;
  hocket_device device;
  hocket_plan plan;
  hocket_forward_problem problem;
  hocket_forward_buffers buffers;
  hocket_stream stream;
  const char *kernel = 0;
  size_t launches = 0;
  uint64_t bytes = 0;
  double seconds = -1;
  hocket_status status;

  hocket_register_simulator();
  memset(&buffers, 0, sizeof(buffers));
  hocket_forward_problem_init(&problem);
  problem.dtype = HOCKET_FP16;
  problem.causal = 1;
  if ((status = hocket_device_open("sim", &device, 0)) ||
      (status = hocket_planner_create(0, &planner)) ||
      (status = hocket_planner_plan(planner, &problem, &plan)) ||
      (status = hocket_plan_workspace(plan, &bytes)) ||
      (status = hocket_plan_launches(plan, &launches)) ||
      (status = hocket_plan_kernel(plan, 0, &kernel)) ||
      (status = hocket_plan_buffer_bytes(plan, "o", &bytes)))
    return status;
  if (launches != 1 || !kernel || bytes != 256)
    return HOCKET_INTERNAL;
  {
    hocket_buffer *all[4];
    int i;
    all[0] = &buffers.q, all[1] = &buffers.k, all[2] = &buffers.v, all[3] = &buffers.o;
    for (i = 0; i < 4; ++i) {
      all[i]->bytes = bytes;
      if ((status = hocket_allocate(device, bytes, &all[i]->address)) ||
          (status = hocket_copy_to_device(device, all[i]->address, row, bytes)))
        return status;
    }
  }
  if (on_stream) {
    if ((status = hocket_stream_create(device, &stream)) ||
        (status = hocket_plan_run_on(plan, device, &buffers, stream)) ||
        (status = hocket_stream_synchronize(stream)) || (status = hocket_stream_release(stream)))
      return status;
  } else {
    if ((status = hocket_plan_run(plan, device, &buffers, &seconds)))
      return status;
    if (seconds < 0)
      return HOCKET_INTERNAL;
  }
  if ((status = hocket_copy_from_device(device, o, buffers.o.address, bytes)) ||
      (status = hocket_plan_unload(plan, device)) || (status = hocket_plan_release(plan)) ||
      (status = hocket_planner_release(planner)) || (status = hocket_device_release(device)))
    return status;
  return HOCKET_SUCCESS;
}
