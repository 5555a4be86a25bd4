// Kernels with loops, LDS, scratch, atomics and matrix instructions, for broken copies of them.
#define KERNEL __attribute__((amdgpu_kernel))
#define GLOBAL __attribute__((address_space(1)))
typedef float f16v __attribute__((ext_vector_type(16)));
typedef __bf16 b8v __attribute__((ext_vector_type(8)));

KERNEL void sum(GLOBAL const float *in, GLOBAL float *out, int n) {
  static __attribute__((address_space(3), loader_uninitialized)) float shared[256];
  unsigned item = __builtin_amdgcn_workitem_id_x();
  float x = 0;
  for (unsigned i = item; i < (n & 1023); i += 64)
    x += in[i];
  shared[item] = x;
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
  out[item] = shared[item] + shared[item ^ 1];
}

KERNEL void product(GLOBAL const b8v *a, GLOBAL f16v *out) {
  unsigned item = __builtin_amdgcn_workitem_id_x();
  f16v sum = {0};
  sum = __builtin_amdgcn_mfma_f32_32x32x16_bf16(a[item], a[item + 64], sum, 0, 0, 0);
  out[item] = sum;
}

KERNEL void stack(GLOBAL unsigned *data, unsigned index) {
  unsigned item = __builtin_amdgcn_workitem_id_x();
  volatile unsigned table[32];
  for (unsigned i = 0; i < 32; i++)
    table[i] = i * item;
  __atomic_fetch_add(&data[item & 15], table[(index + item) & 31], __ATOMIC_RELAXED);
}
