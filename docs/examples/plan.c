/* The same from C: plans a forward, says what it needs and runs it. */
#include <hocket/Attention/CAPI.h>

#include <stdio.h>
#include <stdlib.h>

static void check(hocket_status status) {
  if (status == HOCKET_SUCCESS)
    return;
  fprintf(stderr, "%s\n", hocket_last_error());
  exit(1);
}

/* Device memory for the plan's buffer, filled with 0x3f: in bf16 every element is 0.747. */
static hocket_buffer place(hocket_device device, hocket_plan plan, const char *name) {
  hocket_buffer buffer;
  check(hocket_plan_buffer_bytes(plan, name, &buffer.bytes));
  check(hocket_allocate(device, buffer.bytes, &buffer.address));
  check(hocket_fill(device, buffer.address, 0x3f, buffer.bytes));
  return buffer;
}

int main(void) {
  hocket_device device;
  hocket_planner planner;
  hocket_plan plan;
  hocket_forward_problem problem;
  hocket_forward_buffers buffers = {0};
  const char *kernel;
  uint16_t last; /* of O: the mean of equal rows of V */

  hocket_forward_problem_init(&problem);
  problem.heads = 4, problem.kv_heads = 2;
  problem.seq_q = problem.seq_kv = 200;
  problem.causal = 1;
  check(hocket_planner_create(NULL, &planner));
  check(hocket_planner_plan(planner, &problem, &plan));
  check(hocket_plan_kernel(plan, 0, &kernel));

  /* "hip": the GPU; "auto": the GPU if there is one. */
  check(hocket_device_open("sim", &device, NULL));
  buffers.q = place(device, plan, "q"), buffers.k = place(device, plan, "k");
  buffers.v = place(device, plan, "v"), buffers.o = place(device, plan, "o");
  check(hocket_plan_run(plan, device, &buffers, NULL));
  check(hocket_copy_from_device(device, &last, buffers.o.address + buffers.o.bytes - 2, 2));
  printf("%s, K takes %llu bytes, the last element of O is 0x%04x\n", kernel,
         (unsigned long long)buffers.k.bytes, (unsigned)last);

  problem.head_dim = 100;
  if (hocket_planner_plan(planner, &problem, &plan) != HOCKET_UNSUPPORTED)
    return 1;
  printf("%s\n", hocket_last_error());
  return 0;
}
