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
// Lower halves of words first: no conversion follows the other one of its word.
// CHECK-COUNT-4: llvm.call_intrinsic "llvm.amdgcn.cvt.pk.bf8.f32"(%{{.*}}, %{{.*}}, %{{.*}}, %false)
// CHECK-COUNT-4: llvm.call_intrinsic "llvm.amdgcn.cvt.pk.bf8.f32"(%{{.*}}, %{{.*}}, %{{.*}}, %true)
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

// -----

// A lane's scales are registers of their own; each serves all blocks of its row or column.
// CHECK-LABEL: llvm.func @scaled
// CHECK-DAG: %[[FIRST:.*]] = arith.extui %{{.*}} : i8 to i32
// CHECK-COUNT-4: rocdl.mfma.scale.f32.32x32x64.f8f6f4 %{{.*}}, %c0_i32, %c4_i32, %c0_i32, %{{[0-9]+}}, %c0_i32, %{{[0-9]+}} : (vector<8xi32>, vector<4xi32>, vector<16xf32>
// CHECK-NOT: rocdl.mfma
tile.kernel @scaled(%a: !tile.view<?x?xf8E8M0FNU>, %b: !tile.view<?x?xf8E8M0FNU>, %c: !tile.view<?x?xbf16>, %n: i32) target("gfx950") waves(1) {
  %x = tile.fill 1.0 : !tile.frag<64x128xf8E4M3FN, lhs>
  %y = tile.fill 1.0 : !tile.frag<128x32xf4E2M1FN, rhs>
  %of_x = tile.load %a[%n, %n] : !tile.view<?x?xf8E8M0FNU> -> !tile.frag<64x4xf8E8M0FNU, lhs_scale>
  %of_y = tile.load %b[%n, %n] : !tile.view<?x?xf8E8M0FNU> -> !tile.frag<4x32xf8E8M0FNU, rhs_scale>
  %acc = tile.fill 0.0 : !tile.frag<64x32xf32, acc>
  %s = tile.mma %x, %y, %acc scales(%of_x, %of_y) : <64x128xf8E4M3FN, lhs>, <128x32xf4E2M1FN, rhs>, <64x32xf32, acc>, !tile.frag<64x4xf8E8M0FNU, lhs_scale>, !tile.frag<4x32xf8E8M0FNU, rhs_scale>
  tile.store_block %s, %c[%n, %n] : !tile.frag<64x32xf32, acc>, !tile.view<?x?xbf16>
}

// -----

// Operands of f32: an element a lane and instruction. What an accumulator has is an operand as it lies, and what it is
// multiplied by is read element by element.
// CHECK-LABEL: llvm.func @words
// CHECK-COUNT-16: llvm.load {{.*}} !llvm.ptr<3> -> vector<1xf32>
// CHECK-NOT: llvm.load
// CHECK-COUNT-16: rocdl.mfma.f32.32x32x2f32 %{{.*}} : (f32, f32, vector<16xf32>, i32, i32, i32)
// CHECK-NOT: rocdl.mfma
tile.kernel @words(%a: !tile.view<?x?x?x32xf32>, %c: !tile.view<?x?xf32>, %n: i32) target("gfx950") waves(1) {
  %slot = arith.constant 0 : i32
  %ring = tile.ring %a[%n, %n] depth(1) : !tile.view<?x?x?x32xf32> -> !tile.ring<32x32xf32>
  tile.fetch %ring[%n] slot(%slot) : !tile.ring<32x32xf32>
  %x = tile.read_transposed %ring[%n] slot(%slot) : !tile.ring<32x32xf32> -> !tile.frag<32x32xf32, lhs_acc bits(32)>
  %one = tile.fill 1.0 : !tile.frag<32x32xf32, acc>
  %y = tile.pack %one : !tile.frag<32x32xf32, acc> -> !tile.frag<32x32xf32, rhs_acc bits(32)>
  %s = tile.mma %x, %y, %one : <32x32xf32, lhs_acc bits(32)>, <32x32xf32, rhs_acc bits(32)>, <32x32xf32, acc>
  tile.store %s, %c[%n, %n] : !tile.frag<32x32xf32, acc>, !tile.view<?x?xf32>
}
