// convert-tile-to-rocdl, elements of 8 bits: one behaviour per kernel.
// RUN: hocket-opt %s --tile-allocate-lds --convert-tile-to-rocdl --canonicalize -split-input-file | FileCheck %s

// A lane has 16 bytes of each operand, two of which are one of the deep instruction's.
// CHECK-LABEL: llvm.func @mixed
// CHECK-NOT: s.setreg
// CHECK-COUNT-2: llvm.load {{.*}} !llvm.ptr<3> -> vector<4xi32>
// CHECK-NOT: llvm.load
// CHECK-COUNT-2: rocdl.mfma.scale.f32.32x32x64.f8f6f4 %{{.*}}, %c0_i32, %c1_i32, %c0_i32, %c0_i32, %c0_i32, %c0_i32 : (vector<8xi32>, vector<8xi32>, vector<16xf32>
// CHECK-NOT: rocdl.mfma
tile.kernel @mixed(%a: !tile.view<?x?xf8E4M3FN>, %c: !tile.view<?x?xbf16>, %n: i32) target("gfx950") waves(1) {
  %slot = arith.constant 0 : i32
  %ring = tile.ring %a[%n] by_columns depth(1) : !tile.view<?x?xf8E4M3FN> -> !tile.ring<32x64xf8E4M3FN>
  tile.fetch %ring[%n] slot(%slot) : !tile.ring<32x64xf8E4M3FN>
  %x = tile.read %ring[%n] slot(%slot) : !tile.ring<32x64xf8E4M3FN> -> !tile.frag<32x64xf8E4M3FN, lhs>
  %y = tile.fill 1.0 : !tile.frag<64x64xf8E5M2, rhs>
  %acc = tile.fill 0.0 : !tile.frag<32x64xf32, acc>
  %s = tile.mma %x, %y, %acc : !tile.frag<32x64xf8E4M3FN, lhs>, !tile.frag<64x64xf8E5M2, rhs>, !tile.frag<32x64xf32, acc>
  tile.store_block %s, %c[%n, %n] : !tile.frag<32x64xf32, acc>, !tile.view<?x?xbf16>
}

// -----

// What rounds to fp8 lets conversions saturate first: bit 23 of MODE.
// CHECK-LABEL: llvm.func @rounds
// CHECK: llvm.call_intrinsic "llvm.amdgcn.s.setreg"(%{{.*}}, %{{.*}}) : (i32, i32)
// CHECK: llvm.call_intrinsic "llvm.amdgcn.cvt.pk.bf8.f32"
// CHECK: llvm.call_intrinsic "llvm.amdgcn.perm"
tile.kernel @rounds(%c: !tile.view<?x?xf8E5M2>, %n: i32) target("gfx950") waves(1) {
  %x = tile.fill 1.0 : !tile.frag<32x32xf32, acc>
  tile.store %x, %c[%n, %n] : !tile.frag<32x32xf32, acc>, !tile.view<?x?xf8E5M2>
}

// -----

// The other chip has its own formats, and less deep instructions.
// CHECK-LABEL: llvm.func @other_chip
// CHECK-COUNT-2: rocdl.mfma.f32.32x32x16.fp8.bf8 %{{.*}} : (i64, i64, vector<16xf32>, i32, i32, i32)
// CHECK-COUNT-2: rocdl.mfma.i32.32x32x16.i8 %{{.*}} : (i64, i64, vector<16xi32>, i32, i32, i32)
// CHECK-NOT: rocdl.mfma
tile.kernel @other_chip(%c: !tile.view<?x?xf32>, %d: !tile.view<?x?xi32>, %n: i32) target("gfx942") waves(1) {
  %x = tile.fill 1.0 : !tile.frag<32x32xf8E4M3FNUZ, lhs>
  %y = tile.fill 1.0 : !tile.frag<32x32xf8E5M2FNUZ, rhs>
  %zero = tile.fill 0.0 : !tile.frag<32x32xf32, acc>
  %s = tile.mma %x, %y, %zero : !tile.frag<32x32xf8E4M3FNUZ, lhs>, !tile.frag<32x32xf8E5M2FNUZ, rhs>, !tile.frag<32x32xf32, acc>
  tile.store %s, %c[%n, %n] : !tile.frag<32x32xf32, acc>, !tile.view<?x?xf32>
  %a = tile.fill 1.0 : !tile.frag<32x32xi8, lhs>
  %b = tile.fill 1.0 : !tile.frag<32x32xi8, rhs>
  %none = tile.fill 0.0 : !tile.frag<32x32xi32, acc>
  %t = tile.mma %a, %b, %none : !tile.frag<32x32xi8, lhs>, !tile.frag<32x32xi8, rhs>, !tile.frag<32x32xi32, acc>
  tile.store %t, %d[%n, %n] : !tile.frag<32x32xi32, acc>, !tile.view<?x?xi32>
}
