// A spill is an error with counts and a way out: 48 live values are more than the kernel may hold.
// RUN: not hocket-test-hsaco %s --check-spills 2>&1 | FileCheck %s
// CHECK: error: kernel 'crowded' spills {{[1-9][0-9]*}} vector and {{[0-9]+}} scalar registers and uses {{[1-9][0-9]*}} bytes of scratch with {{[0-9]+}} VGPRs and 0 AGPRs, none is allowed; each wave may have all 512 registers of a SIMD: use smaller tiles, or allow it with hocketc's '--allow-spills'

llvm.func @crowded(%p: !llvm.ptr<1>) attributes {
    rocdl.kernel, rocdl.flat_work_group_size = "64,64",
    passthrough = [["amdgpu-agpr-alloc", "0"], ["amdgpu-num-vgpr", "24"]]} {
  %id = rocdl.workitem.id.x : i32
  %p0 = llvm.getelementptr %p[%id] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, vector<16xf32>
  %p1 = llvm.getelementptr %p0[1000] : (!llvm.ptr<1>) -> !llvm.ptr<1>, vector<16xf32>
  %p2 = llvm.getelementptr %p0[2000] : (!llvm.ptr<1>) -> !llvm.ptr<1>, vector<16xf32>
  %v0 = llvm.load volatile %p0 : !llvm.ptr<1> -> vector<16xf32>
  %v1 = llvm.load volatile %p1 : !llvm.ptr<1> -> vector<16xf32>
  %v2 = llvm.load volatile %p2 : !llvm.ptr<1> -> vector<16xf32>
  llvm.store volatile %v0, %p0 : vector<16xf32>, !llvm.ptr<1>
  llvm.store volatile %v1, %p1 : vector<16xf32>, !llvm.ptr<1>
  llvm.store volatile %v2, %p2 : vector<16xf32>, !llvm.ptr<1>
  llvm.return
}
