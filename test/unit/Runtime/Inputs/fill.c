// to[0 .. count) = value, and a second kernel so that lists have two names.
__attribute__((amdgpu_kernel)) void fill(__attribute__((address_space(1))) unsigned *to,
                                         unsigned value, unsigned count) {
  unsigned i = __builtin_amdgcn_workgroup_id_x() * 64 + __builtin_amdgcn_workitem_id_x();
  if (i < count)
    to[i] = value;
}

// Uses the workgroup's size, which the launcher passes as a hidden argument.
__attribute__((amdgpu_kernel)) void sizes(__attribute__((address_space(1))) unsigned *to) {
  to[__builtin_amdgcn_workgroup_id_x()] = __builtin_amdgcn_workgroup_size_x();
}
