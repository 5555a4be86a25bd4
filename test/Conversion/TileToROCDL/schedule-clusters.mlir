// What schedule-clusters does to compute clusters, and leaves alone.
// RUN: hocket-opt %s --split-input-file --schedule-clusters | FileCheck %s

// Two products and two chains of work: one chain per shadow, none behind the last product; the
// value that leaves the cluster is pinned to it; the mark is gone.
// CHECK-LABEL: llvm.func @interleaved
// CHECK-NOT: tile.cluster
// CHECK: rocdl.mfma
// CHECK-NEXT: llvm.intr.fma
// CHECK-NEXT: rocdl.exp2
// CHECK-NEXT: rocdl.sched.barrier 0
// CHECK-NEXT: rocdl.mfma
// CHECK-NEXT: rocdl.sched.barrier 0
// CHECK-NEXT: %[[PIN:.*]] = llvm.inline_asm has_side_effects {{.*}} "", "=v,0" %{{.*}} : (f32) -> f32
// CHECK-NEXT: rocdl.sched.barrier 0
// CHECK-NEXT: rocdl.s.barrier
// CHECK-NEXT: llvm.return %[[PIN]]
llvm.func @interleaved(%a: vector<8xbf16>, %c: vector<16xf32>, %x: f32, %s: f32) -> f32 {
  %zero = llvm.mlir.constant(0 : i32) : i32
  rocdl.sched.barrier 0 {tile.cluster = "compute"}
  %p = rocdl.mfma.f32.32x32x16.bf16 %a, %a, %c, %zero, %zero, %zero : (vector<8xbf16>, vector<8xbf16>, vector<16xf32>, i32, i32, i32) -> vector<16xf32>
  %q = rocdl.mfma.f32.32x32x16.bf16 %a, %a, %p, %zero, %zero, %zero : (vector<8xbf16>, vector<8xbf16>, vector<16xf32>, i32, i32, i32) -> vector<16xf32>
  %f = llvm.intr.fma(%x, %s, %s) : (f32, f32, f32) -> f32
  %e = rocdl.exp2 %f f32 -> f32
  rocdl.sched.barrier 0
  rocdl.s.barrier
  llvm.return %e : f32
}

// -----

// A pattern is followed: both shadows get one instruction each.
// CHECK-LABEL: llvm.func @patterned
// CHECK: rocdl.mfma
// CHECK-NEXT: llvm.intr.fma
// CHECK-NEXT: rocdl.sched.barrier 0
// CHECK-NEXT: rocdl.mfma
// CHECK-NEXT: llvm.intr.fma
// CHECK-NEXT: rocdl.sched.barrier 0
// CHECK-NEXT: llvm.inline_asm
llvm.func @patterned(%a: vector<8xbf16>, %c: vector<16xf32>, %x: f32, %s: f32) -> f32 {
  %zero = llvm.mlir.constant(0 : i32) : i32
  rocdl.sched.barrier 0 {tile.cluster = "compute", tile.interleave = "mfma valu"}
  %f = llvm.intr.fma(%x, %s, %s) : (f32, f32, f32) -> f32
  %g = llvm.intr.fma(%f, %s, %s) : (f32, f32, f32) -> f32
  %p = rocdl.mfma.f32.32x32x16.bf16 %a, %a, %c, %zero, %zero, %zero : (vector<8xbf16>, vector<8xbf16>, vector<16xf32>, i32, i32, i32) -> vector<16xf32>
  %q = rocdl.mfma.f32.32x32x16.bf16 %a, %a, %p, %zero, %zero, %zero : (vector<8xbf16>, vector<8xbf16>, vector<16xf32>, i32, i32, i32) -> vector<16xf32>
  rocdl.s.barrier
  llvm.return %g : f32
}

// -----

// Memory clusters, clusters that want no interleaving, and what has side effects stay as they are.
// CHECK-LABEL: llvm.func @untouched
// CHECK-NEXT: llvm.mlir.constant
// CHECK-NEXT: llvm.intr.fma
// CHECK-NEXT: rocdl.mfma
// CHECK-NEXT: rocdl.s.barrier
// CHECK-NEXT: rocdl.mfma
// CHECK-NEXT: llvm.intr.fma
// CHECK-NEXT: rocdl.s.barrier
// CHECK-NEXT: llvm.return
llvm.func @untouched(%a: vector<8xbf16>, %c: vector<16xf32>, %x: f32) -> f32 {
  %zero = llvm.mlir.constant(0 : i32) : i32
  rocdl.sched.barrier 0 {tile.cluster = "memory"}
  %f = llvm.intr.fma(%x, %x, %x) : (f32, f32, f32) -> f32
  %p = rocdl.mfma.f32.32x32x16.bf16 %a, %a, %c, %zero, %zero, %zero : (vector<8xbf16>, vector<8xbf16>, vector<16xf32>, i32, i32, i32) -> vector<16xf32>
  rocdl.s.barrier
  rocdl.sched.barrier 0 {tile.cluster = "compute", tile.interleave = "none"}
  %q = rocdl.mfma.f32.32x32x16.bf16 %a, %a, %p, %zero, %zero, %zero : (vector<8xbf16>, vector<8xbf16>, vector<16xf32>, i32, i32, i32) -> vector<16xf32>
  %g = llvm.intr.fma(%f, %x, %x) : (f32, f32, f32) -> f32
  rocdl.s.barrier
  llvm.return %g : f32
}
