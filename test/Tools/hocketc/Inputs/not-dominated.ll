define amdgpu_kernel void @k(ptr addrspace(1) %p, i32 %a) {
  %early = add i32 %late, 1
  %late = add i32 %a, 1
  store i32 %early, ptr addrspace(1) %p
  ret void
}
