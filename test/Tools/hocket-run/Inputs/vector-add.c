// c = a + b over n floats; and a kernel whose result depends on the order of waves.
typedef __attribute__((address_space(1))) float *Floats;
typedef __attribute__((address_space(1))) unsigned *Words;

__attribute__((amdgpu_kernel)) void add(Floats a, Floats b, Floats c, unsigned n, float scale) {
  unsigned i = __builtin_amdgcn_workgroup_id_x() * 64 + __builtin_amdgcn_workitem_id_x();
  if (i < n)
    c[i] = a[i] + scale * b[i];
}

// Every wave writes its number to the same word: the last one wins.
__attribute__((amdgpu_kernel)) void race(Words out) {
  unsigned wave = __builtin_amdgcn_workitem_id_x() / 64;
  for (unsigned i = 0; i < 50 * (wave % 3); ++i)
    __builtin_amdgcn_s_sleep(1);
  *(volatile __attribute__((address_space(1))) unsigned *)out = wave;
}

// Reads and writes where it should not.
__attribute__((amdgpu_kernel)) void stray(Floats a, long offset) {
  a[offset + __builtin_amdgcn_workitem_id_x()] = 1;
}
