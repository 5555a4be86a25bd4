// RUN: not hocket-test-hsaco %s 2>&1 | FileCheck %s
// CHECK: error: module has no kernel to emit; mark a function with 'rocdl.kernel' (LLVM IR: 'amdgpu_kernel')
llvm.func @not_a_kernel() {
  llvm.return
}
