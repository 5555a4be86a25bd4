// Lane i hands a value to its mirror image through LDS; `raced` forgets the barrier.
typedef __attribute__((address_space(1))) unsigned *global;
static __attribute__((address_space(3), loader_uninitialized)) unsigned shared[128];

static void swap(global out, int wait) {
  unsigned lane = __builtin_amdgcn_workitem_id_x();
  shared[lane] = lane;
  if (wait)
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup"), __builtin_amdgcn_s_barrier(),
        __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
  out[lane] = shared[127 - lane];
}

__attribute__((amdgpu_kernel)) void ordered(global out) { swap(out, 1); }
__attribute__((amdgpu_kernel)) void raced(global out) { swap(out, 0); }
