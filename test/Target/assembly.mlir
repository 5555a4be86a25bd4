// Stage `asm`: text that LLVM's own assembler turns into the same code.
// RUN: hocket-test-hsaco %s --emit=asm -o %t.s
// RUN: FileCheck %s < %t.s
// RUN: hocket-test-hsaco %s --emit=object -o %t.o
// RUN: llvm-mc -triple amdgcn-amd-amdhsa -mcpu=gfx950 -filetype=obj %t.s -o %t.mc.o
// RUN: cmp %t.o %t.mc.o
// RUN: hocket-test-hsaco %s --emit=llvm | FileCheck %s --check-prefix=LLVM

// LLVM: target triple = "amdgcn-amd-amdhsa"
// LLVM: define protected amdgpu_kernel void @copy(ptr addrspace(1) %{{.*}}) #[[ATTRS:[0-9]+]]
// LLVM: attributes #[[ATTRS]] = { "amdgpu-flat-work-group-size"="64,64" "amdgpu-waves-per-eu"="2" "target-cpu"="gfx950" "uniform-work-group-size"="true" }
// LLVM: !"amdhsa_code_object_version", i32 600

// CHECK: .amdgcn_target "amdgcn-amd-amdhsa--gfx950"
// CHECK: .amdhsa_code_object_version 6
// CHECK: copy:
// CHECK: global_store_dword
// CHECK: .amdhsa_kernel copy
llvm.func @copy(%p: !llvm.ptr<1>) attributes {
    rocdl.kernel, rocdl.flat_work_group_size = "64,64", rocdl.waves_per_eu = 2 : i32} {
  %id = rocdl.workitem.id.x : i32
  %q = llvm.getelementptr %p[%id] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
  llvm.store %id, %q : i32, !llvm.ptr<1>
  llvm.return
}
