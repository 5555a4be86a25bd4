// One fault of each kind, for check-findings.test; its lines are named there.
typedef __attribute__((address_space(1))) unsigned *global;
static __attribute__((address_space(3), loader_uninitialized)) unsigned shared[128];
#define KERNEL __attribute__((amdgpu_kernel)) void
#define LANE __builtin_amdgcn_workitem_id_x()
#define ASM __asm__ volatile
#ifdef __OPTIMIZE__ // assembly that needs its operands in registers
KERNEL use_register(global out) {
  unsigned at = LANE * 4, loaded, copy;
  ASM("global_load_dword %0, %1, %2" : "=&v"(loaded) : "v"(at), "s"(out));
  ASM("global_load_dword v40, %0, %1" : : "v"(at), "s"(out) : "v40");
  ASM("v_mov_b32 %0, %1" : "=v"(copy) : "v"(loaded));
}

KERNEL use_lds(global out) {
  unsigned at = LANE * 4, read;
  ASM("s_mov_b32 m0, 0\ns_nop 0" : : : "memory");
  ASM("global_load_lds_dword %0, %1" : : "v"(at), "s"(out) : "memory");
  ASM("ds_read_b32 %0, %1" : "=v"(read) : "v"(at ^ 20) : "memory");
  ASM("s_waitcnt lgkmcnt(0)\nglobal_load_lds_dword %0, %1" : : "v"(at), "s"(out) : "memory");
  shared[LANE] = 1; // so that the kernel has LDS
}
#endif
KERNEL global_waves(global out) {
  out[LANE] = LANE;
  __builtin_amdgcn_s_barrier();
  out[127 - LANE] = LANE;
  out[LANE ^ 64] = 3;
}

KERNEL global_groups(global out) { out[__builtin_amdgcn_workgroup_id_x() * 32 + LANE] = LANE; }

KERNEL uninitialised_register(global out) {
  unsigned sum;
  ASM("v_add_u32 %0, 1, v50" : "=v"(sum));
  out[sum & 15] = 1;
}

KERNEL uninitialised_branch(global out) {
  unsigned value = shared[LANE];
  out[LANE] = 7;
  if (value > 5)
    out[LANE + 64] = 1;
}

KERNEL uninitialised_select(global out) {
  unsigned value = shared[LANE];
  ASM("" : "+v"(value));
  out[LANE] = value > 5 ? LANE : 9;
}

KERNEL uninitialised_stored(global out) {
  unsigned undefined;
  ASM("v_mov_b32 %0, v50" : "=v"(undefined));
  ((volatile __attribute__((address_space(3))) unsigned *)shared)[LANE] = undefined;
  __builtin_amdgcn_s_barrier();
  out[LANE] = shared[LANE ^ 64];
}

KERNEL lds_bounds(global out) {
  ((volatile __attribute__((address_space(3))) unsigned *)shared)[LANE * 2] = 1;
}

KERNEL misaligned(global out) {
  shared[LANE] = 0;
  ASM("ds_add_u32 %0, %0" : : "v"(LANE == 3 ? 6 : 0) : "memory");
}

KERNEL global_bounds(global out) { out[LANE + 1000] = 1; }

KERNEL scratch_bounds(global out) {
  unsigned read;
  ASM("scratch_load_dword %0, %1, off" : "=v"(read) : "v"(LANE * 4096));
}

KERNEL hazard(global out) {
  float one = 1, two;
  ASM("v_rcp_f32 %0, %1\nv_mul_f32 %0, %0, %0" : "=v"(two) : "v"(one));
}

KERNEL barrier(global out) {
  if (LANE < 64)
    return;
  __builtin_amdgcn_s_barrier();
  out[LANE] = 1;
}

KERNEL trap(global out) { __builtin_trap(); }

KERNEL hang(global out) {
  for (;;)
    __builtin_amdgcn_s_sleep(1);
}

static __attribute__((noinline)) void store(global out) { out[5000] = 1; }
KERNEL called(global out) { store(out); }

KERNEL many_places(global out) {
  volatile __attribute__((address_space(3))) unsigned *to = shared;
  to[0] = LANE, to[1] = LANE, to[2] = LANE, to[3] = LANE;
}

KERNEL hang_poll(global out) {
  while (__atomic_load_n(out, __ATOMIC_RELAXED) == 0)
    __builtin_amdgcn_s_sleep(1);
}

KERNEL hang_barrier(global out) {
  while (__builtin_amdgcn_readfirstlane(LANE) < 64)
    ASM("s_nop 0");
  __builtin_amdgcn_s_barrier();
  out[LANE] = 1;
}
