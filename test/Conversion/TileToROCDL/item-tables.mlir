// Where the items of a workgroup lie is found for 16 turns at once, each by a lane, in front of the loop over items and
// again where a turn and the two behind it are not known any more: in each 14th. A turn reads its lane.
// Arguments are words of a register, too: what the turn uses is not loaded again.
// RUN: hocketc %s --schedule=dual_wave --persistent=1 --join-items --to=rocdl | FileCheck %s

attn.forward @joined element_type(bf16) head_dim(128) mask(none) lse

// CHECK-LABEL: llvm.func @joined
// CHECK: rocdl.readfirstlane
// CHECK: scf.for %[[TURN:.*]] = %{{.*}} to {{.*}} iter_args({{.*}}, %[[FIRST:[^ ]*]] = %{{[^ ]*}}) ->
// CHECK: %[[PLACE:.*]] = arith.subi %[[TURN]], %[[FIRST]]
// CHECK: arith.cmpi eq, %[[PLACE]], %c14_i32
// CHECK-DAG: arith.select %{{.*}}, %[[TURN]], %[[FIRST]] : i32
// CHECK-DAG: %[[TABLES:.*]]:4 = scf.if
// CHECK: arith.divui
// CHECK: } else {
// CHECK-NOT: rocdl.readfirstlane
// CHECK-NOT: llvm.load {{.*}} invariant
// CHECK: rocdl.readlane %[[TABLES]]#
// CHECK: scf.while
// CHECK-NOT: llvm.load {{.*}} invariant
// CHECK: rocdl.raw.ptr.buffer.store
