// Writes where the argument says.
__attribute__((amdgpu_kernel)) void poke(__attribute__((address_space(1))) unsigned *to) {
  *to = 1;
}
