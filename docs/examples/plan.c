/* The same from C: plans a forward and says what it needs. */
#include <hocket/Attention/CAPI.h>

#include <stdio.h>

int main(void) {
  hocket_planner planner;
  hocket_plan plan;
  hocket_forward_problem problem;
  const char *kernel;
  uint64_t bytes;

  hocket_forward_problem_init(&problem);
  problem.heads = 64, problem.kv_heads = 8;
  problem.seq_q = problem.seq_kv = 4096;
  problem.causal = 1;
  if (hocket_planner_create(NULL, &planner) || hocket_planner_plan(planner, &problem, &plan) ||
      hocket_plan_kernel(plan, 0, &kernel) || hocket_plan_buffer_bytes(plan, "k", &bytes)) {
    fprintf(stderr, "%s\n", hocket_last_error());
    return 1;
  }
  printf("%s, K takes %llu bytes\n", kernel, (unsigned long long)bytes);
  problem.head_dim = 100;
  if (hocket_planner_plan(planner, &problem, &plan) != HOCKET_UNSUPPORTED)
    return 1;
  printf("%s\n", hocket_last_error());
  return 0;
}
