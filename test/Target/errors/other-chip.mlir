// An operation of another chip: LLVM alone would end the process. What it abandons is leaked.
// UNSUPPORTED: sanitizers
// RUN: not hocket-test-hsaco %s 2>&1 | FileCheck %s
// CHECK: error: code generation failed: Cannot select: intrinsic %llvm.amdgcn.wmma.f32.16x16x16.f16
llvm.func @wmma(%p: !llvm.ptr<1>, %a: vector<16xf16>, %c: vector<8xf32>) attributes {rocdl.kernel} {
  %d = llvm.call_intrinsic "llvm.amdgcn.wmma.f32.16x16x16.f16"(%a, %a, %c) : (vector<16xf16>, vector<16xf16>, vector<8xf32>) -> vector<8xf32>
  llvm.store %d, %p : vector<8xf32>, !llvm.ptr<1>
  llvm.return
}
