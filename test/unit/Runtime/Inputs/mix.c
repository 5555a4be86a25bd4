// A kernel with a bit of everything that launches have to get right: arguments of several sizes, a
// hidden one, LDS, barriers, divergence, floating point, atomics.
#define GLOBAL __attribute__((address_space(1)))
static __attribute__((address_space(3), loader_uninitialized)) float shared[128];

// A global variable that the host can find.
__attribute__((visibility("protected"))) GLOBAL unsigned launches = 0;

__attribute__((amdgpu_kernel)) void mix(GLOBAL const float *in, GLOBAL float *out,
                                        GLOBAL unsigned *count, float scale, unsigned short shift,
                                        unsigned n) {
  unsigned lane = __builtin_amdgcn_workitem_id_x();
  unsigned i = __builtin_amdgcn_workgroup_id_x() * __builtin_amdgcn_workgroup_size_x() + lane;
  float x = i < n ? in[i] : 0.0f;
  shared[lane] = x * scale;
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
  float y = shared[(lane + shift) % 128];
  for (unsigned k = 0; k < lane % 7; ++k)
    y = y * 0.75f + __builtin_amdgcn_rcpf(1.0f + x * x);
  if (i < n) {
    out[i] = __builtin_amdgcn_exp2f(y);
    __atomic_fetch_add(count, 1, __ATOMIC_RELAXED);
  }
  if (i == 0)
    launches += 1;
}

// Writes where the address says, which may be nowhere.
__attribute__((amdgpu_kernel)) void poke(GLOBAL unsigned *to) { *to = 1; }

// Reads what another wave writes, with no barrier between.
__attribute__((amdgpu_kernel)) void race(GLOBAL float *out) {
  unsigned lane = __builtin_amdgcn_workitem_id_x();
  *(volatile __attribute__((address_space(3))) float *)&shared[lane] = lane;
  out[lane] = *(volatile __attribute__((address_space(3))) float *)&shared[127 - lane];
}
