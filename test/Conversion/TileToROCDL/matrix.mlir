// convert-tile-to-rocdl, matrices: one behaviour per kernel.
// RUN: hocket-opt %s --tile-allocate-lds --convert-tile-to-rocdl --canonicalize -split-input-file | FileCheck %s

// A tile of columns: the descriptor begins 128 bytes further for each tile and ends with the last row that
// exists, whose last dword is read whole. Eight waves share 32 KiB: four instructions each.
// CHECK-LABEL: llvm.func @fetch
// CHECK-SAME: %[[POINTER:.*]]: !llvm.ptr<1>, %{{.*}}: i64, %{{.*}}: i32, %{{.*}}: i32, %[[TILE:.*]]: i32)
// CHECK-DAG: %[[THREE:.*]] = arith.constant 3 : i32
// CHECK-DAG: %[[DWORD:.*]] = arith.constant -4 : i32
// CHECK-DAG: %[[STEP:.*]] = arith.constant 128 : i32
// CHECK: %[[UP:.*]] = arith.addi %{{.*}}, %[[THREE]]
// CHECK: arith.andi %[[UP]], %[[DWORD]]
// CHECK: %[[SKIPPED:.*]] = arith.muli %[[TILE]], %[[STEP]]
// CHECK: %[[LEFT:.*]] = arith.subi %{{.*}}, %[[SKIPPED]]
// CHECK: arith.maxsi %[[LEFT]]
// CHECK: rocdl.make.buffer.rsrc
// CHECK-COUNT-4: rocdl.raw.ptr.buffer.load.lds
// CHECK-NOT: rocdl.raw.ptr.buffer.load.lds
tile.kernel @fetch(%a: !tile.view<?x?xbf16>, %n: i32) target("gfx950") waves(8) {
  %i, %j = tile.wave_grid rows(2) columns(4)
  %slot = arith.constant 0 : i32
  %ring = tile.ring %a[%n] by_columns unpadded depth(1) : !tile.view<?x?xbf16> -> !tile.ring<256x64xbf16>
  tile.fetch %ring[%n] slot(%slot) : !tile.ring<256x64xbf16>
  // Of 64 rows, two blocks of four steps in depth: eight reads.
  // CHECK-COUNT-8: llvm.load {{.*}} !llvm.ptr<3> -> vector<8xbf16>
  // CHECK-NOT: llvm.load
  %x = tile.read %ring[%n] part(%j) slot(%slot) : !tile.ring<256x64xbf16> -> !tile.frag<64x64xbf16, rhs>
  %y = tile.fill 1.0 : !tile.frag<32x64xbf16, lhs>
  %acc = tile.fill 0.0 : !tile.frag<32x64xf32, acc>
  %s = tile.mma %y, %x, %acc : !tile.frag<32x64xbf16, lhs>, !tile.frag<64x64xbf16, rhs>, !tile.frag<32x64xf32, acc>
  tile.store_block %s, %a[%n, %n] : !tile.frag<32x64xf32, acc>, !tile.view<?x?xbf16>
}

// -----

// Only a tile that the end cuts is masked: every operand that is used, here two steps of two blocks.
// CHECK-LABEL: llvm.func @mask
// CHECK: %[[CUTS:.*]] = arith.cmpi slt
// CHECK: %[[RARE:.*]] = llvm.intr.expect %[[CUTS]], %false
// CHECK: scf.if %[[RARE]]
// CHECK-COUNT-4: arith.andi %{{.*}}, %{{.*}} : vector<4xi32>
// CHECK-NOT: arith.andi {{.*}} : vector<4xi32>
// CHECK: } else {
// CHECK-NEXT: scf.yield
tile.kernel @mask(%c: !tile.view<?x?xbf16>, %n: i32) target("gfx950") waves(8) {
  %x = tile.fill 1.0 : !tile.frag<64x64xbf16, rhs>
  %m = tile.mask_depth %x tile(%n) below(%n) : !tile.frag<64x64xbf16, rhs>
  %y = tile.fill 1.0 : !tile.frag<32x64xbf16, lhs>
  %acc = tile.fill 0.0 : !tile.frag<32x64xf32, acc>
  // The second half of the depth of both.
  %left = tile.slice_depth %y from 32 : !tile.frag<32x64xbf16, lhs> -> !tile.frag<32x32xbf16, lhs>
  %right = tile.slice_depth %m from 32 : !tile.frag<64x64xbf16, rhs> -> !tile.frag<32x64xbf16, rhs>
  // CHECK-COUNT-4: rocdl.mfma.f32.32x32x16.bf16
  // CHECK-NOT: rocdl.mfma
  %s = tile.mma %left, %right, %acc : !tile.frag<32x32xbf16, lhs>, !tile.frag<32x64xbf16, rhs>, !tile.frag<32x64xf32, acc>
  tile.store_block %s, %c[%n, %n] : !tile.frag<32x64xf32, acc>, !tile.view<?x?xbf16>
}

// -----

// A whole block is stored 16 bytes a lane, after exchanges between halves of the wave and between its rows of lanes,
// so that a store has 64 bytes of each of 16 rows; a block that the last column cuts element by element.
// CHECK-LABEL: llvm.func @store
// CHECK: scf.if
// CHECK-COUNT-4: rocdl.permlane32.swap
// CHECK-COUNT-4: rocdl.permlane16.swap
// CHECK-COUNT-2: rocdl.raw.ptr.buffer.store %{{.*}} : vector<4xi32>
// CHECK-NOT: vector<4xi32>
// CHECK: } else {
// CHECK-COUNT-16: rocdl.raw.ptr.buffer.store %{{.*}} : i16
// CHECK-NOT: rocdl.raw.ptr.buffer.store
tile.kernel @store(%c: !tile.view<?x?xf16>, %n: i32) target("gfx950") waves(8) {
  %acc = tile.fill 0.0 : !tile.frag<32x32xf32, acc>
  tile.store_block %acc, %c[%n, %n] : !tile.frag<32x32xf32, acc>, !tile.view<?x?xf16>
}

// -----

// Two blocks side by side are a line: lanes eight apart exchange too, each of the two in its half of 16 lanes.
// CHECK-LABEL: llvm.func @store_lines
// CHECK: scf.if
// CHECK-COUNT-8: rocdl.permlane32.swap
// CHECK-COUNT-8: rocdl.permlane16.swap
// CHECK: rocdl.update.dpp %{{.*}} with 296, 15, 12, false : i32
// CHECK-NEXT: rocdl.update.dpp %{{.*}} with 296, 15, 3, false : i32
// CHECK-COUNT-4: rocdl.raw.ptr.buffer.store %{{.*}} : vector<4xi32>
// CHECK: } else {
tile.kernel @store_lines(%c: !tile.view<?x?xf16>, %n: i32) target("gfx950") waves(8) {
  %acc = tile.fill 0.0 : !tile.frag<64x32xf32, acc>
  tile.store_block %acc, %c[%n, %n] : !tile.frag<64x32xf32, acc>, !tile.view<?x?xf16>
}

// -----

// Where lanes cannot swap registers, they pass what their partner wants through the crossbar of LDS.
// CHECK-LABEL: llvm.func @store_lines_gfx942
// CHECK: scf.if
// CHECK-NOT: permlane
// CHECK-COUNT-8: "llvm.amdgcn.ds.bpermute"
// CHECK-COUNT-2: rocdl.raw.ptr.buffer.store %{{.*}} : vector<4xi32>
// CHECK: } else {
tile.kernel @store_lines_gfx942(%c: !tile.view<?x?xf16>, %n: i32) target("gfx942") waves(4) {
  %acc = tile.fill 0.0 : !tile.frag<32x32xf32, acc>
  tile.store_block %acc, %c[%n, %n] : !tile.frag<32x32xf32, acc>, !tile.view<?x?xf16>
}

// -----

// Waves stand row by row; a block's place follows from the workgroup's number alone.
// CHECK-LABEL: llvm.func @grid
// CHECK: %[[WAVE:.*]] = rocdl.readfirstlane
// CHECK: rocdl.workgroup.id.x
// CHECK-NOT: rocdl.workgroup.id
// CHECK: arith.divui %[[WAVE]], %{{.*}} : i32
// CHECK: arith.remui %[[WAVE]], %{{.*}} : i32
tile.kernel @grid(%c: !tile.view<?x?xbf16>, %n: i32) target("gfx950") waves(8) {
  %row, %column = tile.block_tile %c rows(64) columns(128) band(4) xcds(8) : !tile.view<?x?xbf16>
  %i, %j = tile.wave_grid rows(2) columns(4)
  %r = tile.wave_row %row rows(32) part(%i)
  %s = tile.wave_row %column rows(32) part(%j)
  %acc = tile.fill 0.0 : !tile.frag<32x32xf32, acc>
  tile.store_block %acc, %c[%r, %s] : !tile.frag<32x32xf32, acc>, !tile.view<?x?xbf16>
}
