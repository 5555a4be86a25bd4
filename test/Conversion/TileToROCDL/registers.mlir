// convert-tile-to-rocdl for a target without wide loads to LDS, transposing LDS reads and the newer vector
// instructions: one behaviour per kernel.
// RUN: hocket-opt %s --tile-allocate-lds --convert-tile-to-rocdl --canonicalize -split-input-file | FileCheck %s

// An operand of 16 bytes a lane is two of the instruction's: k 0 to 3 and 8 to 11 first, then the others, in
// both operands.
// CHECK-LABEL: llvm.func @mma_bf16
// CHECK-COUNT-4: rocdl.mfma.f32.32x32x8bf16.1k %{{.*}} : (vector<4xi16>, vector<4xi16>, vector<16xf32>
// CHECK-NOT: rocdl.mfma
tile.kernel @mma_bf16(%k: !tile.view<?x?x?x32xbf16>, %o: !tile.view<?x?x?x32xbf16>, %n: i32) target("gfx942") waves(1) {
  %a = tile.load %k[%n, %n, %n] : !tile.view<?x?x?x32xbf16> -> !tile.frag<32x32xbf16, lhs>
  %b = tile.load %k[%n, %n, %n] : !tile.view<?x?x?x32xbf16> -> !tile.frag<32x32xbf16, rhs>
  %c = tile.fill 0.0 : !tile.frag<32x32xf32, acc>
  %d = tile.mma %a, %b, %c : !tile.frag<32x32xbf16, lhs>, !tile.frag<32x32xbf16, rhs>, !tile.frag<32x32xf32, acc>
  tile.store %d, %o[%n, %n, %n] : !tile.frag<32x32xf32, acc>, !tile.view<?x?x?x32xbf16>
}

// -----

// CHECK-LABEL: llvm.func @mma_f16
// CHECK-COUNT-2: rocdl.mfma.f32.32x32x8f16 %{{.*}} : (vector<4xf16>, vector<4xf16>, vector<16xf32>
// CHECK-NOT: rocdl.mfma
tile.kernel @mma_f16(%o: !tile.view<?x?x?x32xf16>, %n: i32) target("gfx942") waves(1) {
  %a = tile.fill 1.0 : !tile.frag<32x16xf16, lhs_acc>
  %b = tile.fill 1.0 : !tile.frag<16x32xf16, rhs_acc>
  %c = tile.fill 0.0 : !tile.frag<32x32xf32, acc>
  %d = tile.mma %a, %b, %c : !tile.frag<32x16xf16, lhs_acc>, !tile.frag<16x32xf16, rhs_acc>, !tile.frag<32x32xf32, acc>
  tile.store %d, %o[%n, %n, %n] : !tile.frag<32x32xf32, acc>, !tile.view<?x?x?x32xf16>
}

// -----

// A part is loaded 16 bytes a lane, rows in the scalar offset, and put with stores that the reads understand: K
// as it lies.
// CHECK-LABEL: llvm.func @keys
// CHECK-COUNT-2: rocdl.raw.ptr.buffer.load %{{.*}} : vector<4xi32>
// CHECK-NOT: raw.ptr.buffer.load
// CHECK-COUNT-2: llvm.store %{{.*}}, %{{.*}} {alignment = 16 : i64} : vector<4xi32>, !llvm.ptr<3>
// CHECK-NOT: llvm.store
// CHECK-COUNT-8: llvm.load %{{.*}} : !llvm.ptr<3> -> vector<8xbf16>
tile.kernel @keys(%k: !tile.view<?x?x?x128xbf16>, %o: !tile.view<?x?x?x32xbf16>, %n: i32) target("gfx942") waves(4) {
  %slot = arith.constant 0 : i32
  %ring = tile.ring %k[%n, %n] depth(1) : !tile.view<?x?x?x128xbf16> -> !tile.ring<32x128xbf16>
  %part = tile.load_part %ring[%n] : !tile.ring<32x128xbf16> -> !tile.part<32x128xbf16, 4>
  tile.put %part, %ring[%n] slot(%slot) : !tile.part<32x128xbf16, 4>, !tile.ring<32x128xbf16>
  %x = tile.read %ring[%n] slot(%slot) : !tile.ring<32x128xbf16> -> !tile.frag<32x128xbf16, lhs>
  %q = tile.fill 1.0 : !tile.frag<128x32xbf16, rhs>
  %c = tile.fill 0.0 : !tile.frag<32x32xf32, acc>
  %d = tile.mma %x, %q, %c : !tile.frag<32x128xbf16, lhs>, !tile.frag<128x32xbf16, rhs>, !tile.frag<32x32xf32, acc>
  tile.store %d, %o[%n, %n, %n] : !tile.frag<32x32xf32, acc>, !tile.view<?x?x?x32xbf16>
}

// -----

// V is transposed on its way: two rows are interleaved column by column, and the read is plain.
// CHECK-LABEL: llvm.func @values
// CHECK-COUNT-2: rocdl.raw.ptr.buffer.load %{{.*}} : vector<4xi32>
// CHECK: llvm.call_intrinsic "llvm.amdgcn.perm"(%{{.*}}, %{{.*}}, %{{.*}}) : (i32, i32, i32) -> i32
// CHECK-COUNT-8: llvm.store %{{.*}}, %{{.*}} {alignment = 4 : i64} : i32, !llvm.ptr<3>
// CHECK-NOT: ds.read.tr
// CHECK-COUNT-8: llvm.load %{{.*}} : !llvm.ptr<3> -> vector<8xf16>
// CHECK-NOT: ds.read.tr
tile.kernel @values(%v: !tile.view<?x?x?x128xf16>, %o: !tile.view<?x?x?x128xf16>, %n: i32) target("gfx942") waves(4) {
  %slot = arith.constant 0 : i32
  %ring = tile.ring %v[%n, %n] depth(1) : !tile.view<?x?x?x128xf16> -> !tile.ring<32x128xf16>
  %part = tile.load_part %ring[%n] : !tile.ring<32x128xf16> -> !tile.part<32x128xf16, 4>
  tile.put %part, %ring[%n] slot(%slot) : !tile.part<32x128xf16, 4>, !tile.ring<32x128xf16>
  %x = tile.read_transposed %ring[%n] slot(%slot) : !tile.ring<32x128xf16> -> !tile.frag<128x32xf16, lhs_acc>
  %p = tile.fill 1.0 : !tile.frag<32x32xf16, rhs_acc>
  %c = tile.fill 0.0 : !tile.frag<128x32xf32, acc>
  %d = tile.mma %x, %p, %c : !tile.frag<128x32xf16, lhs_acc>, !tile.frag<32x32xf16, rhs_acc>, !tile.frag<128x32xf32, acc>
  tile.store %d, %o[%n, %n, %n] : !tile.frag<128x32xf32, acc>, !tile.view<?x?x?x128xf16>
}

// -----

// Rounding to bf16 in integers, to nearest even: the upper half's last bit decides ties.
// CHECK-LABEL: llvm.func @pack
// CHECK-DAG: %[[HALF:.*]] = arith.constant 32767 : i32
// CHECK-DAG: %[[UPPER:.*]] = arith.constant 117834498 : i32
// CHECK: %[[BITS:.*]] = llvm.bitcast %{{.*}} : f32 to i32
// CHECK: %[[UPWARD:.*]] = arith.shrui %[[BITS]],
// CHECK: %[[ODD:.*]] = arith.andi %[[UPWARD]],
// CHECK: %[[BIAS:.*]] = arith.addi %[[ODD]], %[[HALF]]
// CHECK: arith.addi %[[BITS]], %[[BIAS]]
// CHECK: llvm.call_intrinsic "llvm.amdgcn.perm"(%{{.*}}, %{{.*}}, %[[UPPER]])
// CHECK-NOT: fptrunc
// A row's sum of what is packed: there is no dot product of bf16.
// CHECK: arith.shli
// CHECK: arith.addf
// CHECK-NOT: fdot2
// CHECK: llvm.return
tile.kernel @pack(%lse: !tile.view<?x?x?xf32>, %scale: f32, %n: i32) target("gfx942") waves(1) {
  %zero = tile.fill 0.0 : !tile.rows<32xf32>
  %s = tile.fill 1.0 : !tile.frag<32x32xf32, acc>
  %w = tile.exp2 %s scale(%scale) minus(%zero) : !tile.frag<32x32xf32, acc>, !tile.rows<32xf32>
  %x = tile.pack %w : !tile.frag<32x32xf32, acc> -> !tile.frag<32x32xbf16, rhs_acc>
  %sum = tile.row_sum %x, %zero : !tile.frag<32x32xbf16, rhs_acc>, !tile.rows<32xf32>
  tile.store_rows %sum, %lse[%n, %n, %n] : !tile.rows<32xf32>, !tile.view<?x?x?xf32>
}

// -----

// f16 has both: the conversion is LLVM's, the dot product the chip's.
// CHECK-LABEL: llvm.func @pack_f16
// CHECK: llvm.fptrunc %{{.*}} : vector<2xf32> to vector<2xf16>
// CHECK: llvm.amdgcn.fdot2
tile.kernel @pack_f16(%lse: !tile.view<?x?x?xf32>, %scale: f32, %n: i32) target("gfx942") waves(1) {
  %zero = tile.fill 0.0 : !tile.rows<32xf32>
  %s = tile.fill 1.0 : !tile.frag<32x32xf32, acc>
  %w = tile.exp2 %s scale(%scale) minus(%zero) : !tile.frag<32x32xf32, acc>, !tile.rows<32xf32>
  %x = tile.pack %w : !tile.frag<32x32xf32, acc> -> !tile.frag<32x32xf16, rhs_acc>
  %sum = tile.row_sum %x, %zero : !tile.frag<32x32xf16, rhs_acc>, !tile.rows<32xf32>
  tile.store_rows %sum, %lse[%n, %n, %n] : !tile.rows<32xf32>, !tile.view<?x?x?xf32>
}

// -----

// The other half's number comes through the LDS's crossbar.
// CHECK-LABEL: llvm.func @unify
// CHECK: llvm.call_intrinsic "llvm.amdgcn.ds.bpermute"
// CHECK-NOT: permlane
// CHECK: arith.addf
tile.kernel @unify(%lse: !tile.view<?x?x?xf32>, %n: i32) target("gfx942") waves(1) {
  %s = tile.fill 1.0 : !tile.frag<32x32xf32, acc>
  %partial = tile.row_max %s : !tile.frag<32x32xf32, acc> -> !tile.rows<32xf32>
  %sum = tile.unify %partial : !tile.rows<32xf32>
  tile.store_rows %sum, %lse[%n, %n, %n] : !tile.rows<32xf32>, !tile.view<?x?x?xf32>
}
