// What is expected becomes the weights of every branch on it, and of no branch that only passes it on.
//
// RUN: hocket-opt --weigh-branches %s | FileCheck %s

// CHECK-LABEL: llvm.func @f
// CHECK-SAME: (%[[MOVED:[a-z0-9]+]]: i1,
llvm.func @f(%moved: i1, %other: i1) {
  %no = llvm.mlir.constant(false) : i1
  %yes = llvm.mlir.constant(true) : i1
  // CHECK-NOT: llvm.intr.expect
  %rare = llvm.intr.expect %moved, %no : i1
  %usual = llvm.intr.expect %other, %yes : i1
  // CHECK: llvm.cond_br %[[MOVED]] weights([1, 32]), ^bb1, ^bb2
  llvm.cond_br %rare, ^bb1, ^bb2
^bb1:
  // CHECK: llvm.cond_br %[[MOVED]] weights([1, 32]), ^bb2, ^bb3
  llvm.cond_br %rare, ^bb2, ^bb3
^bb2:
  // CHECK: llvm.cond_br %{{.*}} weights([32, 1]), ^bb3, ^bb4(%[[MOVED]] : i1)
  llvm.cond_br %usual, ^bb3, ^bb4(%rare : i1)
^bb3:
  llvm.return
^bb4(%passed: i1):
  // CHECK: llvm.cond_br %{{.*}}, ^bb3, ^bb5(%[[MOVED]] : i1)
  llvm.cond_br %passed, ^bb3, ^bb5(%rare : i1)
^bb5(%last: i1):
  llvm.return
}
