// Maps and reductions: what is computed once, what on vectors, and which instructions exchange lanes.
// RUN: hocket-opt %s --convert-tile-to-rocdl -split-input-file | FileCheck %s
// RUN: sed s/gfx950/gfx942/ %s | hocket-opt --convert-tile-to-rocdl -split-input-file | FileCheck %s --check-prefix=GFX942

// A row's number is a scalar, and what is computed of it alone stays one; columns are vectors, two elements at a time.
// CHECK-LABEL: llvm.func @broadcasts
// CHECK: %[[EXP:.*]] = llvm.call_intrinsic "llvm.amdgcn.exp2"(%{{.*}}) : (f32) -> f32
// CHECK: %[[SPREAD:.*]] = vector.broadcast %[[EXP]] : f32 to vector<2xf32>
// CHECK: arith.mulf %{{.*}}, %[[SPREAD]] : vector<2xf32>
// CHECK: arith.extf %{{.*}} : vector<2xbf16> to vector<2xf32>
// CHECK: arith.truncf %{{.*}} : vector<2xf32> to vector<2xbf16>
// CHECK: vector.from_elements {{.*}} : vector<16xbf16>
// CHECK-NOT: tile.
tile.kernel @broadcasts() target("gfx950") waves(1) {
  %x = tile.fill 1.0 : !tile.frag<32x32xf32, acc>
  %r = tile.fill 2.0 : !tile.rows<32xf32>
  %c = tile.fill 3.0 : !tile.columns<32xbf16, acc>
  %y = tile.map(%e = %x : !tile.frag<32x32xf32, acc>, %f = %r : !tile.rows<32xf32>, %g = %c : !tile.columns<32xbf16, acc>)
      -> !tile.frag<32x32xbf16, acc> {
    %a = math.exp2 %f : f32
    %b = arith.mulf %e, %a : f32
    %wide = arith.extf %g : bf16 to f32
    %d = arith.addf %b, %wide : f32
    %z = arith.truncf %d : f32 to bf16
    tile.yield %z : bf16
  }
}

// -----

// Coordinates: the lane's part and the origin once, then a constant for each register and block.
// CHECK-LABEL: llvm.func @coordinates
// CHECK: %[[ROW:.*]] = arith.addi %{{.*}}, %{{.*}} : i32
// CHECK: arith.constant dense<[0, 1]> : vector<2xi32>
// CHECK: arith.constant dense<[2, 3]> : vector<2xi32>
// CHECK: arith.constant dense<[8, 9]> : vector<2xi32>
// CHECK: arith.constant dense<[32, 33]> : vector<2xi32>
// CHECK: arith.constant dense<[58, 59]> : vector<2xi32>
tile.kernel @coordinates(%n: i32) target("gfx950") waves(1) {
  %x = tile.map() at(%r = %n, %c) -> !tile.frag<64x32xi32, acc> {
    %s = arith.addi %r, %c : i32
    tile.yield %s : i32
  }
}

// -----

// Along an accumulator's columns: 16 registers, then the two halves of the wave. Over its rows: 32 lanes.
// CHECK-LABEL: llvm.func @accumulators
// CHECK-COUNT-15: arith.maximumf %{{.*}}, %{{.*}} : f32
// CHECK: rocdl.permlane32.swap
// CHECK: arith.maximumf
// CHECK: rocdl.update.dpp {{.*}} with 177, 15, 15, true
// CHECK: rocdl.update.dpp {{.*}} with 78, 15, 15, true
// CHECK: rocdl.update.dpp {{.*}} with 321, 15, 15, true
// CHECK: rocdl.update.dpp {{.*}} with 296, 15, 15, true
// CHECK: rocdl.permlane16.swap
// GFX942-LABEL: llvm.func @accumulators
// GFX942: llvm.amdgcn.ds.bpermute
// GFX942: llvm.amdgcn.ds.swizzle
tile.kernel @accumulators() target("gfx950") waves(1) {
  %x = tile.fill 1.0 : !tile.frag<32x32xf32, acc>
  %m = tile.reduce max %x over columns : !tile.frag<32x32xf32, acc> -> !tile.rows<32xf32>
  %s = tile.reduce sum %x over rows : !tile.frag<32x32xf32, acc> -> !tile.columns<32xf32, acc>
}

// -----

// Lines: halves of a piece are added as vectors. Over rows, lanes 16 and 32 apart hold the same columns.
// CHECK-LABEL: llvm.func @lines
// CHECK: arith.addf %{{.*}}, %{{.*}} : vector<4xf32>
// CHECK: arith.addf %{{.*}}, %{{.*}} : vector<2xf32>
// CHECK: rocdl.update.dpp {{.*}} with 177
// CHECK-NOT: permlane
// CHECK: arith.addf %{{.*}}, %{{.*}} : vector<8xf32>
// CHECK: rocdl.permlane16.swap
// CHECK: rocdl.permlane32.swap
tile.kernel @lines() target("gfx950") waves(1) {
  %x = tile.fill 1.0 : !tile.frag<8x128xf32, lines(8)>
  %r = tile.reduce sum %x over columns : !tile.frag<8x128xf32, lines(8)> -> !tile.rows<8xf32, lines(8x16)>
  %c = tile.reduce sum %x over rows : !tile.frag<8x128xf32, lines(8)> -> !tile.columns<128xf32, lines(8x16)>
}

// -----

// Up to each lane: from lanes in the same row of 16, from the last lane of the row in front, from lane 31.
// CHECK-LABEL: llvm.func @up_to_each
// CHECK: rocdl.update.dpp {{.*}} with 273, 15, 15, false
// CHECK: llvm.add
// CHECK: rocdl.update.dpp {{.*}} with 274, 15, 15, false
// CHECK: rocdl.update.dpp {{.*}} with 276, 15, 15, false
// CHECK: rocdl.update.dpp {{.*}} with 280, 15, 15, false
// CHECK: rocdl.update.dpp {{.*}} with 322, 10, 15, false
// CHECK: rocdl.update.dpp {{.*}} with 323, 12, 15, false
tile.kernel @up_to_each(%out: !tile.view<?xi32>, %n: i32) target("gfx950") waves(1) {
  %x = tile.map(%e = %n : i32) -> !tile.rows<64xi32, lines(4x1)> {
    tile.yield %e : i32
  }
  %y = tile.running_sum %x : !tile.rows<64xi32, lines(4x1)>
  %zero = arith.constant 0 : i32
  tile.store %y, %out[%zero] : !tile.rows<64xi32, lines(4x1)>, <?xi32>
}

// -----

// Waves meet between what they store and what they load; in a loop also before they store again.
// CHECK-LABEL: llvm.func @waves
// CHECK: llvm.store
// CHECK: llvm.fence syncscope("workgroup") release
// CHECK-NEXT: rocdl.s.barrier
// CHECK-NEXT: llvm.fence syncscope("workgroup") acquire
// CHECK-COUNT-4: llvm.load
// CHECK: scf.for
// CHECK: rocdl.s.barrier
// CHECK: llvm.store
// CHECK: rocdl.s.barrier
// CHECK: llvm.load
tile.kernel @waves(%n: i32) target("gfx950") waves(4) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %x = tile.fill 1.0 : !tile.rows<32xf32>
  %y = tile.reduce_waves sum %x at(0) : !tile.rows<32xf32>
  %z = scf.for %t = %zero to %n step %one iter_args(%c = %y) -> (!tile.rows<32xf32>) : i32 {
    %d = tile.reduce_waves max %c at(1024) : !tile.rows<32xf32>
    scf.yield %d : !tile.rows<32xf32>
  }
}

// -----

// A condition is a branch that computes nothing where it is 0.
// CHECK-LABEL: llvm.func @where
// CHECK: %{{.*}}:2 = scf.if %{{.*}} -> (vector<16xf32>, vector<16xf32>) {
// CHECK: arith.addf %{{.*}}, %{{.*}} : vector<2xf32>
// CHECK: } else {
// CHECK-NEXT: scf.yield
tile.kernel @where(%n: i32) target("gfx950") waves(1) {
  %x = tile.fill 1.0 : !tile.frag<64x32xf32, acc>
  %zero = arith.constant 0 : i32
  %if = arith.cmpi sgt, %n, %zero : i32
  %y = tile.map(%e = %x : !tile.frag<64x32xf32, acc>) when(%if) -> !tile.frag<64x32xf32, acc> {
    %s = arith.addf %e, %e : f32
    tile.yield %s : f32
  }
}

// -----

// A table: an offset for each element, which is beyond the descriptor where an index is beyond the extent.
// CHECK-LABEL: llvm.func @looks_up
// CHECK: rocdl.make.buffer.rsrc
// CHECK: %[[WITHIN:.*]] = arith.cmpi ult
// CHECK: arith.select %[[WITHIN]], %{{.*}}, %{{.*}} : i32
// CHECK: rocdl.raw.ptr.buffer.load
// CHECK: llvm.fpext %{{.*}} : bf16 to f32
tile.kernel @looks_up(%v: !tile.view<?x?xbf16>, %head: i32) target("gfx950") waves(1) {
  %i = tile.map() at(%r, %c) -> !tile.frag<32x32xi32, acc> {
    %d = arith.subi %r, %c : i32
    tile.yield %d : i32
  }
  %y = tile.gather %v[%head, %i] : <?x?xbf16>, i32, !tile.frag<32x32xi32, acc> -> !tile.frag<32x32xf32, acc>
}

// -----

// Philox once in a lane for each block of 32 x 32, and its bytes by way of the wave's part of LDS.
// CHECK-LABEL: llvm.func @random
// CHECK: arith.shrui %{{.*}}, %c5_i32
// CHECK-COUNT-14: arith.muli %{{.*}} : i64
// CHECK-NOT: arith.muli %{{.*}} : i64
// CHECK: llvm.fence syncscope("wavefront") acq_rel
// CHECK: llvm.store %{{.*}} : vector<4xi32>, !llvm.ptr<3>
// CHECK: llvm.fence syncscope("wavefront") acq_rel
// CHECK-COUNT-16: llvm.load %{{.*}} : !llvm.ptr<3> -> i8
// CHECK-COUNT-14: arith.muli %{{.*}} : i64
// CHECK-COUNT-16: llvm.load %{{.*}} : !llvm.ptr<3> -> i8
tile.kernel @random(%seed: i64, %offset: i64, %i: i32, %j: i32) target("gfx950") waves(1) {
  %x = tile.random_bytes %seed, %offset at_element(%i, %j) at(0 by 1056) : !tile.frag<64x32xi8, acc>
}

// -----

// A sum of coordinates and numbers is converted once for the lane; its elements add constants.
// CHECK-LABEL: llvm.func @distances
// CHECK: arith.sitofp %{{.*}} : i32 to f32
// CHECK-NOT: arith.sitofp
// CHECK: arith.constant dense<[0.000000e+00, -1.000000e+00]> : vector<2xf32>
// CHECK: arith.addf %{{.*}}, %{{.*}} : vector<2xf32>
// CHECK: arith.constant dense<[-2.000000e+00, -3.000000e+00]> : vector<2xf32>
// CHECK: arith.addf %{{.*}}, %{{.*}} : vector<2xf32>
tile.kernel @distances(%shift: i32) target("gfx950") waves(1) {
  %x = tile.map(%s = %shift : i32) at(%row, %column) -> !tile.frag<32x32xf32, acc> {
    %diagonal = arith.addi %row, %s : i32
    %distance = arith.subi %diagonal, %column : i32
    %f = arith.sitofp %distance : i32 to f32
    tile.yield %f : f32
  }
}

// -----

// A lane finds what it has laid aside where it put it, by an address that LLVM does not know to be the same; of half the
// depth, half.
// CHECK-LABEL: llvm.func @aside
// CHECK-COUNT-4: llvm.store %{{.*}} {{{.*}}alignment = 16 : i64{{.*}} : vector<8xbf16>, !llvm.ptr<3>
// CHECK: %[[HIDDEN:.*]] = llvm.inline_asm asm_dialect = att "", "=v,0" %{{.*}} : (!llvm.ptr<3>) -> !llvm.ptr<3>
// CHECK: arith.constant 2048 : i32
// CHECK: llvm.getelementptr %[[HIDDEN]]
// CHECK: llvm.load %{{.*}} : !llvm.ptr<3> -> vector<8xbf16>
// CHECK: arith.constant 3072 : i32
// CHECK: llvm.load %{{.*}} : !llvm.ptr<3> -> vector<8xbf16>
// CHECK-NOT: llvm.load
tile.kernel @aside(%q: !tile.view<?x?x?x64xbf16>, %n: i32) target("gfx950") waves(1) {
  %x = tile.load %q[%n, %n, %n] : !tile.view<?x?x?x64xbf16> -> !tile.frag<64x32xbf16, rhs>
  %y = tile.stash %x at(0) : !tile.frag<64x32xbf16, rhs>
  %half = tile.recall %y from 32 : !tile.stash<!tile.frag<64x32xbf16, rhs>> -> !tile.frag<32x32xbf16, rhs>
  tile.store %half, %q[%n, %n, %n, %n] : !tile.frag<32x32xbf16, rhs>, !tile.view<?x?x?x64xbf16>
}

// -----

// The square of a reciprocal root is the reciprocal where the number is seen not to be negative.
// CHECK-LABEL: llvm.func @square_of_root
// CHECK: llvm.amdgcn.rcp
// CHECK-NOT: arith.mulf
// CHECK: llvm.return
tile.kernel @square_of_root(%x: f32) target("gfx950") waves(1) {
  %share = tile.map(%s = %x : f32) -> f32 {
    %one = arith.constant 1.0 : f32
    %power = math.exp2 %s : f32
    %sum = arith.addf %power, %one : f32
    %root = math.rsqrt %sum : f32
    %square = arith.mulf %root, %root : f32
    tile.yield %square : f32
  }
}

// -----

// CHECK-LABEL: llvm.func @square_of_any_root
// CHECK-NOT: llvm.amdgcn.rcp
// CHECK: arith.mulf
tile.kernel @square_of_any_root(%x: f32) target("gfx950") waves(1) {
  %share = tile.map(%s = %x : f32) -> f32 {
    %root = math.rsqrt %s : f32
    %square = arith.mulf %root, %root : f32
    tile.yield %square : f32
  }
}

// -----

// What bytes keep of packed numbers: a mask for two of them, of the signs of differences.
// CHECK-LABEL: llvm.func @kept
// CHECK-NOT: arith.select
// CHECK-COUNT-8: llvm.amdgcn.perm
// CHECK-NOT: arith.select
// CHECK: llvm.return
tile.kernel @kept(%seed: i64, %offset: i64, %i: i32, %j: i32, %most: i32) target("gfx950") waves(1) {
  %x = tile.fill 1.0 : !tile.frag<32x32xbf16, rhs_acc>
  %bytes = tile.random_bytes %seed, %offset at_element(%i, %j) at(0 by 1056) : !tile.frag<32x32xi8, rhs_acc bits(16)>
  %kept = tile.map(%w = %x : !tile.frag<32x32xbf16, rhs_acc>, %b = %bytes : !tile.frag<32x32xi8, rhs_acc bits(16)>, %m = %most : i32)
      -> !tile.frag<32x32xbf16, rhs_acc> {
    %byte = arith.extui %b : i8 to i32
    %is = arith.cmpi ule, %byte, %m : i32
    %zero = arith.constant 0.0 : bf16
    %y = arith.select %is, %w, %zero : bf16
    tile.yield %y : bf16
  }
}
