// LLVM puts no wait states around inline assembly; the check of the final bytes finds what is missing.
// RUN: not hocket-test-hsaco %s --check-hazards 2>&1 | FileCheck %s
// CHECK: error: kernel 'masked': 'v_cndmask_b32_e{{[0-9]+}} {{.*}}' at 0x{{[0-9a-f]+}} follows 'v_cmp_gt_i32_e{{[0-9]+}} vcc, {{.*}}' at 0x{{[0-9a-f]+}} after 0 wait states, 2 are needed (scalar result of a vector instruction read by a vector instruction); put 's_nop 1' or other work between them
// CHECK-NOT: kernel 'padded'

llvm.func @masked(%p: !llvm.ptr<1>, %x: i32) attributes {rocdl.kernel, rocdl.flat_work_group_size = "64,64"} {
  %id = rocdl.workitem.id.x : i32
  %r = llvm.inline_asm has_side_effects "v_cmp_gt_i32_e32 vcc, $2, $1\0Av_cndmask_b32_e32 $0, $1, $2, vcc", "=v,v,v,~{vcc}" %id, %x : (i32, i32) -> i32
  %q = llvm.getelementptr %p[%id] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
  llvm.store %r, %q : i32, !llvm.ptr<1>
  llvm.return
}

llvm.func @padded(%p: !llvm.ptr<1>, %x: i32) attributes {rocdl.kernel, rocdl.flat_work_group_size = "64,64"} {
  %id = rocdl.workitem.id.x : i32
  %r = llvm.inline_asm has_side_effects "v_cmp_gt_i32_e32 vcc, $2, $1\0As_nop 1\0Av_cndmask_b32_e32 $0, $1, $2, vcc", "=v,v,v,~{vcc}" %id, %x : (i32, i32) -> i32
  %q = llvm.getelementptr %p[%id] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
  llvm.store %r, %q : i32, !llvm.ptr<1>
  llvm.return
}
