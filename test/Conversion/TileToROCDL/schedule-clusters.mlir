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

// -----

// Reads for a later cluster, the last one first, and fetches go beneath the products, each address in front of its read;
// the last two products have none, so that what was read last has arrived when the cluster ends.
// CHECK-LABEL: llvm.func @moving
// CHECK: rocdl.mfma
// CHECK-NEXT: llvm.getelementptr
// CHECK-NEXT: llvm.load
// CHECK-NEXT: rocdl.raw.ptr.buffer.load.lds
// CHECK-NEXT: rocdl.sched.barrier 0
// CHECK-NEXT: rocdl.mfma
// CHECK-NEXT: llvm.load
// CHECK-NEXT: rocdl.sched.barrier 0
// CHECK-NEXT: rocdl.mfma
// CHECK-NEXT: rocdl.sched.barrier 0
// CHECK-NEXT: rocdl.mfma
// CHECK-NEXT: rocdl.sched.barrier 0
// CHECK-NEXT: rocdl.s.waitcnt
// CHECK-NEXT: rocdl.s.barrier
llvm.func @moving(%a: vector<8xbf16>, %c: vector<16xf32>, %lds: !llvm.ptr<3>, %from: !llvm.ptr<8>, %at: i32) -> !llvm.struct<(vector<8xbf16>, vector<8xbf16>)> {
  %zero = llvm.mlir.constant(0 : i32) : i32
  %sixteen = llvm.mlir.constant(16 : i32) : i32
  rocdl.sched.barrier 0 {tile.cluster = "compute"}
  %p = rocdl.mfma.f32.32x32x16.bf16 %a, %a, %c, %zero, %zero, %zero : (vector<8xbf16>, vector<8xbf16>, vector<16xf32>, i32, i32, i32) -> vector<16xf32>
  %q = rocdl.mfma.f32.32x32x16.bf16 %a, %a, %p, %zero, %zero, %zero : (vector<8xbf16>, vector<8xbf16>, vector<16xf32>, i32, i32, i32) -> vector<16xf32>
  %r = rocdl.mfma.f32.32x32x16.bf16 %a, %a, %q, %zero, %zero, %zero : (vector<8xbf16>, vector<8xbf16>, vector<16xf32>, i32, i32, i32) -> vector<16xf32>
  %s = rocdl.mfma.f32.32x32x16.bf16 %a, %a, %r, %zero, %zero, %zero : (vector<8xbf16>, vector<8xbf16>, vector<16xf32>, i32, i32, i32) -> vector<16xf32>
  %first = llvm.load %lds : !llvm.ptr<3> -> vector<8xbf16>
  %next = llvm.getelementptr %lds[16] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
  %second = llvm.load %next : !llvm.ptr<3> -> vector<8xbf16>
  rocdl.raw.ptr.buffer.load.lds %from, %lds, %sixteen, %at, %zero, %zero, %zero
  rocdl.s.waitcnt 0
  rocdl.s.barrier
  %none = llvm.mlir.poison : !llvm.struct<(vector<8xbf16>, vector<8xbf16>)>
  %one = llvm.insertvalue %first, %none[0] : !llvm.struct<(vector<8xbf16>, vector<8xbf16>)>
  %both = llvm.insertvalue %second, %one[1] : !llvm.struct<(vector<8xbf16>, vector<8xbf16>)>
  llvm.return %both : !llvm.struct<(vector<8xbf16>, vector<8xbf16>)>
}

// -----

// Spread, LDS has as much to do beneath each product but the last three: fetches stand among the reads, none in front of
// the first, and what moves twice the bytes of a read takes the place of two.
// CHECK-LABEL: llvm.func @spread
// CHECK: rocdl.mfma
// CHECK-NEXT: llvm.load
// CHECK-NEXT: llvm.load
// CHECK-NEXT: rocdl.sched.barrier 0
// CHECK-NEXT: rocdl.mfma
// CHECK-NEXT: rocdl.raw.ptr.buffer.load.lds
// CHECK-NEXT: rocdl.sched.barrier 0
// CHECK-NEXT: rocdl.mfma
// CHECK-NEXT: llvm.load
// CHECK-NEXT: llvm.load
// CHECK-NEXT: rocdl.sched.barrier 0
// CHECK-NEXT: rocdl.mfma
// CHECK-NEXT: rocdl.sched.barrier 0
// CHECK-NEXT: rocdl.mfma
// CHECK-NEXT: rocdl.sched.barrier 0
// CHECK-NEXT: rocdl.mfma
// CHECK-NEXT: rocdl.sched.barrier 0
// CHECK-NEXT: rocdl.s.waitcnt
llvm.func @spread(%a: vector<8xbf16>, %c: vector<16xf32>, %lds: !llvm.ptr<3>, %from: !llvm.ptr<8>, %at: i32) -> vector<4xbf16> {
  %zero = llvm.mlir.constant(0 : i32) : i32
  %sixteen = llvm.mlir.constant(16 : i32) : i32
  rocdl.sched.barrier 0 {tile.cluster = "compute", tile.interleave = "spread"}
  rocdl.raw.ptr.buffer.load.lds %from, %lds, %sixteen, %at, %zero, %zero, %zero
  %p = rocdl.mfma.f32.32x32x16.bf16 %a, %a, %c, %zero, %zero, %zero : (vector<8xbf16>, vector<8xbf16>, vector<16xf32>, i32, i32, i32) -> vector<16xf32>
  %q = rocdl.mfma.f32.32x32x16.bf16 %a, %a, %p, %zero, %zero, %zero : (vector<8xbf16>, vector<8xbf16>, vector<16xf32>, i32, i32, i32) -> vector<16xf32>
  %r = rocdl.mfma.f32.32x32x16.bf16 %a, %a, %q, %zero, %zero, %zero : (vector<8xbf16>, vector<8xbf16>, vector<16xf32>, i32, i32, i32) -> vector<16xf32>
  %s = rocdl.mfma.f32.32x32x16.bf16 %a, %a, %r, %zero, %zero, %zero : (vector<8xbf16>, vector<8xbf16>, vector<16xf32>, i32, i32, i32) -> vector<16xf32>
  %t = rocdl.mfma.f32.32x32x16.bf16 %a, %a, %s, %zero, %zero, %zero : (vector<8xbf16>, vector<8xbf16>, vector<16xf32>, i32, i32, i32) -> vector<16xf32>
  %u = rocdl.mfma.f32.32x32x16.bf16 %a, %a, %t, %zero, %zero, %zero : (vector<8xbf16>, vector<8xbf16>, vector<16xf32>, i32, i32, i32) -> vector<16xf32>
  %v = llvm.load %lds : !llvm.ptr<3> -> vector<4xbf16>
  %w = llvm.load %lds : !llvm.ptr<3> -> vector<4xbf16>
  %x = llvm.load %lds : !llvm.ptr<3> -> vector<4xbf16>
  %y = llvm.load %lds : !llvm.ptr<3> -> vector<4xbf16>
  rocdl.s.waitcnt 0
  rocdl.s.barrier
  %vw = arith.addf %v, %w : vector<4xbf16>
  %xy = arith.addf %x, %y : vector<4xbf16>
  %all = arith.addf %vw, %xy : vector<4xbf16>
  llvm.return %all : vector<4xbf16>
}

// -----

// What is read for this cluster stays where it is.
// CHECK-LABEL: llvm.func @reading
// CHECK: rocdl.mfma
// CHECK-NEXT: llvm.intr.fma
// CHECK-NEXT: rocdl.sched.barrier 0
// CHECK-NEXT: rocdl.mfma
// CHECK-NEXT: rocdl.sched.barrier 0
// CHECK-NEXT: llvm.load
// CHECK-NEXT: rocdl.mfma
llvm.func @reading(%a: vector<8xbf16>, %c: vector<16xf32>, %lds: !llvm.ptr<3>, %x: f32) -> f32 {
  %zero = llvm.mlir.constant(0 : i32) : i32
  rocdl.sched.barrier 0 {tile.cluster = "compute"}
  %p = rocdl.mfma.f32.32x32x16.bf16 %a, %a, %c, %zero, %zero, %zero : (vector<8xbf16>, vector<8xbf16>, vector<16xf32>, i32, i32, i32) -> vector<16xf32>
  %q = rocdl.mfma.f32.32x32x16.bf16 %a, %a, %p, %zero, %zero, %zero : (vector<8xbf16>, vector<8xbf16>, vector<16xf32>, i32, i32, i32) -> vector<16xf32>
  %f = llvm.intr.fma(%x, %x, %x) : (f32, f32, f32) -> f32
  %b = llvm.load %lds : !llvm.ptr<3> -> vector<8xbf16>
  %r = rocdl.mfma.f32.32x32x16.bf16 %b, %a, %q, %zero, %zero, %zero : (vector<8xbf16>, vector<8xbf16>, vector<16xf32>, i32, i32, i32) -> vector<16xf32>
  rocdl.s.barrier
  llvm.return %f : f32
}

// -----

// Streamed, what is read for this cluster is asked for two products ahead, the first ones in front of all.
// CHECK-LABEL: llvm.func @streaming
// CHECK: llvm.load
// CHECK: rocdl.mfma
// CHECK-NEXT: rocdl.sched.barrier 0
// CHECK-NEXT: rocdl.mfma
// CHECK-NEXT: rocdl.sched.barrier 0
// CHECK-NEXT: rocdl.mfma
// CHECK-NEXT: llvm.getelementptr
// CHECK-NEXT: %[[LAST:.*]] = llvm.load
// CHECK-NEXT: rocdl.sched.barrier 0
// CHECK-NEXT: rocdl.mfma
// CHECK-NEXT: rocdl.sched.barrier 0
// CHECK-NEXT: rocdl.mfma.f32.32x32x16.bf16 %[[LAST]]
llvm.func @streaming(%a: vector<8xbf16>, %c: vector<16xf32>, %lds: !llvm.ptr<3>) -> vector<16xf32> {
  %zero = llvm.mlir.constant(0 : i32) : i32
  rocdl.sched.barrier 0 {tile.cluster = "compute", tile.interleave = "stream"}
  %b = llvm.load %lds : !llvm.ptr<3> -> vector<8xbf16>
  %p = rocdl.mfma.f32.32x32x16.bf16 %b, %a, %c, %zero, %zero, %zero : (vector<8xbf16>, vector<8xbf16>, vector<16xf32>, i32, i32, i32) -> vector<16xf32>
  %q = rocdl.mfma.f32.32x32x16.bf16 %a, %a, %p, %zero, %zero, %zero : (vector<8xbf16>, vector<8xbf16>, vector<16xf32>, i32, i32, i32) -> vector<16xf32>
  %r = rocdl.mfma.f32.32x32x16.bf16 %a, %a, %q, %zero, %zero, %zero : (vector<8xbf16>, vector<8xbf16>, vector<16xf32>, i32, i32, i32) -> vector<16xf32>
  %s = rocdl.mfma.f32.32x32x16.bf16 %a, %a, %r, %zero, %zero, %zero : (vector<8xbf16>, vector<8xbf16>, vector<16xf32>, i32, i32, i32) -> vector<16xf32>
  %next = llvm.getelementptr %lds[16] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
  %d = llvm.load %next : !llvm.ptr<3> -> vector<8xbf16>
  %t = rocdl.mfma.f32.32x32x16.bf16 %d, %a, %s, %zero, %zero, %zero : (vector<8xbf16>, vector<8xbf16>, vector<16xf32>, i32, i32, i32) -> vector<16xf32>
  rocdl.s.barrier
  llvm.return %t : vector<16xf32>
}

// -----

// What the scalar unit loads for a later cluster is loaded beneath the first product, in front of what takes less time
// to arrive and depends on as much, and waited for at the cluster's end.
// CHECK-LABEL: llvm.func @loads_ahead
// CHECK: rocdl.mfma
// CHECK-NEXT: llvm.intr.fma
// CHECK-NEXT: %[[AHEAD:.*]] = llvm.load %{{.*}} invariant
// CHECK-NEXT: llvm.intr.fma
// CHECK: rocdl.mfma
// CHECK: %[[PIN:.*]] = llvm.inline_asm has_side_effects {{.*}} "", "=s,0" %[[AHEAD]] : (i32) -> i32
// CHECK: rocdl.s.barrier
// CHECK: llvm.return %[[PIN]]
llvm.func @loads_ahead(%a: vector<8xbf16>, %c: vector<16xf32>, %x: f32, %s: f32, %list: !llvm.ptr<4>) -> i32 {
  %zero = llvm.mlir.constant(0 : i32) : i32
  rocdl.sched.barrier 0 {tile.cluster = "compute"}
  %p = rocdl.mfma.f32.32x32x16.bf16 %a, %a, %c, %zero, %zero, %zero : (vector<8xbf16>, vector<8xbf16>, vector<16xf32>, i32, i32, i32) -> vector<16xf32>
  %f = llvm.intr.fma(%x, %s, %s) : (f32, f32, f32) -> f32
  %g = llvm.intr.fma(%f, %s, %s) : (f32, f32, f32) -> f32
  %n = llvm.load %list invariant : !llvm.ptr<4> -> i32
  %q = rocdl.mfma.f32.32x32x16.bf16 %a, %a, %p, %zero, %zero, %zero : (vector<8xbf16>, vector<8xbf16>, vector<16xf32>, i32, i32, i32) -> vector<16xf32>
  rocdl.s.barrier
  llvm.return %n : i32
}

// -----

// Across branches, what stands in front of one has its share of the products behind it: those that need nothing of the
// branch, in their order. What needs it stays.
// CHECK-LABEL: llvm.func @across
// CHECK: rocdl.mfma.f32.32x32x16.bf16 %arg0, %arg0, %arg1
// CHECK: arith.maximumf
// CHECK: scf.if
// CHECK: rocdl.mfma
// CHECK: rocdl.mfma
// CHECK: rocdl.s.barrier
// In place, all of them stand behind it.
// CHECK-LABEL: llvm.func @in_place
// CHECK-NOT: rocdl.mfma
// CHECK: scf.if
// CHECK-COUNT-3: rocdl.mfma
llvm.func @across(%a: vector<8xbf16>, %c: vector<16xf32>, %x: vector<4xf32>, %y: vector<4xf32>, %moved: i1) -> (!llvm.struct<(vector<16xf32>, vector<4xf32>)>) {
  %zero = llvm.mlir.constant(0 : i32) : i32
  rocdl.sched.barrier 0 {tile.cluster = "compute", tile.interleave = "across"}
  %m = arith.maximumf %x, %y : vector<4xf32>
  %n = scf.if %moved -> vector<8xbf16> {
    %other = llvm.mlir.zero : vector<8xbf16>
    scf.yield %other : vector<8xbf16>
  } else {
    scf.yield %a : vector<8xbf16>
  }
  %needs = rocdl.mfma.f32.32x32x16.bf16 %n, %a, %c, %zero, %zero, %zero : (vector<8xbf16>, vector<8xbf16>, vector<16xf32>, i32, i32, i32) -> vector<16xf32>
  %p = rocdl.mfma.f32.32x32x16.bf16 %a, %a, %c, %zero, %zero, %zero : (vector<8xbf16>, vector<8xbf16>, vector<16xf32>, i32, i32, i32) -> vector<16xf32>
  %q = rocdl.mfma.f32.32x32x16.bf16 %a, %a, %p, %zero, %zero, %zero : (vector<8xbf16>, vector<8xbf16>, vector<16xf32>, i32, i32, i32) -> vector<16xf32>
  %e = arith.mulf %m, %y : vector<4xf32>
  %f = arith.mulf %e, %y : vector<4xf32>
  rocdl.s.barrier
  %sum = arith.addf %q, %needs : vector<16xf32>
  %undef = llvm.mlir.undef : !llvm.struct<(vector<16xf32>, vector<4xf32>)>
  %one = llvm.insertvalue %sum, %undef[0] : !llvm.struct<(vector<16xf32>, vector<4xf32>)>
  %both = llvm.insertvalue %f, %one[1] : !llvm.struct<(vector<16xf32>, vector<4xf32>)>
  llvm.return %both : !llvm.struct<(vector<16xf32>, vector<4xf32>)>
}

llvm.func @in_place(%a: vector<8xbf16>, %c: vector<16xf32>, %x: vector<4xf32>, %y: vector<4xf32>, %moved: i1) -> (!llvm.struct<(vector<16xf32>, vector<4xf32>)>) {
  %zero = llvm.mlir.constant(0 : i32) : i32
  rocdl.sched.barrier 0 {tile.cluster = "compute"}
  %m = arith.maximumf %x, %y : vector<4xf32>
  %n = scf.if %moved -> vector<8xbf16> {
    %other = llvm.mlir.zero : vector<8xbf16>
    scf.yield %other : vector<8xbf16>
  } else {
    scf.yield %a : vector<8xbf16>
  }
  %needs = rocdl.mfma.f32.32x32x16.bf16 %n, %a, %c, %zero, %zero, %zero : (vector<8xbf16>, vector<8xbf16>, vector<16xf32>, i32, i32, i32) -> vector<16xf32>
  %p = rocdl.mfma.f32.32x32x16.bf16 %a, %a, %c, %zero, %zero, %zero : (vector<8xbf16>, vector<8xbf16>, vector<16xf32>, i32, i32, i32) -> vector<16xf32>
  %q = rocdl.mfma.f32.32x32x16.bf16 %a, %a, %p, %zero, %zero, %zero : (vector<8xbf16>, vector<8xbf16>, vector<16xf32>, i32, i32, i32) -> vector<16xf32>
  %e = arith.mulf %m, %y : vector<4xf32>
  %f = arith.mulf %e, %y : vector<4xf32>
  rocdl.s.barrier
  %sum = arith.addf %q, %needs : vector<16xf32>
  %undef = llvm.mlir.undef : !llvm.struct<(vector<16xf32>, vector<4xf32>)>
  %one = llvm.insertvalue %sum, %undef[0] : !llvm.struct<(vector<16xf32>, vector<4xf32>)>
  %both = llvm.insertvalue %f, %one[1] : !llvm.struct<(vector<16xf32>, vector<4xf32>)>
  llvm.return %both : !llvm.struct<(vector<16xf32>, vector<4xf32>)>
}

// -----

// Where the cluster says so, powers of regions move among the products, and stay in the cluster.
// CHECK-LABEL: llvm.func @power
// CHECK: rocdl.mfma
// CHECK-NEXT: %[[POWER:.*]] = llvm.call_intrinsic "llvm.amdgcn.exp2"
// CHECK-NEXT: rocdl.sched.barrier 0
// CHECK-NEXT: rocdl.mfma
// CHECK: %[[PIN:.*]] = llvm.inline_asm has_side_effects {{.*}} "", "=v,0" %[[POWER]] : (f32) -> f32
// CHECK: rocdl.s.barrier
// CHECK: llvm.return %[[PIN]]
llvm.func @power(%a: vector<8xbf16>, %c: vector<16xf32>, %x: f32) -> f32 {
  %zero = llvm.mlir.constant(0 : i32) : i32
  rocdl.sched.barrier 0 {tile.cluster = "compute", tile.interleave = "powers"}
  %p = rocdl.mfma.f32.32x32x16.bf16 %a, %a, %c, %zero, %zero, %zero : (vector<8xbf16>, vector<8xbf16>, vector<16xf32>, i32, i32, i32) -> vector<16xf32>
  %q = rocdl.mfma.f32.32x32x16.bf16 %a, %a, %p, %zero, %zero, %zero : (vector<8xbf16>, vector<8xbf16>, vector<16xf32>, i32, i32, i32) -> vector<16xf32>
  %e = llvm.call_intrinsic "llvm.amdgcn.exp2"(%x) : (f32) -> f32
  rocdl.s.barrier
  llvm.return %e : f32
}

// Elsewhere they end what is ordered, streamed or not.
// CHECK-LABEL: llvm.func @power_in_place
// CHECK-COUNT-2: rocdl.mfma
// CHECK: %[[POWER:.*]] = llvm.call_intrinsic "llvm.amdgcn.exp2"
// CHECK: llvm.return %[[POWER]]
llvm.func @power_in_place(%a: vector<8xbf16>, %c: vector<16xf32>, %x: f32) -> f32 {
  %zero = llvm.mlir.constant(0 : i32) : i32
  rocdl.sched.barrier 0 {tile.cluster = "compute", tile.interleave = "stream"}
  %p = rocdl.mfma.f32.32x32x16.bf16 %a, %a, %c, %zero, %zero, %zero : (vector<8xbf16>, vector<8xbf16>, vector<16xf32>, i32, i32, i32) -> vector<16xf32>
  %q = rocdl.mfma.f32.32x32x16.bf16 %a, %a, %p, %zero, %zero, %zero : (vector<8xbf16>, vector<8xbf16>, vector<16xf32>, i32, i32, i32) -> vector<16xf32>
  %e = llvm.call_intrinsic "llvm.amdgcn.exp2"(%x) : (f32) -> f32
  rocdl.s.barrier
  llvm.return %e : f32
}

// -----

// Even, the priority falls with each quarter of the products. What is added to memory goes beneath products, as fetches
// do, and keeps its order.
// CHECK-LABEL: llvm.func @even
// CHECK: rocdl.s.setprio 3
// CHECK-NEXT: rocdl.mfma
// CHECK-NEXT: rocdl.raw.ptr.buffer.atomic.fadd %arg2
// CHECK-NEXT: rocdl.sched.barrier 0
// CHECK: rocdl.s.setprio 2
// CHECK-NEXT: rocdl.mfma
// CHECK-NEXT: rocdl.raw.ptr.buffer.atomic.fadd %arg3
// CHECK-NEXT: rocdl.sched.barrier 0
// CHECK: rocdl.s.setprio 1
// CHECK-NEXT: rocdl.mfma
// CHECK: rocdl.s.setprio 0
// CHECK-NEXT: rocdl.mfma
// CHECK-NOT: rocdl.s.setprio
// CHECK: rocdl.s.barrier
llvm.func @even(%a: vector<8xbf16>, %c: vector<16xf32>, %x: f32, %y: f32, %to: !llvm.ptr<8>) -> vector<16xf32> {
  %zero = llvm.mlir.constant(0 : i32) : i32
  rocdl.sched.barrier 0 {tile.cluster = "compute", tile.interleave = "even"}
  rocdl.raw.ptr.buffer.atomic.fadd %x, %to, %zero, %zero, %zero : f32
  rocdl.raw.ptr.buffer.atomic.fadd %y, %to, %zero, %zero, %zero : f32
  %p = rocdl.mfma.f32.32x32x16.bf16 %a, %a, %c, %zero, %zero, %zero : (vector<8xbf16>, vector<8xbf16>, vector<16xf32>, i32, i32, i32) -> vector<16xf32>
  %q = rocdl.mfma.f32.32x32x16.bf16 %a, %a, %p, %zero, %zero, %zero : (vector<8xbf16>, vector<8xbf16>, vector<16xf32>, i32, i32, i32) -> vector<16xf32>
  %r = rocdl.mfma.f32.32x32x16.bf16 %a, %a, %q, %zero, %zero, %zero : (vector<8xbf16>, vector<8xbf16>, vector<16xf32>, i32, i32, i32) -> vector<16xf32>
  %s = rocdl.mfma.f32.32x32x16.bf16 %a, %a, %r, %zero, %zero, %zero : (vector<8xbf16>, vector<8xbf16>, vector<16xf32>, i32, i32, i32) -> vector<16xf32>
  rocdl.s.barrier
  llvm.return %s : vector<16xf32>
}

// -----

// Prompt, the first product is issued before what a fetch needs.
// CHECK-LABEL: llvm.func @prompt
// CHECK: rocdl.mfma
// CHECK-NEXT: rocdl.sched.barrier 0
// CHECK-NEXT: arith.addi
// CHECK-NEXT: rocdl.raw.ptr.buffer.load.lds
// CHECK-NEXT: rocdl.sched.barrier 0
// CHECK-NEXT: rocdl.mfma
llvm.func @prompt(%a: vector<8xbf16>, %c: vector<16xf32>, %to: !llvm.ptr<8>, %lds: !llvm.ptr<3>, %at: i32) -> vector<16xf32> {
  %zero = llvm.mlir.constant(0 : i32) : i32
  %size = llvm.mlir.constant(16 : i32) : i32
  rocdl.sched.barrier 0 {tile.cluster = "compute", tile.interleave = "prompt"}
  %offset = arith.addi %at, %size : i32
  rocdl.raw.ptr.buffer.load.lds %to, %lds, %size, %zero, %offset, %zero, %zero
  %p = rocdl.mfma.f32.32x32x16.bf16 %a, %a, %c, %zero, %zero, %zero : (vector<8xbf16>, vector<8xbf16>, vector<16xf32>, i32, i32, i32) -> vector<16xf32>
  %q = rocdl.mfma.f32.32x32x16.bf16 %a, %a, %p, %zero, %zero, %zero : (vector<8xbf16>, vector<8xbf16>, vector<16xf32>, i32, i32, i32) -> vector<16xf32>
  rocdl.s.barrier
  llvm.return %q : vector<16xf32>
}

// -----

// What is marked complete is so at its cluster's end, of whatever kind that is, and later ones use what passed there.
// CHECK-LABEL: llvm.func @complete
// CHECK: %[[ONE:.*]] = vector.extract
// CHECK-NEXT: %[[PASSED:.*]] = llvm.inline_asm has_side_effects {{.*}} %[[ONE]]
// CHECK: rocdl.s.barrier
// CHECK: rocdl.exp2 %[[PASSED]]
llvm.func @complete(%x: vector<2xf32>) -> f32 {
  rocdl.sched.barrier 0 {tile.cluster = "memory"}
  %sum = arith.addf %x, %x {tile.complete} : vector<2xf32>
  %one = vector.extract %sum[0] : f32 from vector<2xf32>
  rocdl.s.barrier
  rocdl.sched.barrier 0 {tile.cluster = "compute"}
  %power = rocdl.exp2 %one f32 -> f32
  rocdl.s.barrier
  llvm.return %power : f32
}

// -----

// More of them than products come first, and what was asked for before them.
// CHECK-LABEL: llvm.func @many_adds
// CHECK: rocdl.raw.ptr.buffer.load.lds
// CHECK-NEXT: rocdl.raw.ptr.buffer.atomic.fadd %arg2
// CHECK-NEXT: rocdl.raw.ptr.buffer.atomic.fadd %arg3
// CHECK-NEXT: rocdl.mfma
llvm.func @many_adds(%a: vector<8xbf16>, %c: vector<16xf32>, %x: f32, %y: f32, %to: !llvm.ptr<8>, %lds: !llvm.ptr<3>) -> vector<16xf32> {
  %zero = llvm.mlir.constant(0 : i32) : i32
  %size = llvm.mlir.constant(16 : i32) : i32
  rocdl.sched.barrier 0 {tile.cluster = "compute"}
  rocdl.raw.ptr.buffer.load.lds %to, %lds, %size, %zero, %zero, %zero, %zero
  rocdl.raw.ptr.buffer.atomic.fadd %x, %to, %zero, %zero, %zero : f32
  rocdl.raw.ptr.buffer.atomic.fadd %y, %to, %zero, %zero, %zero : f32
  %p = rocdl.mfma.f32.32x32x16.bf16 %a, %a, %c, %zero, %zero, %zero : (vector<8xbf16>, vector<8xbf16>, vector<16xf32>, i32, i32, i32) -> vector<16xf32>
  rocdl.s.barrier
  llvm.return %p : vector<16xf32>
}

// -----

// Without products, as at both ends of a loop, reads for a later cluster are issued among what computes, and not in front
// of it, where the queue of LDS would hold that up. So much of it is behind the last that what was read has arrived.
// CHECK-LABEL: llvm.func @without_products
// CHECK: llvm.load
// CHECK-COUNT-2: rocdl.exp2
// CHECK-NEXT: rocdl.sched.barrier 0
// CHECK-NEXT: llvm.load
// CHECK-COUNT-2: rocdl.exp2
// CHECK-NEXT: rocdl.sched.barrier 0
// CHECK-COUNT-12: rocdl.exp2
// CHECK: rocdl.s.barrier
llvm.func @without_products(%lds: !llvm.ptr<3>, %x: f32) -> !llvm.struct<(f32, vector<8xbf16>, vector<8xbf16>)> {
  %result = llvm.mlir.undef : !llvm.struct<(f32, vector<8xbf16>, vector<8xbf16>)>
  rocdl.sched.barrier 0 {tile.cluster = "compute"}
  %other = llvm.getelementptr %lds[16] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
  %r = llvm.load %lds : !llvm.ptr<3> -> vector<8xbf16>
  %s = llvm.load %other : !llvm.ptr<3> -> vector<8xbf16>
  %e0 = rocdl.exp2 %x f32 -> f32
  %e1 = rocdl.exp2 %e0 f32 -> f32
  %e2 = rocdl.exp2 %e1 f32 -> f32
  %e3 = rocdl.exp2 %e2 f32 -> f32
  %e4 = rocdl.exp2 %e3 f32 -> f32
  %e5 = rocdl.exp2 %e4 f32 -> f32
  %e6 = rocdl.exp2 %e5 f32 -> f32
  %e7 = rocdl.exp2 %e6 f32 -> f32
  %e8 = rocdl.exp2 %e7 f32 -> f32
  %e9 = rocdl.exp2 %e8 f32 -> f32
  %e10 = rocdl.exp2 %e9 f32 -> f32
  %e11 = rocdl.exp2 %e10 f32 -> f32
  %e12 = rocdl.exp2 %e11 f32 -> f32
  %e13 = rocdl.exp2 %e12 f32 -> f32
  %e14 = rocdl.exp2 %e13 f32 -> f32
  %e15 = rocdl.exp2 %e14 f32 -> f32
  rocdl.sched.barrier 0
  rocdl.s.barrier
  %0 = llvm.insertvalue %e15, %result[0] : !llvm.struct<(f32, vector<8xbf16>, vector<8xbf16>)>
  %1 = llvm.insertvalue %r, %0[1] : !llvm.struct<(f32, vector<8xbf16>, vector<8xbf16>)>
  %2 = llvm.insertvalue %s, %1[2] : !llvm.struct<(f32, vector<8xbf16>, vector<8xbf16>)>
  llvm.return %2 : !llvm.struct<(f32, vector<8xbf16>, vector<8xbf16>)>
}

// -----

// What a branch behind the cluster uses, or what follows one, is read in the cluster, and not behind its barrier: LLVM
// moves loads past barriers into blocks that use them.
// CHECK-LABEL: llvm.func @read_for_behind_a_branch
// CHECK: llvm.load
// CHECK: llvm.inline_asm has_side_effects {{.*}} "", "~{memory}"
// CHECK: rocdl.s.barrier
// CHECK: scf.if
// CHECK-LABEL: llvm.func @read_for_no_branch
// CHECK-NOT: ~{memory}
// CHECK: llvm.return
llvm.func @read_for_behind_a_branch(%lds: !llvm.ptr<3>, %x: f32, %c: i1) -> f32 {
  rocdl.sched.barrier 0 {tile.cluster = "compute"}
  %r = llvm.load %lds : !llvm.ptr<3> -> f32
  rocdl.sched.barrier 0
  rocdl.s.barrier
  %y = scf.if %c -> f32 {
    %e = rocdl.exp2 %x f32 -> f32
    scf.yield %e : f32
  } else {
    scf.yield %x : f32
  }
  %z = llvm.fadd %y, %r : f32
  llvm.return %z : f32
}
llvm.func @read_for_no_branch(%lds: !llvm.ptr<3>, %x: f32) -> f32 {
  rocdl.sched.barrier 0 {tile.cluster = "compute"}
  %r = llvm.load %lds : !llvm.ptr<3> -> f32
  rocdl.sched.barrier 0
  rocdl.s.barrier
  %z = llvm.fadd %x, %r : f32
  llvm.return %z : f32
}

// -----

// In a memory cluster, what the fetch needs stands among the reads in front of it; what else is computed stays behind.
// CHECK-LABEL: llvm.func @among_reads
// CHECK: llvm.load
// CHECK: arith.muli
// CHECK: rocdl.sched.barrier 0
// CHECK: llvm.load
// CHECK: rocdl.raw.ptr.buffer.load.lds
// CHECK: llvm.intr.fma
// CHECK: rocdl.s.barrier
llvm.func @among_reads(%lds: !llvm.ptr<3>, %resource: !llvm.ptr<8>, %t: i32, %stride: i32, %x: f32) -> (f32) {
  %zero = llvm.mlir.constant(0 : i32) : i32
  %size = llvm.mlir.constant(16 : i32) : i32
  rocdl.sched.barrier 0 {tile.cluster = "memory"}
  %a = llvm.load %lds : !llvm.ptr<3> -> vector<8xbf16>
  %there = llvm.getelementptr %lds[16] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
  %b = llvm.load %there : !llvm.ptr<3> -> vector<8xbf16>
  rocdl.sched.barrier 0
  %offset = arith.muli %t, %stride : i32
  rocdl.raw.ptr.buffer.load.lds %resource, %lds, %size, %offset, %zero, %zero, %zero
  rocdl.sched.barrier 0
  %f = llvm.intr.fma(%x, %x, %x) : (f32, f32, f32) -> f32
  rocdl.s.barrier
  llvm.return %f : f32
}

// -----

// Loads into registers stand beneath products, from where memory takes them as fast as they come; they are not waited
// for at the cluster's end.
// CHECK-LABEL: llvm.func @loads_beneath
// CHECK: rocdl.mfma
// CHECK-NEXT: rocdl.sched.barrier 0
// CHECK-NEXT: rocdl.mfma
// CHECK-NEXT: rocdl.raw.ptr.buffer.load
// CHECK-NOT: llvm.inline_asm{{.*}}vector<4xi32>
// CHECK: rocdl.s.barrier
llvm.func @loads_beneath(%a: vector<8xbf16>, %c: vector<16xf32>, %resource: !llvm.ptr<8>, %offset: i32) -> (vector<4xi32>) {
  %zero = llvm.mlir.constant(0 : i32) : i32
  rocdl.sched.barrier 0 {tile.cluster = "compute"}
  %p = rocdl.mfma.f32.32x32x16.bf16 %a, %a, %c, %zero, %zero, %zero : (vector<8xbf16>, vector<8xbf16>, vector<16xf32>, i32, i32, i32) -> vector<16xf32>
  %q = rocdl.mfma.f32.32x32x16.bf16 %a, %a, %p, %zero, %zero, %zero : (vector<8xbf16>, vector<8xbf16>, vector<16xf32>, i32, i32, i32) -> vector<16xf32>
  %r = rocdl.mfma.f32.32x32x16.bf16 %a, %a, %q, %zero, %zero, %zero : (vector<8xbf16>, vector<8xbf16>, vector<16xf32>, i32, i32, i32) -> vector<16xf32>
  %loaded = rocdl.raw.ptr.buffer.load %resource, %offset, %zero, %zero : vector<4xi32>
  rocdl.sched.barrier 0
  rocdl.s.barrier
  llvm.return %loaded : vector<4xi32>
}
