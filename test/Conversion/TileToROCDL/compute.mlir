// convert-tile-to-rocdl, computation: one behaviour per kernel.
// RUN: hocket-opt %s --convert-tile-to-rocdl -split-input-file | FileCheck %s

// A kernel's attributes: its size, and no accumulator registers apart from the others.
// CHECK-LABEL: llvm.func @attributes(
// CHECK-SAME: passthrough = {{\[\[}}"amdgpu-agpr-alloc", "0"]]
// CHECK-SAME: rocdl.flat_work_group_size = "512,512", rocdl.kernel, rocdl.reqd_work_group_size = array<i32: 512, 1, 1>
// CHECK-NOT: tile.
tile.kernel @attributes(%n: i64) target("gfx950") waves(8) {
}

// -----

// 64 x 128 by 128 x 32: two blocks of rows, eight steps of depth, neighbours into different blocks.
// CHECK-LABEL: llvm.func @mma_bf16
// CHECK-COUNT-16: rocdl.mfma.f32.32x32x16.bf16
// CHECK-NOT: rocdl.mfma
tile.kernel @mma_bf16() target("gfx950") waves(1) {
  %a = tile.fill 1.0 : !tile.frag<64x128xbf16, lhs>
  %b = tile.fill 1.0 : !tile.frag<128x32xbf16, rhs>
  %c = tile.fill 0.0 : !tile.frag<64x32xf32, acc>
  %d = tile.mma %a, %b, %c : !tile.frag<64x128xbf16, lhs>, !tile.frag<128x32xbf16, rhs>, !tile.frag<64x32xf32, acc>
}

// -----

// CHECK-LABEL: llvm.func @mma_f16
// CHECK: rocdl.mfma.f32.32x32x16.f16
tile.kernel @mma_f16() target("gfx950") waves(1) {
  %a = tile.fill 1.0 : !tile.frag<32x16xf16, lhs_acc>
  %b = tile.fill 1.0 : !tile.frag<16x32xf16, rhs_acc>
  %c = tile.fill 0.0 : !tile.frag<32x32xf32, acc>
  %d = tile.mma %a, %b, %c : !tile.frag<32x16xf16, lhs_acc>, !tile.frag<16x32xf16, rhs_acc>, !tile.frag<32x32xf32, acc>
}

// -----

// One fused multiply-add and the hardware's exp2 for each element; conversions pair by pair.
// CHECK-LABEL: llvm.func @exp2
// CHECK: llvm.intr.fma
// CHECK-NEXT: rocdl.exp2
// CHECK-COUNT-8: llvm.fptrunc %{{.*}} : vector<2xf32> to vector<2xbf16>
tile.kernel @exp2(%scale: f32) target("gfx950") waves(1) {
  %s = tile.fill 1.0 : !tile.frag<32x32xf32, acc>
  %r = tile.fill 0.0 : !tile.rows<32xf32>
  %p = tile.exp2 %s scale(%scale) minus(%r) : !tile.frag<32x32xf32, acc>, !tile.rows<32xf32>
  %x = tile.pack %p : !tile.frag<32x32xf32, acc> -> !tile.frag<32x32xbf16, rhs_acc>
}

// -----

// Of each two pairs the second as a polynomial: bits of a line in both, the rest two at a time.
// CHECK-LABEL: llvm.func @polynomials
// CHECK-COUNT-2: rocdl.exp2
// CHECK: %[[BITS:.*]] = llvm.intr.fma(%{{.*}}) : (vector<2xf32>, vector<2xf32>, vector<2xf32>) -> vector<2xf32>
// CHECK-COUNT-2: arith.fptoui
// CHECK-COUNT-3: llvm.intr.fma(%{{.*}}) : (vector<2xf32>, vector<2xf32>, vector<2xf32>) -> vector<2xf32>
// CHECK-NEXT: vector.from_elements
// CHECK-NEXT: arith.mulf %{{.*}} : vector<2xf32>
// CHECK-COUNT-2: rocdl.exp2
// CHECK-COUNT-2: arith.fptoui
tile.kernel @polynomials(%scale: f32) target("gfx950") waves(1) {
  %s = tile.fill 1.0 : !tile.frag<32x32xf32, acc>
  %r = tile.fill 0.0 : !tile.rows<32xf32>
  %p = tile.exp2 %s scale(%scale) minus(%r) polynomials(2) : !tile.frag<32x32xf32, acc>, !tile.rows<32xf32>
}

// -----

// Exponents apart from their exp2, two at a time.
// CHECK-LABEL: llvm.func @exponents
// CHECK-COUNT-8: llvm.intr.fma(%{{.*}}) {tile.complete} : (vector<2xf32>, vector<2xf32>, vector<2xf32>) -> vector<2xf32>
// CHECK-COUNT-16: rocdl.exp2
tile.kernel @exponents(%scale: f32) target("gfx950") waves(1) {
  %s = tile.fill 1.0 : !tile.frag<32x32xf32, acc>
  %r = tile.fill 0.0 : !tile.rows<32xf32>
  %e = tile.exponents %s scale(%scale) minus(%r) : !tile.frag<32x32xf32, acc>, !tile.rows<32xf32>
  %p = tile.exp2 %e : !tile.frag<32x32xf32, acc>
}

// -----

// A tile that no boundary cuts is left alone: the mask is one uniform branch. Behind it are the bits of what a lane sees,
// of the 28 places of its 16 elements in a block, and for each element one of them as a whole mask, two at a time: the
// next two in front of the last insertion.
// CHECK-LABEL: llvm.func @mask
// CHECK: %[[CUTS:.*]] = arith.cmpi sgt
// CHECK: %[[RARE:.*]] = llvm.intr.expect %[[CUTS]], %false
// CHECK: scf.if %[[RARE]]
// CHECK: arith.maxsi
// CHECK: arith.minsi
// CHECK: arith.shli
// CHECK: llvm.inline_asm has_side_effects asm_dialect = att "s_mov_b32 $0, 0xff800000", "=s"
// CHECK: llvm.inline_asm asm_dialect = att "v_bfe_i32 $0, $2, 0, 1\0Av_bfe_i32 $1, $2, 1, 1", "=&v,=v,v"
// CHECK: arith.ori
// CHECK: v_bfe_i32 $0, $2, 2, 1
// CHECK-COUNT-2: arith.ori
// CHECK: v_bfe_i32 $0, $2, 8, 1
// CHECK-COUNT-29: arith.ori
// CHECK-NOT: arith.ori
// CHECK: } else {
// CHECK-NOT: inline_asm
// CHECK: }
tile.kernel @mask(%t: i32, %n: i32) target("gfx950") waves(1) {
  %s = tile.fill 1.0 : !tile.frag<64x32xf32, acc>
  %m = tile.mask %s tile(%t) below(%n) : !tile.frag<64x32xf32, acc>
}

// -----

// A wave in which no row moved does nothing; the exchange between half-waves is in the rare branch. LLVM joins the two.
// CHECK-LABEL: llvm.func @settle
// CHECK: rocdl.ballot
// CHECK: %[[MOVED:.*]] = arith.cmpi ne
// CHECK: %[[RARE:.*]] = llvm.intr.expect %[[MOVED]], %false
// CHECK: scf.if %[[RARE]]
// CHECK: rocdl.permlane32.swap
// CHECK: llvm.intr.ceil
// CHECK: llvm.intr.ldexp
// CHECK: } else {
// CHECK: scf.if %[[RARE]]
// CHECK: arith.mulf
// CHECK: } else {
tile.kernel @settle(%scale: f32) target("gfx950") waves(1) {
  %m = tile.fill 1.0 : !tile.rows<32xf32>
  %o = tile.fill 1.0 : !tile.frag<32x32xf32, acc>
  %reference, %bound, %factor, %moved = tile.settle %m, %m, %m scale(%scale) threshold(8.0) : !tile.rows<32xf32>
  %x = tile.rescale %o by %factor when %moved : !tile.frag<32x32xf32, acc> by !tile.rows<32xf32>
}

// -----

// One branch also where exponents are made in between, of products of 8 bits; the last block of them stays in front of what follows.
// CHECK-LABEL: llvm.func @exponents_between
// CHECK: scf.if
// CHECK: arith.mulf {{.*}} : vector<16xf32>
// CHECK: } else {
// CHECK-NOT: scf.if
// CHECK: llvm.intr.fma
// CHECK: llvm.inline_asm has_side_effects {{.*}} "", "v" {{.*}} : (vector<16xf32>) -> ()
// CHECK: rocdl.exp2
// CHECK-NOT: scf.if
tile.kernel @exponents_between(%scale: f32) target("gfx950") waves(1) {
  %m = tile.fill 1.0 : !tile.rows<32xf32>
  %zero = tile.fill 0.0 : !tile.frag<32x32xf32, acc>
  %a = tile.fill 1.0 : !tile.frag<32x64xf8E4M3FN, lhs>
  %b = tile.fill 1.0 : !tile.frag<64x32xf8E4M3FN, rhs>
  %o = tile.mma %a, %b, %zero : <32x64xf8E4M3FN, lhs>, <64x32xf8E4M3FN, rhs>, <32x32xf32, acc>
  %reference, %bound, %factor, %moved = tile.settle %m, %m, %m scale(%scale) threshold(8.0) : !tile.rows<32xf32>
  %e = tile.exponents %o scale(%scale) minus(%reference) : !tile.frag<32x32xf32, acc>, !tile.rows<32xf32>
  %x = tile.rescale %o by %factor when %moved : !tile.frag<32x32xf32, acc> by !tile.rows<32xf32>
  %p = tile.exp2 %e : !tile.frag<32x32xf32, acc>
}

// -----

// Two branches where a fence holds the second in its place, or where it needs what is made in between.
// CHECK-LABEL: llvm.func @apart
// CHECK-COUNT-3: scf.if
tile.kernel @apart(%scale: f32) target("gfx950") waves(1) {
  %m = tile.fill 1.0 : !tile.rows<32xf32>
  %zero = tile.fill 0.0 : !tile.frag<32x32xf32, acc>
  %a = tile.fill 1.0 : !tile.frag<32x64xf8E4M3FN, lhs>
  %b = tile.fill 1.0 : !tile.frag<64x32xf8E4M3FN, rhs>
  %o = tile.mma %a, %b, %zero : <32x64xf8E4M3FN, lhs>, <64x32xf8E4M3FN, rhs>, <32x32xf32, acc>
  %reference, %bound, %factor, %moved = tile.settle %m, %m, %m scale(%scale) threshold(8.0) : !tile.rows<32xf32>
  %e = tile.exponents %o scale(%scale) minus(%reference) : !tile.frag<32x32xf32, acc>, !tile.rows<32xf32>
  %x = tile.rescale %e by %factor when %moved : !tile.frag<32x32xf32, acc> by !tile.rows<32xf32>
  tile.fence
  %y = tile.rescale %o by %factor when %moved : !tile.frag<32x32xf32, acc> by !tile.rows<32xf32>
  %p = tile.exp2 %e : !tile.frag<32x32xf32, acc>
}

// -----

// A row maximum is one linear chain of maxima without NaNs: v_max3.
// CHECK-LABEL: llvm.func @row_max
// CHECK-COUNT-15: arith.maxnumf %{{.*}}, %{{.*}} fastmath<nnan>
// CHECK-NOT: arith.maxnumf
tile.kernel @row_max() target("gfx950") waves(1) {
  %s = tile.fill 1.0 : !tile.frag<32x32xf32, acc>
  %m = tile.row_max %s : !tile.frag<32x32xf32, acc> -> !tile.rows<32xf32>
}

// -----

// A fragment is scaled in f32 and rounded once; an exponential without reference takes what it gets.
// CHECK-LABEL: llvm.func @scale
// CHECK: llvm.fpext %{{.*}} : vector<8xf16> to vector<8xf32>
// CHECK: arith.mulf
// CHECK: llvm.fptrunc %{{.*}} : vector<8xf32> to vector<8xf16>
// CHECK-NOT: llvm.intr.fma
// CHECK-COUNT-16: rocdl.exp2
tile.kernel @scale(%scale: f32) target("gfx950") waves(1) {
  %q = tile.fill 1.0 : !tile.frag<16x32xf16, rhs>
  %scaled = tile.scale %q by %scale : !tile.frag<16x32xf16, rhs>
  %s = tile.fill 1.0 : !tile.frag<32x32xf32, acc>
  %p = tile.exp2 %s : !tile.frag<32x32xf32, acc>
}

// -----

// What a diagonal cuts is rare where the pipeline says so.
// CHECK-LABEL: llvm.func @diagonal
// CHECK-NOT: llvm.intr.expect
// CHECK-LABEL: llvm.func @diagonal_in_loop
// CHECK: llvm.intr.expect
tile.kernel @diagonal(%t: i32, %n: i32, %d: i32) target("gfx950") waves(1) {
  %s = tile.fill 1.0 : !tile.frag<32x32xf32, acc>
  %m = tile.mask %s tile(%t) below(%n) diagonal(%d) : !tile.frag<32x32xf32, acc>
}
tile.kernel @diagonal_in_loop(%t: i32, %n: i32, %d: i32) target("gfx950") waves(1) {
  %s = tile.fill 1.0 : !tile.frag<32x32xf32, acc>
  %m = tile.mask %s tile(%t) below(%n) diagonal(%d) {tile.rarely_cuts} : !tile.frag<32x32xf32, acc>
}

// -----

// Places in front of `above`, which moves along with the column, are hidden: bits of both bounds are one mask.
// CHECK-LABEL: llvm.func @above
// CHECK: scf.if
// CHECK: arith.shli %c1
// CHECK: arith.shli %c-1
// CHECK: arith.andi
// CHECK-COUNT-16: arith.ori
// CHECK-NOT: arith.ori
tile.kernel @above(%t: i32, %n: i32, %a: i32) target("gfx950") waves(1) {
  %s = tile.fill 1.0 : !tile.frag<32x32xf32, acc>
  %m = tile.mask %s tile(%t) below(%n) above(%a) : !tile.frag<32x32xf32, acc>
}

// -----

// What is used behind the last loop is read there, not where the kernel begins; %b is used in the loop as well.
// CHECK-LABEL: llvm.func @late
// CHECK-SAME: %[[A:.*]]: !llvm.ptr<1>, %{{.*}}: i32, %[[B:.*]]: !llvm.ptr<1>
// CHECK-NOT: %[[A]]
// CHECK: scf.for
// CHECK: %[[BLOCK:.*]] = llvm.call_intrinsic "llvm.amdgcn.kernarg.segment.ptr"
// CHECK: llvm.load %{{.*}} invariant {alignment = 8 : i64} : !llvm.ptr<4> -> !llvm.ptr<1>
// CHECK-NOT: %[[A]]
tile.kernel @late(%a: !tile.view<?xf32>, %b: !tile.view<?xf32>, %n: i32) target("gfx950") waves(1)
    attributes {tile.late_arguments} {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  scf.for %i = %zero to %n step %one : i32 {
    %x = tile.load %b[%i] : <?xf32> -> f32
    tile.store %x, %b[%n] : f32, <?xf32>
  }
  %y = arith.constant 2.0 : f32
  tile.store %y, %a[%zero] : f32, <?xf32>
}

// -----

// What a loop around another and the one in it use is read in each turn of it, also where it is used in front.
// CHECK-LABEL: llvm.func @turns
// CHECK-SAME: %[[B:.*]]: !llvm.ptr<1>, %{{.*}}: i32, %[[N:.*]]: i32, %[[M:.*]]: i32)
// CHECK: arith.addi %[[M]]
// CHECK: scf.for %{{.*}} = %{{.*}} to %[[N]]
// CHECK-NEXT: scf.for
// CHECK: llvm.inline_asm has_side_effects {{.*}} "=s,0"
// CHECK: llvm.load %{{.*}} invariant {alignment = 8 : i64} : !llvm.ptr<4> -> !llvm.ptr<1>
// CHECK: llvm.getelementptr %{{.*}}[16]
// CHECK-NEXT: %[[END:.*]] = llvm.load %{{.*}} invariant {alignment = 4 : i64} : !llvm.ptr<4> -> i32
// CHECK-NEXT: scf.for %{{.*}} = %{{.*}} to %[[END]]
// CHECK-NOT: %[[B]][
// CHECK: llvm.return
tile.kernel @turns(%b: !tile.view<?xf32>, %n: i32, %m: i32) target("gfx950") waves(1)
    attributes {tile.late_arguments, tile.turn_scalars} {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %end = arith.addi %m, %one : i32
  scf.for %i = %zero to %n step %one : i32 {
    scf.for %j = %zero to %end step %one : i32 {
      scf.for %k = %zero to %m step %one : i32 {
        %x = tile.load %b[%k] : <?xf32> -> f32
        tile.store %x, %b[%i] : f32, <?xf32>
      }
    }
  }
}
